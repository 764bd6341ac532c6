package fetch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs/worker"
	"seine/mapper/polite"
)

// What an operator changes while the task runs comes with the heartbeats: the
// newest version of the settings, a pause, a moved hard stop. Of a newer version
// its live part holds (settings.Live); all else is the version's that the round
// names.

// handles are the live part in force. They never change; a newer one takes
// their place.
type handles struct {
	version uint64
	paces   []pace           // of the task's version and of newer ones
	all     []settings.Block // also those that have expired
	blocks  *settings.Blocklist
}

const (
	// unreadEvery is how soon a version that could not be read is tried again;
	// meanwhile nothing is asked, for it may hold a block.
	unreadEvery = time.Second
	readTimeout = 5 * time.Second
)

// newHandles makes the live part of a version hold at now, with the delays that have
// held so far.
func newHandles(version uint64, live settings.Live, paces []pace, now time.Time) (*handles,
	error) {
	blocks, err := settings.NewBlocklist(live.Blocks, toMS(now))
	if err != nil {
		return nil, fmt.Errorf("version %d: %w", version, err)
	}
	return &handles{version: version, paces: paces, all: live.Blocks, blocks: blocks}, nil
}

// follow obeys the orders that come, until ctx ends.
func (f *fetcher) follow(ctx context.Context) {
	for {
		live, changed := f.lease.Live()
		var again <-chan time.Time
		if wait := f.obey(ctx, live); wait > 0 {
			again = time.After(wait)
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// obey makes the queue and the task do what holds now, and says after how long
// to look again; 0: when something changes. Repeating it is no harm.
func (f *fetcher) obey(ctx context.Context, live worker.Live) time.Duration {
	if live.Held {
		f.hold()
	}
	if err := f.read(ctx, live.Settings); err != nil {
		f.hold()
		f.progress.Note("waits to read the newest settings: " + bounded(err.Error(), 200))
		return unreadEvery
	}
	now := time.Now()
	var look []time.Time
	if at := fromMS(f.handles.Load().blocks.Expires()); !at.IsZero() {
		look = append(look, at)
	}
	if !live.Held {
		stop := f.release(live.Deadline)
		if !stop.IsZero() && !now.Before(stop) {
			f.late.fire()
		} else if !stop.IsZero() {
			look = append(look, stop)
		}
	}
	wait := time.Duration(0)
	for _, at := range look {
		if d := max(at.Sub(now), time.Millisecond); wait == 0 || d < wait {
			wait = d
		}
	}
	return wait
}

// hold keeps the queue from granting; what is there is sealed.
func (f *fetcher) hold() {
	held := false
	f.runner.With(func(q *polite.Queue[int32]) { held = q.Hold() })
	if held {
		f.seal.now()
	}
}

// release lets the queue grant up to the hard stop in force, and returns that.
func (f *fetcher) release(deadline int64) time.Time {
	if deadline == 0 {
		deadline = f.task.Deadline
	}
	stop := fromMS(deadline)
	f.runner.With(func(q *polite.Queue[int32]) { q.Release(stop) })
	return stop
}

// read makes a newer version's live part hold, and lets blocks go that have
// expired.
func (f *fetcher) read(ctx context.Context, version uint64) error {
	old := f.handles.Load()
	live, paces := settings.Live{Blocks: old.all}, old.paces
	at := fromMS(old.blocks.Expires())
	switch {
	case version > old.version:
		reading, cancel := context.WithTimeout(ctx, readTimeout)
		set, err := f.env.Settings(reading, version)
		var newer pace
		if err == nil {
			newer.delay = set.Delay.D()
			newer.sheets, err = f.env.readSheets(reading, set)
		}
		cancel()
		if err != nil {
			return err
		}
		live = set.Live()
		if !slices.Contains(paces, newer) {
			paces = append(slices.Clone(paces), newer)
		}
		f.env.Bandwidth.SetRates(live.Bandwidth, live.DomainBandwidth)
	case at.IsZero() || time.Now().Before(at):
		return nil
	}
	h, err := newHandles(max(version, old.version), live, paces, time.Now())
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.handles.Store(h)
	var cut []*flight
	for fl := range f.flights {
		if b := h.blocks.Find(fl.asks); b != nil {
			cut = append(cut, fl)
		}
	}
	f.mu.Unlock()
	for _, fl := range cut {
		fl.cancel(&blockedError{*h.blocks.Find(fl.asks)})
	}
	if len(paces) > len(old.paces) {
		f.runner.With(func(q *polite.Queue[int32]) { q.RaiseDelays(f.delay) })
	}
	f.refuseBlocked(ctx, h)
	return nil
}

// refuseBlocked ends what waits and is blocked now. The spool may be full and
// make it wait, so it goes on beside the orders.
func (f *fetcher) refuseBlocked(ctx context.Context, h *handles) {
	if h.blocks.Empty() {
		return
	}
	var items []int32
	f.runner.With(func(q *polite.Queue[int32]) {
		items = q.Extract(func(item int32) bool {
			if item < 0 {
				return false // what is not of the list is dropped at its turn
			}
			u, err := normal(f.rows[item].URL)
			return err == nil && h.blocks.Find(u) != nil
		})
	})
	if len(items) == 0 {
		return
	}
	f.refusing.Go(func() {
		for _, item := range items {
			if u, err := normal(f.rows[item].URL); err == nil {
				f.refuseBlock(ctx, item, h.blocks.Find(u))
			}
		}
	})
}

// refuseBlock ends a URL of the list that is blocked.
func (f *fetcher) refuseBlock(ctx context.Context, item int32, b *settings.Block) polite.Outcome {
	o := f.outcomeOf(&f.rows[item], time.Now())
	blockedRow(&o.Fetch, b)
	o.Fetch.Final = true
	f.record(ctx, item, o)
	return polite.Outcome{Kind: polite.Unsent}
}

// blockedRow says in a row which block it met. The URL waits for the block's
// end, if it has one.
func blockedRow(row *schema.Fetch, b *settings.Block) {
	row.Reason, row.Rule, row.Detail, row.RetryAt = schema.Blocked, b.What, bounded(b.Reason, 200),
		b.Until
}

// blockedError is why an exchange was cut off: the cause of its context.
type blockedError struct{ settings.Block }

func (e *blockedError) Error() string { return e.What + " is blocked: " + e.Reason }

// flight is an exchange under way.
type flight struct {
	asks   weburl.Normal // what stands for it among the blocks
	cancel context.CancelCauseFunc
}

// takeOff registers an exchange, so that a block can cut it off, unless a block
// is there already. robots.txt is blocked with all of its authority, not by a
// prefix that happens to fit its name: pages would wait for it in vain.
func (f *fetcher) takeOff(ctx context.Context, u weburl.Normal, kind string) (
	flying context.Context, land func(), blocked *settings.Block) {
	if kind == kindRobots {
		u.Path = "/"
		u.URL = u.Scheme + "://" + u.Authority + "/"
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.handles.Load().blocks.Find(u); b != nil {
		return ctx, nil, b
	}
	flying, cancel := context.WithCancelCause(ctx)
	fl := &flight{u, cancel}
	f.flights[fl] = struct{}{}
	return flying, func() {
		f.mu.Lock()
		delete(f.flights, fl)
		f.mu.Unlock()
		cancel(nil)
	}, nil
}
