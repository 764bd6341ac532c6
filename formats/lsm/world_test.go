package lsm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"seine/formats/layout"
	"seine/formats/rowfile"
	"seine/formats/schema"
)

// memory is objects by key.
type memory map[layout.Key][]byte

func (m memory) open(_ context.Context, key layout.Key, size int64) (io.ReaderAt, error) {
	b, ok := m[key]
	if !ok {
		return nil, fmt.Errorf("no object %q", key)
	}
	if int64(len(b)) != size {
		return nil, fmt.Errorf("object %q has %d bytes, opened as %d", key, len(b), size)
	}
	return bytes.NewReader(b), nil
}

// world is a table with its history, beside the map that it must equal.
type world struct {
	t     testing.TB
	r     *rand.Rand
	store memory
	table Table[schema.URL]
	runs  []Run
	truth map[Key]schema.URL
	seq   uint64
	opts  rowfile.Options
}

func newWorld(t testing.TB, seed uint64) *world {
	return &world{t: t, r: rand.New(rand.NewPCG(seed, 2)), store: memory{}, table: URLs(),
		truth: map[Key]schema.URL{}, opts: rowfile.Options{Codec: rowfile.Snappy, PageRows: 16, GroupRows: 200}}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// key draws a key from some hundreds.
func (w *world) key() Key {
	d := w.r.IntN(12)
	h := w.r.IntN(3)
	domain := fmt.Sprintf("d%d.test", d)
	host := fmt.Sprintf("h%d.%s", h, domain)
	return Key{uint16(d * d * 7 % layout.Partitions), domain, host,
		fmt.Sprintf("https://%s/%d", host, w.r.IntN(40))}
}

func rowOf(k Key) schema.URL {
	return schema.URL{Partition: int32(k.Partition), Domain: k.Domain, Host: k.Host, URL: k.URL}
}

// sortedKeys gives the keys in order.
func sortedKeys[V any](m map[Key]V) []Key {
	return slices.SortedFunc(maps.Keys(m), Key.Compare)
}

// change draws what a round does: whole rows and deltas by key.
func (w *world) change(n int) map[Key]schema.URL {
	rows := map[Key]schema.URL{}
	for range n {
		k := w.key()
		row := rowOf(k)
		row.Depth, row.Round = int32(w.r.IntN(9)), int64(w.seq)
		row.Inlinks = int64(w.r.IntN(5))
		_, known := w.truth[k]
		if row.Delta = known && w.r.IntN(2) == 0; row.Delta {
			if w.r.IntN(2) == 0 {
				row.Queued, row.QueuedRank, row.Priority = int64(w.seq), w.r.Int64(), w.r.Float32()
			}
		} else {
			row.CrawlStatus, row.Priority = schema.Completed, w.r.Float32()
			row.ETag = fmt.Sprint(w.r.IntN(1000))
		}
		rows[k] = row
	}
	return rows
}

// write writes rows as a run of several objects. refs are the rows that each
// whole row supersedes.
func (w *world) write(id string, seq uint64, rows map[Key]schema.URL, refs map[Key][]Ref) Run {
	run := Run{ID: id, Seq: seq}
	for i, rng := range layout.Split(1 + w.r.IntN(4)) {
		var data, side bytes.Buffer
		key := fmt.Sprintf("%s/%d", id, i)
		rw := w.table.NewWriter(&data, &side, key, key+".side", rng, w.opts)
		var list []schema.SupersededRow
		for _, k := range sortedKeys(rows) {
			if row := rows[k]; rng.Holds(k.Partition) {
				w.must(rw.Write(&row))
				for _, ref := range refs[k] {
					list = append(list, schema.SupersededRow{Object: ref.Object, Row: ref.Row})
				}
			}
		}
		run.Objects = append(run.Objects, w.finish(rw, &data, &side, list))
	}
	return run
}

// finish stores an object, its sidecar and its list.
func (w *world) finish(rw *RunWriter[schema.URL], data, side *bytes.Buffer, list []schema.SupersededRow) Object {
	o, err := rw.Finish()
	w.must(err)
	w.store[o.Key] = data.Bytes()
	w.store[o.Sidecar] = side.Bytes()
	if w.r.IntN(5) == 0 { // some objects go without
		o.Sidecar, o.SidecarBytes = "", 0
	}
	return w.list(o, list)
}

func (w *world) list(o Object, list []schema.SupersededRow) Object {
	if len(list) == 0 {
		return o
	}
	slices.SortFunc(list, func(a, b schema.SupersededRow) int { return compareSuperseded(&a, &b) })
	list = slices.Compact(list)
	var b bytes.Buffer
	lw := rowfile.NewWriter[schema.SupersededRow](&b, w.opts)
	w.must(lw.Write(list...))
	w.must(lw.Finish())
	o.Superseded, o.SupersededRows, o.SupersededBytes = o.Key+".old", lw.Rows(), lw.Bytes()
	w.store[o.Superseded] = b.Bytes()
	return o
}

// readList reads an object's list.
func (w *world) readList(o Object) (list []schema.SupersededRow) {
	if o.Superseded == "" {
		return nil
	}
	f, err := openList(context.Background(), w.store.open, o, nil)
	w.must(err)
	c := f.Scan(0, f.NumRows())
	for {
		row, err := c.Next()
		if err == io.EOF {
			return list
		}
		w.must(err)
		list = append(list, *row)
	}
}

// round works on a base of runs, and applies its rows to the truth.
func (w *world) round(base []Run, n int) Run {
	w.seq++
	rows := w.change(n)
	keys := sortedKeys(rows)
	refs := map[Key][]Ref{}
	w.must(w.table.Lookup(context.Background(), w.store.open, base, keys, LookupOptions{Columns: []string{"inlinks"}},
		func(h Hit[schema.URL]) error {
			if k := keys[h.Index]; !rows[k].Delta {
				refs[k] = slices.Clone(h.Refs)
			}
			return nil
		}))
	for k, row := range rows {
		if !row.Delta {
			w.truth[k] = row
			continue
		}
		old := w.truth[k]
		old.Inlinks += row.Inlinks
		old.Depth = min(old.Depth, row.Depth)
		if row.Queued != 0 {
			old.Queued, old.QueuedRank, old.Priority = row.Queued, row.QueuedRank, row.Priority
		}
		w.truth[k] = old
	}
	return w.write(fmt.Sprintf("r%08d", w.seq), w.seq, rows, refs)
}

// compact merges runs [from, to) of a base.
func (w *world) compact(base []Run, from, to int) Run {
	w.seq++
	run := Run{ID: fmt.Sprintf("c%08d", w.seq), Seq: base[to-1].Seq}
	for i, rng := range layout.Split(1 + w.r.IntN(3)) {
		var data, side bytes.Buffer
		key := fmt.Sprintf("%s/%d", run.ID, i)
		rw := w.table.NewWriter(&data, &side, key, key+".side", rng, w.opts)
		var list []schema.SupersededRow
		m := Merge{Older: base[:from], Runs: base[from:to], Younger: base[to:], Range: rng}
		w.must(w.table.Merge(context.Background(), w.store.open, m, rw, func(ref Ref) error {
			list = append(list, schema.SupersededRow{Object: ref.Object, Row: ref.Row})
			return nil
		}))
		run.Objects = append(run.Objects, w.finish(rw, &data, &side, list))
	}
	return run
}

// mend adds to the lists of run, whose base lacked the runs others, what rows of
// newer replace in older.
func (w *world) mend(run *Run, older, newer []Run) {
	for i, o := range run.Objects {
		list := w.readList(o)
		w.must(w.table.Supersedes(context.Background(), w.store.open, older, newer, o.Range, nil,
			func(ref Ref) error {
				list = append(list, schema.SupersededRow{Object: ref.Object, Row: ref.Row})
				return nil
			}))
		run.Objects[i] = w.list(o, list)
	}
}
