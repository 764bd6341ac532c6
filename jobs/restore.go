package jobs

// Restore makes an older snapshot the newest again.
const (
	KindRestore  Kind  = "restore"
	StageRestore Stage = "restore"
)

// Restore names the snapshot that comes back.
type Restore struct {
	Snapshot uint64 `json:"snapshot"`
}
