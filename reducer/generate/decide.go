package generate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/scope"
	"seine/formats/weburl"
	"seine/reducer/task"
)

// Names of the counts of a task.
const (
	countSelected = "selected"
	countPopped   = "popped"
	countDropped  = "dropped"  // not live
	countReturned = "returned" // not due: back to waiting as it was
	countMoved    = "moved"    // became due
	countDeferred = "deferred" // to a slot or the end of a back-off
	countSlot     = "deferred_slot"
	countDay      = "deferred_day"
	countBackoff  = "deferred_backoff"
	countRefused  = "refused" // and refused_REASON
)

// decideBatch joins the rows with urls, domains and hosts, and decides them in
// order. Rows of a partition that is done meanwhile stay popped for nothing.
func (g *generation) decideBatch(ctx context.Context, batch []chunk) error {
	if err := g.groups(ctx, batch); err != nil {
		return err
	}
	known, err := g.urls(ctx, batch)
	if err != nil {
		return err
	}
	if err := g.robots(ctx, batch, known); err != nil {
		return err
	}
	twins, err := g.twins(ctx, batch, known)
	if err != nil {
		return err
	}
	for _, c := range batch {
		for i := range c.rows {
			if c.part.done() {
				c.part.pending = append(c.rows[i:len(c.rows):len(c.rows)], c.part.pending...)
				break
			}
			row := c.rows[i]
			c.part.decided(row)
			g.counts[countPopped]++
			url := known[task.FrontierKey(&row.row)]
			if err := g.decide(c.part, &row.row, url, twins[task.FrontierKey(&row.row)]); err != nil {
				return err
			}
		}
	}
	return nil
}

