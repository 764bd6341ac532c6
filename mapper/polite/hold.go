package polite

import "time"

// Hold makes the queue grant nothing until Release. What is in flight ends by
// Done as ever. The clock stands: the hard stop does not come, and no group is
// left because its slot lies beyond it. It says whether the queue was not held
// before.
func (q *Queue[T]) Hold() (first bool) {
	first, q.held = !q.held, true
	return first
}

// Release lets the queue grant again, up to a hard stop that may have moved;
// zero: none. It may be called without a Hold, to move the hard stop.
func (q *Queue[T]) Release(hardStop time.Time) {
	q.held, q.settings.HardStop = false, hardStop
	for _, g := range q.groups {
		q.settle(g)
	}
}

// RaiseDelays raises the delay of every group to what delay says of it.
func (q *Queue[T]) RaiseDelays(delay func(group string) time.Duration) {
	for name := range q.groups {
		q.SetDelay(name, delay(name))
	}
}

// Extract takes the items that match out of their groups, wherever they wait,
// and returns them in the order of their groups.
func (q *Queue[T]) Extract(match func(T) bool) (taken []T) {
	for _, g := range q.groups {
		before := len(taken)
		taken = g.first.extract(match, taken)
		taken = g.items.extract(match, taken)
		if n := len(taken) - before; n > 0 {
			q.pending -= n
			q.settle(g)
		}
	}
	return taken
}

// extract moves the items that match to the end of taken.
func (l *lane[T]) extract(match func(T) bool, taken []T) []T {
	kept := l.items[l.head:l.head]
	for _, item := range l.items[l.head:] {
		if match(item) {
			taken = append(taken, item)
		} else {
			kept = append(kept, item)
		}
	}
	clear(l.items[l.head+len(kept):])
	l.items = l.items[:l.head+len(kept)]
	if l.len() == 0 {
		*l = lane[T]{}
	}
	return taken
}
