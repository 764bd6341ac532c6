package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seine/coordinator/schedule"
	"seine/coordinator/state"
	"seine/jobs"
	"seine/jobs/worker"
)

// retry spaces out what failed: 250 ms, doubling to 5 s.
type retry struct {
	wait time.Duration
	at   int64 // mono ms before which nothing is tried
}

func (r *retry) failed(now int64) {
	r.wait = min(max(2*r.wait, 250*time.Millisecond), 5*time.Second)
	r.at = now + r.wait.Milliseconds()
}

// lead is one term: it returns nil when ctx ends, and an error when nobody of
// this group may lead any more.
func (l *Leader) lead(ctx context.Context) error {
	l.retry, l.planning, l.loopsAt = retry{}, nil, map[string]int64{}
	if err := l.takeOver(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	l.install()
	ctx, cancel := context.WithCancel(ctx)
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		l.lookRegularly(ctx)
	}()
	defer func() {
		cancel()
		<-looked
	}()
	tick := time.NewTicker(tickTime)
	defer tick.Stop()
	for {
		if err := l.step(ctx); err != nil {
			return err
		}
		select {
		case <-l.wake:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// takeOver brings what the store shows into the log, until it succeeds.
func (l *Leader) takeOver(ctx context.Context) error {
	for ctx.Err() == nil {
		err := l.tryTakeOver(ctx)
		if final(err) || errors.Is(err, state.ErrPhase) {
			return fmt.Errorf("take the crawl over: %w", err)
		}
		if ctx.Err() != nil {
			return nil
		}
		l.troubled("take the crawl over", err)
		if err == nil {
			return nil
		}
		l.retry.failed(l.mono())
		select {
		case <-time.After(l.retry.wait):
		case <-ctx.Done():
		}
	}
	return nil
}

// beginEpoch takes the store over, unless its epoch is this node's already: then fresh is false. wait
// says that somebody may still work on it, also when no job is open yet.
func (l *Leader) beginEpoch(ctx context.Context) (fresh, wait bool, err error) {
	before, err := l.ledger.Epoch(ctx)
	if err != nil {
		return false, false, err
	}
	if l.Group.Held != nil {
		if held, err := l.Group.Held(before); held || err != nil {
			return false, false, err
		}
	}
	epoch, err := l.ledger.TakeOver(ctx)
	if err != nil {
		return false, false, err
	}
	if l.Group.Took != nil {
		if err := l.Group.Took(epoch); err != nil {
			return false, false, err
		}
	}
	l.log.Info("the store has been taken over", "epoch", epoch)
	return true, l.Group.Wait || epoch > before+1, nil
}

func (l *Leader) tryTakeOver(ctx context.Context) error {
	if err := l.node.Catchup(ctx); err != nil {
		return err
	}
	var mine uint64
	var clock int64
	l.node.View(func(s *state.State) { mine, clock = s.Epoch, s.Clock })
	l.calendar.raise(l.Clock(), clock)
	fresh, wait, err := false, false, error(nil)
	if mine == 0 && l.Group != nil { // the first leader of a group: what another group has ends here
		if fresh, wait, err = l.beginEpoch(ctx); err != nil {
			return fmt.Errorf("begin an epoch in the store: %w", err)
		}
	}
	known := map[uint64]bool{}
	if mine != 0 {
		l.node.View(func(s *state.State) {
			for _, j := range s.Open {
				known[j.Spec.Job] = true
			}
		})
	}
	epoch, open, err := l.ledger.Open(ctx, func(job uint64) bool { return known[job] })
	if err != nil {
		return fmt.Errorf("read the open jobs from the store: %w", err)
	}
	if mine != 0 && epoch > mine {
		return fmt.Errorf("the store is in epoch %d, this group in %d: %w", epoch, mine, ErrStepDown)
	}
	takeover := state.Takeover{Epoch: epoch, Open: open}
	if fresh { // whoever asked the group that is gone may ask again
		if takeover.Ended, err = l.ledger.Ended(ctx); err != nil {
			return fmt.Errorf("read the newest jobs from the store: %w", err)
		}
	}
	if fresh && (wait || len(open) > 0) {
		takeover.Quiet = l.wall() + l.Group.Quiet.Milliseconds()
	}
	if _, err = l.apply(ctx, takeover); err != nil {
		return err
	}
	if l.Group == nil || l.Group.Formats == nil { // alone, so all members know what this one knows
		if _, err := l.apply(ctx, state.Raise{Format: state.Format}); err != nil {
			return err
		}
	}
	return l.look(ctx) // before anything is granted: the crawl may be paused
}

// step applies all that is due, then does one duty outside the log.
func (l *Leader) step(ctx context.Context) error {
	for ctx.Err() == nil {
		due := l.due()
		moved := false
		for _, p := range due {
			moved = l.settle(ctx, p) || moved
		}
		l.deliver()
		if !moved { // nothing is due, or only what was refused: look again later
			break
		}
	}
	if ctx.Err() != nil || l.mono() < l.retry.at {
		return nil
	}
	var duty schedule.Duty
	l.facts(func(f schedule.Facts) { duty = schedule.Outside(f) })
	if duty == schedule.Nothing {
		return nil
	}
	err := l.do(ctx, duty)
	switch {
	case final(err):
		return fmt.Errorf("%s: %w", duty, err)
	case ctx.Err() != nil:
		return nil
	case err != nil:
		l.retry.failed(l.mono())
	default:
		l.retry = retry{}
		select { // one duty makes the next due
		case l.wake <- struct{}{}:
		default:
		}
	}
	l.troubled(string(duty), err)
	return nil
}

// due asks schedule. Under the same lock, leases that have lapsed are marked, so
// that no heartbeat renews what is about to be taken away.
func (l *Leader) due() (commands []state.Payload) {
	l.facts(func(f schedule.Facts) { commands = schedule.Next(f, l.wall()) })
	return commands
}

func (l *Leader) facts(use func(schedule.Facts)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := schedule.Facts{
		Wall: l.wall(), LoopsAt: l.loopsAt,
		Mono: l.mono(), Quiet: l.mono() < l.quiet, Heard: l.heard, Compacted: l.compacted,
		Planned: l.planning != nil && l.planning.spec != nil,
		Leases:  map[jobs.AttemptRef]schedule.Lease{},
	}
	for ref, le := range l.leases {
		if f.Mono >= le.until {
			le.lapsed = true
		}
		f.Leases[ref] = schedule.Lease{Until: le.until, Began: le.began,
			Parsing: l.reports[ref.TaskRef].Parsing}
	}
	for _, c := range l.claims {
		n := len(c.tasks) // a claim is for one sort of task, or for few
		f.Claims = append(f.Claims, schedule.Claim{Worker: c.Worker,
			Fetch: c.Fetch - n, Other: c.Other - n})
	}
	l.node.View(func(s *state.State) {
		f.State = s
		use(f)
	})
}

// settle applies one command of schedule and does what goes with it; false if
// it was refused or could not be applied.
func (l *Leader) settle(ctx context.Context, p state.Payload) bool {
	r, err := l.apply(ctx, p)
	if err != nil {
		l.log.Debug("command of the schedule", "command", fmt.Sprintf("%+v", p), "error", err)
		return false
	}
	switch p := p.(type) {
	case state.Grant:
		l.hand(p.Worker, *r.Task)
	case state.Fail:
		l.log.Warn("a lease lapsed", "task", p.AttemptRef.String(), "error", p.Error)
		l.forgetTask(p.AttemptRef)
	case state.Leave:
		l.mu.Lock()
		delete(l.heard, p.Worker)
		l.mu.Unlock()
	case state.Block:
		l.log.Error("a job is blocked", "job", p.Job)
	}
	return true
}

// hand puts a granted task into its worker's claim. If the claim has gone
// meanwhile, the lease lapses without having begun, at once.
func (l *Leader) hand(to string, t jobs.Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	le := &lease{until: l.mono()}
	l.leases[t.AttemptRef()] = le
	fetch := t.Stage == jobs.StageFetch
	for _, c := range l.claims {
		room := c.Other
		if fetch {
			room = c.Fetch
		}
		if c.Worker == to && len(c.tasks) < room {
			c.tasks = append(c.tasks, t)
			le.until += worker.LeaseTime.Milliseconds()
			return
		}
	}
}

// deliver answers the claims that got something.
func (l *Leader) deliver() {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.claims[:0]
	for _, c := range l.claims {
		if len(c.tasks) > 0 {
			close(c.done)
		} else {
			waiting = append(waiting, c)
		}
	}
	clear(l.claims[len(waiting):])
	l.claims = waiting
}

func (l *Leader) forgetTask(ref jobs.AttemptRef) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.leases, ref)
	delete(l.reports, ref.TaskRef)
}
