package leader

import (
	"context"
	"fmt"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/jobs"
	"seine/jobs/worker"
)

// hear notes that a worker spoke, and says when. It fails while nobody leads.
func (l *Leader) hear(id string) (mono int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.leading && l.trouble != "" {
		return 0, fmt.Errorf("%w (%s)", api.ErrNotLeader, l.trouble)
	}
	if !l.leading {
		return 0, api.ErrNotLeader
	}
	mono = l.mono()
	if _, known := l.heard[id]; known {
		l.heard[id] = mono
	}
	return mono, nil
}

// Claim implements worker.Conn.
func (l *Leader) Claim(ctx context.Context, ask worker.Claim) ([]jobs.Task, error) {
	if ask.Worker == "" || ask.Fetch < 0 || ask.Other < 0 {
		return nil, fmt.Errorf("claim of worker %q: %w", ask.Worker, api.ErrBadRequest)
	}
	if err := l.join(ctx, ask.Worker); err != nil {
		return nil, err
	}
	c := &claim{Claim: ask, done: make(chan struct{})}
	l.mu.Lock()
	if !l.leading {
		l.mu.Unlock()
		return nil, api.ErrNotLeader
	}
	l.claims = append(l.claims, c)
	l.change()
	l.mu.Unlock()

	t := time.NewTimer(pollTime)
	defer t.Stop()
	select {
	case <-c.done:
	case <-t.C:
	case <-ctx.Done():
	}
	l.mu.Lock()
	l.dropClaim(c)
	tasks := c.tasks
	l.mu.Unlock()
	if ctx.Err() != nil {
		l.giveBack(ctx, ask.Worker, tasks)
		return nil, ctx.Err()
	}
	return tasks, nil
}

// join makes a worker known that is not.
func (l *Leader) join(ctx context.Context, id string) error {
	if _, err := l.hear(id); err != nil {
		return err
	}
	known := false
	l.node.View(func(s *state.State) { known = s.Workers[id] != nil })
	if !known {
		if _, err := l.apply(ctx, state.Join{Worker: id}); err != nil {
			return fmt.Errorf("join worker %s: %w", id, err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leading {
		l.heard[id] = l.mono()
	}
	return nil
}

// giveBack frees tasks that were granted to a claim whose caller has gone. If
// it cannot, their leases lapse.
func (l *Leader) giveBack(ctx context.Context, id string, tasks []jobs.Task) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	for _, t := range tasks {
		err := l.Fail(ctx, worker.Failure{Worker: id, AttemptRef: t.AttemptRef(),
			Error: "the worker was gone before it got the task", Drained: true})
		if err != nil {
			l.log.Warn("take a task back", "task", t.AttemptRef().String(), "error", err)
		}
	}
}

// Heartbeat implements worker.Conn.
func (l *Leader) Heartbeat(ctx context.Context, h worker.Heartbeat) (worker.Orders, error) {
	came, err := l.hear(h.Worker)
	if err != nil {
		return worker.Orders{}, err
	}
	if err := l.node.Verify(ctx); err != nil {
		return worker.Orders{}, away(err)
	}
	orders := worker.Orders{Tasks: make([]worker.Order, len(h.Tasks)),
		Deadlines: make([]int64, len(h.Tasks))}
	wall := l.wall()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.leading {
		return worker.Orders{}, api.ErrNotLeader
	}
	if l.dazed() {
		return worker.Orders{}, fmt.Errorf("%w: it was stopped, and looks first whether the crawl is "+
			"still its group's", api.ErrUnavailable)
	}
	l.node.View(func(s *state.State) {
		for i, b := range h.Tasks {
			orders.Tasks[i] = l.renew(s, h.Worker, b, came, wall)
			if j, ok := s.Job(b.Job); ok && b.Stage == jobs.StageFetch {
				orders.Deadlines[i] = j.Deadline
			}
		}
	})
	orders.Settings = l.settings.Version
	l.change()
	return orders, nil
}

// renew extends one lease from when the heartbeat came, unless it has lapsed or
// the task is not the worker's any more. The caller holds mu.
func (l *Leader) renew(s *state.State, id string, b worker.Beat, came, wall int64) worker.Order {
	j, t, ok := s.Task(b.TaskRef)
	le := l.leases[b.AttemptRef]
	if !ok || le == nil || t.Attempt != b.Attempt || t.Phase != state.InProgress ||
		t.Worker != id || j.Phase == state.Publishing {
		return worker.Lost
	}
	if le.lapsed || l.mono() >= le.until {
		le.lapsed = true
		return worker.Lost
	}
	le.began = true
	le.until = max(le.until, came+worker.LeaseTime.Milliseconds())
	l.reports[b.TaskRef] = b.Report
	switch {
	case s.Held(j):
		return worker.Hold
	case j.Stopped(wall):
		return worker.Stop
	}
	return worker.Continue
}

// Complete implements worker.Conn.
func (l *Leader) Complete(ctx context.Context, c worker.Completion) error {
	if _, err := l.hear(c.Worker); err != nil {
		return err
	}
	_, err := l.apply(ctx, state.Complete{AttemptRef: c.AttemptRef, Result: c.Result})
	if err == nil {
		l.forgetTask(c.AttemptRef)
	}
	return err
}

// Fail implements worker.Conn.
func (l *Leader) Fail(ctx context.Context, f worker.Failure) error {
	if _, err := l.hear(f.Worker); err != nil {
		return err
	}
	_, err := l.apply(ctx, state.Fail{AttemptRef: f.AttemptRef, Error: f.Error, Excused: f.Drained})
	if err == nil {
		l.forgetTask(f.AttemptRef)
	}
	return err
}

// Leave implements worker.Conn.
func (l *Leader) Leave(ctx context.Context, p worker.Leave) error {
	if _, err := l.hear(p.Worker); err != nil {
		return err
	}
	if _, err := l.apply(ctx, state.Leave{Worker: p.Worker}); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.heard, p.Worker)
	return nil
}
