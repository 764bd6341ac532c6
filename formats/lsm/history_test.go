package lsm

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"seine/formats/layout"
	"seine/formats/rowfile"
	"seine/formats/schema"
)

// physicalRow is a row of a run, in no fold.
type physicalRow struct {
	ref Ref
	row schema.URL
}

// physical reads every row of the runs, in no fold: by key, oldest run first.
func (w *world) physical() map[Key][]physicalRow {
	rows := map[Key][]physicalRow{}
	for _, run := range w.runs {
		w.must(w.table.mergeRows(context.Background(), w.store.open, []Run{run}, layout.All,
			rowfile.ReadOptions{}, func(row *schema.URL, k Key, ref Ref, _ int) error {
				rows[k] = append(rows[k], physicalRow{ref, *row})
				return nil
			}))
	}
	return rows
}

// superseded is all that the lists of the runs name, of objects that are there.
func (w *world) superseded() map[Ref]int {
	there := map[layout.Key]bool{}
	for _, r := range w.runs {
		for _, o := range r.Objects {
			there[o.Key] = true
		}
	}
	named := map[Ref]int{}
	for _, r := range w.runs {
		for _, o := range r.Objects {
			for _, row := range w.readList(o) {
				if there[row.Object] {
					named[Ref{row.Object, row.Row}]++
				}
			}
		}
	}
	return named
}

// checkLists proves the rule of the package comment.
func (w *world) checkLists() {
	w.t.Helper()
	want := map[Ref]int{}
	for _, rows := range w.physical() {
		newest := -1
		for i := range rows {
			if !rows[i].row.Delta {
				newest = i
			}
		}
		for i := range newest {
			want[rows[i].ref] = 1
		}
	}
	got := w.superseded()
	for ref := range got {
		got[ref] = 1
	}
	if d := cmp.Diff(want, got); d != "" {
		w.t.Fatalf("superseded rows (-want +got):\n%.1500s", d)
	}
}

// checkRows proves that scan and lookup equal the truth.
func (w *world) checkRows() {
	w.t.Helper()
	got := map[Key]schema.URL{}
	var last *Key
	ctx := context.Background()
	w.must(w.table.Scan(ctx, w.store.open, w.runs, layout.All, nil, func(row *schema.URL, refs []Ref) error {
		k := w.table.Key(row)
		if last != nil && last.Compare(k) >= 0 {
			return fmt.Errorf("scan: %v after %v", k, *last)
		}
		last, got[k] = &k, *row
		return nil
	}))
	if d := cmp.Diff(w.truth, got); d != "" {
		w.t.Fatalf("scan (-want +got):\n%.1500s", d)
	}
	keys := map[Key]bool{}
	for range 1 + w.r.IntN(300) {
		k := w.key()
		if w.r.IntN(4) == 0 {
			k.URL += "x"
		}
		keys[k] = true
	}
	asked := sortedKeys(keys)
	want := map[Key]schema.URL{}
	for _, k := range asked {
		if row, ok := w.truth[k]; ok {
			want[k] = row
		}
	}
	got = map[Key]schema.URL{}
	at := -1
	w.must(w.table.Lookup(ctx, w.store.open, w.runs, asked, LookupOptions{}, func(h Hit[schema.URL]) error {
		if h.Index <= at || w.table.Key(&h.Row) != asked[h.Index] || len(h.Refs) == 0 {
			return fmt.Errorf("hit %d after %d: %v", h.Index, at, h)
		}
		at, got[asked[h.Index]] = h.Index, h.Row
		return nil
	}))
	if d := cmp.Diff(want, got); d != "" {
		w.t.Fatalf("lookup (-want +got):\n%.1500s", d)
	}
	w.checkMore(asked, want)
	w.must(w.table.Lookup(ctx, w.store.open, w.runs, asked, LookupOptions{KeysOnly: true},
		func(h Hit[schema.URL]) error {
			delete(got, asked[h.Index])
			return nil
		}))
	if len(got) > 0 {
		w.t.Fatalf("lookup of keys alone missed %d", len(got))
	}
}

