package fold_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs"
)

// randomWeb answers by a hash of seed, URL and round, so that it does not matter
// which task asks.
func randomWeb(seed int) web {
	return func(spec jobs.Spec, list []schema.List) met {
		var m met
		asked := map[string]bool{}
		for i := range list {
			row := &list[i]
			n := hash(fmt.Sprint(seed, row.URL, spec.Job))
			randomTurn(&m, spec, row, n)
			scheme, _, _ := strings.Cut(row.URL, "://")
			if authority := scheme + "://" + row.Host; !asked[authority] {
				asked[authority] = true
				randomRobots(&m, spec, row, authority, hash(fmt.Sprint(seed, authority, spec.Job)))
			}
		}
		return m
	}
}

// randomTurn gives a listed URL its turn.
func randomTurn(m *met, spec jobs.Spec, row *schema.List, n uint64) {
	after := int64(1000 + n%1_000_000_000%499_979)
	final := func(reason schema.Reason, status int32) schema.Fetch {
		f := answered(spec, row, reason, status, after)
		f.Duration, f.TTFB = int32(1+n%977), int32(n%389)
		return f
	}
	switch pick := n >> 32 % 20; {
	case pick < 8 || pick == 8 && row.BlobPath == "" || pick == 19:
		f := final(schema.OK, 200)
		if pick == 19 {
			f.Reason = schema.Disconnected
		}
		f.Change = schema.ChangeNew
		if row.BlobPath != "" {
			f.Change = []string{schema.ChangeChanged, schema.ChangeSame}[n%2]
		}
		m.pages = append(m.pages, pageOf(&f, f.Change, n%37+1))
		m.fetches = append(m.fetches, f)
		randomLinks(m, row, n)
	case pick == 8:
		f := final(schema.NotModified, 304)
		f.Change = schema.ChangeNotModified
		m.fetches = append(m.fetches, f)
	case pick == 9:
		f := final(schema.Redirected, 301)
		f.RedirectTo = randomURL(n)
		m.fetches = append(m.fetches, f)
		d := linkTo(row, f.RedirectTo, "redirect", row.Depth)
		if d.URL != row.URL {
			m.discover(d)
		}
	case pick == 13:
		f := final(schema.TooMany, 429)
		f.RetryAt = f.StartedAt + int64(n%5+1)*hourMS
		m.fetches = append(m.fetches, f)
	case pick == 16 || pick == 17:
		f := fetchOf(spec, row, []string{schema.Untouched, schema.GroupBusy}[n%2])
		f.Final = false
		m.left = append(m.left, f)
	default:
		m.fetches = append(m.fetches, randomFailure(spec, row, pick, final))
	}
}

func randomFailure(spec jobs.Spec, row *schema.List, pick uint64,
	final func(schema.Reason, int32) schema.Fetch) schema.Fetch {
	switch pick {
	case 10:
		return final(schema.NotFound, 404)
	case 11:
		return final(schema.Timeout, 0)
	case 14:
		return fetchOf(spec, row, schema.RobotsDenied)
	case 15:
		return fetchOf(spec, row, schema.RobotsUnreachable)
	case 18:
		return final(schema.TypeOut, 200)
	}
	return final(schema.ServerError, 500)
}

func randomRobots(m *met, spec jobs.Spec, row *schema.List, authority string, n uint64) {
	if n%3 == 0 {
		return
	}
	f := answered(spec, row, schema.OK, 200, int64(n%997))
	f.URL, f.Kind = authority+"/robots.txt", "robots"
	r := schema.Robots{Partition: int32(weburl.Partition(row.Domain)), Domain: row.Domain,
		Authority: authority, Status: "parsed", HTTPStatus: 200, FetchedAt: f.StartedAt,
		Expires: f.StartedAt + 24*hourMS, CrawlDelay: int64(n / 3 % 3 * 2500)}
	if n%4 == 0 {
		f.Reason, f.HTTPStatus = schema.Timeout, 0
		r.Status, r.HTTPStatus, r.CrawlDelay = "unreachable", 0, 0
	}
	m.fetches, m.robots = append(m.fetches, f), append(m.robots, r)
}

func randomLinks(m *met, row *schema.List, n uint64) {
	for i := range n % 9 {
		k := hash(fmt.Sprint(n, i))
		d := linkTo(row, randomURL(k), []string{"a", "a", "a", "canonical"}[k%4], row.Depth+1)
		d.Suspicion = []float32{0, 0.25}[k/7%2]
		if d.URL == row.URL {
			continue
		}
		m.discover(d)
		m.links = append(m.links, schema.Link{SrcDomain: row.Domain, SrcHost: row.Host,
			SrcURL: row.URL, DstURL: d.URL, DstDomain: d.Domain, Kind: d.Kind,
			Verdict: schema.Accepted, Anchor: fmt.Sprint(k % 10), Round: 1})
	}
}

