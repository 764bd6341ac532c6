package main

import (
	"context"
	"time"

	durable "seine/coordinator/group"
	"seine/coordinator/leader"
	"seine/coordinator/raftnode"
	"seine/formats/layout"
	"seine/jobs"
	"seine/jobs/worker"
)

// fence is what is left out of a run, to see whether it is missed. The zero value
// leaves nothing out. None of this is in any other program: the broken parts are put
// in the place of the real ones by who builds the world here.
type fence struct {
	still         bool // a worker's clocks stand still: no lease ever ends by itself
	wallOnly      bool // a worker believes the wall clock alone, which may be set back
	monoOnly      bool // a worker believes the monotonic clock alone, which may stand still
	fromAnswer    bool // a worker counts its lease from the answer, not from what it sent
	unverified    bool // a leader acknowledges heartbeats without making sure that it leads
	partLeases    bool // a new leader takes the leases of what runs to be over
	hasty         bool // a group that took a crawl over grants at once
	deaf          bool // a group does not hear that another epoch has begun
	unaware       bool // a coordinator does not notice that it was stopped
	unconditional bool // puts overwrite what is there
	anonymous     bool // each try of a submission has an id of its own
	oneAttempt    bool // all attempts at a task have one number

	name string
	aim  aim // the fault that the fence is against
	// share is which part of the runs without the fence breaks a rule, a cautious estimate from 40
	// runs of -measure, and tries how many the test makes at most, beginning with a seed that shows it
	// soon: (1 - share)^tries < 1e-6.
	share float64
	tries int
	first uint64
}

// fences are all that can be left out.
var fences = []fence{
	{name: "lease", still: true, share: 0.5, tries: 20, first: 1,
		aim: aim{cutOff, 20 * s, 60 * s, 30 * s}},
	{name: "mono", wallOnly: true, share: 0.5, tries: 20, first: 1,
		aim: aim{workerSet, 30 * s, 60 * s, 30 * s}},
	{name: "wall", monoOnly: true, share: 0.5, tries: 20, first: 1,
		aim: aim{workerSleeps, 20 * s, 60 * s, 30 * s}},
	{name: "sent", fromAnswer: true, share: 0.4, tries: 28, first: 1,
		aim: aim{sluggish, 20 * s, 40 * s, 30 * s}},
	{name: "ack", unverified: true, share: 0.4, tries: 28, first: 1004,
		aim: aim{leaderStops, 88 * s / 10, 99 * s / 10, 30 * s}},
	{name: "whole", partLeases: true, share: 0.5, tries: 20, first: 1,
		aim: aim{split, 15 * s, 30 * s, 30 * s}},
	{name: "quiet", hasty: true, share: 0.45, tries: 24, first: 3,
		aim: aim{takenOver, 75 * s, 150 * s, 150 * s}},
	{name: "epoch", deaf: true, share: 0.5, tries: 20, first: 1,
		aim: aim{takenOver, 120 * s, 150 * s, 150 * s}},
	{name: "awake", unaware: true, share: 0.25, tries: 49, first: 2,
		aim: aim{revived, 65 * s, 120 * s, 150 * s}},
	{name: "absent", unconditional: true, share: 0.5, tries: 20, first: 1,
		aim: aim{storeless, 20 * s, 60 * s, 30 * s}},
	{name: "request", anonymous: true, share: 0.5, tries: 20, first: 1},
	{name: "attempt", oneAttempt: true, share: 0.5, tries: 20, first: 1,
		aim: aim{storeless, 20 * s, 60 * s, 30 * s}},
}

// flags are what the command is given for the fence.
func (f fence) flags() string {
	switch {
	case f.name == "":
		return ""
	case f.whole():
		return " -aim " + f.name
	}
	return " -without " + f.name
}

// mended is the same aim with the fence in its place: nothing may break.
func (f fence) mended() fence {
	return fence{name: f.name, aim: f.aim, share: f.share, tries: f.tries, first: f.first}
}

// whole says whether nothing is left out.
func (f fence) whole() bool { return f == f.mended() }

// clock is the worker's, or a broken one.
func (f fence) clock(h *hand) worker.Clock {
	first := h.process.clock()
	switch {
	case f.still:
		return func() worker.Reading { return first }
	case f.wallOnly:
		return func() worker.Reading {
			return worker.Reading{Wall: h.process.clock().Wall, Mono: first.Mono}
		}
	case f.monoOnly:
		return func() worker.Reading {
			return worker.Reading{Wall: first.Wall, Mono: h.process.clock().Mono}
		}
	case f.fromAnswer: // who lets the time stand while an answer is awaited
		return func() worker.Reading {
			now, waited := h.process.clock(), h.line.waited()
			return worker.Reading{Wall: now.Wall - waited, Mono: now.Mono - waited}
		}
	}
	return h.process.clock
}

// leaderClock is a coordinator's, or a broken one.
func (f fence) leaderClock(c *coordinator) worker.Clock {
	switch {
	case f.unaware:
		return func() worker.Reading {
			now, missed := c.process.clock(), c.process.missed()
			return worker.Reading{Wall: now.Wall - missed, Mono: now.Mono - missed}
		}
	case f.partLeases: // from soon after it began to lead it is a lease's time ahead
		return func() worker.Reading {
			now := c.process.clock()
			now.Mono += c.log.ahead()
			return now
		}
	}
	return c.process.clock
}

// quiet is how long a group that took a crawl over grants nothing.
func (f fence) quiet() time.Duration {
	if f.hasty {
		return time.Millisecond
	}
	return durable.QuietTime
}

// ledger is the coordinator's view of the store, or one of somebody who believes that its epoch is
// the newest for ever.
func (f fence) ledger(l leader.Ledger) leader.Ledger {
	if f.deaf {
		return &ownEpoch{Ledger: l}
	}
	return l
}

type ownEpoch struct {
	leader.Ledger
	epoch uint64
}

// Epoch implements leader.Ledger.
func (o *ownEpoch) Epoch(ctx context.Context) (uint64, error) {
	if o.epoch != 0 {
		return o.epoch, nil
	}
	return o.Ledger.Epoch(ctx)
}

// TakeOver implements leader.Ledger.
func (o *ownEpoch) TakeOver(ctx context.Context) (uint64, error) {
	epoch, err := o.Ledger.TakeOver(ctx)
	if err == nil {
		o.epoch = epoch
	}
	return epoch, err
}

// Publish implements leader.Ledger.
func (o *ownEpoch) Publish(ctx context.Context, p leader.Publication) (leader.Published, error) {
	newest, err := o.Ledger.Epoch(ctx)
	if err != nil {
		return leader.Published{}, err
	}
	p.Epoch = max(p.Epoch, newest)
	return o.Ledger.Publish(ctx, p)
}

// verified is what a leader asks Raft, or what one says that asks nobody.
func (f fence) verified(ctx context.Context, n *raftnode.Node) error {
	if f.unverified {
		return nil
	}
	return n.Verify(ctx)
}

// attempts makes a worker believe that the attempts at each task are one, and keeps what they are.
type attempts map[jobs.TaskRef]layout.Attempt

func (a attempts) hide(t *jobs.Task) {
	a[t.Ref()] = t.Attempt
	t.Attempt = layout.Attempt{Epoch: 1, N: 1}
}

func (a attempts) real(ref jobs.AttemptRef) jobs.AttemptRef {
	if was, ok := a[ref.TaskRef]; ok {
		ref.Attempt = was
	}
	return ref
}
