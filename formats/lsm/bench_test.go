package lsm_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/lsm/lsmtest"
	"seine/formats/rowfile"
	"seine/formats/schema"
)

// known is how many known URLs the benchmarks have: SEINE_BENCH_KNOWN, by default
// few enough for a build server.
func known() int {
	if n, err := strconv.Atoi(os.Getenv("SEINE_BENCH_KNOWN")); err == nil && n > 0 {
		return n
	}
	return 200_000
}

// database is a corpus as a run of one object on disk.
func database(b *testing.B) (*lsmtest.Corpus, []lsm.Run, string) {
	b.Helper()
	dir := b.TempDir()
	c := lsmtest.New(1, known())
	o, err := c.WriteKnown(filepath.Join(dir, "known"))
	if err != nil {
		b.Fatal(err)
	}
	return c, []lsm.Run{{ID: "r1", Objects: []lsm.Object{o}}}, dir
}

// BenchmarkDedup reads unsorted candidates and writes the new ones sorted.
// deploy/bench/dedup runs it beside DuckDB.
func BenchmarkDedup(b *testing.B) {
	c, runs, dir := database(b)
	for _, name := range []string{"narrow", "wide", "thin"} {
		shape := lsmtest.Shapes(known())[name]
		path := filepath.Join(dir, name)
		if err := c.WriteCandidates(path, 2, shape); err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			var stats lsm.Stats
			for b.Loop() {
				if _, err := lsmtest.Dedup(b.Context(), path, runs, filepath.Join(dir, "new"), 1, &stats); err != nil {
					b.Fatal(err)
				}
			}
			n := float64(b.N)
			b.ReportMetric(n*float64(shape.N)/b.Elapsed().Seconds()/1e6, "Mcandidates/s")
			b.ReportMetric(float64(stats.KeyPages.Load())/n, "pages/op")
			b.ReportMetric(float64(stats.Bytes.Load()+stats.SidecarBytes.Load())/n, "bytes/op")
		})
	}
}

// rows are some rows of the corpus.
func rows(b *testing.B) []schema.URL {
	b.Helper()
	var out []schema.URL
	if err := lsmtest.New(1, min(known(), 200_000)).Known(func(r *schema.URL) error {
		out = append(out, *r)
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	return out
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// BenchmarkWrite writes urls rows with their sidecar: three of four wait.
func BenchmarkWrite(b *testing.B) {
	all := rows(b)
	var data, side counter
	for b.Loop() {
		data, side = counter{}, counter{}
		w := lsm.URLs().NewWriter(&data, &side, "k", "s", layout.All, rowfile.Options{})
		for i := range all {
			if err := w.Write(&all[i]); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := w.Finish(); err != nil {
			b.Fatal(err)
		}
	}
	n := float64(len(all))
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
	b.ReportMetric(float64(data.n)/n, "B/url")
	b.ReportMetric(float64(side.n)/n, "sidecarB/url")
}

// BenchmarkScan reads whole rows, keys, and keys raw.
func BenchmarkScan(b *testing.B) {
	_, runs, _ := database(b)
	n := runs[0].Rows()
	for name, columns := range map[string][]string{"rows": nil, "keys": {}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := lsm.URLs().Scan(b.Context(), lsmtest.OpenPath, runs, layout.All, columns,
					func(*schema.URL, []lsm.Ref) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
	b.Run("raw", func(b *testing.B) {
		o := runs[0].Objects[0]
		src, err := os.Open(o.Key)
		if err != nil {
			b.Fatal(err)
		}
		defer src.Close()
		for b.Loop() {
			f, err := rowfile.Open[schema.URL](src, o.Bytes, rowfile.ReadOptions{})
			if err != nil {
				b.Fatal(err)
			}
			r, err := f.Strings("url")
			if err != nil {
				b.Fatal(err)
			}
			for at := int64(0); at < n; {
				page, err := r.Page(at)
				if err != nil {
					b.Fatal(err)
				}
				at += int64(page.Len())
			}
		}
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mkeys/s")
	})
}

// BenchmarkLookup looks 50,000 keys up in 50 ranges of neighbours, or as many as
// a tenth of the keys allows.
func BenchmarkLookup(b *testing.B) {
	_, runs, _ := database(b)
	n := runs[0].Rows()
	each := min(1000, n/500)
	var keys []lsm.Key
	at := int64(0)
	if err := lsm.URLs().Scan(context.Background(), lsmtest.OpenPath, runs, layout.All, []string{},
		func(r *schema.URL, _ []lsm.Ref) error {
			if at%(n/50) < each {
				keys = append(keys, lsm.Key{Partition: uint16(r.Partition), Domain: r.Domain, Host: r.Host, URL: r.URL})
			}
			at++
			return nil
		}); err != nil {
		b.Fatal(err)
	}
	for name, o := range map[string]lsm.LookupOptions{
		"exists": {KeysOnly: true}, "inlinks": {Columns: []string{"inlinks"}}, "rows": {},
	} {
		b.Run(name, func(b *testing.B) {
			o.Stats = new(lsm.Stats)
			for b.Loop() {
				found := 0
				if err := lsm.URLs().Lookup(b.Context(), lsmtest.OpenPath, runs, keys, o,
					func(lsm.Hit[schema.URL]) error { found++; return nil }); err != nil {
					b.Fatal(err)
				}
				if found != len(keys) {
					b.Fatalf("found %d of %d", found, len(keys))
				}
			}
			b.ReportMetric(float64(len(keys))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mkeys/s")
			b.ReportMetric(float64(o.Stats.Requests.Load())/float64(b.N), "requests/op")
		})
	}
}
