// Package state is what the coordinators agree on: the open jobs with their
// tasks and attempts, what waits to become a job, the workers, and summaries of
// the last jobs that ended. It changes by commands alone; Apply is a pure
// function of the state and a command, so that every coordinator comes to the
// same state from the same log. No heartbeats, chunks, URLs or leases are in it.
//
// The life of a writing job, one at a time, others queued in order:
//
//	submit ─▶ queue ─open─▶ running ─advance─▶ … ─publishing─▶ publishing ─committed─▶ summary
//	                          │  ▲                ▲
//	               failed for good  rerun         cancel, discard
//	                          ▼  │                │
//	                        blocked ──commit──────┘
//
// The life of a task: waiting → running → done; a failure, a lost lease or a
// drain brings it back to waiting; too many failures to failed. Attempts are
// (epoch, n) and never fall.
//
// The types are plain values without locks: whoever shares a State guards it.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"seine/formats/layout"
	"seine/jobs"
)

const (
	// Tries is how many attempts at a task may fail.
	Tries = 3
	// Summaries is how many ended jobs are remembered.
	Summaries = 16
	// QueueLimit bounds what may wait to become a job.
	QueueLimit = 256
)

var (
	// ErrNoJob: no such job is open or remembered.
	ErrNoJob = errors.New("no such job")
	// ErrPhase: the job is past (or before) what was asked.
	ErrPhase = errors.New("the job is not in a state for this")
	// ErrRefused: what was submitted cannot become a job.
	ErrRefused = errors.New("the job is refused")
)

// Phase is where an open job stands.
type Phase string

// The phases of an open job.
const (
	Running    Phase = "running"
	Blocked    Phase = "blocked" // a task failed for good; somebody must decide
	Publishing Phase = "publishing"
)

// Outcome is what the commit of a job does, or how a job ended.
type Outcome string

// The outcomes of a job.
const (
	Commit  Outcome = "commit"
	Discard Outcome = "discard" // a commit that changes nothing
	Refused Outcome = "refused" // never became a job
)

// Phase of a task.
const (
	Waiting    TaskPhase = "waiting"
	InProgress TaskPhase = "running"
	Done       TaskPhase = "done"
	Failed     TaskPhase = "failed"
)

// TaskPhase is where a task stands.
type TaskPhase string

// State is all that is replicated.
type State struct {
	// Format is the version of the commands that may be proposed: all members
	// know it.
	Format  int                `json:"format"`
	Epoch   uint64             `json:"epoch"`
	Quiet   int64              `json:"quiet,omitempty"` // ms; nothing is granted before; 0: something was
	Clock   int64              `json:"clock"`           // ms; the newest wall time of a command
	LastNow int64              `json:"last_now"`        // ms; the newest `now` of a spec
	LastJob uint64             `json:"last_job"`
	Open    []*Job             `json:"open"`  // the first is worked on
	Queue   []Submission       `json:"queue"` // not yet planned, oldest first
	Loops   []*Looping         `json:"loops,omitempty"`
	Workers map[string]*Worker `json:"workers"`
	Ended   []Summary          `json:"ended"` // at most Summaries, oldest first
	Paused  *Pause             `json:"paused,omitempty"`
}

// New is the state before the first command.
func New() *State { return &State{Format: 1, Workers: map[string]*Worker{}} }

// Submission asks for a job. It becomes one, with a number, when it is planned,
// which is when no other writing job is open.
type Submission struct {
	// RequestID makes submitting repeatable: the same id is the same job.
	RequestID string        `json:"request_id"`
	Kind      jobs.Kind     `json:"kind"`
	Settings  uint64        `json:"settings,omitempty"` // version; 0: the newest
	Round     *jobs.Round   `json:"round,omitempty"`
	Inject    *jobs.Inject  `json:"inject,omitempty"`
	Requeue   *jobs.Requeue `json:"requeue,omitempty"`
	Restore   *jobs.Restore `json:"restore,omitempty"`
	Prune     *jobs.Prune   `json:"prune,omitempty"`
	Compact   *jobs.Compact `json:"compact,omitempty"`
}

// Worker is a worker that is known.
type Worker struct {
	ID     string `json:"id"`
	Joined int64  `json:"joined"` // ms
}

// Job is an open writing job.
type Job struct {
	Spec    jobs.Spec             `json:"spec"`
	Opened  int64                 `json:"opened"` // ms
	Phase   Phase                 `json:"phase"`
	Outcome Outcome               `json:"outcome"` // what publishing will do
	Stage   jobs.Stage            `json:"stage"`
	Since   int64                 `json:"since"` // ms; when the stage began
	Tasks   map[jobs.Stage][]Task `json:"tasks"` // of the stages that began
	// Deadline is the hard stop of fetching, ms; 0: not fetching yet.
	Deadline int64 `json:"deadline,omitempty"`
	// HeldAt is since when a pause makes the clock stand, ms; 0: it runs.
	HeldAt    int64 `json:"held_at,omitempty"`
	Cancelled bool  `json:"cancelled,omitempty"`
	// Partial gives failed fetch tasks a closing attempt where the round would
	// block.
	Partial bool   `json:"partial,omitempty"`
	Error   string `json:"error,omitempty"` // why it is given up
}

