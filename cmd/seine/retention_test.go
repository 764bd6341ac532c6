package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seine/formats/layout"
	"seine/formats/schema"
)

// TestPruneCheckRestore: what is pruned is gone from the newest snapshot and
// still there in the older ones; each is right to the last byte, and a crawl
// goes on from each.
func TestPruneCheckRestore(t *testing.T) {
	web := plainWeb(8)
	store := filepath.Join(t.TempDir(), "crawl")
	seine := func(args ...string) string {
		t.Helper()
		return line{web: web}.run(t, append(args, "--store", store)...).must(t, exitOK).out
	}
	crawl := func() {
		t.Helper()
		line{web: web}.run(t, crawlArgs(store, web.Seeds(2))...).must(t, exitOK)
	}
	crawl()
	_, first, done := snapshot(t, store)
	done()
	urls := known(t, store)
	seine("requeue", "--where", "crawl_count > 0")
	crawl()
	_, second, done := snapshot(t, store)
	done()
	plan := seine("prune", "--dry-run", "--versions", "1", "--fetches", "1ms")
	if !strings.Contains(plan, "archives would be dropped") || !strings.Contains(plan, "would be deleted") {
		t.Errorf("plan: %s", plan)
	}
	if _, head, done := snapshot(t, store); head.N != second.N {
		t.Errorf("a dry run made snapshot %d", head.N)
		done()
	}
	if out := seine("prune", "--versions", "1", "--fetches", "1ms"); !strings.Contains(out, "archives dropped") {
		t.Errorf("prune: %s", out)
	}
	_, head, done := snapshot(t, store)
	done()
	for _, p := range head.Parts {
		if p.Round <= second.Job && len(p.Tables[schema.Fetches]) > 0 {
			t.Errorf("round %d keeps its fetches", p.Round)
		}
	}
	seine("check", "--read-data")
	for url, row := range urls {
		if row.Reason == schema.OK {
			if out := seine("page", url); !strings.Contains(out, "<html") {
				t.Errorf("%s: %q", url, out)
			}
			break
		}
	}
	list := seine("snapshot", "list")
	if !strings.Contains(list, "prune") || !strings.Contains(list, "round") {
		t.Errorf("list: %s", list)
	}
	diff := seine("snapshot", "diff", fmt.Sprint(second.N))
	if !strings.Contains(diff, schema.Fetches) || !strings.Contains(diff, "known +0") {
		t.Errorf("diff: %s", diff)
	}
	if out := seine("df") + seine("df", "--rounds"); !strings.Contains(out, "pages") || !strings.Contains(out, "round 2") {
		t.Errorf("df: %s", out)
	}
	seine("snapshot", "restore", fmt.Sprint(first.N))
	seine("check", "--read-data")
	for url, row := range known(t, store) {
		if was := urls[url]; row.CrawlCount != was.CrawlCount || row.Queued != was.Queued || row.NextCrawl != was.NextCrawl {
			t.Errorf("%s is not as it was: %+v", url, row)
		}
	}
	seine("requeue", "--where", "crawl_count > 0")
	crawl()
	seine("check", "--read-data")
	for url, row := range known(t, store) {
		if row.Reason == schema.OK && row.CrawlCount != 2 {
			t.Errorf("%s was visited %d times in this history, want 2", url, row.CrawlCount)
		}
	}
}

