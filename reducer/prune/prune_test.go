package prune_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seine/formats/catalog/catalogtest"
	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/objstore/mem"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/warc"
	"seine/jobs"
	"seine/reducer/prune"
	"seine/reducer/publish"
	"seine/reducer/sweep"
	"seine/reducer/task"
	"seine/reducer/twin"
)

const day = catalogtest.Day

// aged is a store whose objects are as old as the crawl's time says.
type aged struct {
	objstore.Store
	now int64 // ms
	put map[string]int64
}

func (a *aged) Put(ctx context.Context, key string, body objstore.Body, o objstore.PutOptions) error {
	err := a.Store.Put(ctx, key, body, o)
	if _, there := a.put[key]; err == nil && !there {
		a.put[key] = a.now
	}
	return err
}

func (a *aged) List(ctx context.Context, prefix, after string, emit func(objstore.Info) error) error {
	return a.Store.List(ctx, prefix, after, func(i objstore.Info) error {
		i.ModTime = time.UnixMilli(a.put[i.Key])
		return emit(i)
	})
}

// world is a crawl that grows by a round a day.
type world struct {
	t     *testing.T
	b     *catalogtest.Builder
	store *aged
	e     task.Env
}

var site = []string{"http://a.test/", "http://a.test/1", "http://b.test/", "http://b.test/2", "http://c.test/"}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, b: catalogtest.New(), store: &aged{Store: mem.New(), put: map[string]int64{}}}
	w.e = twin.Env(w.store, t.TempDir(), settings.Settings{}, w.b.Suffixes)
	j := w.b.Job("inject")
	for _, url := range site {
		j.New(url, 0, 0.5)
	}
	j.Commit()
	w.sync()
	return w
}

// sync brings what the builder wrote into the store.
func (w *world) sync() {
	w.t.Helper()
	w.store.now = w.b.Manifest.Now
	for _, key := range slices.Sorted(maps.Keys(w.b.Store)) {
		err := objstore.PutIfAbsent(w.t.Context(), w.store, key, w.b.Store[key])
		if err != nil && key != layout.Latest && !strings.Contains(err.Error(), objstore.ErrExists.Error()) {
			w.t.Fatal(err)
		}
	}
}

// round fetches some of the site; body says what a page has.
func (w *world) round(urls []string, body func(url string) string) {
	w.t.Helper()
	j := w.b.Job("round")
	for _, url := range urls {
		j.List(url)
	}
	for _, url := range urls {
		j.Page(url, body(url), site[0])
	}
	j.Commit()
	w.sync()
}

func (w *world) spec(what jobs.Prune) jobs.Spec {
	return jobs.Spec{Format: 1, Job: w.b.Manifest.Job + 1, Kind: jobs.KindPrune, Base: w.b.Manifest.N,
		Now: w.b.Manifest.Now + 3_600_000, Epoch: 1, Ranges: layout.Split(1), Prune: &what}
}

func run(ctx context.Context, e task.Env, spec jobs.Spec) (*lsm.Manifest, map[string]int64, error) {
	result, err := prune.Run(ctx, e, jobs.Task{Spec: spec, Stage: jobs.StagePrune, Range: layout.All,
		Attempt: layout.Attempt{Epoch: 1, N: 1}})
	if err != nil {
		return nil, nil, err
	}
	c, counts, err := publish.Publish(ctx, e, nil, publish.Job{Spec: spec, Epoch: 1, Ended: spec.Now,
		Ends: map[jobs.Stage][]jobs.Result{jobs.StagePrune: {result}}})
	if err != nil {
		return nil, nil, err
	}
	m, err := e.Snapshot(ctx, c.N)
	return m, counts, err
}

func (w *world) prune(what jobs.Prune) map[string]int64 {
	w.t.Helper()
	spec := w.spec(what)
	plan, err := prune.Plan(w.t.Context(), w.e, w.b.Manifest, what)
	if err != nil {
		w.t.Fatal(err)
	}
	w.store.now = spec.Now
	m, counts, err := run(w.t.Context(), w.e, spec)
	if err != nil {
		w.t.Fatal(err)
	}
	delete(counts, prune.CountMoved)
	if diff := cmp.Diff(plan, counts); diff != "" {
		w.t.Errorf("plan and deed differ (-plan +deed):\n%s", diff)
	}
	w.b.Manifest = m
	return counts
}

