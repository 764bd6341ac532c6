package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// storm begins the faults; stop ends them and waits.
func (w *world) storm() (stop func()) {
	w.mu.Lock()
	w.stormy = true
	w.mu.Unlock()
	ctx, cancel := context.WithCancel(w.t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		began := time.Now()
		for s := range w.plan.strikes() {
			nap(ctx, time.Until(began.Add(s.at)))
			for s.aimed && !w.atWork() && ctx.Err() == nil {
				nap(ctx, time.Second)
				began = began.Add(time.Second)
			}
			if ctx.Err() != nil {
				return
			}
			w.struck()
			w.struckBy = append(w.struckBy, s)
			w.strike(ctx, &wait, s)
		}
	})
	return func() {
		cancel()
		wait.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.stormy = false
	}
}

// nap sleeps, unless the storm ends.
func nap(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// struck counts a fault.
func (w *world) struck() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults++
}

func (w *world) isStormy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stormy
}

// whiler lets something last for a while.
type whiler func(d time.Duration, begin, end func())

// strike does one thing that processes have to live with. What lasts runs beside what comes next.
func (w *world) strike(ctx context.Context, wait *sync.WaitGroup, s strike) {
	w.say("%v", s)
	// A while begins with the strike, and ends on its own.
	while := func(d time.Duration, begin, end func()) {
		begin()
		wait.Go(func() {
			nap(ctx, d)
			end()
		})
	}
	switch s.kind {
	case killed, drained:
		w.endWorker(wait, s)
	case isolated, split, leaderSet, leaderStops:
		if c := w.member(s.whom, s.aimed); c != nil {
			w.strikeLeader(s, c, while)
		}
	case disbanded:
		if w.gone(w.newest()) { // another comes already
			return
		}
		w.disband()
		while(s.lasts, func() {}, func() { w.foundAnew(s) })
	case takenOver, revived:
		w.replace(ctx, wait, s)
	default:
		if h := w.pick(s.whom, s.aimed); h != nil {
			w.strikeWorker(s, h, while)
		}
	}
}

// endWorker ends a worker and starts another.
func (w *world) endWorker(wait *sync.WaitGroup, s strike) {
	h := w.pick(s.whom, s.aimed)
	if h == nil {
		return
	}
	w.remove(h)
	scratch := ""
	if s.kind == killed {
		h.kill()
		if s.other%2 == 0 {
			scratch = h.scratch
		}
	} else {
		wait.Go(h.retire)
	}
	w.hire(scratch)
}

func (w *world) strikeWorker(s strike, h *hand, while whiler) {
	cut := func() { while(s.lasts, func() { h.line.cut(1) }, func() { h.line.cut(-1) }) }
	switch s.kind {
	case cutOff:
		cut()
	case storeless:
		h.leaveStore(s.lasts)
		cut()
	case workerSet:
		h.process.set(s.by)
		cut()
	case workerStops, workerSleeps:
		while(s.lasts, func() { h.process.stop(s.kind == workerSleeps) }, h.process.wake)
	case sluggish: // the last answer comes as late as a heartbeat waits, then none does
		const last = 5950 * time.Millisecond
		late := last - time.Duration(s.other%200)*time.Millisecond
		while(12*time.Second, func() { h.line.slowDown(late) }, func() { h.line.slowDown(0) })
		while(12*time.Second, func() {}, cut)
	}
}

func (w *world) strikeLeader(s strike, c *coordinator, while whiler) {
	alone := func(d time.Duration) {
		if h := w.pick(s.other, s.aimed); h != nil {
			w.say("%s reaches %s alone", h.process.name, c.process.name)
			while(d, func() { h.line.pin(c) }, func() { h.line.pin(nil) })
		}
	}
	switch s.kind {
	case split:
		alone(s.lasts)
		fallthrough
	case isolated:
		while(s.lasts, func() { w.part(c, 1) }, func() { w.part(c, -1) })
	case leaderSet:
		c.process.set(s.by)
	case leaderStops: // nobody hears of it meanwhile: not Raft's messages, not calls
		stop := func() { w.part(c, 1); c.process.stop(s.other%4 == 0) }
		while(s.lasts, stop, func() { c.process.wake(); w.part(c, -1) })
		alone(s.lasts + 20*time.Second)
	}
}

// foundAnew begins a group of one or three where there is none.
func (w *world) foundAnew(s strike) {
	w.found(1+int(s.other%2)*2, false)
}

// dawn is how long a group that wakes is let go on.
const dawn = 40 * time.Second

// replace founds a group that takes the crawl over, while the one that has it works on, or is
// stopped and wakes later: workers come to the new one one by one.
func (w *world) replace(ctx context.Context, wait *sync.WaitGroup, s strike) {
	w.mu.Lock()
	old := w.group
	hands := slices.Clone(w.hands)
	w.losses++ // leases end with their group
	w.mu.Unlock()
	if w.gone(old) {
		return
	}
	if s.kind == revived {
		for _, c := range old.members {
			c.process.stop(false)
		}
	}
	w.found(1+int(s.other%2)*2, true)
	for i, h := range hands {
		d := time.Duration(w.plan.chance("turn", s.at, i) * float64(s.lasts))
		if s.kind == revived {
			d = s.lasts + time.Duration(w.plan.chance("turn", s.at, i)*float64(dawn))
		}
		wait.Go(func() {
			nap(ctx, d)
			h.line.turn()
		})
	}
	wait.Go(func() {
		if s.kind == revived {
			nap(ctx, s.lasts)
			for _, c := range old.members {
				c.process.wake()
			}
			nap(ctx, dawn)
		} else {
			nap(ctx, s.lasts)
		}
		for _, h := range hands {
			h.line.turn()
		}
		w.end(old)
	})
}

// pick chooses a worker, who may now lose what it has; one of those who fetch, if there are any
// and it is asked for.
func (w *world) pick(whom uint64, fetching bool) *hand {
	w.mu.Lock()
	defer w.mu.Unlock()
	among := w.hands
	if fetching {
		busy := slices.DeleteFunc(slices.Clone(w.hands), func(h *hand) bool { return h.busyFor() == 0 })
		if len(busy) > 0 {
			among = busy
		}
	}
	if len(among) == 0 {
		return nil
	}
	w.losses++
	return among[whom%uint64(len(among))]
}

// atWork says whether somebody has been fetching for a while.
func (w *world) atWork() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.hands, func(h *hand) bool { return h.busyFor() > 3*time.Second })
}

// remove takes a worker off the list.
func (w *world) remove(h *hand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hands = slices.DeleteFunc(w.hands, func(other *hand) bool { return other == h })
}

// member chooses a coordinator of the newest group: every second time, and if asked for, the one
// that leads.
func (w *world) member(whom uint64, leading bool) *coordinator {
	w.mu.Lock()
	members := w.group.members
	w.mu.Unlock()
	if len(members) == 0 {
		return nil
	}
	if leading || whom%2 == 0 {
		for _, c := range members {
			if c.log.Leading() {
				return c
			}
		}
	}
	return members[whom/2%uint64(len(members))]
}
