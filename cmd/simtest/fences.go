package main

import "seine/jobs/worker"

// fence is what is left out of a run, to see whether it is missed. The zero value
// leaves nothing out.
type fence struct {
	still   bool // the worker's clock stands still: no lease ever ends by itself
	answers bool // heartbeats that reach nobody are acknowledged
}

var fences = map[string]fence{
	"lease": {still: true},
	"ack":   {answers: true},
}

// clock is the worker's, or a broken one.
func (f fence) clock(c worker.Clock) worker.Clock {
	if !f.still {
		return c
	}
	first := c()
	return func() worker.Reading { return first }
}
