package fold

import (
	"seine/formats/schema"
	"seine/reducer/task"
)

// risen is how much a rank must gain for a URL to be queued again: 1/16 of
// priority (DESIGN §7).
const risen = task.RankScale / 16

// discovered writes the row of a URL that nobody knew; it is due at once, unless
// its group is full: then the row alone remembers it.
func (f *folding) discovered(it *item) error {
	row := schema.URL{Partition: int32(it.key.Partition), Domain: it.key.Domain, Host: it.key.Host,
		URL: it.key.URL, CrawlStatus: schema.Pending, Depth: it.links.depth, Seed: it.links.seed,
		DiscoveredAt: f.now, NextCrawl: f.now, Why: schema.WhyNew, Inlinks: it.links.inlinks,
		Queued: f.job, Round: f.job}
	row.Priority = max(f.score(&row, it.links.suspicion), it.links.atLeast)
	row.QueuedRank = task.Rank(row.Priority, row.NextCrawl)
	f.end.Counts["new"]++
	f.end.Known++
	f.groups.tally.known++
	full := !f.admit()
	if full {
		f.end.Counts["held"]++
		f.groups.tally.held++
		row.Reason = schema.DomainFull
		row.NextCrawl, row.Why, row.Queued, row.QueuedRank = 0, "", 0, 0
	}
	if err := f.out.urls.Write(&row); err != nil {
		return err
	}
	f.tally(&schema.URL{}, &row)
	if full {
		return nil
	}
	return f.queue(task.QueueRow(&row))
}

// linked writes what links add to a known URL that had no turn in the round, as
// a delta row, if anything; promoted says that it was queued again.
func (f *folding) linked(it *item) (promoted bool, err error) {
	old := &it.old
	sum := *old
	sum.Inlinks += it.links.inlinks
	sum.Depth = min(sum.Depth, it.links.depth)
	delta := schema.URL{Partition: old.Partition, Domain: old.Domain, Host: old.Host, URL: old.URL,
		Delta: true, Inlinks: it.links.inlinks, Depth: sum.Depth, Round: f.job}
	if old.Queued != 0 {
		priority := max(f.score(&sum, it.links.suspicion), it.links.atLeast)
		rank := task.Rank(priority, old.NextCrawl)
		if promoted = rank-old.QueuedRank >= risen; promoted {
			delta.Queued, delta.QueuedRank, delta.Priority = f.job, rank, priority
		}
	}
	if delta.Inlinks == 0 && delta.Depth == old.Depth && !promoted {
		return false, nil
	}
	f.end.Counts["linked"]++
	if err := f.out.urls.Write(&delta); err != nil || !promoted {
		return promoted, err
	}
	f.end.Counts["promoted"]++
	if it.left != nil {
		f.count(it.left.Reason)
	}
	row := schema.FrontierRow{Partition: old.Partition, Domain: old.Domain, Host: old.Host,
		URL: old.URL, Priority: delta.Priority, Depth: delta.Depth, Due: old.NextCrawl,
		Rank: delta.QueuedRank, Ticket: f.job, Why: old.Why}
	f.hold(it, &row)
	return true, f.queue(row)
}
