package node

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"seine/formats/layout"
	"seine/formats/objstore"
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
		swept, err := c.SweepDaily(ctx, at, func(context.Context) error {
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
