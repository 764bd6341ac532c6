package worker

import (
	"context"
	"time"
)

// slots is a counting semaphore: a value in the channel is a free slot.
type slots chan struct{}

func newSlots(n int) slots {
	s := make(slots, n)
	for range n {
		s <- struct{}{}
	}
	return s
}

// take waits for a free slot; false when ctx ended.
func (s slots) take(ctx context.Context) bool {
	select {
	case <-s:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// takeMore takes all slots that are free now and says how many.
func (s slots) takeMore() (n int) {
	for {
		select {
		case <-s:
			n++
		default:
			return n
		}
	}
}

func (s slots) give() { s <- struct{}{} }

// backoff waits 100 ms, doubling to 3 s, so that a coordinator that is away is
// not asked without pause and one that comes back is found soon.
type backoff struct{ next time.Duration }

func (b *backoff) reset() { b.next = 0 }

func (b *backoff) wait(ctx context.Context) {
	b.next = min(max(2*b.next, 100*time.Millisecond), 3*time.Second)
	t := time.NewTimer(b.next)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
