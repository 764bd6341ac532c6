package polite

import "time"

// Kind is how a granted request ended, as far as manners go.
type Kind uint8

const (
	// OK: the server answered, and not with trouble. It ends a back-off.
	OK Kind = iota
	// Failed: asked in vain (5xx, time-out, broken answer). A back-off stands as it was.
	Failed
	// BackOff: 429 or 503. The group pauses for RetryAfter, or for 60 s doubling to 24 h.
	BackOff
	// ConnectFailure: no connection, or no name. Five in a row rest the group for the round.
	ConnectFailure
	// Unsent: nothing went out (refused by rule, put back). The slot was not used.
	Unsent
)

// Outcome ends a grant.
type Outcome struct {
	Kind       Kind
	RetryAfter time.Duration // with BackOff: what the server asked for; 0: nothing
}

// Done ends the request in flight for a group. at is the time of the answer's last byte or of
// giving up on it, and the next slot is at + delay, or later by a pause. It panics if the group has
// nothing in flight: a request that nobody granted was sent.
func (q *Queue[T]) Done(name string, at time.Time, o Outcome) {
	g := q.groups[name]
	if g == nil || !g.busy {
		panic("polite: Done without a grant: " + name)
	}
	g.busy = false
	q.inFlight--
	if o.Kind != Unsent {
		g.sent++
		if !g.urgent {
			g.pages++
		}
		q.account(g, at, o)
	}
	q.settle(g)
}

// account applies an outcome of a request that was sent.
func (q *Queue[T]) account(g *group[T], at time.Time, o Outcome) {
	wait := g.delay
	g.last = at
	if o.Kind == ConnectFailure {
		g.failures++
	} else {
		g.failures = 0
	}
	switch o.Kind {
	case OK:
		g.pause = 0
	case BackOff:
		pause := min(o.RetryAfter, q.settings.MaxPause)
		if pause <= 0 {
			g.pause = min(max(2*g.pause, q.settings.FirstPause), q.settings.MaxPause)
			pause = g.pause
		}
		g.paused = at.Add(pause)
		wait = max(wait, pause)
	}
	if slot := at.Add(wait); slot.After(g.next) {
		g.next = slot
	}
}

// Why tells why items were left.
type Why uint8

const (
	// WhyNone: they were not.
	WhyNone Why = iota
	// WhySlot: the group's next slot lies beyond the hard stop.
	WhySlot
	// WhyBackOff: so does the end of its back-off or Retry-After.
	WhyBackOff
	// WhyLongDelay: its delay allows one page a round, and that was sent.
	WhyLongDelay
	// WhyRested: connections failed too often in a row.
	WhyRested
	// WhyStopped: the hard stop came, or the caller stopped the queue.
	WhyStopped
)

// String returns the reason in a few words.
func (w Why) String() string {
	return [...]string{"", "slot beyond the hard stop", "backing off beyond the hard stop",
		"one URL a round by its crawl delay", "rests after connection failures", "stopped"}[w]
}

// Left are items of a group that this round will not ask for; they wait again as before.
type Left[T any] struct {
	Group string
	Items []T // in order, what came by AddFirst in front
	First int // how many of Items came by AddFirst
	Why   Why
	Slot  time.Time // the group's next slot
}

// TakeLeft returns what was left since the last call.
func (q *Queue[T]) TakeLeft() []Left[T] {
	left := q.left
	q.left = nil
	return left
}

// Stop leaves all that waits, and all that will be added. What is in flight still ends by Done.
func (q *Queue[T]) Stop(why Why) {
	q.closed, q.stopped = true, true
	for _, g := range q.groups {
		if g.out == WhyNone {
			g.out = why
		}
	}
	for len(q.heap) > 0 {
		q.settle(q.heap[len(q.heap)-1])
	}
}

// verdict tells why a group ends its part in the round now, if it does.
func (q *Queue[T]) verdict(g *group[T]) Why {
	stop := q.settings.HardStop
	switch {
	case g.failures >= q.settings.MaxFailures:
		return WhyRested
	case g.pages > 0 && g.delay > q.settings.LongDelay:
		return WhyLongDelay
	case stop.IsZero() || q.held || g.next.Before(stop):
		return WhyNone
	case !g.paused.Before(stop):
		return WhyBackOff
	}
	return WhySlot
}

func (q *Queue[T]) leave(g *group[T]) {
	if g.index >= 0 {
		q.remove(g)
	}
	first := g.first.take()
	left := Left[T]{g.name, append(first, g.items.take()...), len(first), g.out, g.next}
	q.pending -= len(left.Items)
	if n := len(q.left); n > 0 && q.left[n-1].Group == g.name && len(first) == 0 {
		q.left[n-1].Items = append(q.left[n-1].Items, left.Items...)
		return
	}
	q.left = append(q.left, left)
}
