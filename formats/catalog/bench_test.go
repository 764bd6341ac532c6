//go:build cgo

package catalog_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seine/formats/catalog"
	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/weburl"
)

// BenchmarkURLs times statements through the view urls: 10 M URLs of 100 a
// domain in one run, and two younger runs that each replace and add to 2 % of
// them; beside them what the same asks of the oldest run, as a plain file.
// SEINE_BENCH_URLS sets another number.
//
//	go test ./formats/catalog -run '^$' -bench URLs -benchtime 3x
func BenchmarkURLs(b *testing.B) {
	urls := 10_000_000
	if s := os.Getenv("SEINE_BENCH_URLS"); s != "" {
		if _, err := fmt.Sscan(s, &urls); err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	m := large(b, dir, urls)
	path := func(key layout.Key) string { return filepath.Join(dir, key) }
	oldest := "read_parquet('" + path("urls0.parquet") + "')"
	for _, folded := range []bool{false, true} {
		db := duckdb(b)
		name := "unfolded/"
		if folded {
			name = "folded/"
			create(b, db, catalog.Views(m, nil, path)[:1])
		} else {
			create(b, db, []catalog.View{catalog.Unfolded(m, path)})
		}
		for _, bench := range []struct{ name, query string }{
			{"count", "SELECT count(*) FROM urls"},
			{"group by domain", "SELECT count(*) FROM (SELECT domain, count(*) FROM urls GROUP BY domain)"},
			{"inlinks", "SELECT sum(inlinks) FROM urls"},
			{"oldest run/group by domain", "SELECT count(*) FROM (SELECT domain, count(*) FROM " + oldest +
				" GROUP BY domain)"},
			{"oldest run/inlinks", "SELECT sum(inlinks) FROM " + oldest},
		} {
			if !folded && bench.name == "inlinks" || folded && strings.HasPrefix(bench.name, "oldest") {
				continue
			}
			b.Run(name+bench.name, func(b *testing.B) {
				for b.Loop() {
					rows(b, db, bench.query)
				}
				b.ReportMetric(float64(urls)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Murls/s")
			})
		}
	}
}

// large writes a table urls of three runs.
func large(b *testing.B, dir string, urls int) *lsm.Manifest {
	m := lsm.Empty()
	// Domains in the order of their partitions, as the table has them.
	byPartition := make([][]int, layout.Partitions)
	for d := range urls / 100 {
		p := weburl.Partition(domainName(d))
		byPartition[p] = append(byPartition[p], d)
	}
	row := int64(0)
	var replaced []schema.SupersededRow
	for run := range 3 {
		data := createFile(b, dir, fmt.Sprintf("urls%d.parquet", run))
		w := lsm.URLs().NewWriter(data, nil, filepath.Base(data.f.Name()), "", layout.All, rowfile.Options{})
		for p, domains := range byPartition {
			for _, d := range domains {
				for i := range 100 {
					r := schema.URL{Partition: int32(p), Domain: domainName(d), Host: "www." + domainName(d),
						URL: fmt.Sprintf("https://www.%s/path/to/some/page-%02d", domainName(d), i), Priority: 0.5,
						CrawlStatus: schema.Pending, Depth: int32(i % 7), Inlinks: int64(i), Round: int64(run + 1)}
					switch {
					case run == 0:
						if i == 1 || i == 2 {
							replaced = append(replaced, schema.SupersededRow{Object: "urls0.parquet", Row: row})
						}
						row++
					case i == run: // whole
						r.CrawlStatus = schema.Completed
					case i == run+2 || i == run+4: // adds
						r = schema.URL{Partition: r.Partition, Domain: r.Domain, Host: r.Host, URL: r.URL, Delta: true,
							Inlinks: 1, Depth: r.Depth, Round: r.Round}
					default:
						continue
					}
					if err := w.Write(&r); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
		o, err := w.Finish()
		if err != nil {
			b.Fatal(err)
		}
		data.close(b)
		if run > 0 {
			list := createFile(b, dir, fmt.Sprintf("superseded%d.parquet", run))
			lw := rowfile.NewWriter[schema.SupersededRow](list, rowfile.Options{})
			for i := run - 1; i < len(replaced); i += 2 {
				if err := lw.Write(replaced[i]); err != nil {
					b.Fatal(err)
				}
			}
			if err := lw.Finish(); err != nil {
				b.Fatal(err)
			}
			list.close(b)
			o.Superseded, o.SupersededRows = filepath.Base(list.f.Name()), lw.Rows()
		}
		m.Tables[schema.URLs] = append(m.Tables[schema.URLs], lsm.Run{ID: fmt.Sprintf("r%08d", run+1),
			Seq: uint64(run + 1), Objects: []lsm.Object{o}})
	}
	return m
}

func domainName(d int) string { return fmt.Sprintf("domain%07d.example", d) }

type benchFile struct {
	*bufio.Writer
	f *os.File
}

func createFile(b *testing.B, dir, name string) *benchFile {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		b.Fatal(err)
	}
	return &benchFile{bufio.NewWriterSize(f, 1<<20), f}
}

func (f *benchFile) close(b *testing.B) {
	if err := f.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.f.Close(); err != nil {
		b.Fatal(err)
	}
}
