package twin

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"seine/formats/schema"
	"seine/reducer/task"
)

// Now is the time, in ms, around which random worlds live.
const Now = 1_800_000_000_000

// Random is a world drawn from r: domains of many hosts and paths, waiting and
// ready runs with rows that are live, stale or of no URL, back-offs, slots,
// near-duplicates, and cursors in the middle.
func Random(r *rand.Rand) *World {
	w := New()
	runs := make([]Run, 1+r.IntN(5))
	for i := range runs {
		kind := schema.Waiting
		if r.IntN(2) == 0 {
			kind = schema.Ready
		}
		runs[i] = Run{ID: fmt.Sprintf("r%08d", i+1), Kind: kind, Seq: uint64(i + 1),
			Consumed: map[uint16]int{}}
	}
	for d := range 1 + r.IntN(12) {
		w.randomDomain(r, d, runs)
	}
	for i := range runs {
		runs[i].Sort()
		for _, row := range runs[i].Rows {
			if r.IntN(20) == 0 {
				runs[i].Consumed[uint16(row.Partition)]++
			}
		}
		if len(runs[i].Rows) > 0 {
			w.Runs = append(w.Runs, runs[i])
		}
	}
	return w
}

func (w *World) randomDomain(r *rand.Rand, d int, runs []Run) {
	domain := fmt.Sprintf("d%d.test", d)
	row := schema.Domain{Partition: partition(domain), Domain: domain,
		CrawlDelay: []int64{0, 200, 1000, 10_000, 400_000}[r.IntN(5)]}
	row.AskedDay, row.Asked = (Now/86_400_000-int64(d%2))*86_400_000, int64(5*d%12)
	if r.IntN(4) == 0 {
		row.NextSlot = Now + r.Int64N(100_000) - 50_000
	}
	if r.IntN(6) == 0 {
		row.BackoffUntil = Now + r.Int64N(100_000) - 30_000
	}
	if r.IntN(4) == 0 {
		row.Pages, row.NearDup = 60, r.Int64N(60)
	}
	if r.IntN(5) > 0 {
		w.PutDomain(row)
	}
	hosts := 1 + r.IntN(4)
	for h := range hosts {
		if r.IntN(2) == 0 {
			w.PutHost(schema.Host{Partition: row.Partition, Domain: domain, Host: hostName(h, domain),
				Latency: r.Int64N(2000)})
		}
	}
	for h := range hosts {
		if r.IntN(2) == 0 {
			w.randomRobots(r, domain, "http://"+hostName(h, domain))
		}
		if r.IntN(2) == 0 {
			w.randomRobots(r, domain, "https://"+hostName(h, domain))
		}
	}
	for range r.IntN(120) {
		w.randomURL(r, domain, hostName(r.IntN(hosts), domain), runs)
	}
}

// randomRobots gives an authority a robots.txt: of every outcome, valid or not.
func (w *World) randomRobots(r *rand.Rand, domain, authority string) {
	row := schema.Robots{Partition: partition(domain), Domain: domain, Authority: authority,
		Status:  []string{"parsed", "parsed", "allow_all", "unreachable"}[r.IntN(4)],
		Expires: Now + r.Int64N(2000) - 500, FetchedAt: Now - 86_400_000}
	if row.Status == "parsed" {
		row.Text = []string{"", "User-agent: *\nDisallow: /a/\nAllow: /a/p1*\n",
			"User-agent: other\nDisallow: /\nUser-agent: seine\nDisallow: /*7$\n",
			"User-agent: seine\nDisallow: /\n"}[r.IntN(4)]
	}
	w.PutRobots(row)
}

func hostName(h int, domain string) string {
	if h == 0 {
		return domain
	}
	return fmt.Sprintf("h%d.%s", h, domain)
}

func (w *World) randomURL(r *rand.Rand, domain, host string, runs []Run) {
	path := []string{"", "a/", "b/", "b/c/", "d/"}[r.IntN(5)]
	url := fmt.Sprintf("%s://%s/%sp%d", []string{"http", "http", "https"}[r.IntN(3)], host, path,
		r.IntN(100))
	due := Now + r.Int64N(2_000_000_000) - 1_500_000_000
	row := schema.URL{Partition: partition(domain), Domain: domain, Host: host, URL: url,
		CrawlStatus: schema.Pending, Priority: float32(r.IntN(100)) / 100, Depth: int32(r.IntN(25)),
		DiscoveredAt: 1, NextCrawl: due, Why: schema.WhyNew, ETag: []string{"", `"e"`}[r.IntN(2)]}
	if r.IntN(4) == 0 {
		row.Reason, row.CrawlCount = []string{schema.OK, schema.NotModified, schema.ServerError}[r.IntN(3)], 1
	}
	row.Seed = []string{"", "news"}[row.Depth%2]
	run := &runs[r.IntN(len(runs))]
	queued := schema.FrontierRow{Partition: row.Partition, Domain: domain, Host: host, URL: url,
		Priority: row.Priority, Depth: row.Depth, Due: due, Rank: task.Rank(row.Priority, due),
		Ticket: int64(run.Seq), Why: row.Why}
	if slices.ContainsFunc(run.Rows, func(r schema.FrontierRow) bool { return r.URL == url }) {
		return // a job writes at most one row a URL
	}
	run.Rows = append(run.Rows, queued)
	switch r.IntN(12) {
	case 0: // the row is of no URL, or of an older ticket
	case 1: // the URL waits for nothing any more
		w.PutURL(row)
	default:
		row.Queued, row.QueuedRank = queued.Ticket, queued.Rank
		w.PutURL(row)
	}
}
