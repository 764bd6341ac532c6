//go:build cgo

package main

import (
	"database/sql"
	"encoding/csv"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/go-cmp/cmp"

	"seine/formats/catalog"
	"seine/formats/catalog/catalogtest"
	"seine/mapper/webtest"
)

// TestQuestions: the ten questions, on a crawl whose answers are known.
func TestQuestions(t *testing.T) {
	dir, _ := fabricated(t)
	tests := []struct {
		name string
		set  []string
		want string // a part of the answer
	}{
		{"why_not_fetched", []string{"url=" + catalogtest.Private}, `fetch,3,2026-03-03T00:00:04Z,robots_denied,` +
			`https://private.test/robots.txt:2: Disallow: /secret`},
		{"wasted_budget", nil, "dead.test,2,2,1,dns_not_found,2"},
		{"changed_since", nil, "changed,https://www.example.org/,Page https://www.example.org/,26,2026-03-04T00:00:00Z"},
		{"changed_since", []string{"round=2"}, "new,http://slow.test:8080/"},
		{"top_domains", nil, "domain,known,pages,pending,failed\nexample.org,6,3,0,1\n"},
		{"robots_share", nil, "3,5,1,0,0.2"},
		{"redirect_chains", nil, "http://example.org/old,2," + catalogtest.About},
		{"duplicates", nil, `2,"[""https://example.net/copy"",""https://www.example.org/about?b=1&lang=en""]"`},
		{"slow_hosts", nil, "slow.test,1,2500,2500,2500\n"},
		{"broken_links", []string{"domain=example.org"}, catalogtest.Blog + "," + catalogtest.Gone},
		{"new_urls", nil, "day,discovered,tried,stored\n2026-03-01,4,4,3\n2026-03-02,6,5,2\n2026-03-03,2,2,1\n"},
	}
	asked := map[string]bool{}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked[tt.name] = true
			args := []string{"query", "--question", tt.name, "--format", "csv"}
			for _, s := range tt.set {
				args = append(args, "--set", s)
			}
			if got := must(t, dir, args...); !strings.Contains(got, tt.want) {
				t.Errorf("got\n%s\nwant in it\n%s", got, tt.want)
			}
		})
	}
	for _, name := range questionNames() {
		if !asked[name] {
			t.Errorf("question %s has no test", name)
		}
	}
	if n := len(questionNames()); n < 10 {
		t.Errorf("%d questions", n)
	}
}

