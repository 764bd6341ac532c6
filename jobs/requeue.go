package jobs

import "seine/formats/layout"

// Requeue makes known URLs wait again, due at a time that a person names.
const (
	KindRequeue  Kind  = "requeue"
	StageRequeue Stage = "requeue"
)

// Requeue names the uploaded targets: one Parquet object, its URLs sorted by
// partition, so that each task reads its own range of it; or, without targets,
// blocks that are gone, or where there is room.
type Requeue struct {
	Targets layout.Key `json:"targets,omitempty"`
	// Unblocked are blocks that were lifted ("domain:…", "host:…", "prefix:…"):
	// what they kept away comes back. The job finds it in its base, because an
	// open round may end URLs as blocked after the block was lifted.
	Unblocked []string `json:"unblocked,omitempty"`
	// Room are partitions, ascending, in which URLs that their politeness group
	// kept back as domain_full come back as far as it has room. The coordinator
	// begins such a job, as upkeep.
	Room []uint16 `json:"room,omitempty"`
	// Due is when they are due, ms since 1970; 0, or a time that is past: the
	// job's now.
	Due int64 `json:"due,omitempty"`
	// Priority, where it is set, is theirs until they have had their turn: 0 to 1.
	Priority *float32 `json:"priority,omitempty"`
}
