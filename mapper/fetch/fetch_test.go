package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/mem"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/formats/taskend"
	"seine/formats/tasklog"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/jobs/worker"
	"seine/mapper/resolve"
	"seine/mapper/webtest"
)

// world is a web, a store and the spec of one round with one task.
type world struct {
	t     *testing.T
	web   *webtest.Web
	store objstore.Store
	env   Env
	set   settings.Settings
	task  jobs.Task

	sealed []tasklog.Object // of the chunks that were audited
	damage func([]schema.List)
}

// suffixes are parsed once for all tests.
var suffixes = sync.OnceValues(func() (*weburl.Suffixes, error) {
	return weburl.ParseSuffixes(weburl.EmbeddedSuffixes())
})

// webResolver is the web's name service as fetch asks it.
type webResolver struct{ web *webtest.Web }

func (r webResolver) Lookup(_ context.Context, host string) (resolve.Answer, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return resolve.Answer{Addrs: []netip.Addr{a}}, nil
	}
	a, ok := r.web.Lookup(host)
	if !ok {
		return resolve.Answer{}, resolve.ErrNotFound
	}
	return resolve.Answer{Addrs: []netip.Addr{a}}, nil
}

func (webResolver) Prefetch(context.Context, []string) {}

func newWorld(t *testing.T, web *webtest.Web, set settings.Settings) *world {
	t.Helper()
	suffixes, err := suffixes()
	if err != nil {
		t.Fatal(err)
	}
	if set.AllowNetwork == nil {
		set.AllowNetwork = []string{"127.0.0.0/8"}
	}
	w := &world{t: t, web: web, store: mem.New(), set: set.Fill()}
	w.task = jobs.Task{Stage: jobs.StageFetch, Range: layout.All, Attempt: layout.Attempt{Epoch: 1,
		N: 1},
		Spec: jobs.Spec{Job: 7, Kind: jobs.KindRound, Ranges: []layout.Range{layout.All},
			Round: &jobs.Round{TopN: 1000}}}
	w.env = Env{Store: w.store, Scratch: t.TempDir(), Codec: rowfile.Snappy,
		Snapshot: func(context.Context, uint64) (*lsm.Manifest, error) { return &lsm.Manifest{}, nil },
		Settings: func(context.Context, uint64) (settings.Settings, error) { return w.set, nil },
		Scope: func(context.Context, jobs.Spec) (*scope.Scope, error) {
			return scope.New(scope.Config{Scope: scope.Any}, suffixes)
		},
		Suffixes: suffixes, Resolver: webResolver{web}, Dial: web.Dial}
	w.env.Open = func(ctx context.Context, key layout.Key, size int64) (io.ReaderAt, error) {
		return objstore.Open(ctx, w.store, key, size), nil
	}
	return w
}

// list makes the generate task's end: the task's input.
func (w *world) list(rows ...schema.List) {
	w.t.Helper()
	byDomain := map[string]int32{}
	for i := range rows {
		u, err := weburl.Normalize(rows[i].URL, weburl.Options{})
		if err != nil {
			w.t.Fatal(err)
		}
		r := &rows[i]
		r.URL, r.Host, r.Domain = u.URL, u.Host, w.env.Suffixes.Domain(u.Host)
		r.Partition = int32(weburl.Partition(r.Domain))
		r.Position = byDomain[r.Domain]
		r.Why, r.Band = schema.WhyNew, schema.High
		byDomain[r.Domain]++
	}
	if w.damage != nil {
		w.damage(rows)
	}
	var b bytes.Buffer
	out := rowfile.NewWriter[schema.List](&b, rowfile.Options{Codec: rowfile.Snappy})
	if err := errors.Join(out.Write(rows...), out.Finish()); err != nil {
		w.t.Fatal(err)
	}
	key := layout.Output(7, "generate", 0, w.task.Attempt, "lists.parquet")
	end, err := taskend.Encode(taskend.Generate{Format: 1, Range: layout.All,
		Lists: &lsm.Object{Key: key, Rows: int64(len(rows)), Bytes: int64(b.Len())}})
	if err != nil {
		w.t.Fatal(err)
	}
	endKey := layout.End(7, "generate", 0)
	ctx := context.Background()
	if err := errors.Join(objstore.PutIfAbsent(ctx, w.store, key, b.Bytes()),
		objstore.PutIfAbsent(ctx, w.store, endKey, end)); err != nil {
		w.t.Fatal(err)
	}
	w.task.Inputs = map[jobs.Stage][]layout.Key{jobs.StageGenerate: {endKey}}
}

func urls(list ...string) (rows []schema.List) {
	for _, u := range list {
		rows = append(rows, schema.List{URL: u, Depth: 1, Priority: 0.5, Seed: "s"})
	}
	return rows
}

