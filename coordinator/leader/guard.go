package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seine/coordinator/state"
)

const (
	// GuardTime is how often a leader makes sure that the crawl is still its group's. Within the
	// minute in which another group that takes it over grants nothing, it has looked, and all that
	// it had lent has ended.
	GuardTime = 30 * time.Second
	// guardAgain is when a look that failed is repeated.
	guardAgain = 2 * time.Second
	// followTime is the same for those that follow, which look before they lead anyway: they only
	// end sooner.
	followTime = 5 * time.Minute
)

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
	raise := time.NewTicker(raiseTime)
	defer raise.Stop()
	looked, again := time.Now(), GuardTime
	for {
		select {
		case <-raise.C:
		case <-ctx.Done():
			return nil
		}
		l.raise(ctx)
		if since := time.Since(looked); since < again || !l.node.Leading() && since < followTime {
			continue
		}
		read, err := l.fenced(ctx)
		if err != nil {
			l.retire() // no lease is renewed from here on
			return err
		}
		if looked, again = time.Now(), GuardTime; !read {
			again = guardAgain
		}
	}
}

// fenced reads the store's epoch. A store that is away, or does not answer in time, says nothing:
// then read is false.
func (l *Leader) fenced(ctx context.Context) (read bool, err error) {
	reading, cancel := context.WithTimeout(ctx, 2*guardAgain)
	defer cancel()
	epoch, err := l.ledger.Epoch(reading)
	if errors.Is(err, ErrDamaged) {
		return false, fmt.Errorf("read the store's epoch: %w", err)
	}
	if err != nil {
		if ctx.Err() == nil {
			l.log.Warn("read the store's epoch", "error", err)
		}
		return false, nil
	}
	var mine uint64
	l.node.View(func(s *state.State) { mine = s.Epoch })
	if mine != 0 && epoch > mine {
		return true, fmt.Errorf("the store is in epoch %d, this group in %d: %w", epoch, mine, ErrStepDown)
	}
	return true, nil
}

// raise lets newer commands into the log once every member knows them. A member
// that does not answer holds it up, and nothing else.
func (l *Leader) raise(ctx context.Context) {
	if l.Group.Formats == nil {
		return
	}
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
