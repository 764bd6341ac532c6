package generate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/mem"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/taskend"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/reducer/generate"
	"seine/reducer/inject"
	"seine/reducer/publish"
	"seine/reducer/task"
	"seine/reducer/twin"
)

// crawl runs rounds and injects on a store, in which every listed URL is
// fetched and nothing is discovered.
type crawl struct {
	t    *testing.T
	e    task.Env
	head *lsm.Manifest
	job  uint64
	now  int64
}

func newCrawl(t *testing.T, w *twin.World, s settings.Settings) *crawl {
	t.Helper()
	e := twin.Env(mem.New(), t.TempDir(), s, suffixes(t))
	m, err := w.Save(context.Background(), e, layout.Split(1))
	if err != nil {
		t.Fatal(err)
	}
	return &crawl{t: t, e: e, head: m, job: 100, now: twin.Now}
}

func (c *crawl) spec(kind jobs.Kind) jobs.Spec {
	c.job++
	return jobs.Spec{Format: 1, Job: c.job, Kind: kind, Base: c.head.N, Now: c.now,
		Ranges: layout.Split(1)}
}

func (c *crawl) publish(spec jobs.Spec, ends map[jobs.Stage][]jobs.Result) {
	c.t.Helper()
	ctx := context.Background()
	commit, _, err := publish.Publish(ctx, c.e, c.head, publish.Job{Spec: spec, Ends: ends,
		Outcome: "committed", Ended: c.now})
	if err != nil {
		c.t.Fatal(err)
	}
	if c.head, err = c.e.Snapshot(ctx, commit.N); err != nil {
		c.t.Fatal(err)
	}
}

// round runs a round and returns the end of its generate task.
func (c *crawl) round(topN int64, duration time.Duration) (*taskend.Generate, []listRow) {
	c.t.Helper()
	ctx := context.Background()
	spec := c.spec(jobs.KindRound)
	spec.Round = &jobs.Round{TopN: topN, Duration: duration.Milliseconds()}
	tk := jobs.Task{Spec: spec, Stage: jobs.StageGenerate, Range: layout.All,
		Attempt: layout.Attempt{Epoch: 1, N: 1}}
	generated, err := generate.Run(ctx, c.e, tk)
	if err != nil {
		c.t.Fatal(err)
	}
	tk.Stage = jobs.StageReduce
	tk.Inputs = map[jobs.Stage][]layout.Key{jobs.StageGenerate: {generated.End}}
	reduced, err := twin.Settle(ctx, c.e, tk)
	if err != nil {
		c.t.Fatal(err)
	}
	end, err := twin.Ends(ctx, c.e, generated)
	if err != nil {
		c.t.Fatal(err)
	}
	c.publish(spec, map[jobs.Stage][]jobs.Result{jobs.StageGenerate: {generated},
		jobs.StageReduce: {reduced}})
	c.now += duration.Milliseconds()
	return end, read[listRow](ctx, c.t, c.e, end.Lists)
}

