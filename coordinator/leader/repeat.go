package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seine/coordinator/state"
)

// emptyPause is how long a loop that finds nothing due waits before it asks the
// store again.
const emptyPause = 60 * time.Second

// Repeat implements api.Conn.
func (l *Leader) Repeat(ctx context.Context, p state.Loop) error { return l.order(ctx, p) }

// EndLoop implements api.Conn.
func (l *Leader) EndLoop(ctx context.Context, p state.EndLoop) error { return l.order(ctx, p) }

// again submits the next round of the loop that is due, if the store has work
// for it. A loop of so many rounds runs them in any case.
func (l *Leader) again(ctx context.Context) error {
	var loop state.Looping
	l.node.View(func(s *state.State) {
		if next := s.Repeats(max(l.wall(), s.Clock), l.loopsAt); next != nil {
			loop = *next
		}
	})
	if loop.RequestID == "" {
		return nil
	}
	due, next, err := true, int64(0), error(nil)
	if loop.Times == 0 {
		due, next, err = l.ledger.Due(ctx)
	}
	switch {
	case err != nil:
		return fmt.Errorf("ask what is due for loop %q: %w", loop.RequestID, err)
	case due:
		_, err = l.apply(ctx, state.Again{RequestID: loop.RequestID, N: loop.Begun + 1})
	case next == 0 && loop.UntilIdle:
		_, err = l.apply(ctx, state.EndLoop{RequestID: loop.RequestID, Idle: true})
	default:
		at := l.wall() + emptyPause.Milliseconds()
		if next > 0 {
			at = min(at, next)
		}
		l.loopsAt[loop.RequestID] = at
	}
	if errors.Is(err, state.ErrNoJob) || errors.Is(err, state.ErrPhase) { // ended meanwhile
		err = nil
	}
	return err
}
