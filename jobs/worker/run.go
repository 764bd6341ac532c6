package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"seine/jobs"
)

// Runner does one attempt at a task. ctx ends when the worker must end at once,
// and, for stages that are functions, when the lease is lost or the worker
// drains: such an attempt is done again from the start. A fetch task has to
// watch the lease instead.
type Runner func(ctx context.Context, task jobs.Task, lease *Lease, progress *Progress) (
	jobs.Result, error)

// Settings of a worker.
type Settings struct {
	ID string // unique among the workers and over restarts
	// Slots is how many tasks other than fetch run at once; 0: 1.
	Slots int
	// FetchSlots is how many fetch tasks run at once; 0: 8. They mostly wait,
	// and share the worker's sockets and memory.
	FetchSlots int
	// Heartbeat is the time between heartbeats; 0 or more than HeartbeatEvery:
	// HeartbeatEvery.
	Heartbeat time.Duration
	// Drain, when closed, ends the worker as soon as its tasks are sealed.
	Drain <-chan struct{}
	Clock Clock        // nil: SystemClock
	Log   *slog.Logger // nil: nothing is logged
}

func (s Settings) filled() (Settings, error) {
	if s.ID == "" {
		return s, errors.New("a worker needs an id")
	}
	if s.Slots <= 0 {
		s.Slots = 1
	}
	if s.FetchSlots <= 0 {
		s.FetchSlots = 8
	}
	if s.Heartbeat <= 0 || s.Heartbeat > HeartbeatEvery {
		s.Heartbeat = HeartbeatEvery
	}
	if s.Clock == nil {
		s.Clock = SystemClock()
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	return s, nil
}

// crew is one running worker.
type crew struct {
	Settings
	conn    Conn
	runners map[jobs.Stage]Runner

	beating chan struct{} // holds one while a heartbeat is out: they follow one another
	mu      sync.Mutex    // guards held
	held    []*held
	living  sync.WaitGroup
}

// Run claims and lives tasks until the drain is over (nil) or ctx ends (its
// error). A stage without a runner fails its tasks.
func Run(ctx context.Context, s Settings, conn Conn, runners map[jobs.Stage]Runner) error {
	s, err := s.filled()
	if err != nil {
		return err
	}
	c := &crew{Settings: s, conn: conn, runners: runners, beating: make(chan struct{}, 1)}
	beats, stopBeats := context.WithCancel(ctx)
	var heart sync.WaitGroup
	heart.Go(func() { c.beatRegularly(beats) })

	claims, stopClaims := context.WithCancel(ctx)
	var claiming sync.WaitGroup
	claiming.Go(func() { c.claim(ctx, claims, newSlots(s.Slots), false) })
	claiming.Go(func() { c.claim(ctx, claims, newSlots(s.FetchSlots), true) })
	select {
	case <-s.Drain:
	case <-ctx.Done():
	}
	stopClaims()
	claiming.Wait()
	c.living.Wait()
	stopBeats()
	heart.Wait()
	c.leave(ctx)
	return ctx.Err()
}

// leave is a courtesy: without it the leases lapse.
func (c *crew) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := c.conn.Leave(ctx, Leave{Worker: c.ID}); err != nil {
		c.Log.Warn("leave the coordinator", "worker", c.ID, "error", err)
	}
}

// claim asks for tasks of one sort as long as there are slots for them.
func (c *crew) claim(ctx, claims context.Context, free slots, fetch bool) {
	var pause backoff
	for free.take(claims) {
		n := 1 + free.takeMore()
		ask := Claim{Worker: c.ID}
		if fetch {
			ask.Fetch = n
		} else {
			ask.Other = n
		}
		tasks, err := c.conn.Claim(claims, ask)
		for range n - min(n, len(tasks)) {
			free.give()
		}
		if err != nil {
			if claims.Err() == nil {
				c.Log.Warn("claim tasks", "worker", c.ID, "error", err)
			}
			pause.wait(claims)
			continue
		}
		pause.reset()
		for _, t := range tasks[:min(n, len(tasks))] {
			h := newHeld(t)
			c.hold(h)
			c.living.Go(func() {
				defer free.give()
				defer c.drop(h)
				c.live(ctx, h)
			})
		}
		if len(tasks) > 0 {
			c.beat(ctx) // the leases begin with it
		}
	}
}

func (c *crew) hold(h *held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = append(c.held, h)
}

func (c *crew) drop(h *held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, other := range c.held {
		if other == h {
			c.held = append(c.held[:i:i], c.held[i+1:]...)
			return
		}
	}
}

func (c *crew) holding() []*held {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*held(nil), c.held...)
}

func (c *crew) beatRegularly(ctx context.Context) {
	tick := time.NewTicker(c.Settings.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.beat(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// beat sends one heartbeat for all that is held and obeys its answer.
func (c *crew) beat(ctx context.Context) {
	select {
	case c.beating <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-c.beating }()
	all := c.holding()
	if len(all) == 0 {
		return
	}
	beats := make([]Beat, len(all))
	for i, h := range all {
		beats[i] = Beat{h.task.AttemptRef(), h.progress.Report()}
	}
	// One that hangs must leave the time for another before the lease lapses.
	ctx, cancel := context.WithTimeout(ctx, 2*HeartbeatEvery)
	defer cancel()
	sent := c.Clock()
	orders, err := c.conn.Heartbeat(ctx, Heartbeat{Worker: c.ID, Tasks: beats})
	if err == nil && len(orders.Tasks) != len(beats) {
		err = fmt.Errorf("%d orders for %d tasks", len(orders.Tasks), len(beats))
	}
	if err != nil {
		if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			c.Log.Warn("send a heartbeat", "worker", c.ID, "error", err)
		}
		return
	}
	for i, h := range all {
		order, live := orders.of(i)
		h.obey(c.Clock, order, live, sent)
	}
}
