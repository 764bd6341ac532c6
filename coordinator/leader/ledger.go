package leader

import (
	"context"
	"errors"
	"time"

	"seine/coordinator/state"
	"seine/jobs"
)

var (
	// ErrExists: another spec has the job's number already.
	ErrExists = errors.New("another job has this number")
	// ErrStepDown: another group of coordinators has the crawl.
	ErrStepDown = errors.New("another group of coordinators has taken the crawl over")
	// ErrHeld: another node has the crawl, and may work on it.
	ErrHeld = errors.New("the crawl is in other hands")
	// ErrDamaged: the store holds what cannot be read, and trying again will not
	// help.
	ErrDamaged = errors.New("the store is damaged: see seine check")
)

// Ledger is the coordinator's only view of the object store: specs and commits,
// no data. Whoever wires the process fills it. Every call may be repeated, also
// after an error that came when the write had happened. Errors that wrap
// ErrStepDown or ErrDamaged end the leader; those of Plan that wrap
// state.ErrRefused end the submission; others are tried again.
type Ledger interface {
	// Open reads the store when a leader begins: its epoch, and the jobs whose
	// spec is there and whose commit is not. What their tasks left is read but of
	// those that are known: their log of commands says more, and a leader that
	// follows another must answer within seconds.
	Open(ctx context.Context, known func(job uint64) bool) (epoch uint64, open []state.OpenJob,
		err error)
	// Ended are the newest jobs that were committed, at most state.Summaries,
	// oldest first: what a log that begins must know of requests.
	Ended(ctx context.Context) ([]state.Summary, error)
	// TakeOver begins an epoch: one above the store's, for the caller's group
	// alone. From then on no other group can commit.
	TakeOver(ctx context.Context) (epoch uint64, err error)
	// Epoch reads the store's epoch; it is cheap.
	Epoch(ctx context.Context) (uint64, error)
	// Plan makes a submission a job: it fixes the base snapshot (the newest),
	// the ranges and the settings' version. The number is the highest spec's
	// + 1, and now is at least the draft's and a second above that spec's.
	Plan(ctx context.Context, d Draft) (jobs.Spec, error)
	// PutSpec puts a spec, if absent. A spec that is there under this number
	// with the same request id is fine and is returned: it is the one that
	// counts. One of another request is ErrExists.
	PutSpec(ctx context.Context, spec jobs.Spec) (jobs.Spec, error)
	// Publish puts the job's commit, merging what its ends say, and says which
	// snapshot holds it. If the commit is there already it is found.
	Publish(ctx context.Context, p Publication) (Published, error)
	// Due says whether anything is due in the newest snapshot and, if not, when the
	// first URL that was put off to its domain's slot is, ms; 0: none was.
	Due(ctx context.Context) (due bool, next int64, err error)
	// CompactNext picks the upkeep that is due at the newest snapshot, a
	// compaction or a prune job, or nil. Kind and its field are filled.
	CompactNext(ctx context.Context) (*state.Submission, error)
	// Settings reads the newest version of the settings, and its pause. known is
	// the newest version that was read before, 0: none; looking whether there is
	// a newer one is cheap.
	Settings(ctx context.Context, known uint64) (Settings, error)
}

// Settings is what the coordinator heeds of the crawl's settings.
type Settings struct {
	Version uint64
	Paused  *state.Pause // nil: nothing is
	// Again is the least time until looking again is worth a request; 0: any. It is
	// longer where requests are paid for: there who changes settings tells the leader.
	Again time.Duration
}

// Draft is a submission that is about to be planned.
type Draft struct {
	state.Submission
	Epoch   uint64
	Now     int64 // ms; max(last + 1 s, wall)
	Workers int   // how many are known; at least 1
}

// Publication is a job that has come to its commit.
type Publication struct {
	Spec    jobs.Spec
	Epoch   uint64 // of the leader; the spec may be of an older one
	Outcome state.Outcome
	// Ends are the results of the job's stages that are over, by task index.
	// With state.Discard they count for nothing.
	Ends map[jobs.Stage][]jobs.Result
}

// Published is the commit of a job.
type Published struct {
	Commit uint64
	Counts map[string]int64 // for the summary
}