// randomURL is one of some hundred, a few of them home pages.
func randomURL(n uint64) string {
	domain := fmt.Sprintf("d%d.test", n%7)
	host := []string{domain, "www." + domain}[n/7%2]
	path := fmt.Sprintf("p%d", n/14%11)
	if n/14%11 == 0 {
		path = ""
	}
	return []string{"http", "http", "https"}[n/154%3] + "://" + host + "/" + path
}

var seedURLs = []string{"http://d0.test/", "http://d1.test/p1", "http://www.d2.test/",
	"http://d3.test/"}

func randomSettings(seed int) settings.Settings {
	s := settings.Settings{Scope: "any", Retries: 1, GroupByHost: seed%2 == 1}
	if seed%4 < 2 {
		s.MaxOutstanding = 3 + 2*seed // some domains are full
	}
	if seed%2 == 0 { // what is found from the first seed is looked at each 12 hours
		s.Terms = map[string]settings.Terms{seedURLs[0]: {Interval: settings.Duration(12 * time.Hour)}}
	}
	if seed%3 == 0 {
		s.Rules = []string{"-prefix:http://d4.test/p3", "-domain:d5.test"}
	}
	return s
}

// steps are the ms between the rounds.
var steps = []int64{hourMS / 6, 7 * hourMS, 2 * 24 * hourMS, 40 * 24 * hourMS}

func TestTwin(t *testing.T) {
	for seed := range 4 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := newCrawl(t, randomSettings(seed), 1+seed%3)
			if seed%2 == 0 {
				c.length, c.topN = 4000, 60 // domains have no room, and partitions quotas
			}
			c.inject(seedURLs...)
			for n := range 6 {
				c.now += steps[hash(fmt.Sprint(seed, n))%4]
				compareRound(c, randomWeb(seed))
				compareRoom(c)
				if t.Failed() {
					t.Fatalf("round %d", c.job)
				}
			}
		})
	}
}

// compareRound folds a round and its twin and compares all they leave.
func compareRound(c *crawl, w web) {
	c.t.Helper()
	before := c.tables()
	r := c.fetchRound(w)
	s := newSlow(c, before, r)
	s.fold()
	ends := c.reduce(r)
	after := c.tables()
	s.jitter(after.URLs)
	if diff := gocmp.Diff(s.tables, after); diff != "" {
		c.t.Errorf("tables (-twin +product):\n%s", diff)
	}
	live := c.live(after.URLs)
	for _, f := range s.met.left {
		checkAgain(c, s, live[urlKey(f.URL)], f)
	}
	compareAppended(c, s)
	if want := s.rooms(); !gocmp.Equal(want, c.head.Room) {
		c.t.Errorf("there is room in the partitions %v, the manifest says %v", want, c.head.Room)
	}
	counts := map[string]int64{}
	for _, end := range ends {
		for name, n := range end.Counts {
			counts[name] += n
		}
	}
	if got := counts["fetched"] + counts["refused"] + counts["failed"] + counts["untouched"]; got !=
		counts["selected"] || got != int64(len(s.lists)+len(s.refused)) {
		c.t.Errorf("%d URLs were listed or refused; counted are %v", len(s.lists)+len(s.refused), counts)
	}
	unnamed(c, lsm.URLs())
	unnamed(c, lsm.Domains())
	unnamed(c, lsm.Hosts())
	unnamed(c, lsm.RobotsTable())
}

// A crawl of many short rounds keeps few runs of the frontier, and every row.
func TestAbsorb(t *testing.T) {
	c := newCrawl(t, settings.Settings{Scope: "any"}, 2)
	c.topN = 8
	c.inject(seedURLs...)
	most, absorbed := 0, 0
	for range 15 {
		c.now += hourMS / 6
		before := c.tables()
		r := c.fetchRound(randomWeb(1))
		s := newSlow(c, before, r)
		s.fold()
		ends := c.reduce(r)
		after := c.tables()
		s.jitter(after.URLs)
		if diff := gocmp.Diff(s.tables, after); diff != "" {
			t.Fatalf("tables (-twin +product):\n%s", diff)
		}
		c.live(after.URLs)
		if !slices.Equal(ends[0].Absorbed, ends[1].Absorbed) {
			t.Errorf("tasks absorb %v and %v", ends[0].Absorbed, ends[1].Absorbed)
		}
		absorbed += len(ends[0].Absorbed)
		for _, kind := range []string{schema.Waiting, schema.Ready} {
			n := 0
			for _, run := range c.head.Frontier {
				if run.Kind == kind {
					n++
				}
			}
			most = max(most, n)
		}
	}
	if most > 9 || absorbed == 0 {
		t.Errorf("%d runs of a kind side by side, %d absorbed; want at most 9, and some", most, absorbed)
	}
}

