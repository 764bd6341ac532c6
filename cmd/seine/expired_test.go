package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seine/formats/catalog/catalogtest"
	"seine/formats/layout"
	"seine/formats/lsm"
)

// TestExpiredSnapshots: of rounds whose snapshots have expired the newest one still has
// what they added; what only they could say is not there, and the exit code says so.
func TestExpiredSnapshots(t *testing.T) {
	dir, b := fabricated(t)
	for range 15 {
		b.Job("compact").Commit()
	}
	for n := uint64(1); n < lsm.WholeEvery; n++ {
		c, err := lsm.DecodeCommit(b.Store[layout.Commit(n)])
		if err != nil {
			t.Fatal(err)
		}
		if b.Store[layout.Commit(n)], err = c.Expire().Encode(); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Store.WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	got := must(t, dir, "inspect", "pages", "--round", "4", "--columns", "url", "--format", "csv")
	if want := "url\n" + catalogtest.Copy + "\n" + catalogtest.Home + "\n"; got != want {
		t.Errorf("pages of round 4:\n%s\nwant\n%s", got, want)
	}
	for _, args := range [][]string{{"inspect", "urls", "--round", "4"}, {"url", catalogtest.Home, "--snapshot", "3"},
		{"snapshot", "diff", "3", "18"}} {
		r := line{}.run(t, append(args, "--store", dir)...).must(t, exitNoCrawl)
		if !strings.Contains(r.err, "expired") {
			t.Errorf("%v: %s", args, r.err)
		}
	}
	must(t, dir, "check")
}

// TestVersionsOfAPage: the body before the newest is that of the row before: the place
// that the newest row remembers is that of long ago, and prune moves archives.
func TestVersionsOfAPage(t *testing.T) {
	dir, _ := fabricated(t)
	for _, test := range []struct{ version, body string }{{"newest", "the home page, new edition"},
		{"prior", "the home page"}, {"2", "the home page"}} {
		for _, how := range []string{"--raw", "--text"} {
			got := must(t, dir, "page", how, "--version", test.version, catalogtest.Home)
			if strings.TrimSpace(got) != test.body {
				t.Errorf("--version %s %s: %q, want %q", test.version, how, got, test.body)
			}
		}
	}
	line{}.run(t, "page", "--version", "prior", catalogtest.About, "--store", dir).must(t, exitNoCrawl)
}

// TestPlanOfAPrune: a dry run tells what the deed deletes, though the deed's own snapshot
// takes the place of one that was kept for its number.
func TestPlanOfAPrune(t *testing.T) {
	dir, b := fabricated(t)
	for b.Manifest.N < 24 {
		b.Job("compact").Commit()
	}
	if err := b.Store.WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-100 * 24 * time.Hour)
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, old, old))
	})
	if err != nil {
		t.Fatal(err)
	}
	plan := must(t, dir, "prune", "--dry-run")
	deed := must(t, dir, "prune")
	const want = "1 objects of no kept snapshot deleted, 15 commits cut"
	if !strings.Contains(strings.ReplaceAll(plan, "would be ", ""), want) || !strings.Contains(deed, want) {
		t.Errorf("plan:\n%s\ndeed:\n%s", plan, deed)
	}
	must(t, dir, "check")
}
