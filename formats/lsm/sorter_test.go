package lsm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// awkward draws keys whose URLs share beginnings, end in each other, hold zeros,
// and repeat.
func awkward(r *rand.Rand, n int) []Key {
	keys := make([]Key, n)
	for i := range keys {
		h := r.IntN(6)
		u := "https://h.test/" + strings.Repeat("a", r.IntN(20)) + strings.Repeat("\x00", r.IntN(10))
		if r.IntN(2) == 0 {
			u = fmt.Sprintf("https://h.test/%d/%d", r.IntN(3), r.IntN(n))
		}
		if r.IntN(50) == 0 {
			u = u[:r.IntN(len(u))]
		}
		keys[i] = Key{uint16(h % 3), fmt.Sprintf("d%d", h%4), fmt.Sprintf("h%d", h), u}
	}
	return keys
}

func sortAll(t *testing.T, keys []Key, o SorterOptions) []Key {
	t.Helper()
	s := NewSorter(o)
	for _, k := range keys {
		if err := s.Add(k); err != nil {
			t.Fatal(err)
		}
	}
	var got []Key
	if err := s.Each(context.Background(), func(k Key) error {
		got = append(got, Key{k.Partition, k.Domain, k.Host, strings.Clone(k.URL)})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestSorterEqualsSort(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		keys := awkward(r, []int{0, 1, 2, 50, 3000}[seed%5])
		want := slices.Clone(keys)
		slices.SortFunc(want, Key.Compare)
		want = slices.Compact(want)
		for name, memory := range map[string]int64{"memory": 0, "scratch": 20_000} {
			got := sortAll(t, keys, SorterOptions{Memory: memory, Scratch: t.TempDir()})
			if d := cmp.Diff(want, got, cmp.Comparer(func(a, b []Key) bool { return slices.Equal(a, b) })); d != "" {
				t.Fatalf("seed %d in %s (-want +got):\n%.1000s", seed, name, d)
			}
		}
	}
}

func FuzzSorter(f *testing.F) {
	f.Add("a\nab\nabcdefgh\nabcdefghi\nabcdefgh\x00\nabcdefgh\x00\x00")
	f.Add(strings.Repeat("x", 100) + "\n" + strings.Repeat("x", 99) + "\n\n\x00")
	f.Fuzz(func(t *testing.T, text string) {
		var keys []Key
		for line := range strings.SplitSeq(text, "\n") {
			for range 3 {
				keys = append(keys, Key{URL: line}, Key{URL: line + line})
			}
		}
		want := slices.Clone(keys)
		slices.SortFunc(want, Key.Compare)
		if got := sortAll(t, keys, SorterOptions{}); !slices.Equal(got, slices.Compact(want)) {
			t.Errorf("sorted %v to %v", keys, got)
		}
	})
}
