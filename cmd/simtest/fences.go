package main

import (
	"time"

	durable "seine/coordinator/group"
	"seine/jobs/worker"
)

// fence is what is left out of a run, to see whether it is missed. The zero value
// leaves nothing out.
type fence struct {
	still   bool // the worker's clock stands still: no lease ever ends by itself
	wall    bool // the worker believes the wall clock alone, which may be set back
	answers bool // heartbeats that reach nobody are acknowledged
	hasty   bool // a group that took a crawl over grants at once

	against int // the fault that the fence is against, of which there are more; 0: none
}

var fences = map[string]fence{
	"lease": {still: true, against: cutOff},
	"mono":  {wall: true, against: clockSet},
	"ack":   {answers: true, against: cutOff},
	"quiet": {hasty: true, against: takenOver},
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
