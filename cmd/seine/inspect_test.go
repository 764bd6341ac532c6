package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"seine/formats/catalog/catalogtest"
	"seine/formats/crawl"
	"seine/formats/layout"
	"seine/formats/schema"
	"seine/formats/weburl"
)

// fabricated puts a small crawl into a folder.
func fabricated(t testing.TB) (string, *catalogtest.Builder) {
	t.Helper()
	b := catalogtest.Small()
	body, err := crawl.New(weburl.EmbeddedSuffixes(), catalogtest.Start).Encode()
	if err != nil {
		t.Fatal(err)
	}
	b.Store[layout.Crawl] = body
	dir := filepath.Join(t.TempDir(), "it's a crawl")
	if err := b.Store.WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	return dir, b
}

// asked runs a command on a store, and gives its exit code and what it printed.
func asked(t testing.TB, dir string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &o, err: &e, interrupts: make(chan os.Signal, 2)}
	code = a.run(t.Context(), append([]string{"--store", dir}, args...))
	return code, o.String(), e.String()
}

// must is asked for what has to go well.
func must(t testing.TB, dir string, args ...string) string {
	t.Helper()
	code, out, errs := asked(t, dir, args...)
	if code != exitOK {
		t.Fatalf("seine %v: exit code %d: %s", args, code, errs)
	}
	return out
}

func jsonLines(t testing.TB, text string) (rows []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		rows = append(rows, row)
	}
	return rows
}

func TestInspectTables(t *testing.T) {
	dir, b := fabricated(t)
	for _, table := range inspectables() {
		t.Run(table.name, func(t *testing.T) {
			rows := jsonLines(t, must(t, dir, "inspect", table.name, "--format", "json", "--limit", "-1"))
			if len(rows) == 0 {
				t.Error("no row")
			}
			must(t, dir, "inspect", table.name, "--schema")
			must(t, dir, "inspect", table.name, "--stats", "--format", "csv")
		})
	}
	rows := jsonLines(t, must(t, dir, "inspect", "urls", "--format", "json", "--limit", "-1"))
	want := b.URLs()
	if len(rows) != len(want) {
		t.Fatalf("%d URLs, want %d", len(rows), len(want))
	}
	for i, r := range want {
		if rows[i]["url"] != r.URL || rows[i]["depth"] != float64(r.Depth) ||
			r.Inlinks != 0 && rows[i]["inlinks"] != float64(r.Inlinks) {
			t.Errorf("row %d is %v, want %+v", i, rows[i], r)
		}
	}
	waits := 0
	for _, r := range want {
		if r.Queued != 0 {
			waits++
		}
	}
	if n := len(jsonLines(t, must(t, dir, "inspect", "frontier", "--format", "json", "--limit", "-1"))); n != waits {
		t.Errorf("%d rows of the frontier, %d URLs wait", n, waits)
	}
}

