package objstore

// Kind is a kind of operation on a store, for counts and faults.
type Kind string

// The kinds of operations, one for each method of Store.
const (
	OpGet    Kind = "get"
	OpRead   Kind = "read"
	OpPut    Kind = "put"
	OpStat   Kind = "stat"
	OpList   Kind = "list"
	OpDelete Kind = "delete"
)
