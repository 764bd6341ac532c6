package node

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"seine/formats/layout"
	"seine/formats/objstore"
	"seine/formats/objstore/mem"
	"seine/jobs"
	"seine/reducer/publish"
)

// TestSweepDaily: an orphan of a closed round goes when it is old, not at the
// first look and not twice a day.
func TestSweepDaily(t *testing.T) {
	ctx, root := context.Background(), t.TempDir()
	store, err := OpenStore(ctx, root, true)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c, err := OpenCrawl(ctx, store, true)
	if err != nil {
		t.Fatal(err)
	}
	spec := jobs.Spec{Format: jobs.SpecFormat, Job: 1, Kind: jobs.KindInject, Epoch: 1, Now: 1000}
	_, _, err = publish.Publish(ctx, c.Env(t.TempDir()), nil,
		publish.Job{Spec: spec, Epoch: 1, Outcome: "discarded", Discard: true})
	if err != nil {
		t.Fatal(err)
	}
	orphan := layout.Output(1, "reduce", 0, layout.Attempt{Epoch: 1, N: 1}, "urls.parquet")
	if err := objstore.PutIfAbsent(ctx, store, orphan, []byte("x")); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-60 * 24 * time.Hour)
	if err := os.Chtimes(filepath.Join(root, orphan), old, old); err != nil {
		t.Fatal(err)
	}
	now, settled := time.Now(), 0
	for i, at := range []time.Time{now, now.Add(time.Hour), now.Add(25 * time.Hour)} {
		swept, err := c.SweepDaily(ctx, "", at, func(context.Context) error {
			settled++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(i / 2); swept.Deleted != want {
			t.Errorf("sweep %d deleted %d objects, want %d", i, swept.Deleted, want)
		}
	}
	if settled != 2 {
		t.Errorf("settled %d times for two sweeps that were due", settled)
	}
	if _, err := store.Get(ctx, orphan); err == nil {
		t.Error("the orphan is still there")
	}
}

// TestSweepsOfALeader: the coordinator that leads sweeps once a day beside all else,
// the others do not.
func TestSweepsOfALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		c, err := OpenCrawl(ctx, OnStore(mem.New(), "mem:", t.TempDir()), true)
		if err != nil {
			t.Fatal(err)
		}
		spec := jobs.Spec{Format: jobs.SpecFormat, Job: 1, Kind: jobs.KindInject, Epoch: 1, Now: 1000}
		_, _, err = publish.Publish(ctx, c.Env(t.TempDir()), nil,
			publish.Job{Spec: spec, Epoch: 1, Outcome: "discarded", Discard: true})
		if err != nil {
			t.Fatal(err)
		}
		orphan := layout.Output(1, "reduce", 0, layout.Attempt{Epoch: 1, N: 1}, "urls.parquet")
		there := func() bool {
			t.Helper()
			_, err := c.Store.Get(ctx, orphan)
			if err != nil && !errors.Is(err, objstore.ErrNotExist) {
				t.Fatal(err)
			}
			return err == nil
		}
		put := func() {
			t.Helper()
			if err := objstore.PutIfAbsent(ctx, c.Store, orphan, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		put()
		var leading atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.sweeps(ctx, t.TempDir(), leading.Load, slog.New(slog.DiscardHandler))
		}()
		time.Sleep(72 * time.Hour)
		if !there() {
			t.Error("a coordinator that does not lead sweeps")
		}
		leading.Store(true)
		time.Sleep(23 * time.Hour)
		if !there() {
			t.Error("it sweeps as soon as it leads")
		}
		time.Sleep(2 * time.Hour)
		if there() {
			t.Error("it has led for a day, and has not swept")
		}
		put()
		time.Sleep(50 * time.Hour)
		if there() {
			t.Error("it does not sweep a second time")
		}
		stop()
		<-done
	})
}
