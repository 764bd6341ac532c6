package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seine/jobs"
)

// lapseCheck is how often a lease that nobody asks is looked at.
const lapseCheck = 250 * time.Millisecond

// held is a task between its claim and its end.
type held struct {
	task     jobs.Task
	progress Progress

	ready *signal // lease is set: the first heartbeat was acknowledged
	gone  *signal // the task was lost before that
	lease *Lease  // written by obey only, before ready
}

func newHeld(t jobs.Task) *held {
	return &held{task: t, ready: newSignal(), gone: newSignal()}
}

// obey does what the answer to a heartbeat sent at the reading orders. Calls
// follow one another.
func (h *held) obey(clock Clock, o Order, live Live, sent Reading) {
	switch {
	case o == Continue || o == Stop || o == Hold:
		if h.lease == nil {
			h.lease = NewLease(clock, sent)
			h.lease.Change(live)
			h.ready.fire()
		} else {
			h.lease.Renew(sent)
			h.lease.Change(live)
		}
		if o == Stop {
			h.lease.HardStop()
		}
	case h.lease == nil: // Lost, or an order of a newer coordinator
		h.gone.fire()
	default:
		h.lease.Revoke()
	}
}

// live runs a task once its lease has begun, and reports how it ended.
func (c *crew) live(ctx context.Context, h *held) {
	select {
	case <-h.ready.c:
	case <-h.gone.c:
		return
	case <-c.Drain:
		c.report(ctx, h, jobs.Result{}, jobs.ErrDrained)
		return
	case <-ctx.Done():
		return
	}
	run, ok := c.runners[h.task.Stage]
	if !ok {
		err := fmt.Errorf("worker %s runs no %s tasks: use a newer seine", c.ID, h.task.Stage)
		c.report(ctx, h, jobs.Result{}, err)
		return
	}
	task, end := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.guard(task, h, end)
	}()
	result, err := run(task, h.task, h.lease, &h.progress)
	if err != nil && ctx.Err() == nil && task.Err() != nil {
		err = context.Cause(task)
	}
	end(nil)
	<-ended
	c.report(ctx, h, result, err)
}

// guard watches over a running task: it notices a lapse that nobody asks
// about, passes the drain on, and ends what can be done again.
func (c *crew) guard(task context.Context, h *held, end context.CancelCauseFunc) {
	tick := time.NewTicker(lapseCheck)
	defer tick.Stop()
	lost, drain := h.lease.Lost(), c.Drain
	for {
		select {
		case <-tick.C:
			_ = h.lease.Gate() // closes Lost when the lease has lapsed
		case <-lost:
			if h.task.Stage.Function() {
				end(jobs.ErrLeaseLost)
			}
			lost = nil
		case <-drain:
			h.lease.BeginDrain()
			if h.task.Stage.Function() {
				end(jobs.ErrDrained)
			}
			drain = nil
		case <-task.Done():
			return
		}
	}
}

func (c *crew) draining() bool {
	select {
	case <-c.Drain:
		return true
	default:
		return false
	}
}

// report tells the coordinator how a task ended, until it knows.
func (c *crew) report(ctx context.Context, h *held, result jobs.Result, err error) {
	ref := h.task.AttemptRef()
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, jobs.ErrStaleAttempt), errors.Is(err, jobs.ErrLeaseLost):
		c.Log.Info("task is somebody else's", "task", ref.String(), "why", err)
		return
	case err != nil:
		c.Log.Warn("task gave up", "task", ref.String(), "error", err)
	}
	send := func() error {
		if err == nil {
			return c.conn.Complete(ctx, Completion{c.ID, ref, result})
		}
		return c.conn.Fail(ctx, Failure{c.ID, ref, err.Error(), errors.Is(err, jobs.ErrDrained)})
	}
	var pause backoff
	var until time.Time // a worker that drains need not wait for ever
	for {
		sent := send()
		if sent == nil || errors.Is(sent, jobs.ErrStaleAttempt) || ctx.Err() != nil {
			return
		}
		c.Log.Warn("report the end of a task", "task", ref.String(), "error", sent)
		if c.draining() {
			if until.IsZero() {
				until = time.Now().Add(LeaseTime)
			}
			if !time.Now().Before(until) {
				return // the lease has lapsed: the coordinators, if there are any, know
			}
		}
		pause.wait(ctx)
	}
}