func TestInspectChoice(t *testing.T) {
	dir, _ := fabricated(t)
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"where and columns", []string{"fetches", "--where", "http_status >= 400", "--columns", "reason,url", "--format",
			"csv"}, "reason,url\nhttp_404," + catalogtest.Gone + "\n"},
		{"round of an append table", []string{"pages", "--round", "4", "--columns", "url", "--format", "csv"},
			"url\n" + catalogtest.Copy + "\n" + catalogtest.Home + "\n"},
		{"round of a run table", []string{"urls", "--round", "1", "--columns", "domain", "--where", "domain = 'dead.test'",
			"--format", "csv"}, "domain\ndead.test\n"},
		{"limit", []string{"urls", "--limit", "1", "--columns", "delta", "--schema", "--format", "csv"}, "column,"},
		{"nulls in a table", []string{"fetches", "--where", "http_status IS NULL", "--limit", "1", "--columns",
			"reason,http_status"}, "NULL"},
		{"times", []string{"pages", "--where", "crawled_at >= '2026-03-03' and crawled_at < '2026-03-04'", "--columns",
			"url", "--format", "csv"}, catalogtest.About},
		{"no row", []string{"urls", "--where", "domain = 'x'", "--columns", "url", "--format", "csv"}, "url\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := must(t, dir, append([]string{"inspect"}, tt.args...)...)
			if !strings.Contains(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestInspectErrors(t *testing.T) {
	dir, b := fabricated(t)
	damaged := filepath.Join(t.TempDir(), "damaged.parquet")
	if err := os.WriteFile(damaged, []byte("PAR1 and then nothing PAR1"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code int
		says string
	}{
		{"unknown table", []string{"urlz"}, exitNoCrawl, "tables are urls"},
		{"unknown column", []string{"urls", "--columns", "x"}, exitUsage, "--schema lists them"},
		{"where", []string{"urls", "--where", "depth = 'x'"}, exitUsage, "^"},
		{"format", []string{"urls", "--format", "xml"}, exitUsage, "one of table"},
		{"round", []string{"urls", "--round", "99"}, exitNoCrawl, "no round 99"},
		{"no Parquet", []string{b.Manifest.Parts[1].WARC[0].Key}, exitUsage, "no Parquet file"},
		{"damaged file", []string{damaged}, exitFailed, "damaged"},
		{"two wishes", []string{"urls", "--schema", "--stats"}, exitUsage, "exclude"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, errs := asked(t, dir, append([]string{"inspect"}, tt.args...)...)
			if code != tt.code || !strings.Contains(errs, tt.says) {
				t.Errorf("exit code %d: %s; want %d and %q", code, errs, tt.code, tt.says)
			}
		})
	}
}

// TestInspectFiles: an object of the store by key, the same as a file of the
// disk, and Arrow out of both.
func TestInspectFiles(t *testing.T) {
	dir, b := fabricated(t)
	key := b.Manifest.Parts[1].Tables[schema.Pages][0].Key
	byKey := must(t, dir, "inspect", key, "--format", "json")
	byPath := must(t, dir, "inspect", filepath.Join(dir, filepath.FromSlash(key)), "--format", "json")
	if byKey != byPath || len(jsonLines(t, byKey)) != 3 {
		t.Errorf("by key:\n%s\nby path:\n%s", byKey, byPath)
	}
	r, err := ipc.NewReader(strings.NewReader(must(t, dir, "inspect", "pages", "--format", "arrow", "--limit", "4")))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	n := int64(0)
	for r.Next() {
		n += r.RecordBatch().NumRows()
	}
	if n != 4 {
		t.Errorf("%d rows in Arrow, want 4", n)
	}
}

// TestEveryColumnHasAnArrowType holds rowBuilder to the schemas.
func TestEveryColumnHasAnArrowType(t *testing.T) {
	for _, row := range []any{schema.URL{}, schema.Domain{}, schema.Host{}, schema.Robots{}, schema.FrontierRow{},
		schema.List{}, schema.Page{}, schema.Fetch{}, schema.Link{}, schema.Seed{}, schema.DeadLetter{}, schema.RoundRow{}} {
		b := newRowBuilder(reflect.TypeOf(row))
		for _, f := range b.b.Schema().Fields() {
			if f.Type == nil || f.Type.ID() == arrow.NULL {
				t.Errorf("%T: column %s has no type", row, f.Name)
			}
		}
		b.add(reflect.ValueOf(row))
		b.take().Release()
	}
}

func TestCheckCommand(t *testing.T) {
	dir, b := fabricated(t)
	if out := must(t, dir, "check", "--read-data"); !strings.Contains(out, "all rules hold") {
		t.Errorf("printed %s", out)
	}
	sidecar := filepath.Join(dir, filepath.FromSlash(b.Manifest.Tables[schema.URLs][0].Objects[0].Sidecar))
	body, err := os.ReadFile(sidecar)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sidecar, bytes.Repeat([]byte{1}, len(body)), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ := asked(t, dir, "check", "--json")
	if code != exitDamaged || !strings.Contains(out, `"object": "`+b.Manifest.Tables[schema.URLs][0].Objects[0].Sidecar) {
		t.Errorf("exit code %d: %s", code, out)
	}
	must(t, dir, "check", "--repair")
	must(t, dir, "check", "--read-data")
}

func TestCatalogCommand(t *testing.T) {
	dir, b := fabricated(t)
	if out := must(t, dir, "catalog"); !strings.Contains(out, "CREATE OR REPLACE VIEW urls AS") {
		t.Errorf("printed %s", out)
	}
	out := must(t, dir, "catalog", "--files", "pages")
	for line := range strings.Lines(out) {
		if _, err := os.Stat(strings.TrimSpace(line)); err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(out, "\n"); n != len(b.Manifest.Parts)-1 {
		t.Errorf("%d files of pages", n)
	}
	if code, _, errs := asked(t, dir, "catalog", "--files", "x"); code != exitNoCrawl || !strings.Contains(errs, "tables are") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