// foreverLease never lapses by itself.
func foreverLease() *worker.Lease {
	return worker.NewLease(func() worker.Reading { return worker.Reading{} }, worker.Reading{})
}

func (w *world) run(ctx context.Context, lease *worker.Lease) (jobs.Result, error) {
	return Run(ctx, w.env, w.task, lease, &worker.Progress{})
}

// mustRun runs the task to its end and reads what it left.
func (w *world) mustRun() *left {
	w.t.Helper()
	result, err := w.run(context.Background(), foreverLease())
	if err != nil {
		w.t.Fatal(err)
	}
	return w.read(result)
}

// left is what an ended task left: the rows of all chunks, and of the end.
type left struct {
	end         *tasklog.End
	fetches     []schema.Fetch
	pages       []schema.Page
	links       []schema.Link
	robots      []schema.Robots
	events      []schema.Discovery
	waiting     []schema.Fetch
	discoveries []schema.Discovery
}

func (w *world) read(result jobs.Result) *left {
	w.t.Helper()
	b, err := w.store.Get(context.Background(), result.End)
	if err != nil {
		w.t.Fatal(err)
	}
	entry, err := tasklog.Decode(result.End, b)
	if err != nil {
		w.t.Fatal(err)
	}
	l := &left{end: entry.End}
	if l.end == nil {
		w.t.Fatalf("%s holds no end", result.End)
	}
	for _, c := range l.end.Chunks {
		for _, o := range c.Objects {
			switch o.Kind {
			case tasklog.Fetches:
				l.fetches = append(l.fetches, rowsOf[schema.Fetch](w, o)...)
			case tasklog.Pages:
				l.pages = append(l.pages, rowsOf[schema.Page](w, o)...)
			case tasklog.Links:
				l.links = append(l.links, rowsOf[schema.Link](w, o)...)
			case tasklog.Robots:
				l.robots = append(l.robots, rowsOf[schema.Robots](w, o)...)
			}
		}
	}
	for _, o := range l.end.Objects {
		switch o.Kind {
		case tasklog.Events:
			l.events = rowsOf[schema.Discovery](w, o)
		case tasklog.Fetches:
			l.waiting = rowsOf[schema.Fetch](w, o)
		}
	}
	return l
}

func rowsOf[R any](w *world, o tasklog.Object) (rows []R) {
	w.t.Helper()
	err := readRows(context.Background(), w.env, o.Key, o.Size, nil, func(r *R) error {
		rows = append(rows, *r)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if int64(len(rows)) != o.Rows {
		w.t.Errorf("%s has %d rows, its entry says %d", o.Key, len(rows), o.Rows)
	}
	return rows
}

// final is the final row of each listed URL.
func (l *left) final(t *testing.T) map[string]schema.Fetch {
	t.Helper()
	m := map[string]schema.Fetch{}
	for _, f := range l.fetches {
		if !f.Final || f.Kind != kindPage {
			continue
		}
		if old, ok := m[f.URL]; ok {
			t.Errorf("%s has two final rows: %s and %s", f.URL, old.Reason, f.Reason)
		}
		m[f.URL] = f
	}
	return m
}

func (w *world) polite(delay time.Duration) {
	w.t.Helper()
	for _, j := range w.web.Log.Manners(w.web, func(string) time.Duration { return delay },
		time.Millisecond) {
		if faults := j.Faulty(); faults != "" {
			w.t.Error(faults)
		}
	}
}

// TestEveryURLEndsAsTheTruthSays fetches every URL of a web with every kind of
// host, page and robots.txt, in virtual time.
func TestEveryURLEndsAsTheTruthSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := webtest.New(webtest.Spec{Seed: 11, Domains: 60, Pages: 12, Epoch: time.Now()})
		w := newWorld(t, web, settings.Settings{})
		truth := web.Truth(web.Seeds(5), time.Now())
		var all []string
		for u := range truth {
			all = append(all, u)
		}
		w.list(urls(all...)...)
		l := w.mustRun()
		final := l.final(t)
		pages := map[string]bool{}
		for _, p := range l.pages {
			pages[p.URL] = true
		}
		busy := map[string]bool{}
		for _, f := range l.waiting {
			busy[f.URL] = true
			if h, _ := web.Host(f.Host); h.Health == webtest.Fine {
				t.Errorf("%s of a fine host waits: %s", f.URL, f.Reason)
			}
		}
		for u, want := range truth {
			got, ok := final[u]
			h, _ := web.Host(got.Host)
			switch {
			case !ok && !busy[u]:
				t.Errorf("%s has no row at all", u)
			case !ok, got.Reason == schema.TooMany && h.Health == webtest.Throttled:
			case got.Reason != want.Reason || int(got.HTTPStatus) != want.Status || pages[u] != want.Page:
				t.Errorf("%s ends as %s %d (page %v), want %s %d (page %v): %s", u, got.Reason,
					got.HTTPStatus, pages[u], want.Reason, want.Status, want.Page, got.Detail)
			}
		}
		w.polite(time.Second)
	})
}

func TestDiscoveriesAreMergedByTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := webtest.New(webtest.Spec{Seed: 12, Plain: true, Domains: 8, Pages: 30})
		w := newWorld(t, web, settings.Settings{SealInterval: settings.Duration(time.Second)})
		w.list(urls(web.Seeds(8)...)...)
		l := w.mustRun()
		if len(l.end.Chunks) < 2 {
			t.Errorf("%d chunks: the merge is not tried", len(l.end.Chunks))
		}
		seen := map[string]bool{}
		for i := range l.events {
			d := &l.events[i]
			if i > 0 && compareDiscovery(&l.events[i-1], d) >= 0 {
				t.Errorf("%s comes after %s", d.URL, l.events[i-1].URL)
			}
			if d.Depth != 2 || !d.First || d.Priority != 0.5 || d.Seed != "s" {
				t.Errorf("discovery %+v", *d)
			}
			seen[d.URL] = true
		}
		for _, link := range l.links {
			if link.Verdict == schema.Accepted && link.DstURL != link.SrcURL && !seen[link.DstURL] {
				t.Errorf("%s is accepted and not discovered", link.DstURL)
			}
		}
		if len(seen) < 20 {
			t.Errorf("only %d URLs discovered", len(seen))
		}
	})
}

func TestConditionalRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := webtest.New(webtest.Spec{Seed: 13, Plain: true})
		w := newWorld(t, web, settings.Settings{})
		seed := web.Seeds(1)[0]
		w.list(urls(seed)...)
		first := w.mustRun()
		page := first.pages[0]
		if page.ETag == "" || page.Change != schema.ChangeNew || page.BlobPath == "" {
			t.Fatalf("page %+v", page)
		}
		again := newWorld(t, web, settings.Settings{})
		again.list(schema.List{URL: seed, ETag: page.ETag, BlobPath: page.BlobPath, CrawlCount: 1,
			BlobLength: page.BlobLength, LastCrawled: page.CrawledAt, ContentHash: page.ContentHash})
		got := again.mustRun().final(t)[seed]
		if got.Reason != schema.NotModified || got.Change != schema.ChangeNotModified ||
			got.HTTPStatus != 304 {
			t.Errorf("row %+v", got)
		}
		changed := newWorld(t, web, settings.Settings{})
		changed.list(schema.List{URL: seed, BlobPath: page.BlobPath, ContentHash: page.ContentHash})
		if got := changed.mustRun().final(t)[seed]; got.Change != schema.ChangeSame {
			t.Errorf("an equal body is %q", got.Change)
		}
	})
}

func TestNothingGoesToPublicAddressesWithoutContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := webtest.New(webtest.Spec{Seed: 14, Plain: true})
		w := newWorld(t, web, settings.Settings{AllowNetwork: []string{"10.0.0.0/8"}})
		w.list(urls(web.Seeds(1)[0], "http://8.8.8.8/", "http://127.0.0.1/")...)
		l := w.mustRun()
		reasons := map[string]string{}
		for _, f := range append(l.waiting, l.fetches...) {
			if f.Kind == kindPage {
				reasons[f.Host] = f.Reason
			}
		}
		if reasons["8.8.8.8"] != schema.NoContact || reasons["127.0.0.1"] != schema.Private {
			t.Errorf("reasons %v", reasons)
		}
		if n := len(web.Log.Requests()); n != 0 {
			t.Errorf("%d requests were made", n)
		}
	})
}

func TestCleanEndLeavesNoScratch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := webtest.New(webtest.Spec{Seed: 15, Plain: true})
		w := newWorld(t, web, settings.Settings{})
		w.list(urls(web.Seeds(3)...)...)
		w.mustRun()
		entries, err := os.ReadDir(w.env.Scratch)
		if err != nil || len(entries) > 0 {
			t.Errorf("scratch holds %v, %v", entries, err)
		}
	})
}

// TestAnEndedTaskReportsItsEnd runs the task again after its end.
func TestAnEndedTaskReportsItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := webtest.New(webtest.Spec{Seed: 16, Plain: true})
		w := newWorld(t, web, settings.Settings{})
		w.list(urls(web.Seeds(2)...)...)
		first, err := w.run(context.Background(), foreverLease())
		if err != nil {
			t.Fatal(err)
		}
		requests := len(web.Log.Requests())
		w.task.Attempt.N++
		second, err := w.run(context.Background(), foreverLease())
		if err != nil || first.End != second.End || !strings.Contains(second.End, "/log/") {
			t.Errorf("%q and %q, %v", first.End, second.End, err)
		}
		if n := len(web.Log.Requests()); n != requests {
			t.Errorf("%d further requests", n-requests)
		}
	})
}
