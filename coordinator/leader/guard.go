package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seine/coordinator/state"
)

// guardTime is how often a leader makes sure that the crawl is still its
// group's.
const guardTime = 10 * time.Second

// guard watches, while this node leads, for another group in the store and for
// members that have all come to know newer commands. It returns ErrStepDown, at
// once without answering any more, or nil when ctx ends. An embedded node has
// the store for itself.
func (l *Leader) guard(ctx context.Context) error {
	if l.Group == nil {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(guardTime)
	defer tick.Stop()
	for {
		l.raise(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if err := l.fenced(ctx); err != nil {
			l.retire() // no lease is renewed from here on
			return err
		}
	}
}

// fenced reads the store's epoch. A store that is away says nothing.
func (l *Leader) fenced(ctx context.Context) error {
	epoch, err := l.ledger.Epoch(ctx)
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("read the store's epoch: %w", err)
	}
	if err != nil {
		if ctx.Err() == nil {
			l.log.Warn("read the store's epoch", "error", err)
		}
		return nil
	}
	var mine uint64
	l.node.View(func(s *state.State) { mine = s.Epoch })
	if epoch > mine {
		return fmt.Errorf("the store is in epoch %d, this group in %d: %w", epoch, mine, ErrStepDown)
	}
	return nil
}

// raise lets newer commands into the log once every member knows them. A member
// that does not answer holds it up, and nothing else.
func (l *Leader) raise(ctx context.Context) {
	var format int
	l.node.View(func(s *state.State) { format = s.Format })
	if format >= state.Format {
		return
	}
	known, err := l.Group.Formats(ctx)
	if err == nil && known > format {
		_, err = l.apply(ctx, state.Raise{Format: min(known, state.Format)})
	}
	if err != nil && ctx.Err() == nil {
		l.log.Debug("raise the format of commands", "error", err)
	}
}
