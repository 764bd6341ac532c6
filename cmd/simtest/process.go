package main

import (
	"errors"
	"sync"
	"time"

	"seine/jobs/worker"
)

var errDead = errors.New("the process is dead")

// process is what all processes of the simulation have: it can be stopped and killed, and its
// clocks can be set. A stopped process says nothing, hears nothing and writes nothing; what it
// would have done by itself it does when it wakes, at once.
type process struct {
	name string

	mu      sync.Mutex
	dead    bool
	stops   int           // that hold now
	awake   chan struct{} // closed when none does any more; nil: none does
	skew    time.Duration // of the wall clock
	slept   time.Duration // for which the monotonic clock stood still
	asleep  time.Time     // since when it does; zero: it does not
	stopped time.Duration // for which the process was stopped
	since   time.Time     // since when it is
}

// hold waits while the process is stopped, and says whether it was.
func (p *process) hold() (was bool) {
	for {
		p.mu.Lock()
		awake := p.awake
		p.mu.Unlock()
		if awake == nil {
			return was
		}
		was = true
		<-awake
	}
}

// stop stops the process, as SIGSTOP does, or its machine, whose monotonic clock then stands still.
func (p *process) stop(machine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return
	}
	if p.stops++; p.stops == 1 {
		p.awake, p.since = make(chan struct{}), time.Now()
	}
	if machine && p.asleep.IsZero() {
		p.asleep = time.Now()
	}
}

// wake ends a stop.
func (p *process) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return
	}
	if p.stops--; p.stops > 0 {
		return
	}
	p.rise()
}

// rise lets the process go on. The caller holds mu.
func (p *process) rise() {
	if p.awake == nil {
		return
	}
	p.stopped += time.Since(p.since)
	if !p.asleep.IsZero() {
		p.slept += time.Since(p.asleep)
		p.asleep = time.Time{}
	}
	close(p.awake)
	p.awake = nil
}

// die ends the process for good. Whatever it does from here on is heard by nobody.
func (p *process) die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	p.rise()
}

func (p *process) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// set sets the wall clock.
func (p *process) set(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.skew += by
}

// clock reads the process's clocks.
func (p *process) clock() worker.Reading {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	mono := now.Sub(time.Unix(0, 0)) - p.slept
	if !p.asleep.IsZero() {
		mono -= now.Sub(p.asleep)
	}
	return worker.Reading{Wall: time.Duration(now.UnixNano()) + p.skew, Mono: mono}
}

// missed is for how long the process has been stopped.
func (p *process) missed() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.stopped
	if p.awake != nil {
		d += time.Since(p.since)
	}
	return d
}
