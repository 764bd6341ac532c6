package rowfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go/format"
	"seine/formats/layout"
	"seine/formats/schema"
)

// short cuts the rows' long strings.
func short[R any](rows []R) []R {
	for i := range rows {
		v := reflect.ValueOf(&rows[i]).Elem()
		for j := range v.NumField() {
			if f := v.Field(j); f.Kind() == reflect.String && f.Len() > 40 {
				f.SetString(f.String()[:40])
			}
		}
	}
	return rows
}

// read reads a file in every way there is.
func read(b []byte) ([]schema.Robots, error) {
	f, err := Open[schema.Robots](bytes.NewReader(b), int64(len(b)), ReadOptions{})
	if err != nil {
		return nil, err
	}
	rows, err := scan(f, 0, f.NumRows())
	if err != nil {
		return nil, err
	}
	if n := f.NumRows(); n > 0 {
		if _, err := f.Gather([]int64{0, n - 1}[:min(n, 2)]); err != nil {
			return nil, err
		}
	}
	r, err := f.Strings("authority")
	if err != nil {
		return nil, err
	}
	pages, err := r.Pages()
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		if _, err := r.Page(p); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// TestFlippedBytes: a damaged byte gives ErrCorrupt, or lies where nobody looks
// (the column index, for other readers) and changes nothing.
func TestFlippedBytes(t *testing.T) {
	for _, codec := range []Codec{Zstd, Snappy, None} {
		rows := short(randomRows[schema.Robots](3, 60))
		good := write(t, rows, Options{Codec: codec, PageRows: 25, GroupRows: 50})
		harmless := 0
		step := 1 + len(good)/700
		for i := 0; i < len(good); i += step {
			bad := bytes.Clone(good)
			bad[i] ^= byte(1 << (i / step % 8))
			got, err := read(bad)
			if err == nil {
				harmless++
				if d := cmp.Diff(rows, got, cmpopts.EquateEmpty()); d != "" {
					t.Fatalf("codec %d, byte %d of %d flipped: no error, other rows:\n%.500s", codec, i, len(good), d)
				}
			} else if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("codec %d, byte %d flipped: error of another kind: %v", codec, i, err)
			}
		}
		if harmless > len(good)/step/2 {
			t.Errorf("codec %d: %d of %d flipped bytes go unseen", codec, harmless, len(good)/step)
		}
		for n := 0; n < len(good); n += 1 + len(good)/50 {
			if _, err := read(good[:n]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("cut to %d of %d bytes: %v", n, len(good), err)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, codec := range []Codec{Zstd, Snappy, None} {
		f.Add(write(f, short(randomRows[schema.Robots](4, 12)), Options{Codec: codec, PageRows: 5}))
	}
	f.Add([]byte("PAR1PAR1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := read(b); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("error of another kind: %v", err)
		}
	})
}

// FuzzPage: bytes that pass the checksums, as a hostile file's do.
func FuzzPage(f *testing.F) {
	good := write(f, short(randomRows[schema.Robots](5, 40)), Options{Codec: None})
	f.Add([]byte{1, 2, 3, 200, 255, 255, 255, 255, 15}, 1, 0)
	f.Add([]byte("\x00\x00\x00\x00"), 2, 3)
	f.Fuzz(func(t *testing.T, payload []byte, column, encoding int) {
		file := open[schema.Robots](t, good, ReadOptions{})
		l := &file.leaves[uint(column)%uint(len(file.leaves))]
		err := decodeHostile(l, encoding, payload)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("error of another kind: %v", err)
		}
	})
}

func TestBubble(t *testing.T) {
	for _, codec := range []Codec{Snappy, Zstd, None} {
		t.Run(fmt.Sprint(codec), func(t *testing.T) {
			rows := randomRows[schema.Host](6, 300)
			write(t, rows, Options{Codec: codec}) // any global pool is filled outside
			synctest.Test(t, func(t *testing.T) {
				f := open[schema.Host](t, write(t, rows, Options{Codec: codec}), ReadOptions{})
				got, err := scan(f, 0, f.NumRows())
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(rows, got); d != "" {
					t.Error(d)
				}
			})
			write(t, rows, Options{Codec: codec})
		})
	}
}

func TestPartitions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var rows []schema.Host
	counts := map[int32]int64{}
	for p := int32(3); p < layout.Partitions-2; p += 1 + int32(r.IntN(90)) {
		for range r.IntN(30) {
			rows = append(rows, schema.Host{Partition: p, Domain: fmt.Sprint(len(rows))})
			counts[p]++
		}
	}
	f := open[schema.Host](t, write(t, rows, Options{Partitioned: true, PageRows: 10}), ReadOptions{})
	for _, rng := range append(layout.Split(37), layout.All, layout.Range{Lo: 5, Hi: 5}) {
		from, to := f.Partitions(rng)
		for i, row := range rows {
			if inside := int64(i) >= from && int64(i) < to; inside != rng.Holds(uint16(row.Partition)) {
				t.Fatalf("range %v gives rows [%d,%d): row %d is of partition %d", rng, from, to, i, row.Partition)
			}
		}
	}
	w := NewWriter[schema.Host](&bytes.Buffer{}, Options{Partitioned: true})
	if err := w.Write(schema.Host{Partition: 5}, schema.Host{Partition: 4}); err == nil {
		t.Error("falling partitions were written")
	}
	if err := w.Finish(); err == nil {
		t.Error("a file with an error was finished")
	}
}