// pages reads all rows of pages and holds each to its record.
func (w *world) pages() (rows []schema.Page) {
	w.t.Helper()
	sizes := map[string]int64{}
	for _, p := range w.b.Manifest.Parts {
		for _, a := range p.WARC {
			sizes[a.Key] = a.Bytes
		}
	}
	for _, p := range w.b.Manifest.Parts {
		for _, o := range p.Tables[schema.Pages] {
			got, err := twin.Rows[schema.Page](w.t.Context(), w.e, &o)
			if err != nil {
				w.t.Fatal(err)
			}
			rows = append(rows, got...)
		}
	}
	for _, row := range rows {
		src, err := w.e.Open(w.t.Context(), row.BlobPath, sizes[row.BlobPath])
		if err != nil {
			w.t.Fatal(err)
		}
		r, err := warc.ReadAt(src, row.BlobOffset, row.BlobLength)
		if err != nil || r.TargetURI != row.URL || r.PayloadDigest != row.PayloadDigest {
			w.t.Errorf("%s of round %d: its record is %+v, %v", row.URL, row.Round, r, err)
		}
	}
	return rows
}

// places says where urls thinks that the newest bodies are.
func (w *world) places() map[string]string {
	w.t.Helper()
	places := map[string]string{}
	err := lsm.URLs().Scan(w.t.Context(), w.e.Open, w.b.Manifest.Tables[schema.URLs], layout.All, nil,
		func(row *schema.URL, _ []lsm.Ref) error {
			places[strings.Clone(row.URL)] = fmt.Sprint(row.BlobPath, " ", row.BlobOffset)
			return nil
		})
	if err != nil {
		w.t.Fatal(err)
	}
	return places
}

// TestVersions: of a page the newest contents stay, each with its newest row.
func TestVersions(t *testing.T) {
	w := newWorld(t)
	for _, content := range []string{"one", "two", "two", "three", "one"} {
		w.round(site, func(url string) string { return strings.Repeat(content+" of "+url, 30) })
	}
	w.prune(jobs.Prune{Versions: 2})
	kept := map[int64]int{}
	for _, row := range w.pages() {
		kept[row.Round]++
	}
	if diff := cmp.Diff(map[int64]int{5: len(site), 6: len(site)}, kept); diff != "" {
		t.Errorf("rows kept by round (-want +got):\n%s", diff)
	}
	for _, p := range w.b.Manifest.Parts {
		if len(p.Tables[schema.Fetches]) > 0 && len(p.WARC) == 0 {
			t.Errorf("round %d has fetches and no archive", p.Round)
		}
	}
	if counts := w.prune(jobs.Prune{Versions: 2}); counts[prune.CountBytes] != 0 {
		t.Errorf("a second time: %v", counts)
	}
}

// TestArchives: without fetches, an archive without a live record goes, and of
// one that is mostly dead the live records move, and urls follow.
func TestArchives(t *testing.T) {
	w := newWorld(t)
	w.round(site, func(url string) string { return strings.Repeat(url, 40) })
	w.round(site[:4], func(url string) string { return strings.Repeat("new "+url, 40) })
	w.round(site[:4], func(url string) string { return strings.Repeat("newer "+url, 40) })
	counts := w.prune(jobs.Prune{Fetches: w.b.Manifest.Now - 1, Versions: 1})
	if counts[prune.CountArchives] != 1 || counts[prune.CountRewritten] != 1 {
		t.Errorf("counts %v, want one archive dropped and one rewritten", counts)
	}
	rows, places := w.pages(), w.places()
	if len(rows) != len(site) {
		t.Fatalf("%d pages, want %d", len(rows), len(site))
	}
	for _, row := range rows {
		if want := fmt.Sprint(row.BlobPath, " ", row.BlobOffset); places[row.URL] != want {
			t.Errorf("urls says that %s lies in %s, pages says %s", row.URL, places[row.URL], want)
		}
	}
}

