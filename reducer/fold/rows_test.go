package fold_test

import (
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/jobs"
	"seine/reducer/task"
)

const seed = "http://a.test/page"

// turn is what one round says of the seed.
type turn struct {
	reason   schema.Reason
	status   int32
	change   string // of a page with this hash
	hash     uint64
	redirect string
	retryAt  int64 // after the job's now, ms
	robots   *schema.Robots
}

// one lives the turns, each when the seed is due, and gives its row and its
// place in the frontier.
func one(t *testing.T, s settings.Settings, turns ...turn) (*crawl, schema.URL,
	schema.FrontierRow) {
	t.Helper()
	c := newCrawl(t, s, 1)
	c.inject(seed)
	key := urlKey(seed)
	for _, turn := range turns {
		if row := c.tables().URLs[key]; row.NextCrawl > c.now {
			c.now = row.NextCrawl
		}
		c.reduce(c.fetchRound(func(spec jobs.Spec, list []schema.List) met {
			return play(t, turn, spec, list)
		}))
	}
	all := c.tables()
	return c, all.URLs[key], c.live(all.URLs)[key]
}

func play(t *testing.T, turn turn, spec jobs.Spec, list []schema.List) (m met) {
	t.Helper()
	if len(list) != 1 {
		t.Fatalf("%d URLs are listed, want the seed", len(list))
	}
	f := fetchOf(spec, &list[0], turn.reason)
	if turn.status != 0 {
		f = answered(spec, &list[0], turn.reason, turn.status, 1000)
	}
	f.RedirectTo, f.Change = turn.redirect, turn.change
	if turn.retryAt != 0 {
		f.RetryAt = spec.Now + turn.retryAt
	}
	if turn.hash != 0 {
		m.pages = append(m.pages, pageOf(&f, turn.change, turn.hash))
	}
	if turn.robots != nil {
		r := *turn.robots
		r.Partition, r.Domain, r.Authority = list[0].Partition, "a.test", "http://a.test"
		r.Expires += spec.Now
		m.robots = append(m.robots, r)
	}
	policy, _ := schema.PolicyOf(turn.reason)
	if f.Final = policy.Final; f.Final {
		m.fetches = append(m.fetches, f)
	} else {
		m.left = append(m.left, f)
	}
	return m
}

// turnTest is a seed's turns and what its row says after them.
type turnTest struct {
	name   string
	turns  []turn
	status string
	why    string
	wait   int64 // ms from the last job's now; -1: a retry's, ±20 %
	fails  int32
	check  func(row schema.URL) bool
}

const day = 24 * hourMS

var (
	ok    = turn{reason: schema.OK, status: 200, change: schema.ChangeNew, hash: 7}
	fails = turn{reason: schema.Timeout}
)