func TestProjection(t *testing.T) {
	rows := short(randomRows[schema.URL](8, 500))
	file := write(t, rows, Options{Metadata: map[string]string{"who": "me"}})
	var some, all Stats
	f := open[schema.URL](t, file, ReadOptions{Columns: []string{"url", "inlinks"}, Stats: &some})
	if f.Metadata("who") != "me" || f.Metadata("none") != "" {
		t.Errorf("metadata: %q, %q", f.Metadata("who"), f.Metadata("none"))
	}
	got, err := scan(f, 0, f.NumRows())
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if want := (schema.URL{URL: rows[i].URL, Inlinks: rows[i].Inlinks}); got[i] != want {
			t.Fatalf("row %d: %+v, want %+v", i, got[i], want)
		}
	}
	if _, err := scan(open[schema.URL](t, file, ReadOptions{Stats: &all}), 0, 500); err != nil {
		t.Fatal(err)
	}
	if some.Pages.Load() != 2 || some.Rows.Load() != 500 || all.Pages.Load() <= 30 {
		t.Errorf("two columns: %d pages, %d rows; all: %d pages", some.Pages.Load(), some.Rows.Load(), all.Pages.Load())
	}
	if _, err := Open[schema.URL](bytes.NewReader(file), int64(len(file)), ReadOptions{Columns: []string{"x"}}); err == nil {
		t.Error("a column that does not exist was opened")
	}
}

// TestGatherJoins: near pages come in one request.
func TestGatherJoins(t *testing.T) {
	rows := randomRows[schema.Host](9, 20_000)
	file := write(t, rows, Options{PageRows: 100})
	var stats Stats
	f := open[schema.Host](t, file, ReadOptions{Stats: &stats})
	opened := stats.Requests.Load()
	if _, err := f.Gather([]int64{100, 101, 333, 5000}); err != nil {
		t.Fatal(err)
	}
	if n := stats.Requests.Load() - opened; n > 11 {
		t.Errorf("four rows near each other took %d requests for 10 columns", n)
	}
	if stats.Bytes.Load() > int64(len(file)) {
		t.Errorf("read %d of %d bytes", stats.Bytes.Load(), len(file))
	}
	if _, err := f.Gather([]int64{5, 5}); err == nil {
		t.Error("repeated rows were gathered")
	}
	if _, err := f.Gather([]int64{20_000}); err == nil {
		t.Error("a row beyond the end was gathered")
	}
}

// TestFetchOnce: what Fetch has read, scans do not read again; near pages come in
// one request, and a projection shares it.
func TestFetchOnce(t *testing.T) {
	rows := randomRows[schema.Host](9, 20_000)
	file := write(t, rows, Options{PageRows: 100, GroupRows: 5000})
	var stats Stats
	f := open[schema.Host](t, file, ReadOptions{BufferBytes: -1, Stats: &stats})
	if err := f.Fetch([][2]int64{{50, 120}, {4990, 5010}, {12_000, 12_001}}); err != nil {
		t.Fatal(err)
	}
	if n := stats.Rows.Load(); n != 0 {
		t.Errorf("%d rows were decoded unasked", n)
	}
	before := stats.Requests.Load()
	names, err := f.Project([]string{"host"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range [][2]int64{{50, 120}, {4990, 5010}, {12_000, 12_001}} {
		got, err := scan(f, s[0], s[1])
		if err != nil {
			t.Fatal(err)
		}
		some, err := scan(names, s[0], s[1])
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			want := rows[s[0]+int64(i)]
			if got[i] != want || some[i] != (schema.Host{Host: want.Host}) {
				t.Fatalf("row %d: %+v and %+v, want %+v", s[0]+int64(i), got[i], some[i], want)
			}
			names.Copy(&got[i], &schema.Host{Host: "other"})
			if want.Host = "other"; got[i] != want {
				t.Fatalf("row %d with another host: %+v", s[0]+int64(i), got[i])
			}
		}
	}
	if n := stats.Requests.Load() - before; n != 0 {
		t.Errorf("what was fetched took %d more requests", n)
	}
	if _, err := scan(f, 300, 301); err != nil || stats.Requests.Load() == before {
		t.Errorf("a row that was not fetched: %v", err)
	}
}

func TestColumnsCanBeAdded(t *testing.T) {
	type older struct {
		Partition int32  `parquet:"partition"`
		Domain    string `parquet:"domain,delta"`
	}
	file := write(t, []older{{1, "a"}, {2, "b"}}, Options{})
	got, err := scan(open[schema.Host](t, file, ReadOptions{}), 0, 2)
	want := []schema.Host{{Partition: 1, Domain: "a"}, {Partition: 2, Domain: "b"}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	type other struct {
		Domain int64 `parquet:"domain"`
	}
	if _, err := Open[other](bytes.NewReader(file), int64(len(file)), ReadOptions{}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a column of another type: %v", err)
	}
}

func decodeHostile(l *leaf, encoding int, payload []byte) (err error) {
	defer recovered(&err, "decode")
	encodings := []format.Encoding{format.Plain, format.DeltaByteArray, format.DeltaLengthByteArray,
		format.DeltaBinaryPacked, format.RLE}
	_, err = decodeLevels(nil, payload, 1, 40)
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return err
	}
	return new(values).decode(l, encodings[uint(encoding)%uint(len(encodings))], payload, 40)
}
