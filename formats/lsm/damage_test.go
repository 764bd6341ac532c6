package lsm

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"seine/formats/bloom"
	"seine/formats/layout"
	"seine/formats/rowfile"
	"seine/formats/schema"
)

// oneRun is a world of one run whose object has a sidecar.
func oneRun(t *testing.T) (*world, Object) {
	w := newWorld(t, 11)
	rows := map[Key]schema.URL{}
	for range 800 {
		k := w.key()
		rows[k] = rowOf(k)
		w.truth[k] = rows[k]
	}
	var data, side bytes.Buffer
	rw := w.table.NewWriter(&data, &side, "run", "run.side", layout.All, w.opts)
	for _, k := range sortedKeys(rows) {
		row := rows[k]
		w.must(rw.Write(&row))
	}
	o, err := rw.Finish()
	w.must(err)
	w.store["run"], w.store["run.side"] = data.Bytes(), side.Bytes()
	w.runs = []Run{{ID: "r", Objects: []Object{o}}}
	return w, o
}

func TestDamagedSidecarIsPassedOverAndRebuilt(t *testing.T) {
	w, o := oneRun(t)
	ctx := context.Background()
	good := bytes.Clone(w.store["run.side"])
	if err := CheckSidecar(ctx, w.store.open, o); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(good); i += 1 + len(good)/60 {
		w.store["run.side"] = bytes.Clone(good)
		w.store["run.side"][i] ^= 0x10
		w.checkRows()
		if err := CheckSidecar(ctx, w.store.open, o); !errors.Is(err, bloom.ErrCorrupt) || !strings.Contains(err.Error(), "run.side") {
			t.Fatalf("byte %d damaged: CheckSidecar says %v", i, err)
		}
	}
	var stats Stats
	key := sortedKeys(w.truth)[0]
	w.must(w.table.Lookup(ctx, w.store.open, w.runs, []Key{key}, LookupOptions{Stats: &stats},
		func(Hit[schema.URL]) error { return nil }))
	if stats.DamagedSidecars.Load() != 1 {
		t.Errorf("%d damaged sidecars counted", stats.DamagedSidecars.Load())
	}
	var again bytes.Buffer
	n, err := w.table.RebuildSidecar(ctx, w.store.open, o, &again)
	if err != nil || n != o.SidecarBytes || !bytes.Equal(again.Bytes(), good) {
		t.Errorf("rebuilt sidecar differs: %d bytes, %v", n, err)
	}
}

func TestDamagedRunIsNamed(t *testing.T) {
	w, o := oneRun(t)
	good := w.store["run"]
	ctx := context.Background()
	keys := sortedKeys(w.truth)
	seen := 0
	for i := 0; i < len(good); i += 1 + len(good)/200 {
		w.store["run"] = bytes.Clone(good)
		w.store["run"][i] ^= 0x10
		for _, err := range []error{
			w.table.Scan(ctx, w.store.open, w.runs, layout.All, nil, func(*schema.URL, []Ref) error { return nil }),
			w.table.Lookup(ctx, w.store.open, w.runs, keys, LookupOptions{}, func(Hit[schema.URL]) error { return nil }),
		} {
			if err == nil {
				continue
			}
			if seen++; !errors.Is(err, rowfile.ErrCorrupt) || !strings.Contains(err.Error(), o.Key) {
				t.Fatalf("byte %d damaged: %v", i, err)
			}
		}
	}
	if seen < 150 {
		t.Errorf("%d of 400 reads of a damaged run failed", seen)
	}
}

func TestRunWriterRefuses(t *testing.T) {
	table := URLs()
	row := func(p int32, url string) schema.URL { return schema.URL{Partition: p, URL: url} }
	for name, rows := range map[string][]schema.URL{
		"falling":           {row(5, "b"), row(5, "a")},
		"equal":             {row(5, "a"), row(5, "a")},
		"outside the range": {row(500, "a")},
		"huge":              {row(5, strings.Repeat("x", 1<<20))},
	} {
		w := table.NewWriter(discard{}, nil, "k", "", layout.Range{Lo: 0, Hi: 10}, rowfile.Options{})
		var err error
		for i := range rows {
			err = errors.Join(err, w.Write(&rows[i]))
		}
		if err == nil {
			t.Errorf("%s rows were written", name)
		}
		if _, err := w.Finish(); err == nil {
			t.Errorf("%s rows were finished", name)
		}
	}
}

// TestLookupCosts: a thin batch reads some filters and pages, not the run.
func TestLookupCosts(t *testing.T) {
	table := URLs()
	var data, side bytes.Buffer
	rw := table.NewWriter(&data, &side, "run", "run.side", layout.All, rowfile.Options{Codec: rowfile.Snappy})
	const n = 150_000
	key := func(i int) Key { return Key{uint16(i / 300), "d", "h", "https://h/" + number(i)} }
	for i := range n {
		row := rowOf(key(2 * i))
		if err := rw.Write(&row); err != nil {
			t.Fatal(err)
		}
	}
	o, err := rw.Finish()
	if err != nil {
		t.Fatal(err)
	}
	store := memory{"run": data.Bytes(), "run.side": side.Bytes()}
	var absent, present []Key
	for i := 1; i < n/2; i += 1501 {
		absent, present = append(absent, key(i|1)), append(present, key(i&^1))
	}
	look := func(keys []Key) (found int, s *Stats) {
		s = new(Stats)
		if err := table.Lookup(context.Background(), store.open, []Run{{ID: "r", Objects: []Object{o}}}, keys,
			LookupOptions{Stats: s}, func(Hit[schema.URL]) error { found++; return nil }); err != nil {
			t.Fatal(err)
		}
		return found, s
	}
	if found, s := look(present); found != len(present) || s.KeyPages.Load() > int64(len(present)) {
		t.Errorf("present: %d of %d found in %d pages", found, len(present), s.KeyPages.Load())
	}
	found, s := look(absent)
	if found != 0 || s.KeyPages.Load() > int64(len(absent)/10)+3 || s.FilterTests.Load() != int64(len(absent)) {
		t.Errorf("absent: %d found, %d pages, %d filter tests", found, s.KeyPages.Load(), s.FilterTests.Load())
	}
	if got := s.SidecarBytes.Load() + s.Bytes.Load(); got > o.Bytes/2 {
		t.Errorf("a thin batch read %d bytes of a run of %d", got, o.Bytes)
	}
}

func number(i int) string {
	b := []byte("00000000")
	for at := len(b) - 1; i > 0; at, i = at-1, i/10 {
		b[at] = byte('0' + i%10)
	}
	return string(b)
}
