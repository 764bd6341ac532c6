package worker

import (
	"sync"
	"time"

	"seine/jobs"
)

const (
	// LeaseTime is how long the coordinator lends a task.
	LeaseTime = 15 * time.Second
	// leaseMargin is how much earlier the worker ends.
	leaseMargin = 3 * time.Second
	// HeartbeatEvery gives a lease four tries before it lapses.
	HeartbeatEvery = 3 * time.Second
)

// Reading is a look at both clocks. Either may be wrong: the monotonic one
// stands still while a machine sleeps, the wall clock may be set.
type Reading struct {
	Wall time.Duration // since 1970
	Mono time.Duration // since any moment
}

// Since is the time that went by, by the clock that says more.
func (r Reading) Since(old Reading) time.Duration { return max(r.Wall-old.Wall, r.Mono-old.Mono) }

// Clock reads both clocks.
type Clock func() Reading

// SystemClock reads the clocks of this machine.
func SystemClock() Clock {
	start := time.Now()
	return func() Reading {
		now := time.Now()
		return Reading{Wall: time.Duration(now.UnixNano()), Mono: now.Sub(start)}
	}
}

// Lease is the time for which an attempt may make requests.
type Lease struct {
	clock Clock

	mu   sync.Mutex
	sent Reading // when the last acknowledged heartbeat was sent
	over bool
	live Live
	news chan struct{} // closed when live changes

	stop, lost, drain *signal
}

// NewLease lends a task from a heartbeat that was sent at the reading.
func NewLease(clock Clock, sent Reading) *Lease {
	return &Lease{clock: clock, sent: sent, news: make(chan struct{}), stop: newSignal(), lost: newSignal(), drain: newSignal()}
}

// Gate says whether a request may leave now: nil, or jobs.ErrLeaseLost for
// good. It is cheap and meant to be asked before every write.
func (l *Lease) Gate() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lapsed() {
		return jobs.ErrLeaseLost
	}
	return nil
}

// lapsed notices a lapse and remembers it. The caller holds mu.
func (l *Lease) lapsed() bool {
	if !l.over && l.clock().Since(l.sent) >= LeaseTime-leaseMargin {
		l.over = true
		l.lost.fire()
	}
	return l.over
}

// Renew counts from a heartbeat that was sent at the reading and has been
// acknowledged; calls come in the order of sending. It says whether the lease
// holds.
func (l *Lease) Renew(sent Reading) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lapsed() {
		return false
	}
	l.sent = sent
	return !l.lapsed()
}

// Revoke ends the lease at once.
func (l *Lease) Revoke() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.lost.fire()
}

// Lost is closed when the lease is seen to be lost. Gate knows it first.
func (l *Lease) Lost() <-chan struct{} { return l.lost.c }

// Stop is closed at the hard stop (a cancelled round, or its time is over): no
// new requests, seal, and end the task. The lease holds.
func (l *Lease) Stop() <-chan struct{} { return l.stop.c }

// Drain is closed when the worker is asked to end: seal, and return
// jobs.ErrDrained without ending the task.
func (l *Lease) Drain() <-chan struct{} { return l.drain.c }

// Live is what may change for a task while it runs.
type Live struct {
	Settings uint64 // newest version known; 0: the task's own
	Held     bool   // paused: nothing may start, and the hard stop does not come
	Deadline int64  // hard stop, ms; 0: the one that the task came with
}

// Live is what holds now, and a channel that is closed when it changes.
func (l *Lease) Live() (Live, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live, l.news
}

// Change makes something else hold for the task.
func (l *Lease) Change(to Live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	to.Settings = max(to.Settings, l.live.Settings)
	if to != l.live {
		l.live = to
		close(l.news)
		l.news = make(chan struct{})
	}
}

// HardStop closes Stop.
func (l *Lease) HardStop() { l.stop.fire() }

// BeginDrain closes Drain.
func (l *Lease) BeginDrain() { l.drain.fire() }

// signal is a channel that is closed at most once.
type signal struct {
	c    chan struct{}
	once sync.Once
}

func newSignal() *signal { return &signal{c: make(chan struct{})} }

func (s *signal) fire() { s.once.Do(func() { close(s.c) }) }
