package state

import (
	"encoding/json"
	"errors"
	"fmt"

	"seine/jobs"
)

// Format is the newest version of commands and snapshots that this program
// knows; one that is newer stops the node that meets it. Which versions may be
// in the log is the state's Format: the leader raises it when every member of
// the group runs a program that knows the next, so that members can be replaced
// one by one.
const Format = 2

// ErrUnknown: the log holds a command that this program does not know. To skip
// it would be to disagree with the others, so the node stops.
var ErrUnknown = errors.New("unknown command in the coordinator's log: use a newer seine")

// Kind is a kind of command.
type Kind string

// The kinds of commands, and the payload of each.
const (
	KindSubmit     Kind = "submit"     // Submission
	KindOpen       Kind = "open"       // Open
	KindRefuse     Kind = "refuse"     // Refuse
	KindGrant      Kind = "grant"      // Grant
	KindComplete   Kind = "complete"   // Complete
	KindFail       Kind = "fail"       // Fail
	KindAdvance    Kind = "advance"    // Advance
	KindBlock      Kind = "block"      // Block
	KindClose      Kind = "close"      // Close
	KindPublishing Kind = "publishing" // Publish
	KindCommitted  Kind = "committed"  // Committed
	KindCancel     Kind = "cancel"     // Cancel
	KindRerun      Kind = "rerun"      // Rerun
	KindPartial    Kind = "partial"    // CommitPartial
	KindJoin       Kind = "join"       // Join
	KindLeave      Kind = "leave"      // Leave
	KindTakeover   Kind = "takeover"   // Takeover
	KindPause      Kind = "pause"      // Pause
	KindResume     Kind = "resume"     // Resume
	KindRaise      Kind = "raise"      // Raise
	KindRepeat     Kind = "repeat"     // Loop; format 2
	KindAgain      Kind = "again"      // Again; format 2
	KindEndLoop    Kind = "end_loop"   // EndLoop; format 2
)

// Payload is what a command carries; each knows its kind.
type Payload interface{ kind() Kind }

// Command is one entry of the log.
type Command struct {
	Format  int             `json:"format"`
	Kind    Kind            `json:"kind"`
	Wall    int64           `json:"wall"` // ms, of the leader's clock
	Payload json.RawMessage `json:"payload"`
}

// NewCommand makes the entry for a payload; wall is the leader's time in ms.
func NewCommand(p Payload, wall int64) (Command, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return Command{}, fmt.Errorf("write a %s command: %w", p.kind(), err)
	}
	return Command{Format: formatOf(p.kind()), Kind: p.kind(), Wall: wall, Payload: b}, nil
}

// formatOf is the version of commands in which a kind appeared.
func formatOf(k Kind) int {
	switch k {
	case KindRepeat, KindAgain, KindEndLoop:
		return 2
	}
	return 1
}

// Open makes the oldest submission with this request id a job (or a compaction,
// which does not queue).
type Open struct {
	Spec jobs.Spec `json:"spec"`
}

// Refuse drops a submission that cannot be planned.
type Refuse struct {
	RequestID string `json:"request_id"`
	Error     string `json:"error"`
}

// Grant gives a task to a worker as a new attempt.
type Grant struct {
	Task   jobs.TaskRef `json:"task"`
	Worker string       `json:"worker"`
}

// Complete ends a task. Only the newest attempt is heard.
type Complete struct {
	jobs.AttemptRef
	Result jobs.Result `json:"result"`
}

// Fail ends an attempt without a result.
type Fail struct {
	jobs.AttemptRef
	Error string `json:"error"`
	// Parsing is what was being parsed when the lease was lost.
	Parsing []string `json:"parsing,omitempty"`
	// Excused failures count for nothing: a drain, or a lease that never began.
	Excused bool `json:"excused,omitempty"`
}

// Advance moves a job whose tasks are all done to its next stage.
type Advance struct {
	Job   uint64     `json:"job"`
	Stage jobs.Stage `json:"stage"` // the one that is over
}