// answers are tests of turns that were answered.
func answers() []turnTest {
	return []turnTest{
		{name: "a first page", turns: []turn{ok}, status: schema.Completed, why: schema.WhyRecrawl,
			wait: day, check: func(row schema.URL) bool {
				return row.BlobPath == "warc/2/7" && row.ETag == `"7"` && row.CrawlCount == 1 &&
					row.Visits == 0 && row.LastCrawled != 0 && row.ContentHash == 7
			}},
		{name: "the same page", turns: []turn{ok, {reason: schema.OK, status: 200,
			change: schema.ChangeSame, hash: 7}}, status: schema.Completed, why: schema.WhyRecrawl,
			wait: day * 3 / 2, check: func(row schema.URL) bool {
				return row.Visits == 1 && row.Changes == 0 && row.Observed == day && row.CrawlCount == 2
			}},
		{name: "a changed page", turns: []turn{ok, {reason: schema.OK, status: 200,
			change: schema.ChangeChanged, hash: 9}}, status: schema.Completed, why: schema.WhyRecrawl,
			wait: day / 2, check: func(row schema.URL) bool {
				return row.Changes == 1 && row.BlobPath == "warc/3/9"
			}},
		{name: "not modified keeps the body", turns: []turn{ok, {reason: schema.NotModified, status: 304,
			change: schema.ChangeNotModified}}, status: schema.Completed, why: schema.WhyRecrawl,
			wait: day * 3 / 2, check: func(row schema.URL) bool {
				return row.BlobPath == "warc/2/7" && row.HTTPStatus == 304 && row.Visits == 1
			}},
		{name: "a redirect", turns: []turn{{reason: schema.Redirected, status: 301,
			redirect: "http://b.test/"}}, status: schema.Completed, why: schema.WhyRecrawl, wait: day,
			check: func(row schema.URL) bool {
				return row.RedirectURL == "http://b.test/" && row.CrawlCount == 1
			}},
		{name: "not found", turns: []turn{{reason: schema.NotFound, status: 404}},
			status: schema.Failed, why: schema.WhyRecrawl, wait: 60 * day},
		{name: "a type that is not stored", turns: []turn{{reason: schema.TypeOut, status: 200}},
			status: schema.Completed, why: schema.WhyRecrawl, wait: 60 * day},
	}
}

// failures are tests of turns that were not, or not by the page.
func failures() []turnTest {
	return []turnTest{
		{name: "a first failure", turns: []turn{fails}, status: schema.Pending, why: schema.WhyRetry,
			wait: -1, fails: 1},
		{name: "a failure leaves the body", turns: []turn{ok, fails}, status: schema.Completed,
			why: schema.WhyRetry, wait: -1, fails: 1, check: func(row schema.URL) bool {
				return row.BlobPath == "warc/2/7" && row.LastCrawled != 0
			}},
		{name: "success forgets failures", turns: []turn{fails, fails, ok}, status: schema.Completed,
			why: schema.WhyRecrawl, wait: day},
		{name: "given up", turns: []turn{fails, fails, fails, fails}, status: schema.Failed,
			why: schema.WhyRecrawl, wait: 60 * day, fails: 4},
		{name: "429 is the group's", turns: []turn{{reason: schema.TooMany, status: 429,
			retryAt: 2 * hourMS}}, status: schema.Pending, why: schema.WhyBackoff, wait: 2 * hourMS},
		{name: "forbidden by robots.txt", turns: []turn{{reason: schema.RobotsDenied}},
			status: schema.Failed, why: schema.WhyRecrawl, wait: day},
		{name: "forbidden again", turns: []turn{{reason: schema.RobotsDenied},
			{reason: schema.RobotsDenied}, {reason: schema.RobotsDenied}}, status: schema.Failed,
			why: schema.WhyRecrawl, wait: 4 * day},
		{name: "allowed after all", turns: []turn{{reason: schema.RobotsDenied}, ok},
			status: schema.Completed, why: schema.WhyRecrawl, wait: day},
		{name: "a refusal of ours", turns: []turn{{reason: schema.Blocked}}, status: schema.Failed,
			why: "", wait: 0},
		{name: "robots.txt out of reach", turns: []turn{{reason: schema.RobotsUnreachable,
			robots: &schema.Robots{Status: "unreachable", Expires: 600_000}}}, status: schema.Pending,
			why: schema.WhyBackoff, wait: 600_000},
	}
}

