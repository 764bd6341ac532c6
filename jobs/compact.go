package jobs

// Compact merges adjacent runs of tables into one run each. It is picked by a
// pure function of a manifest and runs between writing jobs, because a round
// names rows of its base snapshot's runs by number (superseded rows): a run
// must not vanish below an open round.
const (
	KindCompact  Kind  = "compact"
	StageCompact Stage = "compact"
)

// Compact lists the merges: for each table the ids of the runs, oldest first.
type Compact struct {
	Merges map[string][]string `json:"merges"`
}
