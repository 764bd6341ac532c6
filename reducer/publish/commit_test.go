package publish

import (
	"context"
	"errors"
	"strings"
	"testing"

	"seine/formats/crawl"
	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/objstore/mem"
	"seine/formats/schema"
	"seine/formats/taskend"
	"seine/jobs"
)

func commitOf(t *testing.T, m *lsm.Manifest, job, epoch uint64) *lsm.Commit {
	t.Helper()
	c, err := NewCommit(m, jobs.Spec{Job: job, Kind: jobs.KindRound, Now: 1}, epoch, lsm.Edit{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCommitMeetsAnother(t *testing.T) {
	ctx := context.Background()
	tests := []struct {
		name       string
		job, epoch uint64 // of the commit that is there
		ours       uint64 // our job, in epoch 2
		stepDown   bool
	}{
		{"our own", 5, 2, 5, false},
		{"our job, by the leader before", 5, 1, 5, false},
		{"a takeover", 0, 3, 5, true},
		{"another job", 6, 2, 5, true},
		{"our takeover", 0, 2, 0, false},
		{"two takeovers", 0, 3, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			store := mem.New()
			there := commitOf(t, lsm.Empty(), tt.job, tt.epoch)
			if _, err := Commit(ctx, store, there); err != nil {
				t.Fatal(err)
			}
			got, err := Commit(ctx, store, commitOf(t, lsm.Empty(), tt.ours, 2))
			if errors.Is(err, ErrStepDown) != tt.stepDown || (err == nil) == tt.stepDown {
				t.Fatalf("error %v, want step down: %v", err, tt.stepDown)
			}
			if err == nil && got.Epoch != tt.epoch {
				t.Errorf("commit of epoch %d counts, want that of %d", got.Epoch, tt.epoch)
			}
		})
	}
}

func TestCommitSetsTheHint(t *testing.T) {
	ctx := context.Background()
	store := mem.New()
	m := lsm.Empty()
	for range 3 {
		c, err := Commit(ctx, store, commitOf(t, m, m.N+1, 1))
		if err != nil {
			t.Fatal(err)
		}
		if m, err = m.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	if hint, err := store.Get(ctx, layout.Latest); err != nil || string(hint) != "3" {
		t.Errorf("LATEST = %q, %v", hint, err)
	}
}

// TestPublishAfterFaults fails every operation of publishing in turn, and asks
// again: one commit results, and its counts.
func TestPublishAfterFaults(t *testing.T) {
	ctx := context.Background()
	fresh := func() (objstore.Store, Job) {
		store := mem.New()
		if _, err := Commit(ctx, store, commitOf(t, lsm.Empty(), 1, 1)); err != nil {
			t.Fatal(err)
		}
		spec := roundSpec()
		return store, Job{Spec: spec, Epoch: 1, Ended: 9, Ends: map[jobs.Stage][]jobs.Result{
			jobs.StageGenerate: put(t, store, 5, jobs.StageGenerate,
				&taskend.Generate{Format: 1}, &taskend.Generate{Format: 1}),
			jobs.StageReduce: put(t, store, 5, jobs.StageReduce,
				&taskend.Reduce{Format: 1, Range: halves[0]}, &taskend.Reduce{Format: 1, Range: halves[1]})}}
	}
	store, job := fresh()
	clean := fault.New(store, nil)
	if _, _, err := Publish(ctx, env(t, clean), nil, job); err != nil {
		t.Fatal(err)
	}
	for n, op := range clean.Ops() {
		for _, f := range []fault.Fault{{Before: objstore.ErrUnavailable},
			{After: objstore.ErrUnavailable}} {
			store, job := fresh()
			_, _, err := Publish(ctx, env(t, fault.New(store, fault.At(n, f))), nil, job)
			if err == nil && f.Before != nil && op.Key != layout.Latest {
				t.Errorf("fault %+v at %s was passed over", f, op)
			}
			job.Ended++ // it is later when asked again
			c, counts, err := Publish(ctx, env(t, store), nil, job)
			if err != nil {
				t.Fatalf("after %+v at %s: %v", f, op, err)
			}
			if c.N != 2 || c.Job != 5 || counts["n"] != 3 {
				t.Errorf("after %+v at %s: commit %d of job %d, counts %v", f, op, c.N, c.Job, counts)
			}
			if _, err := store.Get(ctx, layout.Commit(3)); !errors.Is(err, objstore.ErrNotExist) {
				t.Errorf("after %+v at %s: a third commit: %v", f, op, err)
			}
		}
	}
}

func TestPublishRefuses(t *testing.T) {
	ctx := context.Background()
	store := mem.New()
	m := lsm.Empty()
	for job := uint64(1); job <= 2; job++ {
		c, err := Commit(ctx, store, commitOf(t, m, job, 2))
		if err != nil {
			t.Fatal(err)
		}
		if m, err = m.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := Publish(ctx, env(t, store), nil, Job{Spec: roundSpec(), Epoch: 1})
	if !errors.Is(err, ErrStepDown) {
		t.Errorf("in an older epoch: %v, want ErrStepDown", err)
	}
	_, _, err = Publish(ctx, env(t, store), nil, Job{Spec: roundSpec(), Epoch: 2})
	if err == nil || !strings.Contains(err.Error(), "job 2 has committed 2") {
		t.Errorf("on another base: %v", err)
	}
}

func TestDiscardChangesNothing(t *testing.T) {
	store := mem.New()
	edit, _, err := Edit(context.Background(), env(t, store), head(), Job{Spec: roundSpec(),
		Outcome: "discarded", Discard: true})
	if err != nil {
		t.Fatal(err)
	}
	if edit.AddRuns != nil || edit.AddFrontier != nil || edit.Cursors != nil ||
		len(edit.Part.Tables) != 1 || len(edit.Part.Tables[schema.Rounds]) != 1 {
		t.Errorf("edit %+v, want a rounds row alone", edit)
	}
}

func TestCreateAndOpenCrawl(t *testing.T) {
	ctx := context.Background()
	store := mem.New()
	if _, err := OpenCrawl(ctx, store); !errors.Is(err, ErrNoCrawl) {
		t.Errorf("open an empty store: %v, want ErrNoCrawl", err)
	}
	first, err := CreateCrawl(ctx, store, []byte("com\n"), 1)
	if err != nil {
		t.Fatal(err)
	}
	again, err := CreateCrawl(ctx, store, []byte("org\n"), 2)
	if err != nil || again != first {
		t.Errorf("created again: %+v, %v; want the first", again, err)
	}
	if opened, err := OpenCrawl(ctx, store); err != nil || opened != first {
		t.Errorf("opened %+v, %v; want the first", opened, err)
	}
	if _, err := CreateCrawl(ctx, mem.New(), []byte("// no rule\n"), 1); err == nil {
		t.Error("a list without rules was pinned")
	}
	newer := objstore.Bytes([]byte(`{"format":99}`))
	if err := store.Put(ctx, layout.Crawl, newer, objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCrawl(ctx, store); !errors.Is(err, crawl.ErrNewer) {
		t.Errorf("open a newer crawl: %v, want ErrNewer", err)
	}
}
