package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seine/cmd/internal/node"
	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/mapper/webtest"
	"seine/reducer/task"
)

// run is one command line in this process.
type run struct {
	code     int
	out, err string
}

// shared is a buffer that takes writes at once, as a file does.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// line is a command line that is being prepared.
type line struct {
	web     *webtest.Web
	in      string
	environ []string
	signals chan os.Signal
}

func (l line) run(t *testing.T, args ...string) run {
	t.Helper()
	var out, errs shared
	if l.signals == nil {
		l.signals = make(chan os.Signal, 2)
	}
	a := &app{in: strings.NewReader(l.in), out: &out, err: &errs, environ: l.environ, interrupts: l.signals,
		called: "seine"}
	if l.web != nil {
		a.web = node.Synthetic(l.web)
	}
	code := a.run(context.Background(), args)
	return run{code, out.String(), errs.String()}
}

// must fails the test unless the command ends with the code.
func (r run) must(t *testing.T, code int) run {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\n%s\n%s", r.code, code, r.out, r.err)
	}
	return r
}

// flags for a crawl of a synthetic web in little time.
func quick(store string, more ...string) []string {
	return append([]string{"--store", store, "--scope", "any", "--delay", "10ms", "--allow-network",
		"127.0.0.0/8", "--first-byte-timeout", "3s", "--connect-timeout", "1s"}, more...)
}

func crawlArgs(store string, seeds []string, more ...string) []string {
	return append(append([]string{"crawl"}, quick(store, more...)...), seeds...)
}

// aWeb is a web with every kind of trouble that costs no time: hosts that let
// one wait are left to other tests.
func aWeb(t *testing.T) *webtest.Web {
	t.Helper()
	for seed := uint64(1); seed < 2000; seed++ {
		w := webtest.New(webtest.Spec{Seed: seed, Domains: 14, Pages: 8, MaxHost: 40})
		if fit(w) {
			return w
		}
	}
	t.Fatal("no seed gives such a web")
	return nil
}

func fit(w *webtest.Web) bool {
	kinds := map[webtest.Health]int{}
	for _, h := range w.Hosts() {
		kinds[h.Health]++
		if h.Health == webtest.Slow || h.Health == webtest.Silent || h.Health == webtest.Throttled ||
			h.Robots == webtest.RobotsDelay {
			return false
		}
	}
	return len(kinds) >= 3
}

