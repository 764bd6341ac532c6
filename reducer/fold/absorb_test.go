package fold

import (
	"fmt"
	"slices"
	"testing"

	"seine/formats/lsm"
	"seine/formats/schema"
)

func TestAbsorbed(t *testing.T) {
	tests := []struct {
		name string
		left []int64 // of the runs, oldest first
		want []int   // indices
	}{
		{"few runs", []int64{9, 8, 7, 6, 5, 4, 3, 2}, nil},
		{"consumed runs do not count", []int64{1, 1, 0, 1, 1, 1, 1, 0, 1, 1}, nil},
		{"equal runs", []int64{5, 5, 5, 5, 5, 5, 5, 5, 5}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
		{"a large one stays", []int64{1000, 5, 5, 5, 5, 5, 5, 5, 5}, []int{1, 2, 3, 4, 5, 6, 7, 8}},
		{"tiers", []int64{1e9, 1e8, 1e7, 1e6, 1e5, 10, 10, 10, 10}, []int{4, 5, 6, 7, 8}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := &lsm.Manifest{}
			for i, n := range test.left {
				run := lsm.QueueRun{ID: fmt.Sprintf("r%08d", i), Kind: schema.Waiting}
				run.Objects = []lsm.QueueObject{{Object: lsm.Object{Rows: n + 3}, Cursor: []int64{3}}}
				m.Frontier = append(m.Frontier, run, lsm.QueueRun{ID: run.ID, Kind: schema.Ready})
			}
			var got []int
			for _, run := range absorbed(m, schema.Waiting) {
				var i int
				if _, err := fmt.Sscanf(run.ID, "r%d", &i); err != nil {
					t.Fatal(err)
				}
				got = append(got, i)
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("absorbs runs %v, want %v", got, test.want)
			}
		})
	}
}

// Whatever the sizes of a thousand rounds' runs, few lie side by side, and a row
// is rewritten about as often as sizes double.
func TestAbsorbedLongRun(t *testing.T) {
	m := &lsm.Manifest{}
	written, rewritten := int64(0), int64(0)
	for i := range 1000 {
		gone := map[string]bool{}
		size := int64(1 + i*7919%100)
		written += size
		for _, run := range absorbed(m, schema.Ready) {
			gone[run.ID] = true
			rewritten += run.Objects[0].Rows
			size += run.Objects[0].Rows
		}
		m.Frontier = slices.DeleteFunc(m.Frontier, func(r lsm.QueueRun) bool { return gone[r.ID] })
		m.Frontier = append(m.Frontier, lsm.QueueRun{ID: fmt.Sprintf("r%08d", i), Kind: schema.Ready,
			Objects: []lsm.QueueObject{{Object: lsm.Object{Rows: size}}}})
		if n := len(m.Frontier); n > absorbMost+1 {
			t.Fatalf("%d runs after round %d", n, i)
		}
	}
	if rewritten > 8*written {
		t.Errorf("%d rows were rewritten %d times", written, rewritten)
	}
}

func TestRetryDelay(t *testing.T) {
	seen := map[int64]bool{}
	for fails := int32(1); fails <= 5; fails++ {
		base := retryDelays[min(int(fails), len(retryDelays))-1]
		for n := range 200 {
			row := schema.URL{URL: fmt.Sprintf("http://a.test/%d", n), FailCount: fails}
			d := retryDelay(&row, 7)
			if d < base*8/10 || d > base*12/10 || d != retryDelay(&row, 7) {
				t.Fatalf("retry %d of %s after %d ms, about %d", fails, row.URL, d, base)
			}
			seen[d] = true
		}
	}
	if len(seen) < 500 {
		t.Errorf("only %d different delays: they hardly spread", len(seen))
	}
}