// Block says that a job cannot go on by itself.
type Block struct {
	Job uint64 `json:"job"`
}

// Close gives the failed fetch tasks of a round their closing attempts.
type Close struct {
	Job uint64 `json:"job"`
}

// Publish says that the commit of a job is being put: it cannot be cancelled
// any more.
type Publish struct {
	Job     uint64  `json:"job"`
	Outcome Outcome `json:"outcome"`
}

// Committed says that a job's commit object is there.
type Committed struct {
	Job    uint64           `json:"job"`
	Commit uint64           `json:"commit"`
	Counts map[string]int64 `json:"counts,omitempty"`
}

// JobRef names a job by its number or, when that is 0, by its request id:
// before it is planned a job has no number.
type JobRef struct {
	Job       uint64 `json:"job,omitempty"`
	RequestID string `json:"request_id,omitempty"`
}

func (r JobRef) String() string {
	if r.Job != 0 {
		return fmt.Sprintf("job %d", r.Job)
	}
	return fmt.Sprintf("request %q", r.RequestID)
}

// Cancel is a hard stop and a commit, or drops the job.
type Cancel struct {
	JobRef
	Discard bool `json:"discard,omitempty"`
}

// Rerun gives failed tasks their attempts back.
type Rerun struct {
	Job uint64 `json:"job"`
	// Partitions chooses the tasks that hold one of them; empty: all failed.
	Partitions []uint16 `json:"partitions,omitempty"`
}

// CommitPartial lets a blocked round end without what failed.
type CommitPartial struct {
	Job uint64 `json:"job"`
}

// Join makes a worker known.
type Join struct {
	Worker string `json:"worker"`
}

// Leave forgets a worker and frees what it held.
type Leave struct {
	Worker string `json:"worker"`
}

// Takeover is what a new leader found in the store.
type Takeover struct {
	Epoch uint64    `json:"epoch"`
	Open  []OpenJob `json:"open"`
	// Quiet, unless 0, says that nothing may be granted yet, since another group may
	// have leases; and until when by the wall clock of who took over, ms.
	Quiet int64 `json:"quiet,omitempty"`
	// Ended are the newest jobs that were committed before the log began, oldest
	// first.
	Ended []Summary `json:"ended,omitempty"`
}

// Raise says that every member knows commands up to a format.
type Raise struct {
	Format int `json:"format"`
}

// OpenJob is a job whose spec is in the store and whose commit is not.
type OpenJob struct {
	Spec jobs.Spec `json:"spec"`
	// Done are the results of tasks whose end is in the store, by task index.
	Done map[jobs.Stage]map[int]jobs.Result `json:"done,omitempty"`
	// Highest is the highest attempt number that the store shows for a task,
	// of any epoch: in its log or among its keys. New attempts are above.
	Highest map[jobs.Stage]map[int]uint64 `json:"highest,omitempty"`
	// Deaths counts, for URLs that were being parsed when a process died, the
	// deaths, by fetch task: what an embedded node can only know from scratch.
	Deaths map[int]map[string]int `json:"deaths,omitempty"`
}

func (Submission) kind() Kind    { return KindSubmit }
func (Open) kind() Kind          { return KindOpen }
func (Refuse) kind() Kind        { return KindRefuse }
func (Grant) kind() Kind         { return KindGrant }
func (Complete) kind() Kind      { return KindComplete }
func (Fail) kind() Kind          { return KindFail }
func (Advance) kind() Kind       { return KindAdvance }
func (Block) kind() Kind         { return KindBlock }
func (Close) kind() Kind         { return KindClose }
func (Publish) kind() Kind       { return KindPublishing }
func (Committed) kind() Kind     { return KindCommitted }
func (Cancel) kind() Kind        { return KindCancel }
func (Rerun) kind() Kind         { return KindRerun }
func (CommitPartial) kind() Kind { return KindPartial }
func (Join) kind() Kind          { return KindJoin }
func (Leave) kind() Kind         { return KindLeave }
func (Takeover) kind() Kind      { return KindTakeover }
func (Raise) kind() Kind         { return KindRaise }
