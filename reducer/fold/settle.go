package fold

import (
	"context"
	"fmt"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/reducer/task"
)

const (
	// settleMost is how many groups or hosts are looked up at once.
	settleMost = 2048
	// settleSamples bounds the times to first byte that wait for that.
	settleSamples = 1 << 16
)

// tallies are complete and wait to be looked up, in key order.
type tallies struct {
	groups  []tally
	hosts   []hostTally
	samples int
}

func (t *tallies) full() bool {
	return len(t.groups) >= settleMost || len(t.hosts) >= settleMost || t.samples >= settleSamples
}

// settle writes all groups and hosts that are left.
func (f *folding) settle(ctx context.Context) error {
	if err := f.leaveGroup(ctx); err != nil {
		return err
	}
	return f.settleTallies(ctx)
}

func (f *folding) settleTallies(ctx context.Context) error {
	if err := f.settleGroups(ctx); err != nil {
		return fmt.Errorf("domains: %w", err)
	}
	if err := f.settleHosts(ctx); err != nil {
		return fmt.Errorf("hosts: %w", err)
	}
	f.tallies = tallies{}
	return nil
}

func (f *folding) settleGroups(ctx context.Context) error {
	keys := make([]lsm.Key, len(f.tallies.groups))
	for i := range keys {
		keys[i] = f.tallies.groups[i].key
	}
	next := 0
	write := func(row schema.Domain, t *tally) error {
		f.domain(&row, t)
		next++
		return f.out.domains.Write(&row)
	}
	fresh := func(to int) error {
		for next < to {
			t := &f.tallies.groups[next]
			if err := write(schema.Domain{Partition: int32(t.key.Partition), Domain: t.key.Domain,
				Host: t.key.Host}, t); err != nil {
				return err
			}
		}
		return nil
	}
	err := lsm.Domains().Lookup(ctx, f.env.Open, f.manifest.Tables[schema.Domains], keys,
		lsm.LookupOptions{Stats: f.env.Stats}, func(hit lsm.Hit[schema.Domain]) error {
			if err := fresh(hit.Index); err != nil {
				return err
			}
			if err := f.out.domains.Supersede(hit.Refs...); err != nil {
				return err
			}
			return write(hit.Row, &f.tallies.groups[hit.Index])
		})
	if err != nil {
		return err
	}
	return fresh(len(keys))
}

// domain adds a tally to the row of its group.
func (f *folding) domain(row *schema.Domain, t *tally) {
	row.Known += t.known
	row.Pending += t.pending
	row.Held += t.held
	row.Pages += t.pages
	row.Failed += t.failed
	row.NearDup += t.nearDup
	row.LastAccessed = max(row.LastAccessed, t.lastAccessed)
	row.BackoffUntil = max(row.BackoffUntil, t.backoff)
	if t.success {
		row.Backoffs, row.ErrorCount = 0, 0
	}
	row.Backoffs += t.backoffs
	row.ErrorCount += t.errors
	if t.slot != 0 {
		row.NextSlot = t.slot
	}
	// The group's Crawl-delay is its authorities' largest. One that was not asked
	// now may still want more than those that were: then its wish stands.
	if t.robots && row.CrawlDelay <= max(t.wasDelay, t.crawlDelay) {
		row.CrawlDelay = t.crawlDelay
	}
	row.Delay, row.DelayWhy = task.Delay(f.settings, f.ofGroup(t.key), row.CrawlDelay)
	if t.askedDay != 0 {
		before := tally{askedDay: row.AskedDay, asked: row.Asked}
		before.ask(t.askedDay, t.asked)
		row.AskedDay, row.Asked = before.askedDay, before.asked
	}
	row.Round = f.job
	f.room(row)
}

func (f *folding) settleHosts(ctx context.Context) error {
	keys := make([]lsm.Key, len(f.tallies.hosts))
	for i := range keys {
		keys[i] = f.tallies.hosts[i].key
	}
	next := 0
	write := func(row schema.Host, t *hostTally) error {
		t.add(&row)
		row.Round = f.job
		next++
		return f.out.hosts.Write(&row)
	}
	fresh := func(to int) error {
		for next < to {
			t := &f.tallies.hosts[next]
			if err := write(schema.Host{Partition: int32(t.key.Partition), Domain: t.key.Domain,
				Host: t.key.Host}, t); err != nil {
				return err
			}
		}
		return nil
	}
	err := lsm.Hosts().Lookup(ctx, f.env.Open, f.manifest.Tables[schema.Hosts], keys,
		lsm.LookupOptions{Stats: f.env.Stats}, func(hit lsm.Hit[schema.Host]) error {
			if err := fresh(hit.Index); err != nil {
				return err
			}
			if err := f.out.hosts.Supersede(hit.Refs...); err != nil {
				return err
			}
			return write(hit.Row, &f.tallies.hosts[hit.Index])
		})
	if err != nil {
		return err
	}
	return fresh(len(keys))
}

// add adds a tally to the row of its host. The latency is an exponentially
// weighted moving average, each answer with a fifth, in whole ms; at least 1
// once there is one.
func (t *hostTally) add(row *schema.Host) {
	row.Fetches += t.fetches
	row.Pages += t.pages
	row.Failed += t.failed
	row.Bytes += t.bytes
	row.LastAccessed = max(row.LastAccessed, t.lastAccessed)
	for _, s := range t.samples {
		ms := int64(s.ms)
		if row.Latency > 0 {
			ms = (4*row.Latency + ms + 2) / 5
		}
		row.Latency = max(ms, 1)
	}
}
