package generate

import (
	"math/rand/v2"
	"slices"
	"testing"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/reducer/twin"
)

const day = 86_400_000

// object makes a queue object over [lo, lo+len(counts)) whose marks run evenly
// from first to last.
func object(lo int, counts []int64, first, last int64) lsm.QueueObject {
	o := lsm.QueueObject{Counts: counts}
	o.Range = layout.Range{Lo: uint16(lo), Hi: uint16(lo + len(counts))}
	for _, c := range counts {
		o.Rows += c
	}
	for i := range int64(marks) {
		o.Marks = append(o.Marks, first+(last-first)*i/(marks-1))
	}
	return o
}

func frontier(kind string, objects ...lsm.QueueObject) *lsm.Manifest {
	return &lsm.Manifest{Frontier: []lsm.QueueRun{{ID: "r1", Kind: kind, Objects: objects}}}
}

func TestQuotas(t *testing.T) {
	now := int64(twin.Now)
	tests := []struct {
		name   string
		m      *lsm.Manifest
		topN   int64
		dueNow bool
		want   map[int]int64
	}{
		{"nothing waits", &lsm.Manifest{}, 100, false, nil},
		{"topN of none", frontier(schema.Ready, object(3, []int64{5}, 0, 0)), 0, false, nil},
		{"all that waits if there is less",
			frontier(schema.Ready, object(3, []int64{5, 0, 2}, 0, 0)), 100, false,
			map[int]int64{3: 5, 5: 2}},
		{"equals share in proportion",
			frontier(schema.Ready, object(0, []int64{300, 100}, 7, 7)), 40, false,
			map[int]int64{0: 30, 1: 10}},
		{"largest remainder, lower partition first",
			frontier(schema.Ready, object(0, []int64{1, 1, 1}, 7, 7)), 2, false,
			map[int]int64{0: 1, 1: 1}},
		{"the better object goes first", frontier(schema.Ready,
			object(0, []int64{10}, 100, 90), object(1, []int64{10}, 80, 70)), 12, false,
			map[int]int64{0: 10, 1: 2}},
		{"what is due goes before what is not", frontier(schema.Waiting,
			object(0, []int64{10}, now+day, now+2*day), object(1, []int64{10}, now-2*day, now-day)),
			12, false, map[int]int64{0: 2, 1: 10}},
		{"due or not, with --due-now", frontier(schema.Waiting,
			object(0, []int64{10}, now+day, now+day), object(1, []int64{10}, now+day, now+day)),
			10, true, map[int]int64{0: 5, 1: 5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Quotas(tt.m, now, tt.topN, tt.dueNow)
			for p, q := range got {
				if q != tt.want[p] {
					t.Errorf("partition %d gets %d, want %d", p, q, tt.want[p])
				}
			}
		})
	}
}

func TestQuotasLeaveOutWhatIsConsumed(t *testing.T) {
	o := object(0, []int64{16, 16}, 1600, 100)
	o.Cursor = []int64{8, 0}
	// The best eight of partition 0 are gone; of what is left the best eight are
	// partition 1's.
	got := Quotas(frontier(schema.Ready, o), twin.Now, 8, false)
	if got[0] != 0 || got[1] != 8 {
		t.Errorf("quotas %v, want 0 and 8", got[:2])
	}
}

// TestQuotasEqualTwin holds quotas of random frontiers against those found by
// writing every row down.
func TestQuotasEqualTwin(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := randomFrontier(r)
		topN, dueNow := r.Int64N(3000), r.IntN(3) == 0
		got := Quotas(m, twin.Now, topN, dueNow)
		want := twin.Quotas(m, twin.Now, topN, dueNow)
		sum := int64(0)
		for p, q := range got {
			sum += q
			if q != want[uint16(p)] {
				t.Fatalf("seed %d: partition %d gets %d, the twin says %d", seed, p, q, want[uint16(p)])
			}
		}
		left := int64(0)
		for _, n := range remaining(m) {
			left += n
		}
		if sum != min(topN, left) {
			t.Fatalf("seed %d: quotas sum to %d, want %d of %d", seed, sum, min(topN, left), left)
		}
	}
}

func randomFrontier(r *rand.Rand) *lsm.Manifest {
	m := &lsm.Manifest{}
	for range 1 + r.IntN(5) {
		run := lsm.QueueRun{Kind: schema.Waiting}
		if r.IntN(2) == 0 {
			run.Kind = schema.Ready
		}
		for range 1 + r.IntN(2) {
			counts := make([]int64, 1+r.IntN(8))
			cursor := make([]int64, len(counts))
			for j := range counts {
				counts[j] = r.Int64N(100)
				cursor[j] = r.Int64N(counts[j] + 1)
			}
			first := int64(twin.Now) - r.Int64N(day)
			last := first + r.Int64N(2*day)
			if run.Kind == schema.Ready {
				first, last = 4_320_000_000-first, 4_320_000_000-last
			}
			o := object(r.IntN(1000), counts, first, last)
			if r.IntN(2) == 0 {
				o.Cursor = cursor
			}
			run.Objects = append(run.Objects, o)
		}
		m.Frontier = append(m.Frontier, run)
	}
	return m
}

func TestLimits(t *testing.T) {
	counts := make([]int64, 4)
	counts[0], counts[2] = 1_000_000, 3_000_000
	m := frontier(schema.Ready, object(0, counts, 9, 1))
	tests := []struct {
		name   string
		quotas []int64
		want   []int64
	}{
		{"16 for each of the quota", []int64{5000, 0, 100, 0}, []int64{80_000, 0, 1600, 0}},
		{"up to 65,536 in proportion to what waits", []int64{96, 0, 0, 0},
			[]int64{1536 + 16_000, 0, 48_000, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			quotas := make([]int64, layout.Partitions)
			copy(quotas, tt.quotas)
			got := limits(m, quotas, layout.Range{Lo: 0, Hi: 4})
			if !slices.Equal(got[:4], tt.want) {
				t.Errorf("limits %v, want %v", got[:4], tt.want)
			}
		})
	}
}
