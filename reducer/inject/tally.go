package inject

import (
	"context"
	"fmt"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/reducer/task"
)

// tally is what seeds change in the counts of a politeness group and a host.
// Seeds come in key order, so a tally is complete when the next one begins.
type tally struct {
	partition              int32
	domain, host           string
	known, pending, failed int64
	held                   int64
}

func (i *injection) tally(c *change) {
	t := tally{partition: c.row.Partition, domain: c.row.Domain, host: c.row.Host}
	if c.isNew {
		t.known, t.pending = 1, 1
	}
	if c.revived {
		t.pending, t.failed = 1, -1
	}
	if c.unheld {
		t.held = -1
	}
	if n := len(i.tallies); n > 0 && i.tallies[n-1].domain == t.domain &&
		i.tallies[n-1].host == t.host {
		last := &i.tallies[n-1]
		last.known, last.pending = last.known+t.known, last.pending+t.pending
		last.failed, last.held = last.failed+t.failed, last.held+t.held
		return
	}
	i.tallies = append(i.tallies, t)
}

// settle writes the domains and hosts whose tallies are complete: all but the
// last domain's, or all at the end.
func (i *injection) settle(ctx context.Context, all bool) error {
	n := len(i.tallies)
	if !all {
		for n > 0 && i.tallies[n-1].domain == i.tallies[len(i.tallies)-1].domain {
			n--
		}
	}
	complete := i.tallies[:n]
	if len(complete) == 0 {
		return nil
	}
	if err := i.domains(ctx, complete); err != nil {
		return err
	}
	if err := i.hosts(ctx, complete); err != nil {
		return err
	}
	i.tallies = append(i.tallies[:0:0], i.tallies[n:]...)
	return nil
}

// domains writes the politeness groups of complete tallies.
func (i *injection) domains(ctx context.Context, tallies []tally) error {
	var rows []schema.Domain
	var keys []lsm.Key
	for _, t := range tallies {
		key := lsm.Key{Partition: uint16(t.partition), Domain: t.domain}
		if i.settings.GroupByHost {
			key.Host = t.host
		}
		if n := len(keys); n == 0 || keys[n-1] != key {
			keys = append(keys, key)
			v := i.sheets.Of(i.settings.GroupByHost, key.Domain, key.Host)
			delay, why := task.Delay(i.settings, v, 0)
			rows = append(rows, schema.Domain{Partition: t.partition, Domain: t.domain,
				Host: key.Host, Delay: delay, DelayWhy: why})
		}
		row := &rows[len(rows)-1]
		row.Known, row.Pending = row.Known+t.known, row.Pending+t.pending
		row.Failed, row.Held = row.Failed+t.failed, row.Held+t.held
	}
	old := make([]*lsm.Hit[schema.Domain], len(keys))
	err := lsm.Domains().Lookup(ctx, i.env.Open, i.manifest.Tables[schema.Domains], keys,
		lsm.LookupOptions{Stats: i.env.Stats}, func(hit lsm.Hit[schema.Domain]) error {
			hit.Refs = append([]lsm.Ref(nil), hit.Refs...)
			old[hit.Index] = &hit
			return nil
		})
	if err != nil {
		return fmt.Errorf("look up domains: %w", err)
	}
	for n := range rows {
		if err := i.domain(rows[n], old[n]); err != nil {
			return err
		}
	}
	return nil
}

func (i *injection) domain(row schema.Domain, old *lsm.Hit[schema.Domain]) error {
	if old != nil {
		if row.Known == 0 && row.Pending == 0 && row.Failed == 0 && row.Held == 0 {
			return nil
		}
		sum := old.Row
		sum.Known, sum.Pending = sum.Known+row.Known, sum.Pending+row.Pending
		sum.Failed, sum.Held = sum.Failed+row.Failed, sum.Held+row.Held
		row = sum
		if err := i.out.domains.Supersede(old.Refs...); err != nil {
			return err
		}
	}
	row.Round = int64(i.task.Spec.Job)
	return i.out.domains.Write(&row)
}

// hosts writes the hosts that are new; seeds change nothing in others.
func (i *injection) hosts(ctx context.Context, tallies []tally) error {
	keys := make([]lsm.Key, len(tallies))
	for n, t := range tallies {
		keys[n] = lsm.Key{Partition: uint16(t.partition), Domain: t.domain, Host: t.host}
	}
	known := make([]bool, len(keys))
	err := lsm.Hosts().Lookup(ctx, i.env.Open, i.manifest.Tables[schema.Hosts], keys,
		lsm.LookupOptions{Columns: []string{}, Stats: i.env.Stats},
		func(hit lsm.Hit[schema.Host]) error {
			known[hit.Index] = true
			return nil
		})
	if err != nil {
		return fmt.Errorf("look up hosts: %w", err)
	}
	for n, key := range keys {
		if known[n] {
			continue
		}
		row := schema.Host{Partition: int32(key.Partition), Domain: key.Domain, Host: key.Host,
			Round: int64(i.task.Spec.Job)}
		if err := i.out.hosts.Write(&row); err != nil {
			return err
		}
	}
	return nil
}
