package polite

import (
	"slices"
	"time"
)

// State is what must be remembered of a group between tasks and rounds.
type State struct {
	Delay    time.Duration // in force
	NextSlot time.Time     // no request before it
	Pause    time.Duration // the last back-off without Retry-After; 0: none since a success
	PausedTo time.Time     // end of the last back-off
	Failures int           // connection failures in a row
	Sent     int           // requests sent in this task
	Out      Why           // why the group ended its part in this round
}

// State returns the state of a group; the zero State for one that is not known.
func (q *Queue[T]) State(name string) State {
	g := q.groups[name]
	if g == nil {
		return State{}
	}
	return State{g.delay, g.next, g.pause, g.paused, g.failures, g.sent, g.out}
}

// Restore brings back a group's state from an earlier task or round: its slot, delay, and back-off.
// Failures in a row start afresh, or a dead host would never be tried again.
func (q *Queue[T]) Restore(name string, s State) {
	slot := s.NextSlot
	if s.PausedTo.After(slot) {
		slot = s.PausedTo
	}
	g := q.group(name, slot, s.Delay)
	g.pause = max(g.pause, s.Pause)
	if s.PausedTo.After(g.paused) {
		g.paused = s.PausedTo
	}
	q.settle(g)
}

// Wait is one group that is being waited for.
type Wait struct {
	Group    string
	Pending  int
	InFlight bool
	Delay    time.Duration
	NextSlot time.Time
	Paused   bool // the slot is the end of a back-off
}

// Waiting returns the n groups that will take longest, the longest first: what a crawl waits for.
func (q *Queue[T]) Waiting(n int) []Wait {
	if n <= 0 {
		return nil
	}
	type entry struct {
		g   *group[T]
		end time.Time
	}
	later := func(a, b entry) int {
		if c := b.end.Compare(a.end); c != 0 {
			return c
		}
		if a.g.name < b.g.name {
			return -1
		}
		return 1
	}
	var top []entry
	for _, g := range q.groups {
		pending := g.items.len() + g.first.len()
		if pending == 0 && !g.busy {
			continue
		}
		e := entry{g, g.next.Add(saturate(g.delay, pending))}
		at, _ := slices.BinarySearchFunc(top, e, later)
		if at == n {
			continue
		}
		top = slices.Insert(top, at, e)
		top = top[:min(len(top), n)]
	}
	waits := make([]Wait, len(top))
	for i, e := range top {
		g := e.g
		waits[i] = Wait{g.name, g.items.len() + g.first.len(), g.busy, g.delay, g.next,
			g.next.Equal(g.paused) && !g.paused.IsZero()}
	}
	return waits
}

// saturate is delay × n without overflow.
func saturate(delay time.Duration, n int) time.Duration {
	if n > 0 && delay > Forever/time.Duration(n) {
		return Forever
	}
	return delay * time.Duration(n)
}