func TestTurns(t *testing.T) {
	for _, test := range append(answers(), failures()...) {
		t.Run(test.name, func(t *testing.T) {
			c, row, place := one(t, settings.Settings{}, test.turns...)
			if row.CrawlStatus != test.status || row.Why != test.why || row.FailCount != test.fails {
				t.Errorf("row is %s, waits as %q after %d failures; want %s, %q, %d", row.CrawlStatus,
					row.Why, row.FailCount, test.status, test.why, test.fails)
			}
			if row.Reason != test.turns[len(test.turns)-1].reason {
				t.Errorf("reason is %s", row.Reason)
			}
			wait := row.NextCrawl - c.now
			switch {
			case test.why == "":
				if row.Queued != 0 || row.NextCrawl != 0 || place.URL != "" {
					t.Errorf("it waits: %+v, %+v", row, place)
				}
				return
			case test.wait == -1 && (wait < 240_000 || wait > 360_000), test.wait != -1 && wait != test.wait:
				t.Errorf("it is due in %d ms, want %d", wait, test.wait)
			}
			want := schema.FrontierRow{Partition: row.Partition, Domain: row.Domain, Host: row.Host,
				URL: row.URL, Priority: row.Priority, Due: row.NextCrawl, Rank: row.QueuedRank,
				Ticket: row.Queued, Why: row.Why}
			if diff := gocmp.Diff(want, place); diff != "" {
				t.Errorf("frontier (-want +got):\n%s", diff)
			}
			if test.check != nil && !test.check(row) {
				t.Errorf("row is %+v", row)
			}
		})
	}
}

func TestDeadLetter(t *testing.T) {
	broken := turn{reason: schema.ServerError, status: 500}
	c, row, _ := one(t, settings.Settings{Retries: 1}, broken, broken)
	want := []schema.DeadLetter{{Domain: "a.test", Host: "a.test", URL: seed, Round: 3, At: c.now,
		Reason: schema.ServerError, HTTPStatus: 500, FailCount: 2}}
	if diff := gocmp.Diff(want, appended[schema.DeadLetter](c, schema.DeadLetters)); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
	if row.CrawlStatus != schema.Failed {
		t.Errorf("status is %s", row.CrawlStatus)
	}
	domain := c.tables().Domains[groupKey("a.test")]
	if domain.Failed != 1 || domain.Pending != 0 || domain.ErrorCount != 2 || domain.Known != 1 {
		t.Errorf("domain is %+v", domain)
	}
}

// Untouched URLs wait again with the ticket they had, and their row stays.
func TestUntouched(t *testing.T) {
	for _, reason := range []schema.Reason{schema.Untouched, schema.GroupRested, schema.Stopped,
		schema.NoContact} {
		t.Run(reason, func(t *testing.T) {
			_, row, place := one(t, settings.Settings{}, turn{reason: reason}, turn{reason: reason})
			if row.Queued != 1 || row.Round != 1 || place.Ticket != 1 || place.Due != row.NextCrawl {
				t.Errorf("row is %+v, place %+v", row, place)
			}
		})
	}
}

// One domain's links from several tasks: each source domain counts once, and only
// with its first visits.
func TestLinks(t *testing.T) {
	target := "http://z.test/deep"
	c := newCrawl(t, settings.Settings{Scope: "any"}, 4)
	c.inject("http://a.test/", "http://b.test/", "http://c.test/", "http://d.test/")
	first := func(spec jobs.Spec, list []schema.List) (m met) {
		for i := range list {
			row := &list[i]
			f := answered(spec, row, schema.OK, 200, int64(i))
			m.pages = append(m.pages, pageOf(&f, schema.ChangeNew, hash(row.URL)))
			m.fetches = append(m.fetches, f)
			if row.Domain == "d.test" {
				m.discover(linkTo(row, target, "canonical", 3))
			} else {
				m.discover(linkTo(row, target, "a", 5))
			}
		}
		return m
	}
	c.reduce(c.fetchRound(first))
	row := c.tables().URLs[urlKey(target)]
	if row.Inlinks != 4 || row.Depth != 3 || row.CrawlStatus != schema.Pending ||
		row.Why != schema.WhyNew || row.Queued != 2 || row.NextCrawl != c.now {
		t.Errorf("new row is %+v", row)
	}
	if source := c.tables().URLs[urlKey("http://d.test/")]; row.Priority < 0.9 || source.Inlinks != 0 {
		t.Errorf("priority %v; the page that calls it canonical has one of about 1", row.Priority)
	}
	domain := c.tables().Domains[groupKey("z.test")]
	if domain.Known != 1 || domain.Pending != 1 || domain.Pages != 0 {
		t.Errorf("domain is %+v", domain)
	}
}

