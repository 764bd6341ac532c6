//go:build cgo

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// lastWeeksNames are all URLs whose name did not resolve in the last week and has
// not since.
const lastWeeksNames = "reason LIKE 'dns_%' AND url IN (SELECT url FROM fetches " +
	"WHERE reason LIKE 'dns_%' AND started_at > now() - INTERVAL 7 DAY)"

// TestRequeueBySQL requeues what SQL over two tables chooses, in a directory and in
// a bucket; there, what inspect can compare needs no copy of anything.
func TestRequeueBySQL(t *testing.T) {
	for name, place := range map[string]func(*testing.T) string{
		"directory": func(t *testing.T) string { return filepath.Join(t.TempDir(), "crawl") },
		"bucket":    bucket,
	} {
		t.Run(name, func(t *testing.T) {
			web, store := plainWeb(5), place(t)
			lost := []string{"http://lost.one.test/", "http://lost.two.test/"}
			line{web: web}.run(t, crawlArgs(store, append(web.Seeds(1), lost...))...).must(t, exitOK)
			r := line{}.run(t, "requeue", "--store", store, "--where", lastWeeksNames).must(t, exitOK)
			if !strings.Contains(r.out, "2 URLs requeued, due now") {
				t.Errorf("it says %q", r.out)
			}
			_, head, done := snapshot(t, store)
			done()
			for url, row := range known(t, store) {
				dns := strings.HasPrefix(row.Reason, "dns_")
				if again := row.Queued == int64(head.Job); dns != again {
					t.Errorf("%s (%s) was requeued: %v", url, row.Reason, again)
				}
			}
			r = line{}.run(t, "requeue", "--store", store, "--dry-run", "--where", "reason = 'ok'",
				"--cache", "1B").must(t, exitOK)
			if strings.HasPrefix(r.out, "0 ") {
				t.Errorf("it says %q", r.out)
			}
			if name == "bucket" {
				r = line{}.run(t, "requeue", "--store", store, "--where", "length(url) > 3", "--cache", "1B").
					must(t, exitUsage)
				if !strings.Contains(r.err, "--cache") {
					t.Errorf("too small a cache: %q", r.err)
				}
			}
			r = line{}.run(t, "requeue", "--store", store, "--where", "speed > length(url)").must(t, exitUsage)
			if !strings.Contains(r.err, "speed") {
				t.Errorf("a column that is none: %q", r.err)
			}
			line{}.run(t, "check", "--store", store).must(t, exitOK)
		})
	}
}