func TestQueryFormats(t *testing.T) {
	dir, _ := fabricated(t)
	const all = "SELECT NULL AS n, 'a\nb' AS s, [1, NULL] AS l, MAP {'k': 'v', 'a': 'b'} AS m, {'y': 1, 'x': DATE " +
		"'2026-03-01'} AS st, 1.50::DECIMAL(5,2) AS d, 170141183460469231731687303715884105727 AS h, 'nan'::DOUBLE AS f, " +
		"md5('')::UUID AS u, TIMESTAMPTZ '2026-03-01 12:00:00.5+00' AS t, true AS b, 'x'::BLOB AS bl"
	tests := []struct{ format, want string }{
		{"json", `{"n":null,"s":"a\nb","l":[1,null],"m":{"k":"v","a":"b"},"st":{"x":"2026-03-01T00:00:00Z","y":1},` +
			`"d":1.5,"h":170141183460469231731687303715884105727,"f":null,"u":"d41d8cd9-8f00-b204-e980-0998ecf8427e",` +
			`"t":"2026-03-01T12:00:00.5Z","b":true,"bl":"78"}` + "\n"},
		{"csv", "n,s,l,m,st,d,h,f,u,t,b,bl\n,\"a\nb\",\"[1,null]\""},
		{"table", "NULL"},
	}
	for _, tt := range tests {
		t.Run(tt.format, func(t *testing.T) {
			if got := must(t, dir, "query", "--format", tt.format, all); !strings.Contains(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	t.Run("arrow", func(t *testing.T) {
		r, err := ipc.NewReader(strings.NewReader(must(t, dir, "query", "--format", "arrow", "SELECT url FROM urls")))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		if !r.Next() || r.RecordBatch().NumRows() != 12 {
			t.Error("not the 12 URLs")
		}
	})
	t.Run("parquet", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "out.parquet")
		must(t, dir, "query", "--format", "parquet", "-o", file, "SELECT url FROM urls")
		if got := must(t, dir, "inspect", file, "--limit", "-1", "--format", "csv"); strings.Count(got, "\n") != 13 {
			t.Errorf("the file has\n%s", got)
		}
	})
}

func TestQueryErrors(t *testing.T) {
	dir, b := fabricated(t)
	tests := []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"unknown table", []string{"SELECT * FROM urlz"}, exitUsage, []string{"urlz", "SHOW TABLES"}},
		{"unknown column", []string{"SELECT urk FROM urls"}, exitUsage, []string{"urk", "DESCRIBE"}},
		{"no SQL", []string{"SELEKT 1"}, exitUsage, []string{"SELEKT"}},
		{"empty", []string{"  "}, exitUsage, []string{"no SQL"}},
		{"two sources", []string{"SELECT 1", "--question", "top_domains"}, exitUsage, []string{"name one"}},
		{"unknown question", []string{"--question", "x"}, exitUsage, []string{"--questions"}},
		{"a question unanswered", []string{"--question", "why_not_fetched"}, exitUsage, []string{"--set url"}},
		{"format", []string{"--format", "xml", "SELECT 1"}, exitUsage, []string{"one of"}},
		{"parquet to a terminal", []string{"--format", "parquet", "SELECT 1"}, exitUsage, []string{"-o FILE"}},
		{"at run time", []string{"SELECT error('boom')"}, exitUsage, []string{"boom"}},
		{"memory", []string{"--memory", "lots", "SELECT 1"}, exitUsage, []string{"lots"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, errs := asked(t, dir, append([]string{"query"}, tt.args...)...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, errs)
			}
			for _, says := range tt.says {
				if !strings.Contains(errs, says) {
					t.Errorf("%q is not in %s", says, errs)
				}
			}
		})
	}
	t.Run("a lost object", func(t *testing.T) {
		key := catalog.Files(b.Manifest, "pages")[0]
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(key))); err != nil {
			t.Fatal(err)
		}
		code, _, errs := asked(t, dir, "query", "SELECT count(*) FROM pages")
		if code != exitFailed || !strings.Contains(errs, "seine check") {
			t.Errorf("exit code %d: %s", code, errs)
		}
		must(t, dir, "query", "SELECT count(*) FROM urls") // needs no page
	})
}

// TestFolding: a statement sees deltas whether or not their join was left out.
func TestFolding(t *testing.T) {
	dir, b := fabricated(t)
	sum := int64(0)
	for _, r := range b.URLs() {
		sum += r.Inlinks
	}
	for _, tt := range []struct{ sql, want string }{
		{"SELECT count(*) AS n FROM urls", "12"},
		{"SELECT sum(inlinks) AS n FROM urls", fmt.Sprint(sum)},
		{"SELECT count(*) AS n FROM frontier", "12"},
		{"SELECT 1; SELECT sum(inlinks) AS n FROM urls", fmt.Sprint(sum)},
		{"SELECT count(*) AS n FROM (SHOW TABLES)", fmt.Sprint(len(catalog.Views(b.Manifest, nil, strings.Clone)) + 1)},
	} {
		if got := must(t, dir, "query", "--format", "csv", tt.sql); got != "n\n"+tt.want+"\n" {
			t.Errorf("%s: %s, want %s", tt.sql, got, tt.want)
		}
	}
}

