package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"seine/formats/schema"
	"seine/mapper/webtest"
)

// plainWeb is a small web without trouble.
func plainWeb(seed uint64) *webtest.Web {
	return webtest.New(webtest.Spec{Seed: seed, Domains: 3, Pages: 4, Plain: true})
}

// TestRequeue: what is requeued is asked for again, and nothing else; the store
// stays right.
func TestRequeue(t *testing.T) {
	web := plainWeb(5)
	store := filepath.Join(t.TempDir(), "crawl")
	crawl := func() {
		t.Helper()
		line{web: web}.run(t, crawlArgs(store, web.Seeds(2))...).must(t, exitOK)
	}
	crawl()
	var host, other string
	counts := map[string]int{}
	rows := known(t, store)
	for _, url := range slices.Sorted(maps.Keys(rows)) {
		row := rows[url]
		if row.Reason == schema.OK && counts[row.Host]+1 > counts[host] {
			host = row.Host
		}
		counts[row.Host]++
		if row.Reason == schema.OK {
			other = url
		}
	}
	r := line{}.run(t, "requeue", "--store", store, "--where", fmt.Sprintf("host = '%s'", host)).must(t, exitOK)
	if want := fmt.Sprintf("%d URLs requeued, due now", counts[host]); !strings.Contains(r.out, want) {
		t.Errorf("it says %q, want %q", r.out, want)
	}
	before := web.Log.Requests()
	crawl()
	for _, q := range web.Log.Requests()[len(before):] {
		if q.Host != host {
			t.Errorf("%s%s was asked for; only %s was requeued", q.Host, q.Path, host)
		}
	}
	for url, row := range known(t, store) {
		if row.Reason == schema.OK && row.Host == host && row.CrawlCount != 2 {
			t.Errorf("%s was visited %d times, want 2", url, row.CrawlCount)
		}
	}
	r = line{}.run(t, "requeue", "--store", store, "--due", "+2d", "--priority", "0.25", other,
		"http://nowhere.test/").must(t, exitOK)
	if !strings.Contains(r.err, "not known: http://nowhere.test/") || !strings.Contains(r.out, "1 URLs requeued") {
		t.Errorf("it says %q, %q", r.out, r.err)
	}
	if row := known(t, store)[other]; row.Priority != 0.25 || row.Queued == 0 || row.Why != schema.WhyRecrawl {
		t.Errorf("requeued for later: %+v", row)
	}
	line{}.run(t, "check", "--store", store).must(t, exitOK)
}

func TestRequeueBadInput(t *testing.T) {
	web := plainWeb(6)
	store := filepath.Join(t.TempDir(), "crawl")
	line{web: web}.run(t, crawlArgs(store, web.Seeds(1))...).must(t, exitOK)
	_, head, done := snapshot(t, store)
	done()
	seed := web.Seeds(1)[0]
	for _, test := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"nothing", nil, exitUsage, "one of both"},
		{"both", []string{seed, "--where", "true"}, exitUsage, "one of both"},
		{"no URL", []string{"mailto:a@b.test"}, exitUsage, "is not crawled"},
		{"unknown URLs", []string{"http://nowhere.test/"}, exitNoCrawl, "seine inject"},
		{"nothing fits", []string{"--where", "host = 'nowhere.test'"}, exitNoCrawl, "no URL"},
		{"no column", []string{"--where", "colour = 'red'"}, exitUsage, "colour"},
		{"no expression", []string{"--where", "host ="}, exitUsage, ""},
		{"no time", []string{seed, "--due", "tomorrow"}, exitUsage, "--due"},
		{"empty time", []string{seed, "--due", ""}, exitUsage, "--due"},
		{"no priority", []string{seed, "--priority", "2"}, exitUsage, "from 0 to 1"},
		{"no number", []string{seed, "--priority", "NaN"}, exitUsage, "from 0 to 1"},
		{"dry run", []string{"--where", "crawl_count > 0", "--dry-run"}, exitOK, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := line{}.run(t, append([]string{"requeue", "--store", store}, test.args...)...).must(t, test.code)
			if !strings.Contains(r.err, test.says) {
				t.Errorf("it says %q, want %q", r.err, test.says)
			}
		})
	}
	line{}.run(t, "requeue", "--store", filepath.Join(t.TempDir(), "none"), seed).must(t, exitNoCrawl)
	if _, after, done := snapshot(t, store); after.N != head.N {
		t.Errorf("snapshot %d became %d", head.N, after.N)
		done()
	}
}
