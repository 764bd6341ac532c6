package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/leader"
	"seine/jobs"
	"seine/jobs/worker"
)

// line is a process's way to the coordinators. It can be cut, for calls that are under
// way too.
type line struct {
	world   *world
	process *process

	mu     sync.Mutex
	cuts   int            // that hold now; they may overlap
	only   *coordinator   // whom it leads to alone; nil: to all
	slow   time.Duration  // how late answers to heartbeats come
	to     *group         // nil: the newest
	at     int            // who of the group answered last
	made   map[string]int // calls so far, by kind
	late   time.Duration  // for which answers to heartbeats were awaited, in all
	hidden attempts       // by a worker whose attempts have one number
}

func (w *world) newLine(p *process) *line {
	return &line{world: w, process: p, made: map[string]int{}, hidden: attempts{}}
}

// turn makes the line one to the newest group.
func (l *line) turn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = nil
}

// leadsTo is whom the line leads to; it stays so when another group takes the crawl over, until
// that one is gone.
func (l *line) leadsTo() (g *group, at int) {
	newest := l.world.newest()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to == nil || l.world.gone(l.to) {
		l.to = newest
	}
	return l.to, l.at
}

// cut begins a cut, or ends one.
func (l *line) cut(by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cuts += by
}

// pin makes the line lead to one coordinator alone; nil: to all.
func (l *line) pin(c *coordinator) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.only = c
}

// slowDown makes answers to heartbeats come late.
func (l *line) slowDown(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slow = by
}

func (l *line) slowness() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.slow
}

func (l *line) broken(c *coordinator) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cuts > 0 || l.only != nil && l.only != c
}

// waited is for how long answers to heartbeats were awaited, in all.
func (l *line) waited() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.late
}

// next is the fate of the next call of a kind.
func (l *line) next(kind string) fate {
	if !l.world.isStormy() {
		return fate{}
	}
	l.mu.Lock()
	n := l.made[kind]
	l.made[kind]++
	l.mu.Unlock()
	f := l.world.plan.ofCall(l.process.name, kind, n)
	if l.process == l.world.asker {
		f = l.world.plan.ofOrder(l.process.name, kind, n)
	}
	if f.before || f.after {
		l.world.struck()
	}
	return f
}

// The longest that an answer is waited for, as package client has it.
const (
	beatPatience  = 2 * time.Second
	pollPatience  = 14 * time.Second
	otherPatience = 12 * time.Second
)

var (
	errNobody = fmt.Errorf("no coordinator answers: %w", api.ErrUnavailable)
	errCut    = fmt.Errorf("the line is cut: %w", api.ErrUnavailable)
)

// over makes a call over the line, of one coordinator after another, beginning with who answered
// last: cut before, nothing happens; cut meanwhile, the answer is lost.
func over[R any](ctx context.Context, l *line, kind string, patience time.Duration,
	call func(context.Context, *leader.Leader) (R, error)) (got R, err error) {
	l.process.hold()
	g, at := l.leadsTo()
	err = errNobody
	for i := range g.members {
		at := (at + i) % len(g.members)
		if l.process.gone() {
			return got, errDead
		}
		got, err = reach(ctx, l, g.members[at], kind, patience, call)
		if err == nil || ctx.Err() != nil ||
			!errors.Is(err, api.ErrNotLeader) && !errors.Is(err, api.ErrUnavailable) {
			l.mu.Lock()
			l.at = at
			l.mu.Unlock()
			break
		}
	}
	l.process.hold()
	return got, err
}

// reach calls one coordinator. One that is stopped hears the call when it wakes.
func reach[R any](ctx context.Context, l *line, c *coordinator, kind string, patience time.Duration,
	call func(context.Context, *leader.Leader) (R, error)) (none R, err error) {
	f := l.next(kind)
	if f.before || l.broken(c) {
		return none, errCut
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	type answer struct {
		got R
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		c.process.hold()
		got, err := call(ctx, c.leader)
		c.process.hold()
		answered <- answer{got, err}
	}()
	select {
	case a := <-answered:
		if f.after || l.broken(c) {
			return none, errCut
		}
		return a.got, a.err
	case <-ctx.Done():
		return none, errNobody
	}
}

// Claim implements worker.Conn.
func (l *line) Claim(ctx context.Context, c worker.Claim) ([]jobs.Task, error) {
	tasks, err := over(ctx, l, "claim", pollPatience,
		func(ctx context.Context, to *leader.Leader) ([]jobs.Task, error) { return to.Claim(ctx, c) })
	if l.world.flaw.oneAttempt {
		l.mu.Lock()
		defer l.mu.Unlock()
		for i := range tasks {
			l.hidden.hide(&tasks[i])
		}
	}
	return tasks, err
}

// real is which attempt is meant.
func (l *line) real(ref jobs.AttemptRef) jobs.AttemptRef {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hidden.real(ref)
}

// Heartbeat implements worker.Conn.
func (l *line) Heartbeat(ctx context.Context, h worker.Heartbeat) (worker.Orders, error) {
	for i := range h.Tasks {
		h.Tasks[i].AttemptRef = l.real(h.Tasks[i].AttemptRef)
	}
	began := time.Now()
	orders, err := over(ctx, l, "heartbeat", beatPatience,
		func(ctx context.Context, to *leader.Leader) (worker.Orders, error) {
			return to.Heartbeat(ctx, h)
		})
	if err != nil {
		return orders, err
	}
	if late := l.slowness(); late > 0 { // the answer is on its way
		select {
		case <-time.After(late):
		case <-ctx.Done():
			return worker.Orders{}, ctx.Err()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late += time.Since(began)
	return orders, nil
}

// Complete implements worker.Conn.
func (l *line) Complete(ctx context.Context, c worker.Completion) error {
	c.AttemptRef = l.real(c.AttemptRef)
	return l.order(ctx, "complete", func(ctx context.Context, to *leader.Leader) error {
		return to.Complete(ctx, c)
	})
}

// Fail implements worker.Conn.
func (l *line) Fail(ctx context.Context, f worker.Failure) error {
	f.AttemptRef = l.real(f.AttemptRef)
	return l.order(ctx, "fail", func(ctx context.Context, to *leader.Leader) error {
		return to.Fail(ctx, f)
	})
}

// Leave implements worker.Conn.
func (l *line) Leave(ctx context.Context, g worker.Leave) error {
	return l.order(ctx, "leave", func(ctx context.Context, to *leader.Leader) error {
		return to.Leave(ctx, g)
	})
}

func (l *line) order(ctx context.Context, kind string,
	call func(context.Context, *leader.Leader) error) error {
	_, err := over(ctx, l, kind, otherPatience,
		func(ctx context.Context, to *leader.Leader) (struct{}, error) {
			return struct{}{}, call(ctx, to)
		})
	return err
}
