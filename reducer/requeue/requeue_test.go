package requeue_test

import (
	"context"
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
	"seine/reducer/publish"
	"seine/reducer/requeue"
	"seine/reducer/task"
	"seine/reducer/twin"
)

func env(t testing.TB, store objstore.Store, s settings.Settings) task.Env {
	t.Helper()
	suffixes, err := weburl.ParseSuffixes([]byte("test\n"))
	if err != nil {
		t.Fatal(err)
	}
	return twin.Env(store, t.TempDir(), s, suffixes)
}

func specOf(ranges int, o jobs.Requeue) jobs.Spec {
	return jobs.Spec{Format: 1, Job: 9, Kind: jobs.KindRequeue, Base: 1, Now: twin.Now,
		Ranges: layout.Split(ranges), Requeue: &o}
}

// put uploads targets.
func put(ctx context.Context, t *testing.T, e task.Env, keys []lsm.Key) layout.Key {
	t.Helper()
	targets := requeue.NewTargets(e)
	defer targets.Close()
	for _, key := range keys {
		if err := targets.Add(key); err != nil {
			t.Fatal(err)
		}
	}
	key, _, err := targets.Put(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// run runs every task of the spec and publishes the job.
func run(ctx context.Context, e task.Env, spec jobs.Spec) (*lsm.Manifest, map[string]int64, error) {
	ends := map[jobs.Stage][]jobs.Result{}
	for i, r := range spec.Ranges {
		result, err := requeue.Run(ctx, e, jobs.Task{Spec: spec, Stage: jobs.StageRequeue, Index: i,
			Range: r, Attempt: layout.Attempt{Epoch: 1, N: 1}})
		if err != nil {
			return nil, nil, err
		}
		ends[jobs.StageRequeue] = append(ends[jobs.StageRequeue], result)
	}
	c, counts, err := publish.Publish(ctx, e, nil, publish.Job{Spec: spec, Ends: ends, Ended: twin.Now})
	if err != nil {
		return nil, nil, err
	}
	m, err := e.Snapshot(ctx, c.N)
	return m, counts, err
}

// world is a random one where some URLs wait for nothing.
func world(r *rand.Rand) *twin.World {
	w := twin.Random(r)
	for _, key := range slices.SortedFunc(maps.Keys(w.URLs), lsm.Key.Compare) {
		if row := w.URLs[key]; r.IntN(3) == 0 {
			row.CrawlStatus, row.Queued, row.FailCount = schema.Failed, 0, 4
			row.LastCrawled = int64(r.IntN(2)) * 5
			row.Reason = []string{schema.Trap, schema.DNSNotFound, schema.Blocked,
				schema.DomainFull}[r.IntN(4)]
			if row.Reason == schema.DomainFull {
				row.CrawlStatus, row.FailCount, row.LastCrawled = schema.Pending, 0, 0
			}
			w.URLs[key] = row
		}
	}
	return w
}

// draw draws URLs, some of them twice, some unknown.
func draw(r *rand.Rand, w *twin.World) (keys []lsm.Key, unknown int64) {
	for _, key := range slices.SortedFunc(maps.Keys(w.URLs), lsm.Key.Compare) {
		for range r.IntN(3) {
			keys = append(keys, key)
		}
	}
	for i := range r.IntN(9) {
		domain := fmt.Sprintf("d%d.test", r.IntN(12))
		keys = append(keys, lsm.Key{Partition: weburl.Partition(domain), Domain: domain, Host: domain,
			URL: fmt.Sprintf("http://%s/unknown%d", domain, i)})
		unknown++
	}
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys, unknown
}

// TestEqualsTwin requeues random URLs of random worlds and holds every row of
// the tables against the twin's.
func TestEqualsTwin(t *testing.T) {
	ctx := context.Background()
	half := float32(0.5)
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 21))
		w := world(r)
		s := settings.Settings{GroupByHost: seed%3 == 0}
		e := env(t, mem.New(), s)
		e.MemoryBytes = []int64{0, 1 << 10}[seed%2]
		if _, err := w.Save(ctx, e, layout.Split(2)); err != nil {
			t.Fatal(err)
		}
		keys, unknown := draw(r, w)
		spec := specOf(1+r.IntN(3), jobs.Requeue{Targets: put(ctx, t, e, keys),
			Due:      []int64{0, twin.Now - 99, twin.Now + 3_600_000}[r.IntN(3)],
			Priority: []*float32{nil, &half}[r.IntN(2)]})
		m, counts, err := run(ctx, e, spec)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := twin.Load(ctx, e, m)
		if err != nil {
			t.Fatal(err)
		}
		queued := w.Requeue(spec, s.Fill(), keys)
		compare(t, seed, w, got, queued)
		if counts["requeued"] != int64(len(queued)) || counts["unknown"] != unknown {
			t.Errorf("seed %d: counts %v, want %d requeued, %d unknown", seed, counts, len(queued), unknown)
		}
		if m.Waiting != waiting(w) || m.Known != int64(len(w.URLs)) {
			t.Errorf("seed %d: %d wait of %d, want %d of %d", seed, m.Waiting, m.Known,
				waiting(w), len(w.URLs))
		}
	}
}