// A known URL that waits gains by links; it is queued again when that lifts it
// by 1/16, and only then.
func TestPromotion(t *testing.T) {
	target := "http://z.test/deep"
	tests := []struct {
		name     string
		kind     string
		depth    int32
		promoted bool
		delta    bool
	}{
		{"much nearer to a seed", "a", 1, true, true},
		{"one more source", "a", 20, false, true},
		{"stands for a seed", "redirect", 20, true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newCrawl(t, settings.Settings{Scope: "any"}, 1)
			c.inject("http://a.test/", "http://b.test/")
			c.topN = 1
			link := func(kind string, depth int32) web {
				return func(spec jobs.Spec, list []schema.List) (m met) {
					for i := range list {
						f := answered(spec, &list[i], schema.OK, 200, 1)
						m.pages = append(m.pages, pageOf(&f, schema.ChangeNew, 1))
						m.fetches = append(m.fetches, f)
						m.discover(linkTo(&list[i], target, kind, depth))
					}
					return m
				}
			}
			c.reduce(c.fetchRound(link("a", 20)))
			old := c.tables().URLs[urlKey(target)]
			c.now += hourMS
			ends := c.reduce(c.fetchRound(link(test.kind, test.depth)))
			all := c.tables()
			row := all.URLs[urlKey(target)]
			c.live(all.URLs)
			if ends[0].Tables[schema.URLs].Deltas != 1 {
				t.Errorf("%d delta rows, want 1", ends[0].Tables[schema.URLs].Deltas)
			}
			want := old
			want.Inlinks, want.Depth = 2, min(test.depth, 20)
			if test.promoted {
				want.Queued, want.Priority, want.QueuedRank = 3, row.Priority, row.QueuedRank
				if row.QueuedRank-old.QueuedRank < task.RankScale/16 || row.QueuedRank !=
					task.Rank(row.Priority, old.NextCrawl) {
					t.Errorf("rank went from %d to %d", old.QueuedRank, row.QueuedRank)
				}
			}
			if diff := gocmp.Diff(want, row); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
		})
	}
}

// Links from pages that were visited before add nothing, and write nothing.
func TestNoDelta(t *testing.T) {
	c := newCrawl(t, settings.Settings{Scope: "any"}, 1)
	c.inject("http://a.test/", "http://z.test/")
	visit := func(spec jobs.Spec, list []schema.List) (m met) {
		for i := range list {
			f := answered(spec, &list[i], schema.OK, 200, 1)
			m.pages = append(m.pages, pageOf(&f, schema.ChangeNew, 1))
			m.fetches = append(m.fetches, f)
			if list[i].Domain == "a.test" {
				d := linkTo(&list[i], "http://z.test/", "a", 1)
				d.First = false
				m.discover(d)
				d = linkTo(&list[i], "http://z.test/other", "a", 1)
				d.First = spec.Job == 2
				m.discover(d)
			}
		}
		return m
	}
	c.reduce(c.fetchRound(visit))
	before := c.tables().URLs[urlKey("http://z.test/other")]
	c.now += 25 * hourMS
	c.topN = 1
	ends := c.reduce(c.fetchRound(visit))
	if n := ends[0].Tables[schema.URLs].Deltas; n != 0 {
		t.Errorf("%d delta rows, want none", n)
	}
	if diff := gocmp.Diff(before, c.tables().URLs[urlKey("http://z.test/other")]); diff != "" {
		t.Errorf("row changed:\n%s", diff)
	}
}

func groupKey(domain string) (key lsm.Key) {
	key = urlKey(fmt.Sprintf("http://%s/", domain))
	key.Host, key.URL = "", ""
	return key
}
