//go:build cgo

package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seine/mapper/webtest"
)

// TestOpenViewsWhileARoundRuns asks a crawl for the sealed part of its round while it fetches, without
// locks, and then for the same rows once the round has committed.
func TestOpenViewsWhileARoundRuns(t *testing.T) {
	web := webtest.New(webtest.Spec{Seed: 5, Domains: 4, Pages: 12, MaxHost: 40, Plain: true,
		Latency: 10 * time.Millisecond})
	store := filepath.Join(t.TempDir(), "crawl")
	line{web: web}.run(t, crawlArgs(store, web.Seeds(4), "--rounds", "1")...).must(t, exitWaiting)
	signals := make(chan os.Signal, 2)
	ended := make(chan run, 1)
	go func() {
		ended <- line{web: web, signals: signals}.run(t, crawlArgs(store, nil, "--delay", "100ms",
			"--seal-interval", "100ms")...)
	}()
	var open [][]string
	for len(open) == 0 {
		select {
		case r := <-ended:
			t.Fatalf("the crawl ended before anything was seen open: %s%s", r.out, r.err)
		default:
			open = ask(t, store, "SELECT url, round FROM open_fetches WHERE final")
		}
	}
	if got := ask(t, store, "SELECT url FROM urls WHERE crawl_status = 'IN_PROGRESS'"); len(got) == 0 {
		t.Error("no URL is IN_PROGRESS while a round runs")
	}
	signals <- os.Interrupt
	(<-ended).must(t, exitStopped)
	line{web: web}.run(t, crawlArgs(store, nil, "--delay", "1ms")...).must(t, exitOK)
	committed := map[string]bool{}
	for _, row := range ask(t, store, "SELECT url, round FROM fetches WHERE final") {
		committed[strings.Join(row, " ")] = true
	}
	for _, row := range open {
		if !committed[strings.Join(row, " ")] {
			t.Errorf("%v was sealed, but is in no committed round", row)
		}
	}
	for _, view := range []string{"open_fetches", "open_pages", "open_links"} {
		if left := ask(t, store, "FROM "+view); len(left) > 0 {
			t.Errorf("%s has %d rows, though no round is open", view, len(left))
		}
	}
}

// ask gives the answer to SQL without its head.
func ask(t *testing.T, store, sql string) [][]string {
	t.Helper()
	r := line{}.run(t, "query", "--store", store, "--format", "csv", sql).must(t, exitOK)
	rows, err := csv.NewReader(strings.NewReader(r.out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[min(1, len(rows)):]
}
