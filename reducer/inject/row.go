package inject

import (
	"seine/formats/schema"
	"seine/jobs"
	"seine/reducer/task"
)

// change is what a seed does to its URL.
type change struct {
	row     schema.URL
	queued  bool // the row has a new ticket: it needs a frontier row
	isNew   bool
	revived bool // it had been refused and waits again
	unheld  bool // its group had kept it back
	ticket  bool // it had none before
}

// signal is the user's signal of a seed: what the seed says, and 1 if it says
// nothing, for to name a URL is to want it.
func signal(l *line) float32 {
	if l.Priority > 0 {
		return l.Priority
	}
	return 1
}

// origin is what a seed's descendants carry in their column seed.
func origin(l *line) string {
	if l.Tag != "" {
		return l.Tag
	}
	return l.URL
}

// fresh is the row of a URL that nobody knew.
func (i *injection) fresh(l *line) change {
	spec := &i.task.Spec
	row := schema.URL{Partition: l.Partition, Domain: l.Domain, Host: l.Host, URL: l.URL,
		CrawlStatus: schema.Pending, Seed: origin(l), UserSignal: signal(l),
		DiscoveredAt: spec.Now, NextCrawl: spec.Now, Why: schema.WhyNew}
	row.Priority = i.priority(&row, true)
	queue(&row, spec)
	return change{row: row, queued: true, isNew: true, ticket: true}
}

// update is what a seed makes of a known URL; false if it changes nothing.
func (i *injection) update(old schema.URL, l *line) (change, bool) {
	spec := &i.task.Spec
	if l.Removed {
		return i.removed(old)
	}
	row := old
	row.Depth, row.Seed, row.UserSignal = 0, origin(l), signal(l)
	row.Priority = i.priority(&row, true)
	c := change{ticket: old.Queued == 0}
	switch {
	case spec.Inject.Now:
		row.NextCrawl, row.Why = spec.Now, why(&row)
		c.queued = true
	case old.Queued == 0:
		// Only what an earlier scope refused, for a seed is in scope, or a full domain
		// kept back: what a person names needs no room. Blocked URLs stay away, and
		// whatever else waits for nothing has its reason.
		c.queued = refused(old.Reason)
	default:
		// The due time stays; the place in the order follows if it rose by 1/16.
		c.queued = task.Rank(row.Priority, old.NextCrawl) >= old.QueuedRank+task.RankScale/16
	}
	if c.queued && refused(old.Reason) {
		c.revived = old.CrawlStatus == schema.Failed
		c.unheld = old.Reason == schema.DomainFull
		row.CrawlStatus, row.Reason = schema.Pending, ""
		row.NextCrawl, row.Why = spec.Now, why(&row)
	}
	if c.queued {
		queue(&row, spec)
	}
	changed := row != old
	row.Round = int64(spec.Job)
	c.row = row
	return c, changed
}

// removed is a known URL that is no seed any more: it loses the person's signal
// and waits as it did. When its turn comes, scope and rules decide over it as
// over any other.
func (i *injection) removed(old schema.URL) (change, bool) {
	row := old
	row.UserSignal = 0
	row.Priority = i.priority(&row, false)
	changed := row != old
	row.Round = int64(i.task.Spec.Job)
	return change{row: row}, changed
}

// why is what a URL waits as that a person asked for.
func why(row *schema.URL) string {
	if row.LastCrawled == 0 {
		return schema.WhyNew
	}
	return schema.WhyRecrawl
}

func refused(reason schema.Reason) bool {
	return reason == schema.OutOfScope || reason == schema.RuleOut || reason == schema.Trap ||
		reason == schema.DomainFull
}

// queue gives the row a ticket of this job for its due time.
func queue(row *schema.URL, spec *jobs.Spec) {
	row.Queued = int64(spec.Job)
	row.QueuedRank = task.Rank(row.Priority, row.NextCrawl)
	row.Round = int64(spec.Job)
}

// priority is a URL's, as a seed or without a person's word for it.
func (i *injection) priority(row *schema.URL, seed bool) float32 {
	return task.Priority(i.settings, task.Facts{Depth: row.Depth, Inlinks: row.Inlinks, Seed: seed,
		HomePage: task.HomePage(row.URL), UserSignal: row.UserSignal,
		Boost:     task.SheetsOf(i.sheets, row.URL).Boost,
		Freshness: task.Freshness(row.LastCrawled != 0, row.Visits, row.Changes)})
}
