//go:build cgo

package catalog_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/google/go-cmp/cmp"

	"seine/formats/catalog"
	"seine/formats/catalog/catalogtest"
	"seine/formats/layout"
	"seine/formats/lsm"
)

// duckdb opens an empty database that reaches for nothing.
func duckdb(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", "?autoinstall_known_extensions=false&autoload_known_extensions=false&threads=2")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	exec(t, db, "SET TimeZone = 'UTC'")
	return db
}

func exec(t testing.TB, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatalf("%v\n%s", err, statement)
	}
}

// rows gives the answer as text, a line a row.
func rows(t testing.TB, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		line := make([]string, len(values))
		for i, v := range values {
			line[i] = fmt.Sprint(*v.(*any))
		}
		out = append(out, strings.Join(line, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// paths puts a crawl's objects into a folder whose name must be quoted.
func paths(t testing.TB, s catalogtest.Store) func(layout.Key) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "it's [a] crawl")
	if err := s.WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	return func(key layout.Key) string { return filepath.Join(dir, filepath.FromSlash(key)) }
}

func create(t testing.TB, db *sql.DB, views []catalog.View) {
	t.Helper()
	for _, v := range views {
		exec(t, db, v.Create())
	}
}

func describe(t *testing.T, db *sql.DB, view string) []string {
	return rows(t, db, "SELECT column_name, column_type FROM (DESCRIBE "+view+")")
}

// TestSameColumnsInEverySnapshot: a view over nothing has the columns and types
// of one over files.
func TestSameColumnsInEverySnapshot(t *testing.T) {
	b := catalogtest.Small()
	lists, chunks := catalogtest.OpenRound(b)
	full, empty := duckdb(t), duckdb(t)
	path := paths(t, b.Store)
	views := append(catalog.Views(b.Manifest, &catalog.OpenRounds{Lists: lists, Chunks: chunks}, path),
		catalog.Blocks([]catalog.Block{{What: "prefix:a.test/o'x:y/", Reason: "--", By: "me", At: 1}}))
	create(t, full, views)
	create(t, empty, append(catalog.Views(lsm.Empty(), nil, path), catalog.Blocks(nil)))
	for _, v := range views {
		t.Run(v.Name, func(t *testing.T) {
			want := describe(t, full, v.Name)
			if diff := cmp.Diff(want, describe(t, empty, v.Name)); diff != "" {
				t.Errorf("columns of the empty view (-full +empty):\n%s", diff)
			}
			if n := rows(t, empty, "SELECT count(*) FROM "+v.Name); n[0] != "0" {
				t.Errorf("%s rows in the empty view", n[0])
			}
			if n := rows(t, full, "SELECT count(*) FROM "+v.Name); n[0] == "0" {
				t.Error("no row in the full view")
			}
			rows(t, full, "SELECT * FROM "+v.Name) // every column can be read
		})
	}
}

// TestURLs: the view shows what the tables mean, after every job.
func TestURLs(t *testing.T) {
	b := catalogtest.Small()
	path := paths(t, b.Store)
	db := duckdb(t)
	create(t, db, catalog.Views(b.Manifest, nil, path))
	var want []string
	waiting := 0
	for _, r := range b.URLs() {
		want = append(want, fmt.Sprint(r.URL, " ", r.Inlinks, " ", r.Depth, " ", r.CrawlStatus, " ", r.Priority, " ",
			orNull(r.Queued), " ", orNull(r.QueuedRank), " ", r.CrawlCount, " ", r.Domain))
		if r.Queued != 0 {
			waiting++
		}
	}
	got := rows(t, db, "SELECT url, inlinks, depth, crawl_status, priority, queued, queued_rank, crawl_count, domain "+
		"FROM urls ORDER BY (('0x' || md5(domain)[:16])::UBIGINT & 1023), domain, host, url")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("urls (-want +got):\n%s", diff)
	}
	if n := rows(t, db, "SELECT count(*), count(DISTINCT url), bool_and(ticket > 0) FROM frontier"); n[0] !=
		fmt.Sprint(waiting, " ", waiting, " true") {
		t.Errorf("frontier: %v, %d URLs wait", n, waiting)
	}
	for _, query := range []string{
		"SELECT 1 FROM pages p JOIN urls u USING (url) WHERE p.url_id <> u.url_id",
		"SELECT 1 FROM domains d JOIN (SELECT domain, count(*) n FROM urls GROUP BY 1) u USING (domain) WHERE d.known <> n",
		"SELECT 1 FROM domains GROUP BY domain HAVING count(*) > 1",
	} {
		if got := rows(t, db, query); len(got) > 0 {
			t.Errorf("%d rows of %s", len(got), query)
		}
	}
}

func orNull(n int64) string {
	if n == 0 {
		return "<nil>"
	}
	return fmt.Sprint(n)
}

// TestEverySnapshot: older snapshots stay readable, each with its own rows.
func TestEverySnapshot(t *testing.T) {
	b := catalogtest.Small()
	path := paths(t, b.Store)
	for n, want := range []string{"0", "4", "10", "12", "12"} {
		m, err := lsm.At(t.Context(), b.Store.Source(), uint64(n))
		if err != nil {
			t.Fatal(err)
		}
		db := duckdb(t)
		create(t, db, catalog.Views(m, nil, path))
		if got := rows(t, db, "SELECT count(*) FROM urls"); got[0] != want {
			t.Errorf("snapshot %d has %s URLs, want %s", n, got[0], want)
		}
	}
}

