package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seine/coordinator/state"
	"seine/jobs/worker"
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

// stopLimit is how long a leader may have stood still and yet acknowledge heartbeats before it has
// looked again whose the crawl is. A look is due 30 s after the one before, and takes 5 s at most;
// a lease lasts 12 s; so 13 s are left of the minute in which another group grants nothing.
const stopLimit = 10 * time.Second

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
	looked, again := l.Clock(), GuardTime
	for {
		select {
		case <-raise.C:
		case <-ctx.Done():
			return nil
		}
		stopped := l.live()
		since := l.Clock().Since(looked)
		if !stopped && (since < again || !l.node.Leading() && since < followTime) {
			l.raise(ctx)
			continue
		}
		began := l.Clock()
		read, err := l.fenced(ctx)
		if err != nil {
			l.retire() // no lease is renewed from here on
			return err
		}
		if looked, again = began, GuardTime; !read {
			again = guardAgain
		} else {
			l.looked(began)
		}
	}
}

// live notes that the guard runs, and says whether it stood still (a process that was stopped, a
// machine that slept) and has not looked since.
func (l *Leader) live() (stopped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.alive != (worker.Reading{}) {
		l.stopped = l.dazed()
	}
	l.alive = l.Clock()
	return l.stopped
}

// looked notes that a look which began at the reading found the crawl to be this group's.
func (l *Leader) looked(began worker.Reading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = l.Clock().Since(began) > stopLimit
}

// dazed says that this node may have been stopped for so long that another group has the crawl. The
// caller holds mu.
func (l *Leader) dazed() bool {
	return l.Group != nil && (l.stopped || l.Clock().Since(l.alive) > stopLimit)
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
	asking, cancel := context.WithTimeout(ctx, guardAgain)
	defer cancel()
	known, err := l.Group.Formats(asking)
	if err == nil && known > format {
		_, err = l.apply(ctx, state.Raise{Format: min(known, state.Format)})
	}
	if err != nil && ctx.Err() == nil {
		l.log.Debug("raise the format of commands", "error", err)
	}
}
