package main

import (
	"path/filepath"
	"strings"
	"testing"

	"seine/formats/schema"
	"seine/mapper/webtest"
)

// TestFullDomain crawls a site with room for six of its URLs at a time: it keeps
// the others back, says so, and ends with all that a crawl without the limit has.
func TestFullDomain(t *testing.T) {
	web := webtest.New(webtest.Spec{Seed: 12, Plain: true, Domains: 1, Pages: 40, Sigma: 0.01, Links: 30})
	store := filepath.Join(t.TempDir(), "crawl")
	args := func(store string, more ...string) []string {
		return crawlArgs(store, web.Seeds(1), append(more, "--max-outstanding", "6")...)
	}
	line{web: web}.run(t, args(store, "--rounds", "1")...).must(t, exitWaiting)
	_, head, done := snapshot(t, store)
	done()
	kept, waits := "", int64(0)
	for url, row := range known(t, store) {
		switch {
		case strings.Contains(url, "secret"), strings.Contains(url, "/private/"):
			// explain would name robots.txt first
		case row.Reason == schema.DomainFull && row.Queued == 0 && row.CrawlStatus == schema.Pending:
			kept = url
		case row.Queued != 0 && row.CrawlStatus == schema.Pending:
			waits++
		}
	}
	if kept == "" || waits > 6 {
		t.Fatalf("snapshot %d: %d URLs are outstanding, kept back is %q", head.N, waits, kept)
	}
	said := line{}.run(t, "explain", kept, "--store", store).must(t, exitOK).out
	for _, want := range []string{"not fetched: waits: for room", "max_outstanding is 6", "kept back: domain_full"} {
		if !strings.Contains(said, want) {
			t.Errorf("explain does not say %q:\n%s", want, said)
		}
	}
	line{}.run(t, "check", "--store", store).must(t, exitOK)
	line{web: web}.run(t, args(store)...).must(t, exitOK)
	line{}.run(t, "check", "--read-data", "--store", store).must(t, exitOK)
	free := filepath.Join(t.TempDir(), "crawl")
	line{web: web}.run(t, crawlArgs(free, web.Seeds(1))...).must(t, exitOK)
	want := known(t, free)
	got := known(t, store)
	for url, row := range want {
		if got[url].CrawlStatus != row.CrawlStatus || got[url].Reason != row.Reason {
			t.Errorf("%s ended as %s (%s), without a limit as %s (%s)", url, got[url].CrawlStatus,
				got[url].Reason, row.CrawlStatus, row.Reason)
		}
	}
	if len(got) != len(want) || len(got) < 30 {
		t.Errorf("%d URLs are known, without a limit %d", len(got), len(want))
	}
}
