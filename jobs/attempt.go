package jobs

import (
	"errors"
	"fmt"

	"seine/formats/layout"
)

var (
	// ErrStaleAttempt: a newer attempt has the task, or the task is over.
	// Whoever meets it stops and reports nothing.
	ErrStaleAttempt = errors.New("a newer attempt has the task")
	// ErrLeaseLost: the time for which the task was lent is over. No request
	// may leave any more; sealing may go on.
	ErrLeaseLost = errors.New("the lease of the task is lost")
	// ErrDrained: the worker was asked to end, and the task was given back
	// before its end. It counts as no failure.
	ErrDrained = errors.New("the task was given back because its worker ends")
)

// TaskRef names a task; it is comparable.
type TaskRef struct {
	Job   uint64 `json:"job"`
	Stage Stage  `json:"stage"`
	Index int    `json:"index"`
}

// String prints the name as job/stage/index.
func (r TaskRef) String() string { return fmt.Sprintf("%d/%s/%d", r.Job, r.Stage, r.Index) }

// Ref is the task's name.
func (t Task) Ref() TaskRef { return TaskRef{t.Spec.Job, t.Stage, t.Index} }

// AttemptRef names one attempt at a task.
type AttemptRef struct {
	TaskRef
	Attempt layout.Attempt `json:"attempt"`
}

// String prints the name as job/stage/index/attempt.
func (r AttemptRef) String() string { return r.TaskRef.String() + "/" + r.Attempt.String() }

// AttemptRef is the name of the attempt that the task is handed out as.
func (t Task) AttemptRef() AttemptRef { return AttemptRef{t.Ref(), t.Attempt} }
