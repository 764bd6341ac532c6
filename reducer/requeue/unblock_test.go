package requeue_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore/mem"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/jobs"
	"seine/reducer/requeue"
	"seine/reducer/twin"
)

// TestUnblock: what ended as blocked by a block that is gone comes back, and
// nothing else: not what another block keeps away, not what failed otherwise.
func TestUnblock(t *testing.T) {
	ctx := context.Background()
	for _, test := range []struct {
		gone  []string
		still []settings.Block
		fits  func(key lsm.Key) bool
	}{
		{[]string{"domain:d1.test"}, nil, func(k lsm.Key) bool { return k.Domain == "d1.test" }},
		{[]string{"domain:test"}, nil, func(lsm.Key) bool { return true }},
		{[]string{"domain:test"}, []settings.Block{{What: "domain:d2.test"}},
			func(k lsm.Key) bool { return k.Domain != "d2.test" }},
		{[]string{"domain:d2.test", "domain:d1.test"},
			[]settings.Block{{What: "domain:d2.test", Until: twin.Now}},
			func(k lsm.Key) bool { return k.Domain == "d1.test" || k.Domain == "d2.test" }},
		{[]string{"host:h1.d1.test"}, nil, func(k lsm.Key) bool { return k.Host == "h1.d1.test" }},
		{[]string{"prefix:d1.test/a"}, nil, func(k lsm.Key) bool {
			return strings.HasPrefix(k.URL, "http://d1.test/a") || strings.HasPrefix(k.URL, "https://d1.test/a")
		}},
		{[]string{"domain:nowhere.test"}, nil, func(lsm.Key) bool { return false }},
	} {
		t.Run(strings.Join(test.gone, " "), func(t *testing.T) {
			total := 0
			for seed := range uint64(4) {
				w := world(rand.New(rand.NewPCG(seed, 77)))
				s := settings.Settings{Blocks: test.still}
				e := env(t, mem.New(), s)
				if _, err := w.Save(ctx, e, layout.Split(2)); err != nil {
					t.Fatal(err)
				}
				var keys []lsm.Key
				for _, key := range slices.SortedFunc(maps.Keys(w.URLs), lsm.Key.Compare) {
					if w.URLs[key].Reason == schema.Blocked && test.fits(key) {
						keys = append(keys, key)
					}
				}
				total += len(keys)
				spec := specOf(1+int(seed)%3, jobs.Requeue{Unblocked: test.gone})
				m, counts, err := run(ctx, e, spec)
				if err != nil {
					t.Fatal(err)
				}
				got, err := twin.Load(ctx, e, m)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, seed, w, got, w.Requeue(spec, s.Fill(), keys))
				if counts["requeued"] != int64(len(keys)) {
					t.Errorf("seed %d: %v, want %d requeued", seed, counts, len(keys))
				}
			}
			if nowhere := test.gone[0] == "domain:nowhere.test"; nowhere != (total == 0) {
				t.Errorf("%d URLs fit: the worlds do not try this", total)
			}
		})
	}
}

func TestUnblockOfNonsense(t *testing.T) {
	ctx := context.Background()
	e := env(t, mem.New(), settings.Settings{})
	if _, err := world(rand.New(rand.NewPCG(1, 1))).Save(ctx, e, layout.Split(1)); err != nil {
		t.Fatal(err)
	}
	tk := jobs.Task{Spec: specOf(1, jobs.Requeue{Unblocked: []string{"d1.test"}}),
		Stage: jobs.StageRequeue, Range: layout.All, Attempt: layout.Attempt{Epoch: 1, N: 1}}
	if _, err := requeue.Run(ctx, e, tk); err == nil {
		t.Error("a block of no kind was taken")
	}
}
