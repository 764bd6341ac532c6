package generate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/layout"
	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/objstore/mem"
	"seine/jobs"
	"seine/reducer/generate"
	"seine/reducer/twin"
)

// TestFaultAtEveryOperation fails each operation of a task in turn, before it
// happens and after, and then lets a second attempt run: it leaves what a task
// without faults leaves.
func TestFaultAtEveryOperation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := rand.New(rand.NewPCG(5, 5))
	w := twin.Random(r)
	spec, s := randomSpec(r)
	spec.Round.TopN, spec.Ranges = 40, []layout.Range{layout.All}
	store := mem.New()
	if _, err := w.Save(ctx, twin.Env(store, t.TempDir(), s, suffixes(t)), layout.Split(1)); err != nil {
		t.Fatal(err)
	}
	work := func(plan fault.Plan, attempt uint64) (*fault.Store, error) {
		faulty := fault.New(store, plan)
		tk := jobs.Task{Spec: spec, Stage: jobs.StageGenerate, Range: layout.All,
			Attempt: layout.Attempt{Epoch: 1, N: attempt}}
		_, err := generate.Run(ctx, twin.Env(faulty, t.TempDir(), s, suffixes(t)), tk)
		return faulty, err
	}
	prefix := func(attempt uint64) string {
		return fmt.Sprintf("rounds/00000009/generate/0000/%s/", layout.Attempt{Epoch: 1, N: attempt})
	}
	clean, err := work(nil, 2) // a first attempt does not look for an end
	if err != nil {
		t.Fatal(err)
	}
	want := written(ctx, t, store, prefix(2))
	for n := range clean.Ops() {
		for _, f := range []fault.Fault{{Before: objstore.ErrUnavailable},
			{After: objstore.ErrUnavailable}} {
			forget(ctx, t, store)
			// A read that brought all its bytes may be taken, whatever it says besides.
			_, err := work(fault.At(n, f), 3)
			if err == nil && clean.Ops()[n].Kind == objstore.OpPut {
				t.Errorf("operation %s: fault %+v was passed over", clean.Ops()[n], f)
			}
			if _, err := work(nil, 4); err != nil {
				t.Fatalf("after a fault at %s: %v", clean.Ops()[n], err)
			}
			end, err := store.Get(ctx, layout.End(9, "generate", 0))
			if err != nil {
				t.Fatal(err)
			}
			// The end is of the third attempt if that one's put had happened.
			got := written(ctx, t, store, prefix(attemptOf(t, end)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("after a fault at %s (-clean +got):\n%s", clean.Ops()[n], diff)
			}
		}
	}
}

func attemptOf(t *testing.T, end []byte) uint64 {
	t.Helper()
	for n := uint64(3); n <= 4; n++ {
		if containsAttempt(end, n) {
			return n
		}
	}
	t.Fatalf("the end names no attempt:\n%s", end)
	return 0
}

// forget drops the end and the objects of attempts 3 and 4.
func forget(ctx context.Context, t *testing.T, store objstore.Store) {
	t.Helper()
	var keys []string
	err := store.List(ctx, "rounds/00000009/generate/0000/", "", func(info objstore.Info) error {
		if !containsAttempt([]byte(info.Key), 2) {
			keys = append(keys, info.Key)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(ctx, keys...); err != nil {
		t.Fatal(err)
	}
}