// TestRetentionBySettings: a crawl prunes itself after each commit, if it is told
// to, and what it keeps stays right.
func TestRetentionBySettings(t *testing.T) {
	web := plainWeb(8)
	store := filepath.Join(t.TempDir(), "crawl")
	line{web: web}.run(t, crawlArgs(store, web.Seeds(2), "--prune-every", "1s", "--keep-fetches", "1s")...).
		must(t, exitOK)
	list := line{}.run(t, "round", "list", "--store", store, "--json").must(t, exitOK).out
	rounds, prunes := strings.Count(list, `"kind":"round"`), strings.Count(list, `"kind":"prune"`)
	if rounds < 3 || prunes < rounds-1 {
		t.Errorf("%d rounds, %d prune jobs: %s", rounds, prunes, list)
	}
	_, head, done := snapshot(t, store)
	done()
	kept := 0
	for _, p := range head.Parts {
		if len(p.Tables[schema.Fetches]) > 0 {
			kept++
		}
	}
	if kept > 2 {
		t.Errorf("%d of %d rounds keep their fetches", kept, rounds)
	}
	line{}.run(t, "check", "--read-data", "--store", store).must(t, exitOK)
}

func TestRetentionBadInput(t *testing.T) {
	web := plainWeb(9)
	store := filepath.Join(t.TempDir(), "crawl")
	line{web: web}.run(t, crawlArgs(store, web.Seeds(1))...).must(t, exitOK)
	_, head, done := snapshot(t, store)
	done()
	gone := head.Parts[len(head.Parts)-1].Tables[schema.Rounds][0].Key
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"prune", "--fetches", "soon"}, exitUsage, "30d"},
		{[]string{"prune", "--days", "0d"}, exitUsage, "--days"},
		{[]string{"prune", "--versions", "-1"}, exitUsage, "from 1"},
		{[]string{"prune", "all"}, exitUsage, ""},
		{[]string{"snapshot", "restore", "x"}, exitUsage, "snapshot list"},
		{[]string{"snapshot", "restore", "999"}, exitNoCrawl, "not before the newest"},
		{[]string{"snapshot", "diff", "1", "999"}, exitNoCrawl, "no snapshot 999"},
		{[]string{"snapshot", "diff"}, exitUsage, ""},
		{[]string{"snapshot", "list", "--limit", "-2"}, exitUsage, "--limit"},
		{[]string{"df", "pages"}, exitUsage, ""},
	} {
		r := line{}.run(t, append(test.args, "--store", store)...).must(t, test.code)
		if !strings.Contains(r.err, test.says) {
			t.Errorf("%v says %q, want %q", test.args, r.err, test.says)
		}
	}
	line{}.run(t, "requeue", "--store", store, web.Seeds(1)[0]).must(t, exitOK)
	if err := os.Remove(filepath.Join(store, filepath.FromSlash(gone))); err != nil {
		t.Fatal(err)
	}
	r := line{}.run(t, "snapshot", "restore", "--store", store, fmt.Sprint(head.N)).must(t, exitFailed)
	if !strings.Contains(r.err, gone) || !strings.Contains(r.err, "not kept any more") {
		t.Errorf("a snapshot that is gone: %q", r.err)
	}
	if _, err := os.Stat(filepath.Join(store, layout.Latest)); err != nil {
		t.Error(err)
	}
}

// TestSweepBetweenRounds: a crawl that goes on for long deletes what it may while it goes on.
func TestSweepBetweenRounds(t *testing.T) {
	web := plainWeb(8)
	store := filepath.Join(t.TempDir(), "crawl")
	args := crawlArgs(store, web.Seeds(2))
	line{web: web}.run(t, append(args, "--rounds", "1")...).must(t, exitWaiting)
	orphan := filepath.Join(store, layout.Output(1, "reduce", 0, layout.Attempt{Epoch: 1, N: 99},
		"urls.parquet"))
	if err := os.MkdirAll(filepath.Dir(orphan), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(orphan, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-60 * 24 * time.Hour)
	for _, path := range []string{orphan, filepath.Join(store, ".seine", "scratch", "swept")} {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	said := line{web: web}.run(t, args...).must(t, exitOK).err
	swept, last := strings.Index(said, "swept: 1 objects"), strings.LastIndex(said, " generate: ")
	if swept < 0 || swept > last {
		t.Errorf("nothing was swept before the last round; it said:\n%s", said)
	}
	if _, err := os.Stat(orphan); err == nil {
		t.Error("the orphan is still there")
	}
}
