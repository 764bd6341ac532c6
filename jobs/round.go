package jobs

import "seine/formats/layout"

// A crawl round: generate → fetch → reduce.
const (
	KindRound     Kind  = "round"
	StageGenerate Stage = "generate"
	StageFetch    Stage = "fetch"
	StageReduce   Stage = "reduce"
)

// CountFrom begins the names of a fetch task's counts of exchanges by the source
// address, where the settings name some: the address follows.
const CountFrom = "from "

// Round is what a round is allowed to do.
type Round struct {
	TopN     int64 `json:"top_n"`       // URLs at most
	Duration int64 `json:"duration_ms"` // of fetching
	// AsOf chooses as if it were that time, ms; 0: the job's now.
	AsOf int64 `json:"as_of,omitempty"`
	// DueNow takes whatever waits with a ticket at most DueTicket, due or not.
	DueNow    bool   `json:"due_now,omitempty"`
	DueTicket uint64 `json:"due_ticket,omitempty"`
	// OnFailed says what a fetch task that failed its last attempt does to the
	// round: "commit" or "block".
	OnFailed string `json:"on_failed"`
	MaxBytes int64  `json:"max_bytes,omitempty"` // decoded bytes over the round's tasks; 0: no limit
	MaxDepth int    `json:"max_depth,omitempty"`
}

// RoundTasks is how many tasks a round has: wide enough that a task's objects
// are large, at most one a partition. known is the number of known URLs, topN
// the round's; workers how many may share it.
func RoundTasks(topN, known int64, workers int) int {
	// A worker fetches about a million URLs an hour: in two tasks of this size each chunk
	// is full long before its time is over, so that it takes twelve requests for some
	// twenty thousand pages (DESIGN.md). One over 20 M known URLs merges in minutes.
	n := max(topN/500_000, known/20_000_000, 1)
	return int(min(max(n, int64(min(workers, int(topN/5_000)+1))), layout.Partitions))
}
