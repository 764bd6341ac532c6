package main

import (
	"fmt"

	"seine/formats/schema"
	"seine/formats/settings"
	"seine/reducer/task"
)

const (
	// began is the time of the built snapshot, ms since 1970.
	began = int64(1_780_000_000_000)
	day   = int64(86_400_000)
	// jobsBefore is how many jobs have written the database: one run each.
	jobsBefore = 3
)

// past is what has happened to a known URL.
type past struct {
	job     int  // 0 to 2: wrote its newest whole row
	older   bool // job 0 wrote a whole row too, which that one supersedes
	delta   int  // a later job added to it; 0: none
	raised  bool // with a new ticket
	fetched bool
	failed  bool
	moved   bool // it redirects
}

// pastOf draws the past of URL j: the runs have 80, 15 and 5 % of the whole
// rows; one of four URLs was fetched, one of twenty was added to.
func (c *corpus) pastOf(d *domain, j int) past {
	x := c.hash(d, j, 2)
	var p past
	switch n := x % 100; {
	case n >= 95:
		p.job = 2
	case n >= 80:
		p.job = 1
	}
	x >>= 8
	p.fetched = x%4 == 0 || j < d.hosts // home pages were the first to be asked for
	p.failed, p.moved = p.fetched && x>>2%16 == 0, p.fetched && x>>2%16 == 1
	p.older = p.fetched && p.job > 0 && x>>6%2 == 0
	if p.job < jobsBefore-1 && x>>7%20 == 0 {
		p.delta = p.job + 1 + int(x>>12%uint64(jobsBefore-1-p.job))
		p.raised = !p.fetched && x>>16%4 == 0
	}
	return p
}

// row is the newest whole row of URL j.
func (c *corpus) row(s settings.Settings, d *domain, j int, url string, p past) schema.URL {
	x := c.hash(d, j, 3)
	row := c.pending(s, d, j, url, p.job)
	if !p.fetched {
		return row
	}
	row.CrawlStatus, row.Reason, row.HTTPStatus = schema.Completed, schema.OK, 200
	row.Why, row.CrawlCount = schema.WhyRecrawl, 1
	row.LastCrawled = began - int64(x>>4%uint64(30*day)) - 1
	row.NextCrawl = began + int64(x>>9%uint64(60*day))
	row.Interval = row.NextCrawl - row.LastCrawled
	switch {
	case p.failed:
		row.CrawlStatus, row.Reason, row.HTTPStatus = schema.Failed, schema.NotFound, 404
		row.CrawlCount, row.Interval = 0, 0
	case p.moved:
		row.Reason, row.HTTPStatus = schema.Redirected, 301
		row.RedirectURL = c.url(d, int(x%uint64(d.urls)))
	default:
		row.ContentHash, row.SimHash = mix(x), mix(x+1)
		if x>>3%3 == 0 {
			row.ETag = fmt.Sprintf("\"%x-%x\"", uint32(mix(x+2)), x>>8%65536)
		}
		if x>>5%3 == 0 {
			row.LastModified = "Mon, 06 Oct 2025 11:22:33 GMT"
		}
		row.BlobPath = fmt.Sprintf("rounds/%08d/fetch/%04d/a000001-0001/%05d.warc.gz", p.job+1,
			d.partition/256, d.partition%8)
		row.BlobOffset, row.BlobLength = int64(x%(256<<20)), int64(2000+x>>30%30_000)
	}
	row.Priority = task.Priority(s, task.Facts{Depth: row.Depth, Inlinks: row.Inlinks,
		HomePage: j < d.hosts, Freshness: task.Freshness(true, 0, 0)})
	row.QueuedRank = task.Rank(row.Priority, row.NextCrawl)
	return row
}

// pending is the row of URL j before it was fetched, as a job found it.
func (c *corpus) pending(s settings.Settings, d *domain, j int, url string, job int) schema.URL {
	x := c.hash(d, j, 4)
	row := schema.URL{Partition: int32(d.partition), Domain: d.name, Host: d.host(d.hostOf(j)),
		URL: url, CrawlStatus: schema.Pending, Depth: depthOf(d, j), Inlinks: int64(1 + x>>8%3),
		DiscoveredAt: began - int64(jobsBefore-job)*10*day + int64(x>>12%1000)*600_000,
		Why:          schema.WhyNew, Queued: int64(job + 1), Round: int64(job + 1)}
	row.NextCrawl = row.DiscoveredAt
	row.Priority = task.Priority(s, task.Facts{Depth: row.Depth, Inlinks: row.Inlinks,
		HomePage: j < d.hosts, Freshness: 1})
	row.QueuedRank = task.Rank(row.Priority, row.NextCrawl)
	return row
}

// depthOf is how many hops URL j is from a seed. Breadth first, as crawls go:
// home pages, what they link to, and the rest; so a link seldom shortens a path.
func depthOf(d *domain, j int) int32 {
	switch {
	case j < d.hosts:
		return 1
	case j < 60*d.hosts:
		return 2
	}
	return 3
}

// addition is the delta row that a later job wrote for row.
func addition(row *schema.URL, p past) schema.URL {
	d := schema.URL{Partition: row.Partition, Domain: row.Domain, Host: row.Host, URL: row.URL,
		Delta: true, Inlinks: 1, Depth: row.Depth, Round: int64(p.delta + 1)}
	if p.raised {
		d.Priority = min(row.Priority+0.125, 1)
		d.Queued, d.QueuedRank = int64(p.delta+1), task.Rank(d.Priority, row.NextCrawl)
	}
	return d
}

// queued is the frontier row of a row of urls.
func queued(row *schema.URL) schema.FrontierRow {
	return schema.FrontierRow{Partition: row.Partition, Domain: row.Domain, Host: row.Host,
		URL: row.URL, Priority: row.Priority, Depth: row.Depth, Due: row.NextCrawl,
		Rank: row.QueuedRank, Ticket: row.Queued, Why: row.Why}
}
