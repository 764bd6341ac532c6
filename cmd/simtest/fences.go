package main

import (
	"context"
	"time"

	durable "seine/coordinator/group"
	"seine/coordinator/leader"
	"seine/jobs/worker"
)

// fence is what is left out of a run, to see whether it is missed. The zero value
// leaves nothing out.
type fence struct {
	still   bool // the worker's clock stands still: no lease ever ends by itself
	wall    bool // the worker believes the wall clock alone, which may be set back
	answers bool // heartbeats that reach nobody are acknowledged
	blind   bool // coordinators do not see that another group has taken the crawl over
	hasty   bool // a group that took a crawl over grants at once
}

var fences = map[string]fence{
	"lease": {still: true},
	"mono":  {wall: true},
	"ack":   {answers: true},
	"epoch": {blind: true},
	"quiet": {hasty: true},
}

// clock is the worker's, or a broken one.
func (f fence) clock(c worker.Clock) worker.Clock {
	first := c()
	switch {
	case f.still:
		return func() worker.Reading { return first }
	case f.wall:
		return func() worker.Reading { return worker.Reading{Wall: c().Wall, Mono: first.Mono} }
	}
	return c
}

// quiet is how long a group that took a crawl over grants nothing.
func (f fence) quiet() time.Duration {
	if f.hasty {
		return time.Millisecond
	}
	return durable.QuietTime
}

// ledger is a coordinator's, or one that does not look.
func (f fence) ledger(l leader.Ledger) leader.Ledger {
	if f.blind {
		return unseeing{l}
	}
	return l
}

// unseeing is a ledger that always finds the epoch in which everything began.
type unseeing struct{ leader.Ledger }

// Epoch implements leader.Ledger.
func (unseeing) Epoch(context.Context) (uint64, error) { return 1, nil }
