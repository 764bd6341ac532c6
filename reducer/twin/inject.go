package twin

import (
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/reducer/task"
)

// Inject brings seeds into the world, one after the other, as an inject job
// does; of several lines with one URL only the last may touch the tables. The
// queue rows of the job are returned, for the caller to hold against its runs.
func (w *World) Inject(spec jobs.Spec, s settings.Settings, suffixes *weburl.Suffixes,
	seeds []jobs.Seed) []schema.FrontierRow {
	last := map[string]int{}
	for i, seed := range seeds {
		last[seed.URL] = i
	}
	var queued []schema.FrontierRow
	for i, seed := range seeds {
		normal, err := weburl.Normalize(seed.URL, weburl.Options{})
		if err != nil {
			panic(err)
		}
		domain := suffixes.Domain(normal.Host)
		w.Seeds = append(w.Seeds, schema.Seed{Domain: domain, Host: normal.Host, URL: seed.URL,
			Raw: seed.Raw, InjectedAt: spec.Now, Priority: seed.Priority, Tag: seed.Tag,
			Interval: seed.Interval, Depth: int32(seed.Depth), Scope: seed.Scope, Removed: seed.Removed,
			Metadata: seed.Metadata, Round: int64(spec.Job)})
		if last[seed.URL] != i {
			continue
		}
		if row, ok := w.injectOne(spec, s, domain, normal.Host, seed); ok {
			queued = append(queued, row)
		}
	}
	sortSeeds(w.Seeds)
	return queued
}

func (w *World) injectOne(spec jobs.Spec, s settings.Settings, domain, host string,
	seed jobs.Seed) (schema.FrontierRow, bool) {
	key := Key(partition(domain), domain, host, seed.URL)
	old, known := w.URLs[key]
	url := old
	if seed.Removed {
		w.unseed(spec, s, old, known)
		return schema.FrontierRow{}, false
	}
	if !known {
		url = schema.URL{Partition: partition(domain), Domain: domain, Host: host, URL: seed.URL,
			CrawlStatus: schema.Pending, DiscoveredAt: spec.Now, NextCrawl: spec.Now,
			Why: schema.WhyNew}
	}
	url.Depth, url.Seed, url.UserSignal = 0, seed.URL, 1
	if seed.Tag != "" {
		url.Seed = seed.Tag
	}
	if seed.Priority > 0 {
		url.UserSignal = seed.Priority
	}
	url.Priority = task.Priority(s, task.Facts{Inlinks: url.Inlinks, Seed: true,
		UserSignal: url.UserSignal, Freshness: task.Freshness(url.LastCrawled != 0, url.Visits,
			url.Changes)})
	refused := old.Reason == schema.OutOfScope || old.Reason == schema.RuleOut ||
		old.Reason == schema.Trap || old.Reason == schema.DomainFull
	queue, atOnce := false, false
	switch {
	case !known:
		queue = true
	case spec.Inject.Now:
		queue, atOnce = true, true
	case old.Queued == 0 && refused:
		queue, atOnce = true, true
	case old.Queued != 0:
		queue = task.Rank(url.Priority, url.NextCrawl)-old.QueuedRank >= 8_640_000_000/16
		atOnce = queue && refused
	}
	if atOnce {
		url.NextCrawl, url.Why = spec.Now, schema.WhyRecrawl
		if url.LastCrawled == 0 {
			url.Why = schema.WhyNew
		}
	}
	if queue && refused {
		url.CrawlStatus, url.Reason = schema.Pending, ""
	}
	if queue {
		url.Queued, url.QueuedRank = int64(spec.Job), task.Rank(url.Priority, url.NextCrawl)
	}
	if known && url == old {
		return schema.FrontierRow{}, false
	}
	url.Round = int64(spec.Job)
	w.PutURL(url)
	w.count(spec, s, &url, known, queue && refused && old.CrawlStatus == schema.Failed,
		queue && old.Reason == schema.DomainFull)
	return schema.FrontierRow{Partition: url.Partition, Domain: domain, Host: host, URL: seed.URL,
		Priority: url.Priority, Depth: 0, Due: url.NextCrawl, Rank: url.QueuedRank,
		Ticket: url.Queued, Why: url.Why}, queue
}

// unseed takes the person's signal from a URL.
func (w *World) unseed(spec jobs.Spec, s settings.Settings, old schema.URL, known bool) {
	url := old
	url.UserSignal = 0
	url.Priority = task.Priority(s, task.Facts{Depth: url.Depth, Inlinks: url.Inlinks,
		HomePage: task.HomePage(url.URL), Freshness: task.Freshness(url.LastCrawled != 0, url.Visits,
			url.Changes)})
	if !known || url == old {
		return
	}
	url.Round = int64(spec.Job)
	w.PutURL(url)
	w.count(spec, s, &url, true, false, false)
}

// count keeps the counts of domains and hosts.
func (w *World) count(spec jobs.Spec, s settings.Settings, url *schema.URL, known, revived,
	unheld bool) {
	group := ""
	if s.GroupByHost {
		group = url.Host
	}
	key := Key(url.Partition, url.Domain, group, "")
	row, ok := w.Domains[key]
	if !ok {
		row = schema.Domain{Partition: url.Partition, Domain: url.Domain, Host: group,
			Delay: s.Delay.D().Milliseconds(), DelayWhy: "default"}
	}
	if !known {
		row.Known, row.Pending = row.Known+1, row.Pending+1
	}
	if revived {
		row.Pending, row.Failed = row.Pending+1, row.Failed-1
	}
	if unheld {
		row.Held--
	}
	if !ok || !known || revived || unheld {
		row.Round = int64(spec.Job)
		w.PutDomain(row)
	}
	if host := Key(url.Partition, url.Domain, url.Host, ""); w.Hosts[host] == (schema.Host{}) {
		w.PutHost(schema.Host{Partition: url.Partition, Domain: url.Domain, Host: url.Host,
			Round: int64(spec.Job)})
	}
}