func TestWanted(t *testing.T) {
	b := catalogtest.Small()
	views := catalog.Views(b.Manifest, nil, strings.Clone)
	for query, want := range map[string][]string{
		"SELECT 1":                        nil,
		"select count(*) from URLS":       {"urls"},
		"SELECT * FROM cc_index":          {"pages", "fetches", "cc_index"},
		"SELECT * FROM frontier LIMIT 1":  {"urls", "frontier"},
		"SELECT * FROM links_current":     {"pages", "links", "links_current"},
		"SELECT src_url FROM open_links ": {"links", "open_links"},
	} {
		var got []string
		for _, v := range wanted(views, query) {
			got = append(got, v.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	if n := len(wanted(views, "DESCRIBE urls")); n != len(views) {
		t.Errorf("%d views for a statement about views", n)
	}
}

// TestDatabase: the database that catalog writes answers by itself.
func TestDatabase(t *testing.T) {
	dir, _ := fabricated(t)
	file := filepath.Join(t.TempDir(), "crawl.duckdb")
	must(t, dir, "catalog", "-o", file)
	must(t, dir, "catalog", "-o", file) // again: replaced
	db, err := sql.Open("duckdb", file+"?access_mode=read_only&"+offline)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n int
	if err := db.QueryRow("SELECT count(*) FROM cc_index").Scan(&n); err != nil || n == 0 {
		t.Errorf("%d rows of cc_index, %v", n, err)
	}
}

// TestOtherReaders has the readers of Python's world read every file of every
// table; what is not installed is named and passed over.
func TestOtherReaders(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on the PATH: duckdb, pandas, pyarrow did not read our files")
	}
	dir, b := fabricated(t)
	var files []string
	for _, table := range catalog.Tables() {
		for _, key := range catalog.Files(b.Manifest, table) {
			files = append(files, filepath.Join(dir, filepath.FromSlash(key)))
		}
	}
	readers := map[string]string{
		"duckdb":  "import duckdb,sys\nfor f in sys.argv[1:]: print(len(duckdb.read_parquet(f).fetchall()))",
		"pandas":  "import pandas,sys\nfor f in sys.argv[1:]: print(len(pandas.read_parquet(f)))",
		"pyarrow": "import pyarrow.parquet as p,sys\nfor f in sys.argv[1:]: print(p.read_table(f).num_rows)",
	}
	var want []string
	for _, f := range files {
		got := must(t, dir, "inspect", f, "--limit", "-1", "--format", "json")
		want = append(want, fmt.Sprint(strings.Count(got, "\n")))
	}
	for name, script := range readers {
		t.Run(name, func(t *testing.T) {
			if exec.Command(python, "-c", "import "+name).Run() != nil {
				t.Skipf("python3 has no %s: it did not read our files", name)
			}
			out, err := exec.Command(python, append([]string{"-c", script}, files...)...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if diff := cmp.Diff(want, strings.Fields(string(out))); diff != "" {
				t.Errorf("rows of the files (-ours +%s):\n%s", name, diff)
			}
		})
	}
}

// TestCSVIsCSV: what is printed as CSV reads back.
func TestCSVIsCSV(t *testing.T) {
	dir, b := fabricated(t)
	got := must(t, dir, "query", "--format", "csv", "SELECT url, text FROM pages ORDER BY url, round")
	rows, err := csv.NewReader(strings.NewReader(got)).ReadAll()
	if err != nil || len(rows) != 1+7 || !slices.Equal(rows[0], []string{"url", "text"}) {
		t.Errorf("%d rows, %v, of %d parts", len(rows), err, len(b.Manifest.Parts))
	}
}

// TestQueryABucket: the answers are those over a folder with the same crawl, only the
// objects of the statement's tables are copied, and a second time none.
func TestQueryABucket(t *testing.T) {
	store := bucket(t)
	web := webtest.New(webtest.Spec{Seed: 3, Domains: 4, Pages: 8, MaxHost: 20, Plain: true})
	folder := filepath.Join(t.TempDir(), "crawl")
	line{web: web}.run(t, crawlArgs(folder, web.Seeds(2))...).must(t, exitOK)
	line{}.run(t, "copy", folder, store).must(t, exitOK)
	const statement = "SELECT reason, count(*) FROM fetches GROUP BY 1 ORDER BY 1"
	want := line{}.run(t, "query", "--store", folder, statement).must(t, exitOK)
	for range 2 {
		got := line{}.run(t, "query", "--store", store, statement).must(t, exitOK)
		if got.out != want.out {
			t.Errorf("over the bucket\n%s\nover the folder\n%s", got.out, want.out)
		}
	}
	copies := 0
	err := filepath.WalkDir(os.Getenv("XDG_CACHE_HOME"), func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".parquet") {
			copies++
			if !strings.Contains(path, "fetches") && !strings.Contains(path, "refused") {
				t.Errorf("%s was copied for a statement on fetches", path)
			}
		}
		return err
	})
	if err != nil || copies == 0 {
		t.Errorf("%d copies, %v", copies, err)
	}
	line{}.run(t, "query", "--store", store, "--cache", "1B", statement).must(t, exitUsage)
	line{}.run(t, "query", "--store", store, "SELECT count(*) FROM urls JOIN hosts USING (host)").must(t, exitOK)
}
