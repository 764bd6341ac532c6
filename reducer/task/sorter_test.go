package task

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

type item struct {
	Key  int
	Text string
	Tags map[string]string
}

func compareItems(a, b *item) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Text, b.Text))
}

func TestSorter(t *testing.T) {
	tests := []struct {
		name   string
		rows   int
		size   int // of a row, as counted
		spills int
	}{
		{"nothing", 0, 1, 0},
		{"in memory", 100, 1, 0},
		{"one spill and a rest", 20, leastSort / 15, 1},
		{"many spills", 500, leastSort / 8, 62},
		{"every row", 7, leastSort, 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := NewSorter(Env{Scratch: dir}, "items", 0, func(*item) int { return tt.size }, compareItems)
			defer s.Close()
			r := rand.New(rand.NewPCG(1, uint64(tt.rows)))
			var want []item
			for i := range tt.rows {
				row := item{Key: r.IntN(50), Text: fmt.Sprint(i)}
				if i%3 == 0 {
					row.Tags = map[string]string{"n": fmt.Sprint(i)}
				}
				want = append(want, row)
				if err := s.Add(row); err != nil {
					t.Fatal(err)
				}
			}
			if len(s.spill) != tt.spills {
				t.Errorf("%d spills, want %d", len(s.spill), tt.spills)
			}
			slices.SortFunc(want, func(a, b item) int { return compareItems(&a, &b) })
			for range 2 { // it may be read again
				var got []item
				if err := s.Each(func(row *item) error { got = append(got, *row); return nil }); err != nil {
					t.Fatal(err)
				}
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Fatalf("sorted rows (-want +got):\n%s", diff)
				}
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 0 {
				t.Errorf("scratch holds %v, %v: files must be unlinked when made", left, err)
			}
		})
	}
}
