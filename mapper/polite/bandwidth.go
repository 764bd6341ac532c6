package polite

import (
	"sync"
	"time"
)

// Bandwidth bounds what one worker takes in, in bytes a second: in all, and from
// each group. Rates may change at any time. The zero value bounds nothing; nil
// is one that cannot be bounded.
type Bandwidth struct {
	mu       sync.Mutex
	all      flow
	allRate  int64
	perGroup int64
	groups   map[string]*flow
}

// flow is a stream of bytes: until when what has come so far takes at its rate.
type flow struct{ until time.Time }

// take adds n bytes and returns until when they take.
func (w *flow) take(now time.Time, n int, rate int64) time.Time {
	if rate <= 0 {
		return now
	}
	if w.until.Before(now) {
		w.until = now
	}
	w.until = w.until.Add(time.Duration(float64(n) / float64(rate) * float64(time.Second)))
	return w.until
}

// SetRates bounds everything, and each group; 0 is no bound.
func (b *Bandwidth) SetRates(all, perGroup int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allRate, b.perGroup = all, perGroup
}

// Take counts n bytes that came for a group and says how long nothing more of it
// shall be read.
func (b *Bandwidth) Take(group string, n int) time.Duration {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	until := b.all.take(now, n, b.allRate)
	if b.perGroup > 0 {
		w := b.groups[group]
		if w == nil {
			b.sweep(now)
			w = &flow{}
			b.groups[group] = w
		}
		if own := w.take(now, n, b.perGroup); own.After(until) {
			until = own
		}
	}
	return until.Sub(now)
}

// sweep makes room for a group by forgetting those at rest.
func (b *Bandwidth) sweep(now time.Time) {
	if b.groups == nil {
		b.groups = map[string]*flow{}
	}
	if n := len(b.groups); n < sweepAt || n&(n-1) != 0 {
		return // only at powers of two: amortised O(1)
	}
	for name, w := range b.groups {
		if !w.until.After(now) {
			delete(b.groups, name)
		}
	}
}