// checkMore asks for the rest of every second row that is there.
func (w *world) checkMore(asked []Key, want map[Key]schema.URL) {
	w.t.Helper()
	deltas := []string{"inlinks", "depth", "queued", "queued_rank", "priority"}
	more := slices.DeleteFunc(rowfile.Columns[schema.URL](), func(name string) bool {
		return slices.Contains(deltas, name) || slices.Contains(w.table.Always, name)
	})
	r := w.table.NewReader(w.store.open, w.runs, LookupOptions{Columns: deltas, More: more})
	defer r.Close()
	wants := func(index int, row *schema.URL) bool {
		full := want[asked[index]]
		if row.Inlinks != full.Inlinks || row.Queued != full.Queued {
			w.t.Errorf("%v was asked for as %+v, want %+v", asked[index], *row, full)
		}
		return index%2 == 0
	}
	found := 0
	w.must(r.LookupMore(context.Background(), asked, wants, func(h Hit[schema.URL]) error {
		found++
		full := want[asked[h.Index]]
		if h.Index%2 != 0 {
			part := schema.URL{Delta: full.Delta, Inlinks: full.Inlinks, Depth: full.Depth,
				Queued: full.Queued, QueuedRank: full.QueuedRank, Priority: full.Priority}
			w.table.SetKey(&part, asked[h.Index])
			full = part
		}
		if h.Row != full {
			w.t.Fatalf("more of %v (-want +got):\n%s", asked[h.Index], cmp.Diff(full, h.Row))
		}
		return nil
	}))
	if found != len(want) {
		w.t.Errorf("%d of %d rows were found", found, len(want))
	}
}

// TestHistories: whatever rounds and compactions happen, in whatever order they
// begin and commit, the rows fold to the truth and the lists keep their rule.
func TestHistories(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed)
			for range 12 {
				w.step()
				w.checkLists()
			}
			w.checkRows()
		})
	}
}

// step is a round, a compaction, or both from one base, committed in either
// order.
func (w *world) step() {
	base := slices.Clone(w.runs)
	if len(base) < 2 || w.r.IntN(3) == 0 {
		w.runs = append(w.runs, w.round(base, 1+w.r.IntN(120)))
		return
	}
	from := w.r.IntN(len(base) - 1)
	to := from + 2 + w.r.IntN(len(base)-from-1)
	switch w.r.IntN(3) {
	case 0:
		w.replace(from, to, w.compact(base, from, to))
	case 1: // the round commits first: the compaction mends its list
		merged := w.compact(base, from, to)
		round := w.round(base, 1+w.r.IntN(120))
		w.mend(&merged, []Run{merged}, []Run{round})
		w.runs = append(w.runs, round)
		w.replace(from, to, merged)
	case 2: // the compaction commits first: the round mends its list
		merged := w.compact(base, from, to)
		round := w.round(base, 1+w.r.IntN(120))
		w.replace(from, to, merged)
		w.mend(&round, []Run{merged}, []Run{round})
		w.runs = append(w.runs, round)
	}
}

func (w *world) replace(from, to int, merged Run) {
	w.runs = slices.Replace(slices.Clone(w.runs), from, to, merged)
}

func TestMergeOfAllEqualsScan(t *testing.T) {
	w := newWorld(t, 99)
	for range 5 {
		w.runs = append(w.runs, w.round(w.runs, 150))
	}
	w.runs = []Run{w.compact(w.runs, 0, 5)}
	w.checkRows()
	if n := len(w.superseded()); n != 0 {
		t.Errorf("a table of one run has %d superseded rows", n)
	}
}

func TestMergeOfDeltaWithoutRowIsDamage(t *testing.T) {
	w := newWorld(t, 5)
	row := rowOf(w.key())
	row.Delta = true
	run := w.write("r", 1, map[Key]schema.URL{w.table.Key(&row): row}, nil)
	rw := w.table.NewWriter(discard{}, nil, "out", "", layout.All, w.opts)
	err := w.table.Merge(context.Background(), w.store.open, Merge{Runs: []Run{run}, Range: layout.All}, rw, nil)
	if err == nil {
		t.Error("a delta without a whole row was merged into the oldest run")
	}
	rw = w.table.NewWriter(discard{}, nil, "out", "", layout.All, w.opts)
	older := w.write("older", 0, map[Key]schema.URL{}, nil)
	w.must(w.table.Merge(context.Background(), w.store.open, Merge{Older: []Run{older},
		Runs: []Run{run}, Range: layout.All}, rw, func(Ref) error { return nil }))
	if o, err := rw.Finish(); err != nil || o.Deltas != 1 {
		t.Errorf("merge among young runs: %+v, %v; want one delta", o, err)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
