package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seine/coordinator/state"
)

// guardTime is how often a coordinator makes sure that the crawl is still its
// group's.
const guardTime = 10 * time.Second

// raiseTime is how often a leader asks the members for what they know, while
// they are not known to know all.
const raiseTime = time.Second

// guard watches for another group in the store, also while another node leads,
// for after it this one would; and, while this node leads, for members that have
// all come to know newer commands. It returns ErrStepDown, having ended all that
// was answered, or nil when ctx ends. An embedded node has the store for itself.
func (l *Leader) guard(ctx context.Context) error {
	if l.Group == nil {
		<-ctx.Done()
		return nil
	}
	tick, raise := time.NewTicker(guardTime), time.NewTicker(raiseTime)
	defer tick.Stop()
	defer raise.Stop()
	for {
		select {
		case <-tick.C:
		case <-raise.C:
			l.raise(ctx)
			continue
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
	if mine != 0 && epoch > mine {
		return fmt.Errorf("the store is in epoch %d, this group in %d: %w", epoch, mine, ErrStepDown)
	}
	return nil
}

// raise lets newer commands into the log once every member knows them. A member
// that does not answer holds it up, and nothing else.
func (l *Leader) raise(ctx context.Context) {
	var format int
	l.node.View(func(s *state.State) { format = s.Format })
	if format >= state.Format || !l.node.Leading() {
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