// inject brings URLs in with a user signal.
func (c *crawl) inject(signal float32, urls ...string) {
	c.t.Helper()
	ctx := context.Background()
	spec := c.spec(jobs.KindInject)
	spec.Inject = &jobs.Inject{Upload: layout.Upload(fmt.Sprint(c.job))}
	var upload []byte
	for _, url := range urls {
		line, err := json.Marshal(jobs.Seed{URL: url, Priority: signal})
		if err != nil {
			c.t.Fatal(err)
		}
		upload = append(append(upload, line...), '\n')
	}
	if err := objstore.PutIfAbsent(ctx, c.e.Store, spec.Inject.Upload, upload); err != nil {
		c.t.Fatal(err)
	}
	result, err := inject.Run(ctx, c.e, jobs.Task{Spec: spec, Stage: jobs.StageInject,
		Range: layout.All, Attempt: layout.Attempt{Epoch: 1, N: 1}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.publish(spec, map[jobs.Stage][]jobs.Result{jobs.StageInject: {result}})
}

// due adds URLs to a world that are due since an hour, in one ready run.
func due(w *twin.World, priority float32, domain string, urls ...string) {
	if len(w.Runs) == 0 {
		w.Runs = []twin.Run{{ID: "r00000001", Kind: schema.Ready, Seq: 1}}
	}
	at := int64(twin.Now - 3_600_000)
	for _, url := range urls {
		host := strings.SplitN(url, "/", 4)[2]
		row := schema.FrontierRow{Partition: int32(weburl.Partition(domain)), Domain: domain,
			Host: host, URL: url, Priority: priority, Due: at, Rank: task.Rank(priority, at), Ticket: 1,
			Why: schema.WhyNew}
		w.Runs[0].Rows = append(w.Runs[0].Rows, row)
		w.PutURL(schema.URL{Partition: row.Partition, Domain: domain, Host: host, URL: url,
			CrawlStatus: schema.Pending, Priority: priority, DiscoveredAt: 1, NextCrawl: at,
			Queued: 1, QueuedRank: row.Rank})
	}
}

// TestHugeHostDoesNotSlowLaterRounds: 300,000 due URLs of one host are popped
// once; after that a round pops about what the host may have in it, and a small
// site is not kept waiting.
func TestHugeHostDoesNotSlowLaterRounds(t *testing.T) {
	t.Parallel()
	w := twin.New()
	var urls []string
	for i := range 300_000 {
		urls = append(urls, fmt.Sprintf("http://huge.test/p%06d", i))
	}
	due(w, 0.5, "huge.test", urls...)
	due(w, 0.6, "small.test", "http://small.test/a", "http://small.test/b")
	c := newCrawl(t, w, settings.Settings{Scope: "any"})
	end, lists := c.round(50_000, 10*time.Minute)
	if n := end.Counts["popped"]; n < 300_000 {
		t.Errorf("the first round popped %d, want all", n)
	}
	small := 0
	for round := 2; round <= 4; round++ {
		for _, l := range lists {
			if l.Domain == "small.test" {
				small++
			}
		}
		end, lists = c.round(50_000, 10*time.Minute)
		if n := end.Counts["popped"]; n > 700 {
			t.Errorf("round %d popped %d", round, n)
		}
		if len(lists) < 598 || len(lists) > 602 {
			t.Errorf("round %d listed %d, want one round's worth: 600", round, len(lists))
		}
	}
	if small != 2 {
		t.Errorf("%d of the small site's 2 URLs were listed by round 3", small)
	}
}

// TestLowIsFetchedUnderHigh: as many new HIGH URLs as a round takes come before
// each round; LOW ones that wait are fetched all the same, after as long as
// their rank says: a priority lower by 0.7 is made up for in 70 days.
func TestLowIsFetchedUnderHigh(t *testing.T) {
	t.Parallel()
	w := twin.New()
	due(w, 0.1, "low.test", "http://low.test/a", "http://low.test/b", "http://low.test/c")
	c := newCrawl(t, w, settings.Settings{Scope: "any"})
	low, round := 0, 0
	for round = 1; round <= 20 && low < 3; round++ {
		var urls []string
		for i := range 12 {
			urls = append(urls, fmt.Sprintf("http://h%d.test/%d", i, round))
		}
		c.inject(0.01, urls...)
		_, lists := c.round(10, 10*24*time.Hour)
		for _, l := range lists {
			if l.Domain == "low.test" {
				low++
			}
		}
	}
	if low < 3 {
		t.Errorf("%d of 3 LOW URLs were listed in %d rounds", low, round)
	}
	if round < 6 {
		t.Errorf("LOW URLs were listed in round %d: before those that are better", round)
	}
}

// TestDomainOfManyHosts: 500 hosts of a domain share one budget, and its hosts
// have turns in it.
func TestDomainOfManyHosts(t *testing.T) {
	w := twin.New()
	for h := range 500 {
		for i := range 20 {
			due(w, 0.5, "big.test", fmt.Sprintf("http://h%03d.big.test/%d", h, i))
		}
	}
	c := newCrawl(t, w, settings.Settings{Scope: "any"})
	_, lists := c.round(50_000, time.Minute)
	if len(lists) != 60 {
		t.Fatalf("listed %d, want 60: a minute at one a second", len(lists))
	}
	hosts := map[string]bool{}
	for _, l := range lists {
		hosts[l.Host] = true
	}
	if len(hosts) != 60 {
		t.Errorf("60 places went to %d hosts of 500", len(hosts))
	}
}

// TestRobotsDecideBeforeThePlace: what a known robots.txt forbids is refused and takes none of its
// domain's places; a file that is no longer valid decides nothing.
func TestRobotsDecideBeforeThePlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		expires       int64
		refused, list int
	}{
		{"valid", twin.Now + 1, 500, 60},
		{"expired", twin.Now, 0, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := twin.New()
			for i := range 500 { // they come first
				due(w, 0.9, "big.test", fmt.Sprintf("http://big.test/private/%03d", i))
				due(w, 0.5, "big.test", fmt.Sprintf("http://big.test/p/%03d", i))
			}
			w.PutRobots(schema.Robots{Partition: int32(weburl.Partition("big.test")), Domain: "big.test",
				Authority: "http://big.test", Status: "parsed", Expires: c.expires,
				Text: "User-agent: *\nDisallow: /private/"})
			crawl := newCrawl(t, w, settings.Settings{Scope: "any"})
			end, lists := crawl.round(50_000, time.Minute)
			refused := read[fetchRow](context.Background(), t, crawl.e, end.Refused)
			if len(refused) != c.refused || len(lists) != c.list ||
				end.Counts["refused_robots_denied"] != int64(c.refused) {
				t.Fatalf("%d refused, %d listed: %v", len(refused), len(lists), end.Counts)
			}
			for _, f := range refused {
				if f.Rule != "http://big.test/robots.txt:2: Disallow: /private/" || !f.Final ||
					f.Reason != schema.RobotsDenied {
					t.Fatalf("row %+v", f)
				}
			}
		})
	}
}
