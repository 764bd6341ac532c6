package restore_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/objstore/mem"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/taskend"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/reducer/publish"
	"seine/reducer/restore"
	"seine/reducer/task"
	"seine/reducer/twin"
)

// later commits a second snapshot: the domains of w as they are now, one that is
// new among them, and another robots table.
func later(ctx context.Context, e task.Env, w *twin.World) error {
	spec := jobs.Spec{Job: 5, Kind: jobs.KindCompact, Base: 1, Now: twin.Now + 1, Ranges: layout.Split(1),
		Compact: &jobs.Compact{}}
	t := jobs.Task{Spec: spec, Stage: jobs.StageCompact, Range: layout.All}
	end := &taskend.Reduce{Format: taskend.Format, Range: layout.All, Tables: map[string]lsm.Object{}}
	domains, err := task.CreateRun(e, t, lsm.Domains())
	if err != nil {
		return err
	}
	defer domains.Abort()
	for _, key := range slices.SortedFunc(maps.Keys(w.Domains), lsm.Key.Compare) {
		row := w.Domains[key]
		if err := domains.Write(&row); err != nil {
			return err
		}
	}
	robots, err := task.CreateRun(e, t, lsm.RobotsTable())
	if err != nil {
		return err
	}
	defer robots.Abort()
	err = robots.Write(&schema.Robots{Partition: int32(weburl.Partition("d1.test")), Domain: "d1.test",
		Authority: "http://d1.test", Status: "rules"})
	if err != nil {
		return err
	}
	d, err := domains.Finish(ctx)
	if err != nil {
		return err
	}
	r, err := robots.Finish(ctx)
	if err != nil {
		return err
	}
	end.Tables[schema.Domains], end.Tables[schema.RobotsT] = *d, *r
	result, err := e.Finish(ctx, t, end)
	if err != nil {
		return err
	}
	_, _, err = publish.Publish(ctx, e, nil, publish.Job{Spec: spec, Ended: spec.Now,
		Ends: map[jobs.Stage][]jobs.Result{jobs.StageCompact: {result}}})
	return err
}

func run(ctx context.Context, e task.Env, spec jobs.Spec) (*lsm.Manifest, error) {
	ends := map[jobs.Stage][]jobs.Result{}
	for i, r := range spec.Ranges {
		result, err := restore.Run(ctx, e, jobs.Task{Spec: spec, Stage: jobs.StageRestore, Index: i, Range: r,
			Attempt: layout.Attempt{Epoch: 1, N: 1}})
		if err != nil {
			return nil, err
		}
		ends[jobs.StageRestore] = append(ends[jobs.StageRestore], result)
	}
	c, _, err := publish.Publish(ctx, e, nil, publish.Job{Spec: spec, Ends: ends, Ended: spec.Now})
	if err != nil {
		return nil, err
	}
	return e.Snapshot(ctx, c.N)
}

// crawl makes both snapshots, and the world that must be after a restore.
func crawl(ctx context.Context, t *testing.T, store objstore.Store) (task.Env, *twin.World) {
	t.Helper()
	suffixes, err := weburl.ParseSuffixes([]byte("test\n"))
	if err != nil {
		t.Fatal(err)
	}
	e := twin.Env(store, t.TempDir(), settings.Settings{}, suffixes)
	w := twin.Random(rand.New(rand.NewPCG(7, 7)))
	if _, err := w.Save(ctx, e, layout.Split(2)); err != nil {
		t.Fatal(err)
	}
	now := &twin.World{Domains: maps.Clone(w.Domains)}
	for i, key := range slices.SortedFunc(maps.Keys(w.Domains), lsm.Key.Compare) {
		if i%2 == 0 {
			continue // as it was
		}
		row, then := now.Domains[key], w.Domains[key]
		row.Known, row.Pages, row.Round = row.Known+7, 99, 5 // what comes back as it was
		row.LastAccessed, row.NextSlot, row.BackoffUntil = twin.Now, twin.Now+5, twin.Now+9
		row.Delay, row.CrawlDelay, row.DelayWhy = 7000, 7000, "crawl_delay"
		then.LastAccessed, then.NextSlot, then.BackoffUntil = twin.Now, twin.Now+5, twin.Now+9
		then.Delay, then.CrawlDelay, then.DelayWhy, then.Round = 7000, 7000, "crawl_delay", 9
		now.Domains[key], w.Domains[key] = row, then
	}
	fresh := schema.Domain{Partition: int32(weburl.Partition("new.test")), Domain: "new.test", Delay: 1000,
		Known: 3, Pending: 3, LastAccessed: twin.Now}
	now.PutDomain(fresh)
	fresh.Known, fresh.Pending, fresh.Round = 0, 0, 9
	w.PutDomain(fresh)
	if err := later(ctx, e, now); err != nil {
		t.Fatal(err)
	}
	return e, w
}