// checkAgain says how a URL that was not asked for waits again.
func checkAgain(c *crawl, s *slow, got schema.FrontierRow, f schema.Fetch) {
	c.t.Helper()
	list := s.lists[f.URL]
	want := schema.FrontierRow{Partition: list.Partition, Domain: list.Domain, Host: list.Host,
		URL: list.URL, Priority: list.Priority, Depth: list.Depth, Due: list.Due, Rank: list.Rank,
		Ticket: list.Ticket, Why: list.Why}
	if s.promoted[f.URL] {
		url := s.URLs[urlKey(f.URL)]
		want.Priority, want.Rank, want.Ticket, want.Depth = url.Priority, url.QueuedRank, url.Queued,
			url.Depth
		want.Due, want.Why = url.NextCrawl, url.Why
	}
	if until := s.retryAt(list.Domain, list.Host); until > want.Due {
		want.Due, want.Why = until, schema.WhyBackoff
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		c.t.Errorf("%s waits again (-want +got):\n%s", f.URL, diff)
	}
}

// compareAppended compares the append tables with what was met.
func compareAppended(c *crawl, s *slow) {
	c.t.Helper()
	fetches := append(slices.Clone(s.met.fetches), s.met.left...)
	fetches = slices.AppendSeq(fetches, maps.Values(s.refused))
	sorted := func(rows []schema.Fetch) []schema.Fetch {
		slices.SortFunc(rows, func(a, b schema.Fetch) int {
			return cmp.Or(byText(a.Domain, a.Host, a.URL, b.Domain, b.Host, b.URL),
				strings.Compare(a.Kind, b.Kind), cmp.Compare(a.StartedAt, b.StartedAt))
		})
		return rows
	}
	got := appended[schema.Fetch](c, schema.Fetches)
	if len(c.ranges) == 1 {
		if !slices.IsSortedFunc(got, func(a, b schema.Fetch) int {
			return byText(a.Domain, a.Host, a.URL, b.Domain, b.Host, b.URL)
		}) {
			c.t.Error("fetches are not sorted")
		}
	}
	if diff := gocmp.Diff(sorted(fetches), sorted(got)); diff != "" {
		c.t.Errorf("fetches (-met +table):\n%s", diff)
	}
	pages := appended[schema.Page](c, schema.Pages)
	byURL := func(a, b schema.Page) int { return strings.Compare(a.URL, b.URL) }
	slices.SortFunc(pages, byURL)
	slices.SortFunc(s.met.pages, byURL)
	if diff := gocmp.Diff(s.met.pages, pages); diff != "" {
		c.t.Errorf("pages (-met +table):\n%s", diff)
	}
	letters := appended[schema.DeadLetter](c, schema.DeadLetters)
	byLetter := func(a, b schema.DeadLetter) int { return strings.Compare(a.URL, b.URL) }
	slices.SortFunc(letters, byLetter)
	slices.SortFunc(s.letters, byLetter)
	if diff := gocmp.Diff(s.letters, letters); diff != "" {
		c.t.Errorf("dead letters (-twin +table):\n%s", diff)
	}
}

// One task or many, wide memory or narrow: the same tables and frontier.
func TestCutsDoNotShow(t *testing.T) {
	crawled := func(tasks int, memory int64) (tables, map[lsm.Key]schema.FrontierRow, []schema.Link) {
		c := newCrawl(t, randomSettings(3), tasks)
		c.env.MemoryBytes = memory
		c.inject(seedURLs...)
		var links []schema.Link
		for range 4 {
			c.now += 20 * 24 * hourMS
			c.reduce(c.fetchRound(randomWeb(3)))
			links = append(links, appended[schema.Link](c, schema.Links)...)
		}
		slices.SortFunc(links, func(a, b schema.Link) int {
			return cmp.Or(strings.Compare(a.SrcURL, b.SrcURL), strings.Compare(a.DstURL, b.DstURL),
				strings.Compare(a.Kind, b.Kind), strings.Compare(a.Anchor, b.Anchor))
		})
		all := c.tables()
		return all, c.live(all.URLs), links
	}
	one, oneLive, oneLinks := crawled(1, 0)
	for _, test := range []struct {
		name   string
		tasks  int
		memory int64
	}{{"four tasks", 4, 0}, {"little memory", 1, 1 << 12}, {"many tasks, little memory", 9, 1 << 12}} {
		t.Run(test.name, func(t *testing.T) {
			many, live, links := crawled(test.tasks, test.memory)
			if diff := gocmp.Diff(one, many); diff != "" {
				t.Errorf("tables:\n%s", diff)
			}
			if diff := gocmp.Diff(oneLive, live); diff != "" {
				t.Errorf("frontier:\n%s", diff)
			}
			if diff := gocmp.Diff(oneLinks, links); diff != "" {
				t.Errorf("links:\n%s", diff)
			}
		})
	}
	if len(one.URLs) < 50 {
		t.Errorf("only %d URLs were found: the test shows little", len(one.URLs))
	}
}
