package worker

import (
	"context"

	"seine/jobs"
)

// Conn is how a worker speaks with the coordinator. Errors that wrap
// jobs.ErrStaleAttempt are final; any other may be tried again.
type Conn interface {
	// Claim waits a while for tasks; none is no error. The lease of what it
	// returns begins with the first heartbeat.
	Claim(ctx context.Context, c Claim) ([]jobs.Task, error)
	// Heartbeat keeps the leases of the tasks that it names and says what to do
	// with each.
	Heartbeat(ctx context.Context, h Heartbeat) (Orders, error)
	// Complete reports the end of a task. Reporting it twice is no error.
	Complete(ctx context.Context, c Completion) error
	// Fail gives a task back.
	Fail(ctx context.Context, f Failure) error
	// Leave says that the worker ends; what it still holds is free again.
	Leave(ctx context.Context, l Leave) error
}

// Claim asks for tasks.
type Claim struct {
	Worker string `json:"worker"`
	// Fetch and Other are how many fetch tasks and other tasks the worker can
	// take now.
	Fetch int `json:"fetch"`
	Other int `json:"other"`
}

// Heartbeat is what a worker says of the tasks that it holds.
type Heartbeat struct {
	Worker string `json:"worker"`
	Tasks  []Beat `json:"tasks"`
}

// Beat is what a worker says of one task.
type Beat struct {
	jobs.AttemptRef
	Report
}

// Order says what to do with a task.
type Order string

// The orders that a heartbeat brings back.
const (
	Continue Order = "continue"
	Hold     Order = "hold" // paused: nothing starts, seal, keep the task; the hard stop waits
	Stop     Order = "stop" // the hard stop: no new requests, seal, end the task
	Lost     Order = "lost" // somebody else has the task, or nobody needs it
)

// Orders answers a heartbeat: one order a beat, in its order.
type Orders struct {
	Tasks []Order `json:"tasks"`
	// Deadlines are the hard stops of the tasks, ms, in the same order; 0: none.
	// A pause moves them.
	Deadlines []int64 `json:"deadlines,omitempty"`
	// Settings is the newest version of the settings that the coordinator knows;
	// 0: none. Its live part (blocks, delays, caps) holds for running tasks too.
	Settings uint64 `json:"settings,omitempty"`
}

// of is what the orders say of task i.
func (o Orders) of(i int) (Order, Live) {
	live := Live{Settings: o.Settings, Held: o.Tasks[i] == Hold}
	if i < len(o.Deadlines) {
		live.Deadline = o.Deadlines[i]
	}
	return o.Tasks[i], live
}

// Completion reports a task's result.
type Completion struct {
	Worker string `json:"worker"`
	jobs.AttemptRef
	Result jobs.Result `json:"result"`
}

// Failure gives a task back.
type Failure struct {
	Worker string `json:"worker"`
	jobs.AttemptRef
	Error string `json:"error"`
	// Drained: the worker ends; this is no failure of the task.
	Drained bool `json:"drained,omitempty"`
}

// Leave says that a worker ends.
type Leave struct {
	Worker string `json:"worker"`
}