// TestJoins: the parts of which only what stays is left become one, with every page,
// every row of rounds and the order of the seeds; urls follow, and older snapshots
// are read as before.
func TestJoins(t *testing.T) {
	w := newWorld(t)
	for n := range 12 {
		w.round(site, func(url string) string { return strings.Repeat(fmt.Sprint(n%3, url), 40) })
		if n%4 == 3 {
			j := w.b.Job("inject")
			j.Seeds = []schema.Seed{{Domain: "a.test", Host: "a.test", URL: site[0], Tag: fmt.Sprint("tag", n)}}
			j.Commit()
			w.sync()
		}
	}
	what := jobs.Prune{Fetches: w.b.Manifest.Now - 1, Links: w.b.Manifest.Now - 1, Versions: 9}
	w.prune(what)
	before, was := w.b.Manifest, w.pages()
	counts := w.prune(what)
	if counts[prune.CountJoined] != 17 || len(w.b.Manifest.Parts) != 2 {
		t.Errorf("counts %v, want 17 parts joined: of 12 rounds, 4 injects and a prune; %d are left", counts,
			len(w.b.Manifest.Parts))
	}
	first := w.b.Manifest.Parts[0]
	if first.Oldest() != 1 || len(first.Tables[schema.Pages]) != 1 || len(first.WARC) != 1 ||
		len(first.Tables[schema.Rounds]) != 1 || len(first.Tables[schema.Seeds]) != 3 {
		t.Errorf("the first part is %+v", first)
	}
	rows, places := w.pages(), w.places()
	if len(rows) != len(was) {
		t.Errorf("%d pages became %d", len(was), len(rows))
	}
	newest := map[string]schema.Page{}
	for i, row := range rows {
		if _, ok := newest[row.URL]; !ok {
			newest[row.URL] = row
		}
		if i > 0 && rows[i-1].URL == row.URL && rows[i-1].Round <= row.Round {
			t.Errorf("row %d of %s: round %d is before round %d", i, row.URL, rows[i-1].Round, row.Round)
		}
	}
	for url, row := range newest {
		if want := fmt.Sprint(row.BlobPath, " ", row.BlobOffset); places[url] != want {
			t.Errorf("urls says that %s lies in %s, pages says %s", url, places[url], want)
		}
	}
	ended, err := twin.Rows[schema.RoundRow](t.Context(), w.e, &first.Tables[schema.Rounds][0])
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range ended {
		if want := int64(first.Round) - int64(i); row.Round != want {
			t.Fatalf("row %d of rounds is of %d, want %d: the newest first, none left out", i, row.Round, want)
		}
	}
	for i, o := range first.Tables[schema.Seeds] {
		if seeds, err := twin.Rows[schema.Seed](t.Context(), w.e, &o); err != nil || len(seeds) != 1 ||
			seeds[0].Tag != fmt.Sprint("tag", 4*i+3) {
			t.Errorf("object %d of seeds has %v, %v", i, seeds, err)
		}
	}
	w.b.Manifest = before
	w.pages()
}

// counting counts the reads of archives.
type counting struct {
	objstore.Store
	reads int
}

func (c *counting) ReadAt(ctx context.Context, key string, p []byte, off int64) (int, error) {
	if strings.HasSuffix(key, ".warc.gz") {
		c.reads++
	}
	return c.Store.ReadAt(ctx, key, p, off)
}

// TestRequestsOfAJoin: records that lie near each other are moved with one request,
// one that is larger than a request is moved whole.
func TestRequestsOfAJoin(t *testing.T) {
	const rounds = 6
	for _, test := range []struct{ bytes, most int }{
		{9000, rounds},
		// What is before the large record, that in two, and what is behind it.
		{5 << 20, 4 * rounds},
	} {
		w := newWorld(t)
		noise := make([]byte, test.bytes)
		dice := rand.NewChaCha8([32]byte{1})
		for range rounds {
			w.round(site, func(url string) string {
				body := noise[:9000]
				if url == site[3] {
					body = noise
				}
				_, _ = dice.Read(body) // never fails
				return string(body)
			})
		}
		what := jobs.Prune{Fetches: w.b.Manifest.Now - 1, Links: w.b.Manifest.Now - 1, Versions: 99}
		w.prune(what)
		was := len(w.pages())
		store := &counting{Store: w.store}
		e := twin.Env(store, t.TempDir(), settings.Settings{}, w.b.Suffixes)
		m, counts, err := run(t.Context(), e, w.spec(what))
		if err != nil {
			t.Fatal(err)
		}
		if w.b.Manifest = m; len(w.pages()) != was || counts[prune.CountJoined] < rounds-1 {
			t.Errorf("%d pages of %d: %v", len(w.pages()), was, counts)
		}
		if store.reads > test.most {
			t.Errorf("%d reads of %d archives with %d records", store.reads, rounds, rounds*len(site))
		}
	}
}