// urls looks the rows' URLs up; of those that cannot be listed, only the columns
// that tell so.
func (g *generation) urls(ctx context.Context, batch []chunk) (map[lsm.Key]*schema.URL, error) {
	type ticket struct {
		key    lsm.Key
		number int64
	}
	var keys []lsm.Key
	live := map[ticket]bool{}
	for _, c := range batch {
		for i := range c.rows {
			row := &c.rows[i].row
			key := task.FrontierKey(row)
			keys = append(keys, key)
			if g.takes(row) && c.part.groups[g.groupKey(row)].backoff <= g.now {
				live[ticket{key, row.Ticket}] = true
			}
		}
	}
	keys = distinct(keys)
	found := make(map[lsm.Key]*schema.URL, len(keys))
	wants := func(index int, row *schema.URL) bool {
		return row.Queued != 0 && live[ticket{keys[index], row.Queued}]
	}
	err := g.tables.urls.LookupMore(ctx, keys, wants, func(hit lsm.Hit[schema.URL]) error {
		row := hit.Row
		found[keys[hit.Index]] = &row
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look up popped URLs: %w", err)
	}
	return found, nil
}

func distinct(keys []lsm.Key) []lsm.Key {
	slices.SortFunc(keys, lsm.Key.Compare)
	return slices.Compact(keys)
}

// groupKey is the key in domains of the politeness group of a row.
func (g *generation) groupKey(row *schema.FrontierRow) lsm.Key {
	key := lsm.Key{Partition: uint16(row.Partition), Domain: row.Domain}
	if g.settings.GroupByHost {
		key.Host = row.Host
	}
	return key
}

// groups sets up the groups and hosts of the rows that their partitions have
// not met yet.
func (g *generation) groups(ctx context.Context, batch []chunk) error {
	var keys, hosts []lsm.Key
	owner := map[uint16]*partition{}
	for _, c := range batch {
		owner[c.part.p] = c.part
		for i := range c.rows {
			row := &c.rows[i].row
			key := g.groupKey(row)
			group := c.part.groups[key]
			if group == nil {
				keys = append(keys, key)
			} else if _, ok := group.hosts[row.Host]; ok {
				continue
			}
			host := lsm.Key{Partition: key.Partition, Domain: row.Domain, Host: row.Host}
			hosts = append(hosts, host)
		}
	}
	if err := g.newGroups(ctx, distinct(keys), owner); err != nil {
		return err
	}
	return g.newHosts(ctx, distinct(hosts), owner)
}

func (g *generation) newGroups(ctx context.Context, keys []lsm.Key,
	owner map[uint16]*partition) error {
	duration := g.round.Duration
	if duration <= 0 {
		duration = g.settings.RoundDuration.D().Milliseconds()
	}
	for _, key := range keys {
		owner[key.Partition].groups[key] = g.newGroup(key, schema.Domain{}, duration)
	}
	err := g.tables.domains.Lookup(ctx, keys, func(hit lsm.Hit[schema.Domain]) error {
		key := keys[hit.Index]
		owner[key.Partition].groups[key] = g.newGroup(key, hit.Row, duration)
		return nil
	})
	if err != nil {
		return fmt.Errorf("look up domains: %w", err)
	}
	return nil
}

func (g *generation) newGroup(key lsm.Key, row schema.Domain, duration int64) *group {
	v := g.sheets.Of(g.settings.GroupByHost, key.Domain, key.Host)
	return newGroup(key, row, g.settings, v, g.now, duration)
}

func (g *generation) newHosts(ctx context.Context, keys []lsm.Key,
	owner map[uint16]*partition) error {
	set := func(key lsm.Key, latency int64) {
		group := lsm.Key{Partition: key.Partition, Domain: key.Domain}
		if g.settings.GroupByHost {
			group.Host = key.Host
		}
		owner[key.Partition].groups[group].hosts[key.Host] = latency
	}
	for _, key := range keys {
		set(key, 0)
	}
	err := g.tables.hosts.Lookup(ctx, keys, func(hit lsm.Hit[schema.Host]) error {
		set(keys[hit.Index], hit.Row.Latency)
		return nil
	})
	if err != nil {
		return fmt.Errorf("look up hosts: %w", err)
	}
	return nil
}

// live says whether a popped row is the one that its URL waits by; url is nil
// where urls has none.
func live(row *schema.FrontierRow, url *schema.URL) bool {
	return url != nil && url.Queued != 0 && url.Queued == row.Ticket
}

// decide says what becomes of a popped row; url is nil where urls has none, and so is twin where
// urls has no URL at the other scheme that counts.
func (g *generation) decide(p *partition, row *schema.FrontierRow, url, twin *schema.URL) error {
	if !live(row, url) {
		g.counts[countDropped]++
		return nil
	}
	if !g.takes(row) {
		return g.back(*row)
	}
	normal, err := weburl.Normalize(row.URL, weburl.Options{})
	if err != nil { // a row of urls is in normal form
		return fmt.Errorf("URL in the frontier: %w", err)
	}
	if b := g.blocks.Find(normal); b != nil {
		return g.refuse(row, schema.Fetch{Reason: schema.Blocked, Rule: b.What, Detail: b.Reason,
			RetryAt: b.Until})
	}
	if v := g.scope.Of(url.Seed).Decide(normal, row.Domain, int(url.Depth)); !v.Accepted {
		return g.refuse(row, schema.Fetch{Reason: refusal(v), Rule: v.Rule, Detail: v.Code})
	}
	if rule := g.rules.forbids(row); rule != "" {
		return g.refuse(row, schema.Fetch{Reason: schema.RobotsDenied, Rule: rule})
	}
	group := p.groups[g.groupKey(row)]
	if group.backoff > g.now {
		g.counts[countDeferred]++
		g.counts[countBackoff]++
		later := *row
		later.Depth, later.Due, later.Why = url.Depth, group.backoff, schema.WhyBackoff
		return g.out.deferred.Add(later)
	}
	switch beside(url, twin) {
	case isTwin:
		return g.refuse(row, schema.Fetch{Reason: schema.SchemeTwin, Detail: weburl.SchemeTwin(row.URL)})
	case afterTwin:
		g.counts[countDeferred]++
		g.counts[countSlot]++
		later := *row
		later.Depth, later.Due, later.Why = url.Depth, g.now+group.delay, schema.WhySlot
		return g.out.deferred.Add(later)
	}
	return p.keep(group, g.list(row, url))
}

// keep lists a row or marks it for a slot; which of the two may change until
// the partition is done.
func (p *partition) keep(group *group, row schema.List) error {
	n := int32(len(p.listing))
	row.Position = n
	ok, evicted := group.admit(n, row.Host, row.URL)
	p.listing = append(p.listing, ok)
	if ok {
		p.listed++
	}
	if evicted >= 0 {
		p.listing[evicted] = false
		p.listed--
	}
	return p.kept.Add(row)
}

// refusal is the reason of a URL that today's scope refuses.
func refusal(v scope.Verdict) schema.Reason {
	switch {
	case v.Code == scope.ByRule:
		return schema.RuleOut
	case v.Code == scope.TooLong || strings.HasPrefix(v.Code, schema.TrapPrefix):
		return schema.Trap
	}
	return schema.OutOfScope
}

// refuse ends a URL's turn with a final row that says why it is not listed.
func (g *generation) refuse(row *schema.FrontierRow, why schema.Fetch) error {
	g.counts[countRefused]++
	g.counts[countRefused+"_"+why.Reason]++
	why.Domain, why.Host, why.URL = row.Domain, row.Host, row.URL
	why.Round, why.Final, why.Kind, why.StartedAt = int64(g.task.Spec.Job), true, "page", g.now
	return g.out.refused.Add(why)
}

func (g *generation) list(row *schema.FrontierRow, url *schema.URL) schema.List {
	return schema.List{Partition: row.Partition, Domain: row.Domain, Host: row.Host, URL: row.URL,
		Band: task.Band(row.Rank, g.asOf), Priority: row.Priority, Depth: url.Depth,
		Seed: url.Seed, Due: row.Due, Why: row.Why, Rank: row.Rank, Ticket: row.Ticket,
		ETag: url.ETag, LastModified: url.LastModified, ContentHash: url.ContentHash,
		SimHash: url.SimHash, CrawlCount: url.CrawlCount, FailCount: url.FailCount,
		LastCrawled: url.LastCrawled, BlobPath: url.BlobPath, BlobOffset: url.BlobOffset,
		BlobLength: url.BlobLength, Round: int64(g.task.Spec.Job)}
}
