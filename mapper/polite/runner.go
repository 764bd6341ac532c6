package polite

import (
	"context"
	"sync"
	"time"
)

// Runner drives a queue: it sends what the queue grants, at most so many at once, and sleeps until
// the next slot. Others reach the queue through With meanwhile.
type Runner[T any] struct {
	mu    sync.Mutex
	queue *Queue[T]
	wake  chan struct{}
}

// NewRunner takes over a queue: from now on it is touched through With alone.
func NewRunner[T any](q *Queue[T]) *Runner[T] {
	return &Runner[T]{queue: q, wake: make(chan struct{}, 1)}
}

// With calls change with the queue under the runner's lock, then looks for work again.
func (r *Runner[T]) With(change func(*Queue[T])) {
	r.mu.Lock()
	change(r.queue)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run sends until the queue is closed and idle, and returns nil; or until ctx ends, and returns its
// error, with what was not granted still in the queue. It returns only when every send has. send
// carries out one grant and says when it ended and how; it runs in its own goroutine while it
// holds a place in free, which runners may share: all of theirs together are at most its capacity.
func (r *Runner[T]) Run(ctx context.Context, free chan struct{},
	send func(ctx context.Context, grant Grant[T]) (at time.Time, o Outcome)) error {
	var sends sync.WaitGroup
	defer sends.Wait()
	timer := time.NewTimer(Forever)
	defer timer.Stop()
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		grant, ok, wait, over := r.next()
		if ok {
			sends.Go(func() {
				at, o := send(ctx, grant)
				<-free
				r.With(func(q *Queue[T]) { q.Done(grant.Group, at, o) })
			})
			continue
		}
		<-free
		if over {
			return nil
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-r.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *Runner[T]) next() (grant Grant[T], ok bool, wait time.Duration, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	grant, ok, wait = r.queue.Next(time.Now())
	return grant, ok, wait, !ok && r.queue.closed && r.queue.Idle()
}