func restoring() jobs.Spec {
	return jobs.Spec{Job: 9, Kind: jobs.KindRestore, Base: 2, Now: twin.Now + 2, Settings: 3,
		Ranges: layout.Split(2), Restore: &jobs.Restore{Snapshot: 1}}
}

// TestRestore: the tables of then, with the manners and robots.txt of now.
func TestRestore(t *testing.T) {
	ctx := t.Context()
	e, want := crawl(ctx, t, mem.New())
	m, err := run(ctx, e, restoring())
	if err != nil {
		t.Fatal(err)
	}
	got, err := twin.Load(ctx, e, m)
	if err != nil {
		t.Fatal(err)
	}
	diff := cmp.Diff(want.URLs, got.URLs) + cmp.Diff(want.Domains, got.Domains) + cmp.Diff(want.Hosts, got.Hosts)
	if diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	then, err := e.Snapshot(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(then.Frontier, m.Frontier); diff != "" || m.Known != then.Known || m.Waiting != then.Waiting {
		t.Errorf("known %d, waiting %d; frontier (-then +restored):\n%s", m.Known, m.Waiting, diff)
	}
	now, err := e.Snapshot(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(now.Tables[schema.RobotsT], m.Tables[schema.RobotsT]); diff != "" {
		t.Errorf("robots (-before +restored):\n%s", diff)
	}
	if m.Job != 9 || m.N != 3 || m.Settings != 3 {
		t.Errorf("snapshot %d of job %d, settings %d", m.N, m.Job, m.Settings)
	}
}

// TestFaultAtEveryPut: a task that fails anywhere leaves nothing that counts,
// and the next attempt does the job.
func TestFaultAtEveryPut(t *testing.T) {
	ctx := t.Context()
	begun := mem.New()
	e, _ := crawl(ctx, t, begun)
	spec := restoring()
	spec.Ranges = layout.Split(1)
	on := func(store objstore.Store) task.Env {
		return twin.Env(store, e.Scratch, settings.Settings{}, e.Suffixes)
	}
	clean := fault.New(clone(ctx, t, begun), nil)
	want, err := run(ctx, on(clean), spec)
	if err != nil {
		t.Fatal(err)
	}
	for n, op := range clean.Ops() {
		if op.Kind != objstore.OpPut {
			continue
		}
		for _, f := range []fault.Fault{{Before: objstore.ErrUnavailable}, {After: objstore.ErrUnavailable}} {
			store := clone(ctx, t, begun)
			// A fault may be passed over where it does no harm; what counts is the end.
			_, _ = run(ctx, on(fault.New(store, fault.At(n, f))), spec)
			got, err := run(ctx, on(store), spec)
			if err != nil {
				t.Fatalf("after a fault at %s: %v", op, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("after a fault at %s (-clean +got):\n%s", op, diff)
			}
		}
	}
}

// clone copies a store.
func clone(ctx context.Context, t *testing.T, from objstore.Store) objstore.Store {
	t.Helper()
	to := mem.New()
	err := from.List(ctx, "", "", func(i objstore.Info) error {
		body, err := from.Get(ctx, i.Key)
		if err != nil {
			return err
		}
		return objstore.PutIfAbsent(ctx, to, i.Key, body)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}