func TestOpenRound(t *testing.T) {
	b := catalogtest.Small()
	lists, chunks := catalogtest.OpenRound(b)
	db := duckdb(t)
	create(t, db, catalog.Views(b.Manifest, &catalog.OpenRounds{Lists: lists, Chunks: chunks}, paths(t, b.Store)))
	want := []string{catalogtest.Blog, catalogtest.Later}
	if diff := cmp.Diff(want, rows(t, db, "SELECT url FROM urls WHERE crawl_status = 'IN_PROGRESS' ORDER BY url")); diff != "" {
		t.Errorf("in progress (-want +got):\n%s", diff)
	}
	if got := rows(t, db, "SELECT url, reason FROM open_fetches"); len(got) != 1 || got[0] != catalogtest.Later+" ok" {
		t.Errorf("open_fetches: %v", got)
	}
}

func TestLinksCurrent(t *testing.T) {
	b := catalogtest.Small()
	db := duckdb(t)
	create(t, db, catalog.Views(b.Manifest, nil, paths(t, b.Store)))
	want := []string{catalogtest.Blog, catalogtest.Later, catalogtest.About}
	got := rows(t, db, "SELECT dst_url FROM links_current WHERE src_url = "+quoted(catalogtest.Home)+" ORDER BY dst_domain = 'later.test', dst_url")
	if diff := cmp.Diff([]string{want[0], want[2], want[1]}, got); diff != "" {
		t.Errorf("links of the newest home page (-want +got):\n%s", diff)
	}
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func TestCCIndex(t *testing.T) {
	b := catalogtest.Small()
	db := duckdb(t)
	create(t, db, catalog.Views(b.Manifest, nil, paths(t, b.Store)))
	golden(t, "cc_index_columns.txt", strings.Join(describe(t, db, "cc_index"), "\n")+"\n")
	got := rows(t, db, "SELECT url_surtkey, url_host_tld, url_host_2nd_last_part, url_host_3rd_last_part, "+
		"url_host_registered_domain, url_host_name_reversed, url_protocol, url_port, url_path, url_query, fetch_status, "+
		"content_languages, warc_segment, crawl, subset FROM cc_index WHERE fetch_status = 200 AND crawl <= 'seine-00000003' ORDER BY url_surtkey")
	golden(t, "cc_index_rows.txt", strings.Join(got, "\n")+"\n")
}

// TestUnfolded: the variant has the same rows and columns, no join with deltas,
// and plans tell which statements it is right for.
func TestUnfolded(t *testing.T) {
	b := catalogtest.Small()
	path := paths(t, b.Store)
	folded, unfolded := duckdb(t), duckdb(t)
	create(t, folded, catalog.Views(b.Manifest, nil, path))
	create(t, unfolded, []catalog.View{catalog.Unfolded(b.Manifest, path)})
	if diff := cmp.Diff(describe(t, folded, "urls"), describe(t, unfolded, "urls")); diff != "" {
		t.Errorf("columns (-folded +unfolded):\n%s", diff)
	}
	tests := []struct {
		query string
		right bool
	}{
		{"SELECT count(*) FROM urls", true},
		{"SELECT domain, count(*) FROM urls GROUP BY domain ORDER BY domain", true},
		{"SELECT url FROM urls WHERE domain = 'example.org' ORDER BY url", true},
		{"WITH a AS (SELECT * FROM urls) SELECT count(host) FROM a", true},
		{"SELECT reason, min(last_crawled) FROM urls GROUP BY ALL ORDER BY ALL", true},
		{"SELECT sum(inlinks) FROM urls", false},
		{"SELECT count(*) FROM urls WHERE queued = 3", false},
		{"SELECT * FROM urls ORDER BY url", false},
		{"FROM urls SELECT max(COLUMNS('ink'))", false},
		{"SELECT count(*) FROM urls a JOIN urls b USING (depth)", false},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			plan := strings.Join(rows(t, unfolded, "EXPLAIN (FORMAT JSON) "+tt.query), "\n")
			asks := slices.ContainsFunc(catalog.Folded(), func(c string) bool { return strings.Contains(plan, c) })
			if asks == tt.right {
				t.Errorf("the plan asks for folded columns: %v\n%s", asks, plan)
			}
			if strings.Contains(plan, "LEFT") {
				t.Errorf("the plan has a left join\n%s", plan)
			}
			if diff := cmp.Diff(rows(t, folded, tt.query), rows(t, unfolded, tt.query)); tt.right && diff != "" {
				t.Errorf("rows (-folded +unfolded):\n%s", diff)
			}
		})
	}
}

// TestBlocks: the view says what was blocked, whatever is in the texts.
func TestBlocks(t *testing.T) {
	db := duckdb(t)
	exec(t, db, catalog.Blocks([]catalog.Block{
		{What: "prefix:a.test/o'x:y/", Reason: "they'd asked; DROP", By: "me", At: 1000},
		{What: "domain:b.test", At: 0, Until: 60_000},
	}).Create())
	got := rows(t, db, `SELECT concat_ws('|', kind, value, reason, "by", epoch_ms("at"), epoch_ms(until))
		FROM blocks ORDER BY kind DESC`)
	want := []string{"prefix|a.test/o'x:y/|they'd asked; DROP|me|1000", "domain|b.test|||0|60000"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}
