package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"seine/formats/objstore"
)

// troubled is a process's way to the store: while the world is stormy a request may
// fail before anything happened, or after it did, or take its time.
type troubled struct {
	objstore.Store
	world *world
	owner *hand // nil: a coordinator's

	mu   sync.Mutex
	dice *rand.Rand
}

// One request in failOneIn fails; half of these have happened.
const (
	failOneIn = 60
	slowest   = 400 * time.Millisecond
)

// meet says what becomes of a request: an error instead of it, and one after it.
func (s *troubled) meet(op string) (before, after error) {
	if s.owner != nil && s.owner.gone() {
		return errDead, errDead
	}
	if s.owner != nil {
		s.owner.awaitStore()
	}
	s.world.mu.Lock()
	stormy := s.world.stormy
	s.world.mu.Unlock()
	if !stormy {
		return nil, nil
	}
	s.mu.Lock()
	fate, pause := s.dice.IntN(2*failOneIn), time.Duration(s.dice.Int64N(int64(slowest)))
	s.mu.Unlock()
	time.Sleep(pause)
	away := fmt.Errorf("%s: %w", op, objstore.ErrUnavailable)
	if fate < 2 {
		s.world.struck()
	}
	switch {
	case s.owner != nil && s.owner.gone():
		return errDead, errDead
	case fate == 0:
		return away, nil
	case fate == 1:
		return nil, away
	}
	return nil, nil
}

func (s *troubled) Get(ctx context.Context, key string) ([]byte, error) {
	before, after := s.meet("get " + key)
	if before != nil {
		return nil, before
	}
	data, err := s.Store.Get(ctx, key)
	if after != nil {
		return nil, after
	}
	return data, err
}

func (s *troubled) ReadAt(ctx context.Context, key string, p []byte, off int64) (int, error) {
	before, after := s.meet("read " + key)
	if before != nil {
		return 0, before
	}
	n, err := s.Store.ReadAt(ctx, key, p, off)
	if after != nil {
		return 0, after
	}
	return n, err
}

func (s *troubled) Put(ctx context.Context, key string, body objstore.Body, o objstore.PutOptions) error {
	before, after := s.meet("put " + key)
	if before != nil {
		return before
	}
	if err := s.Store.Put(ctx, key, body, o); err != nil {
		return err
	}
	return after
}

// storm begins the faults; stop ends them and waits.
func (w *world) storm() (stop func()) {
	w.mu.Lock()
	w.stormy = true
	w.mu.Unlock()
	ctx, cancel := context.WithCancel(w.t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-time.After(time.Duration(w.dice.Int64N(int64(8 * time.Second)))):
				w.strike(ctx, &wait)
			case <-ctx.Done():
				return
			}
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

// The kinds of faults, but for those of the store.
const (
	killed       = iota
	cutOff       // from the coordinators, not from the web
	storeless    // from the coordinators and from the store: what was fetched is sealed late
	clockSet     // while nobody answers
	isolated     // a coordinator, from the others
	disbanded    // all coordinators are lost
	takenOver    // another group takes the crawl over, while the one that has it works on
	kindsOfFault // how many there are
)

// often is how often each comes, of all of them.
var often = [kindsOfFault]int{killed: 4, cutOff: 8, storeless: 8, clockSet: 4, isolated: 8, disbanded: 1,
	takenOver: 2}

// fault chooses what happens next: every second time what a fence that is left out is against.
func (w *world) fault() int {
	if w.flaw.against != 0 && w.dice.IntN(2) == 0 {
		return w.flaw.against
	}
	all := 0
	for _, n := range often {
		all += n
	}
	at := w.dice.IntN(all)
	for kind, n := range often {
		if at -= n; at < 0 {
			return kind
		}
	}
	return cutOff
}

// strike does one thing that processes have to live with. What lasts runs beside the
// next one.
func (w *world) strike(ctx context.Context, wait *sync.WaitGroup) {
	w.struck()
	switch w.fault() {
	case killed:
		if h := w.pick(true); h != nil {
			w.say("%s is killed", h.id)
			h.kill()
		}
		w.hire()
	case cutOff:
		if h := w.pick(false); h != nil {
			w.cutOff(ctx, wait, h)
		}
	case storeless:
		if h := w.pick(false); h != nil {
			h.leaveStore(w.cutOff(ctx, wait, h))
		}
	case clockSet: // back three times of four: forward, a lease only ends sooner
		if h := w.pick(false); h != nil {
			h.mu.Lock()
			h.skew += time.Duration(w.dice.Int64N(int64(4*time.Minute))) - 3*time.Minute
			w.say("the wall clock of %s is off by %v", h.id, h.skew)
			h.mu.Unlock()
			w.cutOff(ctx, wait, h)
		}
	case isolated:
		w.isolate(ctx, w.dice.IntN(coordinators), time.Duration(w.dice.Int64N(int64(30*time.Second))))
	case disbanded:
		w.say("all coordinators are lost")
		w.disband()
		nap(ctx, time.Duration(w.dice.Int64N(int64(30*time.Second))))
		w.found(false)
	case takenOver:
		w.replace(ctx, wait)
	}
}

// cutOff cuts a worker off from the coordinators for a while, and says for how long.
func (w *world) cutOff(ctx context.Context, wait *sync.WaitGroup, h *hand) time.Duration {
	d := time.Duration(w.dice.Int64N(int64(60 * time.Second)))
	w.say("%s is cut off for %v", h.id, d)
	h.line.cut(1)
	wait.Go(func() {
		nap(ctx, d)
		h.line.cut(-1)
	})
	return d
}

// replace founds a group that takes the crawl over, while the one that has it works on: workers come
// to the new one one by one.
func (w *world) replace(ctx context.Context, wait *sync.WaitGroup) {
	w.mu.Lock()
	old := w.group
	hands := slices.Clone(w.hands)
	w.losses++ // leases end with their group
	w.mu.Unlock()
	w.say("another group takes the crawl over")
	w.found(true)
	for _, h := range hands {
		d := time.Duration(w.dice.Int64N(int64(150 * time.Second)))
		wait.Go(func() {
			nap(ctx, d)
			h.line.turn()
		})
	}
	wait.Go(func() {
		nap(ctx, 150*time.Second)
		for _, h := range hands {
			h.line.turn()
		}
		w.end(old)
	})
}

// isolate cuts a coordinator off from the others, who may be its followers.
func (w *world) isolate(ctx context.Context, i int, d time.Duration) {
	w.mu.Lock()
	g := w.group
	w.mu.Unlock()
	w.say("coordinator %d is cut off for %v", i, d)
	g.nodes.Isolate(i)
	nap(ctx, d)
	g.nodes.Join(i)
}

// pick chooses a worker; remove takes it off the list.
func (w *world) pick(remove bool) *hand {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.hands) == 0 {
		return nil
	}
	i := w.dice.IntN(len(w.hands))
	h := w.hands[i]
	w.losses++
	if remove {
		w.hands = append(w.hands[:i:i], w.hands[i+1:]...)
	}
	return h
}