// known reads urls whole.
func known(t *testing.T, store string) map[string]schema.URL {
	t.Helper()
	all := map[string]schema.URL{}
	c, head, done := snapshot(t, store)
	defer done()
	err := lsm.URLs().Scan(t.Context(), c.Store.Open, head.Tables[schema.URLs], layout.All, nil,
		func(row *schema.URL, _ []lsm.Ref) error {
			own := task.Own(*row)
			all[own.URL] = own
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// waiting is the first URL in order that waits in the site of which most waits: a map's
// order would try another site in every run.
func waiting(t *testing.T, store string) string {
	t.Helper()
	rows := known(t, store)
	first, count := map[string]string{}, map[string]int{}
	most := ""
	for _, u := range slices.Sorted(maps.Keys(rows)) {
		domain := rows[u].Domain
		if rows[u].CrawlStatus != schema.Pending {
			continue
		}
		if first[domain] == "" {
			first[domain] = u
		}
		if count[domain]++; count[domain] > count[most] {
			most = domain
		}
	}
	if first[most] == "" {
		t.Fatal("no URL waits: the web does not try this")
	}
	return first[most]
}

func snapshot(t *testing.T, store string) (*node.Crawl, *lsm.Manifest, func()) {
	t.Helper()
	s, err := node.OpenStore(t.Context(), store, false)
	if err != nil {
		t.Fatal(err)
	}
	c, err := node.OpenCrawl(t.Context(), s, false)
	if err != nil {
		t.Fatal(err)
	}
	head, err := c.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c, head, func() { s.Close() }
}

// mannerly judges what the web saw. Gaps are taken from start to start: the
// server notes a start before it answers, so however busy the machine, two
// starts lie a delay apart; the end of an answer it may note late.
func mannerly(t *testing.T, web *webtest.Web) {
	t.Helper()
	const delay = 10 * time.Millisecond
	for _, j := range web.Log.Manners(web, func(string) time.Duration { return 0 }, 0) {
		if j.Forbidden+j.Early+j.Repeats > 0 {
			t.Errorf("%s: %d forbidden, %d before robots.txt, %d repeats", j.Domain, j.Forbidden, j.Early, j.Repeats)
		}
	}
	last := map[string]time.Time{}
	requests := web.Log.Requests()
	slices.SortFunc(requests, func(a, b webtest.Request) int { return a.At.Compare(b.At) })
	for _, r := range requests {
		if gap := r.At.Sub(last[r.Domain]); gap < delay-time.Millisecond {
			t.Errorf("%s%s came %v after the request before", r.Host, r.Path, gap)
		}
		last[r.Domain] = r.At
	}
}

func TestCrawlEndsAsTheTruthSays(t *testing.T) {
	web := aWeb(t)
	seeds := web.Seeds(5)
	store := filepath.Join(t.TempDir(), "crawl")
	r := line{web: web}.run(t, crawlArgs(store, seeds)...).must(t, exitOK)
	if !strings.Contains(r.out, "nothing is due") {
		t.Errorf("output does not say why it ends:\n%s", r.out)
	}
	urls := known(t, store)
	c, head, done := snapshot(t, store)
	defer done()
	for url, want := range web.Truth(seeds, time.Now()) {
		row, ok := urls[url]
		if !ok {
			t.Errorf("%s is not known", url)
			continue
		}
		if row.Reason != want.Reason {
			t.Errorf("%s ended as %q (HTTP %d), want %q", url, row.Reason, row.HTTPStatus, want.Reason)
		}
		delete(urls, url)
		pages := 0
		l := &looking{c, head, nil}
		u, err := normalURL(url)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.pages(t.Context(), u, func(*schema.Page) bool { pages++; return true }); err != nil {
			t.Fatal(err)
		}
		if want.Page != (pages == 1) || pages > 1 {
			t.Errorf("%s has %d rows in pages, wanted one: %v", url, pages, want.Page)
		}
	}
	for url := range urls {
		if !strings.Contains(url, "/trap/") {
			t.Errorf("%s is known, and the truth does not have it", url)
		}
	}
	mannerly(t, web)
	again := line{web: web}.run(t, crawlArgs(store, seeds)...).must(t, exitOK)
	if strings.Contains(again.out, "selected") || strings.Contains(again.err, "settings: version") ||
		strings.Contains(again.err, "seeds:") {
		t.Errorf("the same command again did something:\n%s%s", again.out, again.err)
	}
}

func TestRoundsAddUp(t *testing.T) {
	web := aWeb(t)
	store := filepath.Join(t.TempDir(), "crawl")
	r := line{web: web}.run(t, crawlArgs(store, web.Seeds(5), "--json")...).must(t, exitOK)
	rounds := 0
	for text := range strings.Lines(r.out) {
		var s roundSummary
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if s.Round == 0 {
			continue
		}
		rounds++
		if s.Selected == 0 || s.Selected != s.Fetched+s.Refused+s.Failed+s.Untouched || s.Requests == 0 {
			t.Errorf("round %d does not add up: %+v", s.Round, s)
		}
	}
	if rounds < 3 {
		t.Errorf("%d rounds", rounds)
	}
}

func TestLimits(t *testing.T) {
	web := webtest.New(webtest.Spec{Seed: 3, Domains: 6, Pages: 10, MaxHost: 30, Plain: true})
	tests := []struct {
		name string
		args []string
		says string
	}{
		{"rounds", []string{"--rounds", "2"}, "--rounds 2 is reached: 2 rounds"},
		{"pages", []string{"--max-pages", "5"}, "--max-pages 5 is reached"},
		{"bytes", []string{"--max-bytes", "1KiB"}, "--max-bytes 1KiB is reached"},
		{"time", []string{"--max-time", "1ms", "--round-time", "1s"}, "--max-time 1ms is reached: 0 rounds"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "crawl")
			r := line{web: web}.run(t, crawlArgs(store, web.Seeds(3), test.args...)...).must(t, exitWaiting)
			if !strings.Contains(r.out, test.says) || !strings.Contains(r.err, "the same command goes on") {
				t.Errorf("got\n%s%s", r.out, r.err)
			}
			if test.name == "pages" && strings.Contains(r.out, " 6 fetched") {
				t.Errorf("more than 5 were fetched:\n%s", r.out)
			}
		})
	}
}

func TestMaxDepth(t *testing.T) {
	web := webtest.New(webtest.Spec{Seed: 3, Domains: 6, Pages: 10, MaxHost: 30, Plain: true})
	store := filepath.Join(t.TempDir(), "crawl")
	line{web: web}.run(t, crawlArgs(store, web.Seeds(1), "--max-depth", "1")...).must(t, exitOK)
	for url, row := range known(t, store) {
		if row.Depth > 1 && row.LastCrawled != 0 && row.CrawlStatus == schema.Completed {
			t.Errorf("%s was fetched at depth %d", url, row.Depth)
		}
	}
}

func TestDueNowAsksConditionally(t *testing.T) {
	web := webtest.New(webtest.Spec{Seed: 3, Domains: 4, Pages: 8, MaxHost: 20, Plain: true})
	store := filepath.Join(t.TempDir(), "crawl")
	line{web: web}.run(t, crawlArgs(store, web.Seeds(2))...).must(t, exitOK)
	first := len(web.Log.Requests())
	r := line{web: web}.run(t, crawlArgs(store, nil, "--due-now")...).must(t, exitOK)
	conditional, pages := 0, 0
	for _, q := range web.Log.Requests()[first:] {
		if !strings.HasPrefix(q.Path, "/robots") {
			pages++
			if q.Conditional && q.Status == 304 {
				conditional++
			}
		}
	}
	if pages == 0 || conditional*100 < pages*95 {
		t.Errorf("%d of %d requests were answered 304\n%s", conditional, pages, r.out)
	}
	seen := map[string]int{}
	for _, q := range web.Log.Requests()[first:] {
		seen[q.Host+q.Path]++
	}
	for url, n := range seen {
		if n > 1 {
			t.Errorf("%s was asked for %d times", url, n)
		}
	}
}

func TestAsOfLooksAhead(t *testing.T) {
	web := webtest.New(webtest.Spec{Seed: 3, Domains: 2, Pages: 5, MaxHost: 10, Plain: true})
	store := filepath.Join(t.TempDir(), "crawl")
	line{web: web}.run(t, crawlArgs(store, web.Seeds(1))...).must(t, exitOK)
	before := len(web.Log.Requests())
	line{web: web}.run(t, crawlArgs(store, nil, "--as-of", "+1h")...).must(t, exitOK)
	if n := len(web.Log.Requests()) - before; n != 0 {
		t.Errorf("%d requests within the hour, nothing was due", n)
	}
	line{web: web}.run(t, crawlArgs(store, nil, "--as-of", "+40d")...).must(t, exitOK)
	if n := len(web.Log.Requests()) - before; n == 0 {
		t.Error("no request after 40 days")
	}
}

// rows are a store's tables as text, without the columns that may differ.
func rows(t *testing.T, store string) map[string][]string {
	t.Helper()
	c, head, done := snapshot(t, store)
	defer done()
	all := map[string][]string{}
	scan(t, c, head, lsm.URLs(), all)
	scan(t, c, head, lsm.Domains(), all)
	scan(t, c, head, lsm.Hosts(), all)
	scan(t, c, head, lsm.RobotsTable(), all)
	appended[schema.Page](t, c, head, schema.Pages, all)
	appended[schema.Fetch](t, c, head, schema.Fetches, all)
	appended[schema.Link](t, c, head, schema.Links, all)
	appended[schema.List](t, c, head, schema.Lists, all)
	appended[schema.Seed](t, c, head, schema.Seeds, all)
	return all
}

func stable(table string, row any) string {
	m := object(factsOf(row))
	for _, name := range schema.Volatile[table] {
		delete(m, name)
	}
	if headers, ok := m["headers"].(map[string]string); ok {
		delete(headers, "Date")
		delete(headers, "date")
	}
	delete(m, "page_id")
	b, _ := json.Marshal(m)
	return string(b)
}

func scan[R any](t *testing.T, c *node.Crawl, head *lsm.Manifest, table lsm.Table[R], all map[string][]string) {
	t.Helper()
	err := table.Scan(t.Context(), c.Store.Open, head.Tables[table.Name], layout.All, nil,
		func(row *R, _ []lsm.Ref) error {
			all[table.Name] = append(all[table.Name], stable(table.Name, row))
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
}

func appended[R any](t *testing.T, c *node.Crawl, head *lsm.Manifest, table string, all map[string][]string) {
	t.Helper()
	for _, part := range head.Parts {
		for _, o := range part.Tables[table] {
			if err := eachRow(t.Context(), c, o, func(row *R) error {
				all[table] = append(all[table], stable(table, row))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	slices.Sort(all[table])
}

// sameRows compares two stores table by table.
func sameRows(t *testing.T, got, want map[string][]string) {
	t.Helper()
	for _, table := range slices.Sorted(maps.Keys(want)) {
		if diff := cmp.Diff(want[table], got[table]); diff != "" {
			if len(diff) > 3000 {
				diff = diff[:3000]
			}
			t.Errorf("table %s differs (-want +got):\n%s", table, diff)
		}
	}
}

func TestInterruptedCrawlGoesOn(t *testing.T) {
	spec := webtest.Spec{Seed: 5, Domains: 8, Pages: 12, MaxHost: 40, Plain: true, Latency: 3 * time.Millisecond}
	calm, shaken := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "shaken")
	web := webtest.New(spec)
	line{web: web}.run(t, crawlArgs(calm, web.Seeds(4))...).must(t, exitOK)
	web = webtest.New(spec)
	args := crawlArgs(shaken, web.Seeds(4))
	stops := 0
	for try := 0; ; try++ {
		signals := make(chan os.Signal, 2)
		if try < 4 {
			time.AfterFunc(time.Duration(150+130*try)*time.Millisecond, func() { signals <- os.Interrupt })
		}
		r := line{web: web, signals: signals}.run(t, args...)
		if r.code == exitOK {
			break
		}
		r.must(t, exitStopped)
		if !strings.Contains(r.err, "the same command goes on") {
			t.Errorf("it does not say how to go on:\n%s", r.err)
		}
		stops++
	}
	if stops == 0 {
		t.Fatal("no interrupt came in time")
	}
	mannerly(t, web)
	sameRows(t, rows(t, shaken), rows(t, calm))
}

func TestSecondInterruptStopsAtOnce(t *testing.T) {
	web := webtest.New(webtest.Spec{Seed: 5, Domains: 3, Pages: 12, Plain: true, Latency: time.Minute})
	signals := make(chan os.Signal, 2)
	time.AfterFunc(300*time.Millisecond, func() { signals <- os.Interrupt; signals <- os.Interrupt })
	began := time.Now()
	store := filepath.Join(t.TempDir(), "crawl")
	line{web: web, signals: signals}.run(t, append(crawlArgs(store, web.Seeds(2)), "--first-byte-timeout", "5m",
		"--exchange-timeout", "10m")...).must(t, exitStopped)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestCrawlOfAnotherProcessIsLeftAlone(t *testing.T) {
	web := webtest.New(webtest.Spec{Seed: 5, Domains: 3, Pages: 5, Plain: true})
	store := filepath.Join(t.TempDir(), "crawl")
	args := crawlArgs(store, web.Seeds(1))
	line{web: web}.run(t, args...).must(t, exitOK)
	c, _, done := snapshot(t, store)
	defer done()
	held, release := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- node.Embed(t.Context(), c, node.Options{Web: node.Synthetic(web)}, holdOpen(held, release))
	}()
	<-held
	r := line{web: web}.run(t, append(args, "--delay", "9ms")...).must(t, exitInUse)
	if !strings.Contains(r.err, "in use by process") || !strings.Contains(r.err, "seine status") {
		t.Errorf("it does not say what to do: %s", r.err)
	}
	if s := (line{}).run(t, "settings", "history", "--store", store).must(t, exitOK); strings.Contains(s.out, "version 2") {
		t.Error("the refused command changed the settings")
	}
	s := line{}.run(t, "status", "--store", store).must(t, exitOK)
	if !strings.Contains(s.out, "works on it since") {
		t.Errorf("status does not see the process:\n%s", s.out)
	}
	i := line{}.run(t, "inject", "--store", store, "http://d0002.test/s1/p1.html", "http://new.test/").must(t, exitOK)
	if !strings.Contains(i.out, "2 seeds:") {
		t.Errorf("inject by the running process: %s", i.out)
	}
	line{}.run(t, "round", "submit", "--store", store).must(t, exitOK)
	close(release)
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
