package inject_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/objstore/mem"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/reducer/inject"
	"seine/reducer/publish"
	"seine/reducer/task"
	"seine/reducer/twin"
)

func suffixes(t testing.TB) *weburl.Suffixes {
	t.Helper()
	s, err := weburl.ParseSuffixes([]byte("test\ncom\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func encode(t testing.TB, seeds []jobs.Seed) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, seed := range seeds {
		if err := json.NewEncoder(&b).Encode(seed); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func injectSpec(ranges int, now bool) jobs.Spec {
	return jobs.Spec{Format: 1, Job: 9, Kind: jobs.KindInject, Base: 1, Now: twin.Now,
		Ranges: layout.Split(ranges), Inject: &jobs.Inject{Upload: layout.Upload("seeds"), Now: now}}
}

// run runs every task of the spec and publishes the job.
func run(ctx context.Context, e task.Env, spec jobs.Spec) (*lsm.Manifest, error) {
	ends := map[jobs.Stage][]jobs.Result{}
	for i, r := range spec.Ranges {
		result, err := inject.Run(ctx, e, jobs.Task{Spec: spec, Stage: jobs.StageInject, Index: i,
			Range: r, Attempt: layout.Attempt{Epoch: 1, N: 1}})
		if err != nil {
			return nil, err
		}
		ends[jobs.StageInject] = append(ends[jobs.StageInject], result)
	}
	c, _, err := publish.Publish(ctx, e, nil, publish.Job{Spec: spec, Ends: ends, Ended: twin.Now})
	if err != nil {
		return nil, err
	}
	return e.Snapshot(ctx, c.N)
}

// randomSeeds draws seeds, known to the world and new, some twice.
func randomSeeds(r *rand.Rand, w *twin.World) []jobs.Seed {
	var seeds []jobs.Seed
	for _, key := range slices.SortedFunc(maps.Keys(w.URLs), lsm.Key.Compare) {
		if r.IntN(4) == 0 {
			seeds = append(seeds, jobs.Seed{URL: key.URL, Raw: key.URL})
		}
	}
	for range r.IntN(40) {
		url := fmt.Sprintf("http://h%d.d%d.test/s%d", r.IntN(4), r.IntN(20), r.IntN(30))
		seeds = append(seeds, jobs.Seed{URL: url, Raw: strings.ToUpper(url)})
	}
	for i := range seeds {
		seeds[i].Priority = float32(r.IntN(4)) / 4
		if r.IntN(3) == 0 {
			seeds[i].Tag = "tag"
			seeds[i].Metadata = map[string]string{"k": fmt.Sprint(i)}
			seeds[i].Interval, seeds[i].Depth, seeds[i].Scope = int64(i+1)*3_600_000, i-1, "host"
		}
		seeds[i].Removed = r.IntN(6) == 0
	}
	return seeds
}

// TestEqualsTwin injects random seeds into random worlds and holds every row of
// every table against the twin's.
func TestEqualsTwin(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for seed := range uint64(16) {
		r := rand.New(rand.NewPCG(seed, 11))
		w := twin.Random(r)
		for _, key := range slices.SortedFunc(maps.Keys(w.URLs), lsm.Key.Compare) {
			if row := w.URLs[key]; r.IntN(5) == 0 {
				row.CrawlStatus, row.Queued, row.LastCrawled = schema.Failed, 0, 5
				row.Reason = []string{schema.Trap, schema.NotFound, schema.Blocked,
					schema.DomainFull}[r.IntN(4)]
				if row.Reason == schema.DomainFull {
					row.CrawlStatus, row.LastCrawled = schema.Pending, 0
				}
				w.URLs[key] = row
			}
		}
		s := settings.Settings{GroupByHost: r.IntN(3) == 0}
		spec := injectSpec(1+r.IntN(3), r.IntN(2) == 0)
		e := twin.Env(mem.New(), t.TempDir(), s, suffixes(t))
		e.MemoryBytes = []int64{0, 1 << 10}[seed%2]
		if _, err := w.Save(ctx, e, layout.Split(2)); err != nil {
			t.Fatal(err)
		}
		seeds := randomSeeds(r, w)
		if err := objstore.PutIfAbsent(ctx, e.Store, spec.Inject.Upload, encode(t, seeds)); err != nil {
			t.Fatal(err)
		}
		m, err := run(ctx, e, spec)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := twin.Load(ctx, e, m)
		if err != nil {
			t.Fatal(err)
		}
		queued := w.Inject(spec, s.Fill(), e.Suffixes, seeds)
		compare(t, seed, w, got, queued)
		if want := int64(len(w.URLs)); m.Known != want {
			t.Errorf("seed %d: the snapshot knows %d URLs, want %d", seed, m.Known, want)
		}
	}
}

func compare(t *testing.T, seed uint64, want, got *twin.World, queued []schema.FrontierRow) {
	t.Helper()
	diff := cmp.Diff(want.URLs, got.URLs) + cmp.Diff(want.Domains, got.Domains) +
		cmp.Diff(want.Hosts, got.Hosts)
	bySeed := cmpopts.SortSlices(func(a, b schema.Seed) bool {
		return fmt.Sprintf("%+v", a) < fmt.Sprintf("%+v", b)
	})
	diff += cmp.Diff(want.Seeds, got.Seeds, bySeed, cmpopts.EquateEmpty())
	var rows []schema.FrontierRow
	for _, run := range got.Runs {
		if run.ID != "r00000009" {
			continue
		}
		for _, row := range run.Rows {
			if (row.Due <= twin.Now) != (run.Kind == schema.Ready) {
				t.Errorf("seed %d: row due %d in %s", seed, row.Due, run.Kind)
			}
		}
		rows = append(rows, run.Rows...)
	}
	byURL := cmpopts.SortSlices(func(a, b schema.FrontierRow) bool { return a.URL < b.URL })
	diff += cmp.Diff(queued, rows, byURL, cmpopts.EquateEmpty())
	if diff != "" {
		t.Fatalf("seed %d (-twin +product):\n%s", seed, diff)
	}
}

// TestSupersedes: an updated row names the row that it replaces, and a seed
// that changes nothing writes nothing.
func TestSupersedes(t *testing.T) {
	ctx := context.Background()
	e := twin.Env(mem.New(), t.TempDir(), settings.Settings{}, suffixes(t))
	first := injectSpec(1, false)
	first.Base, first.Job = 0, 1
	seeds := []jobs.Seed{{URL: "http://a.test/"}, {URL: "http://b.test/", Priority: 0.5}}
	if err := objstore.PutIfAbsent(ctx, e.Store, first.Inject.Upload, encode(t, seeds)); err != nil {
		t.Fatal(err)
	}
	if _, err := run(ctx, e, first); err != nil {
		t.Fatal(err)
	}
	second := injectSpec(1, false)
	second.Inject.Upload = layout.Upload("more")
	seeds[1].Tag = "news"
	if err := objstore.PutIfAbsent(ctx, e.Store, second.Inject.Upload, encode(t, seeds)); err != nil {
		t.Fatal(err)
	}
	m, err := run(ctx, e, second)
	if err != nil {
		t.Fatal(err)
	}
	runs := m.Tables[schema.URLs]
	if len(runs) != 2 || runs[1].Rows() != 1 {
		t.Fatalf("runs %+v, want a second one of one row", runs)
	}
	o := runs[1].Objects[0]
	rows, err := twin.Rows[schema.SupersededRow](ctx, e, &lsm.Object{Key: o.Superseded,
		Bytes: size(ctx, t, e, o.Superseded)})
	if err != nil {
		t.Fatal(err)
	}
	old := runs[0].Objects[0]
	var before []schema.URL
	if before, err = twin.Rows[schema.URL](ctx, e, &old); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || rows[0].Object != old.Key || before[rows[0].Row].URL != "http://b.test/" {
		t.Errorf("superseded %+v, want the row of b.test", rows)
	}
}

func size(ctx context.Context, t *testing.T, e task.Env, key string) int64 {
	t.Helper()
	info, err := e.Store.Stat(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size
}

func TestBadUploads(t *testing.T) {
	ctx := context.Background()
	good := `{"url":"http://a.test/"}` + "\n"
	tests := []struct{ name, upload, says string }{
		{"no JSON", good + "http://a.test/\n", "line 2: no seed"},
		{"binary", "\x00\x01PAR1\n", "line 1: no seed"},
		{"no URL", good + good + `{"url":"mailto:a@b"}`, "line 3: URL"},
		{"not in normal form", `{"url":"http://A.test:80/"}`, "normal form, which is \"http://a.test/\""},
		{"priority out of range", `{"url":"http://a.test/","priority":2}`, "from 0 to 1"},
		{"scope of no kind", `{"url":"http://a.test/","scope":"site"}`, "none of domain, host"},
		{"endless line", `{"url":"http://a.test/` + strings.Repeat("a", inject.MaxLine), "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := twin.Env(mem.New(), t.TempDir(), settings.Settings{}, suffixes(t))
			spec := injectSpec(1, false)
			spec.Base = 0
			err := objstore.PutIfAbsent(ctx, e.Store, spec.Inject.Upload, []byte(tt.upload))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run(ctx, e, spec); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
		})
	}
}

// TestFaultAtEveryOperation: a task that fails anywhere leaves nothing that
// counts, and the next attempt does the job.
func TestFaultAtEveryOperation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	spec := injectSpec(1, true)
	world := twin.Random(rand.New(rand.NewPCG(3, 3)))
	seeds := randomSeeds(rand.New(rand.NewPCG(4, 4)), world)
	fresh := func() objstore.Store {
		store := mem.New()
		e := twin.Env(store, t.TempDir(), settings.Settings{}, suffixes(t))
		if _, err := world.Save(ctx, e, layout.Split(1)); err != nil {
			t.Fatal(err)
		}
		if err := objstore.PutIfAbsent(ctx, store, spec.Inject.Upload, encode(t, seeds)); err != nil {
			t.Fatal(err)
		}
		return store
	}
	env := func(s objstore.Store) task.Env {
		return twin.Env(s, t.TempDir(), settings.Settings{}, suffixes(t))
	}
	clean := fault.New(fresh(), nil)
	want, err := run(ctx, env(clean), spec)
	if err != nil {
		t.Fatal(err)
	}
	for n, op := range clean.Ops() {
		for _, f := range []fault.Fault{{Before: objstore.ErrUnavailable},
			{After: objstore.ErrUnavailable}} {
			store := fresh()
			// A fault may be passed over where it does no harm; what counts is the end.
			_, _ = run(ctx, env(fault.New(store, fault.At(n, f))), spec)
			got, err := run(ctx, env(store), spec)
			if err != nil {
				t.Fatalf("after a fault at %s: %v", op, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("after a fault at %s (-clean +got):\n%s", op, diff)
			}
		}
	}
}
