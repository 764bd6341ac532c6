// Package api is what a coordinator answers, to workers, to commands and to
// readers: the requests, the answers, the interface, and the HTTP paths. The
// same interface is had in the process (leader) and over HTTP (client, server).
//
// Numbers of jobs are given when a job is planned; before that it is named by
// its request id. Times are milliseconds since 1970. The types are plain values.
package api

import (
	"context"

	"seine/coordinator/state"
	"seine/formats/layout"
	"seine/jobs"
	"seine/jobs/worker"
)

// Conn is a coordinator. Errors wrap ErrNotLeader, ErrUnavailable,
// state.ErrNoJob, state.ErrPhase, state.ErrRefused or jobs.ErrStaleAttempt
// where that is what went wrong.
type Conn interface {
	worker.Conn
	// Submit asks for a job. Doing it twice with one request id is doing it
	// once, as long as the coordinator remembers the job.
	Submit(ctx context.Context, s state.Submission) (Submitted, error)
	// Status says where the crawl stands.
	Status(ctx context.Context) (Status, error)
	// Jobs lists the ended, the open and the queued jobs, in this order.
	Jobs(ctx context.Context) ([]Job, error)
	// Watch returns the job when its version is above after, or after a while
	// as it is. With after 0 it returns at once. A job that is over will not
	// change any more.
	Watch(ctx context.Context, ref state.JobRef, after uint64) (Job, error)
	// Cancel stops fetching at once and commits what there is, or discards it.
	Cancel(ctx context.Context, c state.Cancel) error
	// Rerun tries failed tasks again.
	Rerun(ctx context.Context, r state.Rerun) error
	// Commit lets a blocked round end without what failed.
	Commit(ctx context.Context, c state.CommitPartial) error
	// Repeat begins a loop of rounds. Doing it twice with one request id is doing
	// it once.
	Repeat(ctx context.Context, l state.Loop) error
	// EndLoop ends a loop; a round of it that runs goes on to its end.
	EndLoop(ctx context.Context, l state.EndLoop) error
	// Heed says that a version of the settings has been put. When it returns,
	// the coordinator has read it: a pause holds, and the workers hear of the
	// rest with their next heartbeats. Without it the coordinator finds the
	// version by itself, a little later.
	Heed(ctx context.Context, s Settings) error
}

// Settings names a version of the settings.
type Settings struct {
	Version uint64 `json:"version"`
}

// Submitted answers a submit.
type Submitted struct {
	Job uint64 `json:"job"` // 0: it is queued
}

// Status is where a crawl stands.
type Status struct {
	Epoch   uint64   `json:"epoch"`
	Workers []Worker `json:"workers"`
	Open    []Job    `json:"open"`   // the first is worked on
	Queued  []Job    `json:"queued"` // oldest first
	// Loops submit rounds when it is their time.
	Loops []state.Looping `json:"loops,omitempty"`
	// Idle: nothing is open, queued, or about to be compacted.
	Idle bool `json:"idle"`
	// Settings is the newest version of the settings that the coordinator knows.
	Settings uint64       `json:"settings,omitempty"`
	Paused   *state.Pause `json:"paused,omitempty"`
	// Trouble is what the coordinator tries in vain at the moment.
	Trouble string `json:"trouble,omitempty"`
}

// Worker is a worker that the coordinator knows.
type Worker struct {
	ID      string `json:"id"`
	Joined  int64  `json:"joined"`   // ms
	HeardMS int64  `json:"heard_ms"` // ago
	Tasks   int    `json:"tasks"`    // that it has now
}

// Where a job stands, beside the phases of an open one.
const (
	Queued state.Phase = "queued"
	Ended  state.Phase = "ended"
)

// Job is a job in any phase of its life.
type Job struct {
	Version   uint64           `json:"version"` // rises whenever something changes
	Job       uint64           `json:"job"`     // 0: not planned yet
	RequestID string           `json:"request_id"`
	Kind      jobs.Kind        `json:"kind"`
	Phase     state.Phase      `json:"phase"`
	Outcome   state.Outcome    `json:"outcome,omitempty"` // planned, or when ended: real
	Stage     jobs.Stage       `json:"stage,omitempty"`
	Stages    []Stage          `json:"stages,omitempty"` // of an open job, those that began
	Spec      *jobs.Spec       `json:"spec,omitempty"`   // of an open job
	Opened    int64            `json:"opened,omitempty"`
	Since     int64            `json:"since,omitempty"`    // when the stage began
	Deadline  int64            `json:"deadline,omitempty"` // hard stop of fetching
	Ended     int64            `json:"ended,omitempty"`
	Held      bool             `json:"held,omitempty"` // a pause holds it
	Cancelled bool             `json:"cancelled,omitempty"`
	Commit    uint64           `json:"commit,omitempty"` // the snapshot that holds it
	Counts    map[string]int64 `json:"counts,omitempty"` // of an ended job
	Partial   []layout.Range   `json:"partial,omitempty"`
	Error     string           `json:"error,omitempty"`
}

// Over says whether the job has ended.
func (j Job) Over() bool { return j.Phase == Ended }

// Stage is one stage of an open job.
type Stage struct {
	Stage  jobs.Stage       `json:"stage"`
	Counts map[string]int64 `json:"counts,omitempty"` // summed over the tasks
	Tasks  []Task           `json:"tasks"`
}

// Done is how many tasks have ended well.
func (s Stage) Done() (n int) {
	for _, t := range s.Tasks {
		if t.Phase == state.Done {
			n++
		}
	}
	return n
}

// Task is one task of an open job. Counts are those of its result, or those of
// the last heartbeat while it runs.
type Task struct {
	Index    int              `json:"index"`
	Range    layout.Range     `json:"range"`
	Phase    state.TaskPhase  `json:"phase"`
	Attempt  layout.Attempt   `json:"attempt"`
	Worker   string           `json:"worker,omitempty"`
	Failures int              `json:"failures,omitempty"`
	Closing  bool             `json:"closing,omitempty"`
	Error    string           `json:"error,omitempty"`
	Counts   map[string]int64 `json:"counts,omitempty"`
	Note     string           `json:"note,omitempty"` // what it waits for
}
