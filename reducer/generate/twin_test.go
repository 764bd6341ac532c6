package generate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore/mem"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/reducer/generate"
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

// randomSpec draws a round and settings.
func randomSpec(r *rand.Rand) (jobs.Spec, settings.Settings) {
	round := jobs.Round{TopN: []int64{0, 5, 40, 300, 5000}[r.IntN(5)],
		Duration: []int64{5_000, 60_000, 600_000}[r.IntN(3)]}
	if r.IntN(4) == 0 {
		round.DueNow, round.DueTicket = true, uint64(r.IntN(6))
	}
	if r.IntN(4) == 0 {
		round.AsOf = twin.Now + r.Int64N(500_000_000)
	}
	s := settings.Settings{Scope: "any", GroupByHost: r.IntN(4) == 0,
		Delay: settings.Duration(time.Duration(1+r.IntN(3)) * time.Second)}
	if r.IntN(3) == 0 {
		s.PagesRound, s.PagesDay = r.Int64N(4), []int64{0, 4, 10}[r.IntN(3)]
	}
	if r.IntN(3) == 0 {
		s.Rules = []string{"-prefix:d1.test/a/", "-regexp:p7$"}
	}
	if r.IntN(3) == 0 {
		s.Blocks = []settings.Block{
			{What: "domain:d2.test", Reason: "over", By: "o", Until: twin.Now},
			{What: "domain:d3.test", Reason: "asked", By: "o"},
			{What: "prefix:www.d2.test/b", Reason: "asked", By: "o", Until: twin.Now + 1}}
	}
	ranges := layout.Split(1 + r.IntN(3))
	if r.IntN(3) == 0 {
		s.Terms = map[string]settings.Terms{"news": {Depth: 7}}
	}
	return jobs.Spec{Format: 1, Job: 9, Kind: jobs.KindRound, Base: 1, Now: twin.Now, Ranges: ranges,
		Round: &round}, s
}

// TestEqualsTwin runs generate on random worlds, with little memory and with
// much, and holds every row against the twin's.
func TestEqualsTwin(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := twin.Random(r)
		spec, s := randomSpec(r)
		e := twin.Env(mem.New(), t.TempDir(), s, suffixes(t))
		e.MemoryBytes = []int64{1, 0}[seed%2]
		m, err := w.Save(ctx, e, layout.Split(1+r.IntN(4)))
		if err != nil {
			t.Fatal(err)
		}
		for i, rng := range spec.Ranges {
			task := jobs.Task{Spec: spec, Stage: jobs.StageGenerate, Index: i, Range: rng,
				Attempt: layout.Attempt{Epoch: 1, N: 1}}
			got := product(ctx, t, e, m, task)
			want := truth(ctx, t, e, w, m, task)
			opts := []cmp.Option{cmpopts.EquateEmpty()}
			if diff := cmp.Diff(want, got, opts...); diff != "" {
				t.Fatalf("seed %d, range %s (-twin +product):\n%s", seed, rng, diff)
			}
		}
	}
}

// product runs the task and reads back what it left, in the twin's terms.
func product(ctx context.Context, t *testing.T, e task.Env, m *lsm.Manifest,
	tk jobs.Task) twin.Generated {
	t.Helper()
	result, err := generate.Run(ctx, e, tk)
	if err != nil {
		t.Fatal(err)
	}
	end, err := twin.Ends(ctx, e, result)
	if err != nil {
		t.Fatal(err)
	}
	got := twin.Generated{Popped: int(end.Counts["popped"]),
		Lists:    read[listRow](ctx, t, e, end.Lists),
		Deferred: read[waitRow](ctx, t, e, end.Deferred),
		Moved:    read[waitRow](ctx, t, e, end.Moved),
		Refused:  read[fetchRow](ctx, t, e, end.Refused),
		Slots:    read[slotRow](ctx, t, e, end.Slots)}
	got.Consumed = consumed(t, m, end.Cursors, tk.Range)
	if n := end.Counts["selected"]; n != int64(len(got.Lists)) {
		t.Errorf("%d selected, %d listed", n, len(got.Lists))
	}
	return got
}

// truth is the twin's answer. The limits of partitions are 16 times their quota
// and a share of what is left below 65,536; worlds here are too small for these
// to bind, so only the partitions without any are told apart.
func truth(ctx context.Context, t *testing.T, e task.Env, w *twin.World, m *lsm.Manifest,
	tk jobs.Task) twin.Generated {
	t.Helper()
	s, err := e.Settings(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := e.Scope(ctx, m, s, tk.Range, tk.Spec.Round.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	asOf := tk.Spec.Now
	if tk.Spec.Round.AsOf != 0 {
		asOf = tk.Spec.Round.AsOf
	}
	quotas := twin.Quotas(m, asOf, tk.Spec.Round.TopN, tk.Spec.Round.DueNow)
	return w.Generate(tk.Spec, s, sc, tk.Range,
		func(p uint16) int64 { return quotas[p] }, func(uint16) int64 { return 1 << 40 })
}

func consumed(t *testing.T, m *lsm.Manifest, cursors map[layout.Key][]int64,
	r layout.Range) map[string]map[uint16]int {
	t.Helper()
	all := map[string]map[uint16]int{}
	for _, run := range m.Frontier {
		taken := map[uint16]int{}
		all[run.Kind+"/"+run.ID] = taken
		for _, o := range run.Objects {
			for j, c := range cursors[o.Key] {
				p := o.Range.Lo + uint16(j)
				switch {
				case !r.Holds(p):
					if c != -1 {
						t.Errorf("%s: cursor %d of partition %d, another task's", o.Key, c, p)
					}
				case c > o.Cursor[j]:
					taken[p] = int(c - o.Cursor[j])
				}
			}
		}
	}
	return all
}

// TestSameBytes runs a task as three attempts with different memory: every
// object has the same bytes.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 3))
		w := twin.Random(r)
		spec, s := randomSpec(r)
		spec.Ranges = []layout.Range{layout.All}
		store := mem.New()
		e := twin.Env(store, t.TempDir(), s, suffixes(t))
		if _, err := w.Save(ctx, e, layout.Split(2)); err != nil {
			t.Fatal(err)
		}
		var first map[string]string
		for n, memory := range []int64{0, 1, 1 << 17} {
			tk := jobs.Task{Spec: spec, Stage: jobs.StageGenerate, Range: layout.All,
				Attempt: layout.Attempt{Epoch: 1, N: uint64(n + 1)}}
			e.MemoryBytes = memory
			if err := store.Delete(ctx, layout.End(9, "generate", 0)); err != nil {
				t.Fatal(err)
			}
			if _, err := generate.Run(ctx, e, tk); err != nil {
				t.Fatal(err)
			}
			got := written(ctx, t, store, fmt.Sprintf("rounds/00000009/generate/0000/%s/", tk.Attempt))
			if first == nil {
				first = got
			}
			if diff := cmp.Diff(first, got); diff != "" {
				t.Fatalf("seed %d: attempt %d differs (-first +this):\n%s", seed, n+1, diff)
			}
		}
	}
}