func compare(t *testing.T, seed uint64, want, got *twin.World, queued []schema.FrontierRow) {
	t.Helper()
	diff := cmp.Diff(want.URLs, got.URLs) + cmp.Diff(want.Domains, got.Domains) +
		cmp.Diff(want.Hosts, got.Hosts)
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

// TestSameTargetsAreOneObject: in whatever order, and however often, they come.
func TestSameTargetsAreOneObject(t *testing.T) {
	ctx := context.Background()
	e := env(t, mem.New(), settings.Settings{})
	a := lsm.Key{Partition: weburl.Partition("a.test"), Domain: "a.test", Host: "a.test", URL: "http://a.test/"}
	b := lsm.Key{Partition: weburl.Partition("b.test"), Domain: "b.test", Host: "b.test", URL: "http://b.test/"}
	if x, y := put(ctx, t, e, []lsm.Key{a, b, a}), put(ctx, t, e, []lsm.Key{b, a}); x != y {
		t.Errorf("%s and %s", x, y)
	}
}

func TestBadUploads(t *testing.T) {
	ctx := context.Background()
	e := env(t, mem.New(), settings.Settings{})
	if _, err := world(rand.New(rand.NewPCG(1, 1))).Save(ctx, e, layout.Split(1)); err != nil {
		t.Fatal(err)
	}
	if err := objstore.PutIfAbsent(ctx, e.Store, layout.Upload("text"), []byte("http://a.test/\n")); err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{"missing": layout.Upload("none"), "damaged": layout.Upload("text")} {
		_, _, err := run(ctx, e, specOf(1, jobs.Requeue{Targets: key}))
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s targets: %v, want an error that names %s", name, err, key)
		}
	}
	if _, err := requeue.Run(ctx, e, jobs.Task{}); err == nil {
		t.Error("a task without a spec was run")
	}
}

// TestFaultAtEveryPut: a task that fails anywhere leaves nothing that counts,
// and the next attempt does the job.
func TestFaultAtEveryPut(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(5, 5))
	w := world(r)
	for i, key := range slices.SortedFunc(maps.Keys(w.URLs), lsm.Key.Compare) {
		if i >= 8 {
			delete(w.URLs, key)
		}
	}
	w.Runs = nil
	keys := slices.Collect(maps.Keys(w.URLs))
	var spec jobs.Spec
	fresh := func() objstore.Store {
		store := mem.New()
		e := env(t, store, settings.Settings{})
		if _, err := w.Save(ctx, e, layout.Split(1)); err != nil {
			t.Fatal(err)
		}
		spec = specOf(1, jobs.Requeue{Targets: put(ctx, t, e, keys), Due: twin.Now + 1000})
		return store
	}
	clean := fault.New(fresh(), nil)
	want, _, err := run(ctx, env(t, clean, settings.Settings{}), spec)
	if err != nil {
		t.Fatal(err)
	}
	for n, op := range clean.Ops() {
		if op.Kind != objstore.OpPut {
			continue
		}
		for _, f := range []fault.Fault{{Before: objstore.ErrUnavailable},
			{After: objstore.ErrUnavailable}} {
			store := fresh()
			// A fault may be passed over where it does no harm; what counts is the end.
			_, _, _ = run(ctx, env(t, fault.New(store, fault.At(n, f)), settings.Settings{}), spec)
			got, _, err := run(ctx, env(t, store, settings.Settings{}), spec)
			if err != nil {
				t.Fatalf("after a fault at %s: %v", op, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("after a fault at %s (-clean +got):\n%s", op, diff)
			}
		}
	}
}

// waiting is how many URLs of a world have a ticket.
func waiting(w *twin.World) (n int64) {
	for _, row := range w.URLs {
		if row.Queued != 0 {
			n++
		}
	}
	return n
}
