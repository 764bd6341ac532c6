package catalog_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/catalog"
	"seine/formats/catalog/catalogtest"
	"seine/formats/layout"
	"seine/formats/lsm"
)

func under(key layout.Key) string { return "/data/it's/" + key }

// TestSQL shows the script as a person gets it: an empty crawl's and one's with
// runs, deltas, cursors and an open round.
func TestSQL(t *testing.T) {
	b := catalogtest.Small()
	lists, chunks := catalogtest.OpenRound(b)
	open := &catalog.OpenRounds{Lists: lists, Chunks: chunks}
	golden(t, "empty.sql", catalog.SQL(lsm.Empty(), catalog.Views(lsm.Empty(), nil, under)))
	golden(t, "small.sql", catalog.SQL(b.Manifest, catalog.Views(b.Manifest, open, under)))
}

func TestFiles(t *testing.T) {
	b := catalogtest.Small()
	for _, table := range append(catalog.Tables(), "warc") {
		keys := catalog.Files(b.Manifest, table)
		if len(keys) == 0 {
			t.Errorf("%s has no file", table)
		}
		for _, key := range keys {
			if b.Store[key] == nil {
				t.Errorf("%s: there is no object %s", table, key)
			}
		}
	}
	if keys := catalog.Files(b.Manifest, "no_such_table"); len(keys) > 0 {
		t.Errorf("files of an unknown table: %v", keys)
	}
	want := []layout.Key{"rounds/00000001/reduce/0000/a000001-0001/urls.parquet",
		"rounds/00000002/reduce/0000/a000001-0001/urls.parquet",
		"rounds/00000003/reduce/0000/a000001-0001/urls.parquet",
		"rounds/00000004/reduce/0000/a000001-0001/urls.parquet"}
	if diff := cmp.Diff(want, catalog.Files(b.Manifest, "urls")); diff != "" {
		t.Errorf("files of urls (-want +got):\n%s", diff)
	}
}

// TestQuoted: no path or key ends its literal.
func TestQuoted(t *testing.T) {
	b := catalogtest.Small()
	for _, v := range catalog.Views(b.Manifest, nil, func(layout.Key) string { return "'; DROP TABLE x; --*?[" }) {
		if strings.Count(v.SQL, "'")%2 != 0 {
			t.Errorf("%s has an odd number of quotes", v.Name)
		}
		if i := strings.Index(v.SQL, "'; DROP"); i > 0 && v.SQL[i-1] != '\'' {
			t.Errorf("%s: a path ends its literal: %s", v.Name, v.SQL[i-20:])
		}
	}
}

func TestDocs(t *testing.T) {
	var names []string
	for _, v := range catalog.Views(lsm.Empty(), nil, under) {
		if v.Doc == "" || strings.Contains(v.Doc, "\n") {
			t.Errorf("%s: doc %q", v.Name, v.Doc)
		}
		names = append(names, v.Name)
	}
	slices.Sort(names)
	if n := len(slices.Compact(names)); n != len(names) {
		t.Error("two views have one name")
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