// Task is one task of an open job.
type Task struct {
	Phase    TaskPhase      `json:"phase"`
	Attempt  layout.Attempt `json:"attempt"`          // the newest; zero: none yet
	Worker   string         `json:"worker,omitempty"` // who has it, or had it last
	Failures int            `json:"failures,omitempty"`
	// NotBefore is when a failed task may be tried again, ms.
	NotBefore int64 `json:"not_before,omitempty"`
	// Closing: what is there is sealed, and the rest waits again.
	Closing bool `json:"closing,omitempty"`
	// GaveUp: it failed its last attempt and was closed for that.
	GaveUp bool        `json:"gave_up,omitempty"`
	Error  string      `json:"error,omitempty"` // of the last failure
	Result jobs.Result `json:"result"`
	// Deaths counts, for what was being parsed when an attempt was lost, the
	// attempts; two make a suspect.
	Deaths map[string]int `json:"deaths,omitempty"`
}

// Summary is what is remembered of a job that ended.
type Summary struct {
	Job       uint64           `json:"job,omitempty"` // 0: it never became one
	RequestID string           `json:"request_id"`
	Kind      jobs.Kind        `json:"kind"`
	Outcome   Outcome          `json:"outcome"`
	Commit    uint64           `json:"commit,omitempty"` // the snapshot that holds it
	Now       int64            `json:"now,omitempty"`    // ms; of the spec
	Opened    int64            `json:"opened,omitempty"` // ms
	Ended     int64            `json:"ended"`            // ms
	Cancelled bool             `json:"cancelled,omitempty"`
	Counts    map[string]int64 `json:"counts,omitempty"`
	// Partial lists the fetch tasks that failed and were closed: their rest
	// waits again.
	Partial []layout.Range `json:"partial,omitempty"`
	Error   string         `json:"error,omitempty"`
}

// Writing is the job that is worked on, or nil.
func (s *State) Writing() *Job {
	if len(s.Open) == 0 {
		return nil
	}
	return s.Open[0]
}

// Job finds an open job by its number.
func (s *State) Job(number uint64) (*Job, bool) {
	i := slices.IndexFunc(s.Open, func(j *Job) bool { return j.Spec.Job == number })
	if i < 0 {
		return nil, false
	}
	return s.Open[i], true
}

// Task finds a task of an open job.
func (s *State) Task(ref jobs.TaskRef) (*Job, *Task, bool) {
	j, ok := s.Job(ref.Job)
	if !ok {
		return nil, nil, false
	}
	tasks := j.Tasks[ref.Stage]
	if ref.Index < 0 || ref.Index >= len(tasks) {
		return nil, nil, false
	}
	return j, &tasks[ref.Index], true
}

// Current are the tasks of the stage that the job is in.
func (j *Job) Current() []Task { return j.Tasks[j.Stage] }

// Suspects are the URLs at which two attempts of a task died, sorted.
func (t *Task) Suspects() []string {
	var urls []string
	for url, n := range t.Deaths {
		if n >= 2 {
			urls = append(urls, url)
		}
	}
	slices.Sort(urls)
	return urls
}

// Ends are the results of the stages that are over, by task.
func (j *Job) Ends() map[jobs.Stage][]jobs.Result {
	ends := map[jobs.Stage][]jobs.Result{}
	for stage, tasks := range j.Tasks {
		results := make([]jobs.Result, len(tasks))
		done := true
		for i, t := range tasks {
			results[i] = t.Result
			done = done && t.Phase == Done
		}
		if done {
			ends[stage] = results
		}
	}
	return ends
}

// Assignment is the task as its worker gets it. Stages that come later are no
// inputs.
func (j *Job) Assignment(index int) jobs.Task {
	t := &j.Current()[index]
	task := jobs.Task{
		Spec: j.Spec, Stage: j.Stage, Index: index, Range: j.Spec.Ranges[index],
		Attempt: t.Attempt, Closing: t.Closing, Suspects: t.Suspects(),
		Inputs: map[jobs.Stage][]layout.Key{},
	}
	if j.Stage == jobs.StageFetch {
		task.Deadline = j.Deadline
	}
	for stage, results := range j.Ends() {
		if stage == j.Stage {
			continue
		}
		for _, r := range results {
			task.Inputs[stage] = append(task.Inputs[stage], r.End)
		}
	}
	return task
}

// Snapshot writes the state as JSON.
func (s *State) Snapshot() ([]byte, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write the coordinator's state: %w", err)
	}
	return b, nil
}

// Restore reads a snapshot. A format that is not known is an error.
func Restore(b []byte) (*State, error) {
	s := New()
	s.Format = 0
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("read the coordinator's state: %w", err)
	}
	if s.Format < 1 || s.Format > Format {
		return nil, fmt.Errorf("the coordinator's state has format %d, known is %d: "+
			"use a newer seine", s.Format, Format)
	}
	if s.Workers == nil {
		s.Workers = map[string]*Worker{}
	}
	return s, nil
}
