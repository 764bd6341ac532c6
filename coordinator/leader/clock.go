package leader

import (
	"context"
	"sync"

	"seine/coordinator/state"
	"seine/jobs/worker"
)

// Log is what the coordinators have agreed on, as one of them sees it: a
// *raftnode.Node, whose methods say what each does.
type Log interface {
	Apply(ctx context.Context, c state.Command) (state.Result, error)
	Verify(ctx context.Context) error
	Catchup(ctx context.Context) error
	View(f func(*state.State))
	Leadership() <-chan bool
	Leading() bool
	Failed() <-chan struct{}
	Failure() error
}

// calendar is the wall time that a leader goes by. It never goes back and never stands: where the
// wall clock is set back, it goes on as the monotonic clock does. What the log has put off until a
// time comes all the same.
type calendar struct {
	mu   sync.Mutex
	told int64 // ms
	mono int64 // ms; when
}

// at is the time at a reading, ms.
func (c *calendar) at(r worker.Reading) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	mono := r.Mono.Milliseconds()
	c.told = max(r.Wall.Milliseconds(), c.told+max(mono-c.mono, 0))
	c.mono = mono
	return c.told
}

// raise makes the time at a reading no earlier than ms.
func (c *calendar) raise(r worker.Reading, ms int64) {
	c.at(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = max(c.told, ms)
}

// wall is the time, ms.
func (l *Leader) wall() int64 { return l.calendar.at(l.Clock()) }

// mono is the leader's monotonic clock, ms.
func (l *Leader) mono() int64 { return l.Clock().Mono.Milliseconds() }
