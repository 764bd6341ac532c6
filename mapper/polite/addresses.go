package polite

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// Addresses bounds what this worker does to one address: requests at once, and starts a second,
// evenly spaced. An IPv6 address counts as its /64, the least that one customer is given. It guards
// shared servers with many names; groups keep their own delays besides. The zero value bounds
// nothing.
type Addresses struct {
	atOnce int
	gap    time.Duration

	mu    sync.Mutex
	known map[netip.Addr]*address
}

type address struct {
	inFlight int
	next     time.Time // when the next request may start
	waiting  []chan struct{}
}

// sweepAt is the number of known addresses at which those at rest are forgotten.
const sweepAt = 4096

// NewAddresses bounds an address to atOnce requests at a time and perSecond starts a second (the
// defaults are 10 and 20); 0 leaves that side unbounded.
func NewAddresses(atOnce, perSecond int) *Addresses {
	a := &Addresses{atOnce: atOnce, known: make(map[netip.Addr]*address)}
	if perSecond > 0 {
		a.gap = time.Second / time.Duration(perSecond)
	}
	return a
}

// Acquire waits until a request to addr may start, first come first served, and returns what ends
// it. An error is ctx's, and then nothing is held.
func (a *Addresses) Acquire(ctx context.Context, addr netip.Addr) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if a.atOnce <= 0 && a.gap == 0 {
		return func() {}, nil
	}
	key := block(addr)
	if err := a.enter(ctx, key); err != nil {
		return nil, err
	}
	release = sync.OnceFunc(func() { a.leave(key) })
	if wait := a.reserve(key, time.Now()); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			release() // the start stays reserved: giving it back could bunch those behind it
			return nil, ctx.Err()
		}
	}
	return release, nil
}

// enter takes one of the address's places, waiting in line for it.
func (a *Addresses) enter(ctx context.Context, key netip.Addr) error {
	a.mu.Lock()
	s := a.known[key]
	if s == nil {
		a.sweep(time.Now())
		s = &address{}
		a.known[key] = s
	}
	if a.atOnce <= 0 || s.inFlight < a.atOnce {
		s.inFlight++
		a.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	s.waiting = append(s.waiting, turn)
	a.mu.Unlock()
	select {
	case <-turn: // leave has passed its place on
		return nil
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, w := range s.waiting {
		if w == turn {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			return ctx.Err()
		}
	}
	a.pass(s) // the place came together with the end: hand it on
	return ctx.Err()
}

func (a *Addresses) reserve(key netip.Addr, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.known[key]
	start := now
	if s.next.After(now) {
		start = s.next
	}
	s.next = start.Add(a.gap)
	return start.Sub(now)
}

func (a *Addresses) leave(key netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pass(a.known[key])
}

// pass gives a place to the first in line, or frees it.
func (a *Addresses) pass(s *address) {
	if len(s.waiting) > 0 {
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
		return
	}
	s.inFlight--
}

// sweep forgets addresses at rest, so that memory follows those in use.
func (a *Addresses) sweep(now time.Time) {
	if len(a.known) < sweepAt || len(a.known)&(len(a.known)-1) != 0 {
		return // only at powers of two: amortised O(1)
	}
	for key, s := range a.known {
		if s.inFlight == 0 && !s.next.After(now) {
			delete(a.known, key)
		}
	}
}

// block is the address that limits are kept for.
func block(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		prefix, _ := addr.Prefix(64) // 64 fits every IPv6 address
		return prefix.Addr()
	}
	return addr
}