// TestTwoMonths: under retention the append tables and archives stay as large as
// they were after the first weeks, and what a kept snapshot names is there.
func TestTwoMonths(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	size := func() (n int64) {
		err := w.store.List(ctx, layout.RoundPrefix, "", func(i objstore.Info) error {
			for _, table := range []string{"pages", "fetches", "lists", "links", "warc"} {
				if strings.Contains(i.Key, table) {
					n += i.Size
					break
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	most := int64(0)
	for n := range 30 { // a round and a prune job: two days of the builder
		some := slices.DeleteFunc(slices.Clone(site), func(url string) bool { return n%5 != 0 && url == site[4] })
		w.round(some, func(url string) string { return strings.Repeat(fmt.Sprint(url, n), 40) })
		now := w.b.Manifest.Now
		w.prune(jobs.Prune{Versions: 2, Fetches: now - 8*day, Links: now - 4*day})
		w.store.now = w.b.Manifest.Now
		_, err := sweep.Run(ctx, w.e, sweep.Options{Epoch: 1, Now: time.UnixMilli(w.b.Manifest.Now),
			Retention: 6 * day * time.Millisecond, Snapshots: 2})
		if err != nil {
			t.Fatal(err)
		}
		switch got := size(); {
		case n < 15:
			most = max(most, got)
		case got > most+most/10:
			t.Errorf("after %d days %d bytes; in the first month at most %d", 2*n, got, most)
		}
	}
	if rows := w.pages(); len(rows) < 2*len(site) {
		t.Errorf("%d pages are left, want at least two of each URL", len(rows))
	}
	old, err := w.e.Snapshot(ctx, w.b.Manifest.N-2)
	if err != nil {
		t.Fatal(err)
	}
	w.b.Manifest = old
	w.pages()
}

// TestFaultAtEveryPut: a task that fails anywhere leaves nothing that counts,
// and the next attempt does the job.
func TestFaultAtEveryPut(t *testing.T) {
	w := newWorld(t)
	w.round(site, func(url string) string { return strings.Repeat(url, 40) })
	w.round(site[:4], func(url string) string { return strings.Repeat("new "+url, 40) })
	for range 4 {
		w.round(site[3:], func(url string) string { return strings.Repeat("newer "+url, 40) })
	}
	w.prune(jobs.Prune{Fetches: w.b.Manifest.Now - 1, Links: w.b.Manifest.Now - 1, Versions: 1})
	for range 2 { // the prune that is tried has parts to join and one to prune
		w.round(site[:3], func(url string) string { return strings.Repeat("newest "+url, 40) })
	}
	spec := w.spec(jobs.Prune{Fetches: w.b.Manifest.Now - 1, Versions: 1})
	fresh := func() objstore.Store {
		store := mem.New()
		for key := range w.store.put {
			body, err := w.store.Get(t.Context(), key)
			if err == nil {
				err = store.Put(t.Context(), key, objstore.Bytes(body), objstore.PutOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return store
	}
	env := func(s objstore.Store) task.Env {
		return twin.Env(s, t.TempDir(), settings.Settings{}, w.b.Suffixes)
	}
	clean := fault.New(fresh(), nil)
	want, counts, err := run(t.Context(), env(clean), spec)
	if err != nil || counts[prune.CountJoined] == 0 || counts[prune.CountTables] == 0 {
		t.Fatalf("nothing is joined or pruned: %v, %v", counts, err)
	}
	for n, op := range clean.Ops() {
		if op.Kind != objstore.OpPut {
			continue
		}
		for _, f := range []fault.Fault{{Before: objstore.ErrUnavailable}, {After: objstore.ErrUnavailable}} {
			store := fresh()
			// A fault may be passed over where it does no harm; what counts is the end.
			_, _, _ = run(t.Context(), env(fault.New(store, fault.At(n, f))), spec)
			got, _, err := run(t.Context(), env(store), spec)
			if err != nil {
				t.Fatalf("after a fault at %s: %v", op, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("after a fault at %s (-clean +got):\n%s", op, diff)
			}
		}
	}
}
