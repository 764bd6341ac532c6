package sim

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/leader"
	"seine/coordinator/raftnode"
	"seine/coordinator/state"
	"seine/jobs"
	"seine/jobs/worker"
)

// clock is one whose wall hand is set by hand.
type clock struct {
	mu   sync.Mutex
	skew time.Duration
}

func (c *clock) set(skew time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew = skew
}

func (c *clock) read() worker.Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Duration(time.Now().UnixNano())
	return worker.Reading{Wall: now + c.skew, Mono: now}
}

// startOn starts a coordinator of a group of one, on a clock.
func (w *world) startOn(c *clock, g leader.Group) *process {
	w.t.Helper()
	node, err := raftnode.Embedded(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	p := &process{Leader: leader.New(node, w.ledger, nil), node: node}
	p.Group, p.Clock = &g, c.read
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	p.kill = sync.OnceValue(func() error {
		cancel()
		err := <-ended
		return errors.Join(err, node.Close())
	})
	return p
}

// The minute in which a group that recovers grants nothing is one of the
// monotonic clock: to set the wall clock forward does not shorten it.
func TestQuietThoughTheClockIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		c := &clock{}
		p := w.startOn(c, leader.Group{Wait: true, Quiet: time.Minute})
		defer p.kill()
		began := time.Now()
		w.submit(p, round("r"))
		c.set(48 * time.Hour)
		first := make(chan time.Time, 1)
		stop := w.employ(p, "w", func(ctx context.Context, task jobs.Task, l *worker.Lease,
			pr *worker.Progress) (jobs.Result, error) {
			select {
			case first <- time.Now():
			default:
			}
			return work(0)(ctx, task, l, pr)
		})
		defer stop(false)
		w.untilIdle(p)
		if waited := (<-first).Sub(began); waited < time.Minute || waited > 70*time.Second {
			t.Errorf("the first task ran after %v, want a minute", waited)
		}
	})
}

// What was put off until a time comes, though the wall clock was set back by days
// after the log had heard of the later time.
func TestPutOffThoughTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.ledger.DueRounds = 3
		c := &clock{}
		c.set(72 * time.Hour)
		p := w.startOn(c, leader.Group{})
		defer p.kill()
		w.until(p, "leading", func(api.Status) bool { return true })
		var failed atomic.Bool
		defer w.employ(p, "w", func(ctx context.Context, task jobs.Task, l *worker.Lease,
			pr *worker.Progress) (jobs.Result, error) {
			if failed.CompareAndSwap(false, true) {
				c.set(0)
				return jobs.Result{}, errors.New("the disk is full")
			}
			return work(0)(ctx, task, l, pr)
		})(false)
		began := time.Now()
		loop := state.Loop{RequestID: "l", Round: *round("r").Round, Times: 3, Every: 60_000}
		if err := p.Repeat(t.Context(), loop); err != nil {
			t.Fatal(err)
		}
		w.until(p, "three rounds", func(api.Status) bool { return len(w.ledger.Commits()) == 3 })
		if took := time.Since(began); took < 2*time.Minute || took > 3*time.Minute {
			t.Errorf("three rounds, one each minute, took %v", took)
		}
	})
}

// A leader that was stopped for a while acknowledges nothing before it has looked
// whose the crawl is; when it is another's, it ends.
func TestStoppedLeader(t *testing.T) {
	for _, taken := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 1)
			c := &clock{}
			var away atomic.Bool
			w.ledger.Fault = func(call string, after bool) error {
				if call == "epoch" && !after && away.Load() {
					return errStore
				}
				return nil
			}
			p := w.startOn(c, leader.Group{})
			w.submit(p, round("r"))
			tasks, err := p.Claim(t.Context(), worker.Claim{Worker: "w", Other: 1})
			if err != nil || len(tasks) != 1 {
				t.Fatalf("Claim = %v, %v", tasks, err)
			}
			beat := func() error {
				_, err := p.Heartbeat(t.Context(), worker.Heartbeat{Worker: "w",
					Tasks: []worker.Beat{{AttemptRef: tasks[0].AttemptRef()}}})
				return err
			}
			if err := beat(); err != nil {
				t.Fatal(err)
			}
			c.set(9 * time.Second)
			if err := beat(); err != nil {
				t.Errorf("after a stop of 9 s: %v", err)
			}
			time.Sleep(2 * time.Second)
			away.Store(true)
			c.set(time.Minute) // as after a sleep: the wall clock has gone on
			if taken {
				w.ledger.SetEpoch(9)
			}
			if err := beat(); !errors.Is(err, api.ErrUnavailable) {
				t.Errorf("at once after a long stop: %v", err)
			}
			time.Sleep(10 * time.Second)
			if err := beat(); !errors.Is(err, api.ErrUnavailable) {
				t.Errorf("before the store has answered: %v", err)
			}
			away.Store(false)
			time.Sleep(4 * time.Second)
			err = beat()
			ended := p.kill()
			switch {
			case taken && (err == nil || !errors.Is(ended, leader.ErrStepDown)):
				t.Errorf("of another's crawl: acknowledged: %v, ended with %v", err, ended)
			case !taken && (err != nil || ended != nil):
				t.Errorf("after the look: %v, ended with %v", err, ended)
			}
		})
	}
}
