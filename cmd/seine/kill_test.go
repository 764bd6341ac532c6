package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// hit is a line of the access log.
type hit struct {
	start, end float64 // s
	host, path string
	bytes      int
}

// group is the politeness group that is asked.
func (h hit) group() string {
	labels := strings.Split(h.host, ".")
	return strings.Join(labels[len(labels)-2:], ".")
}

var entryLine = regexp.MustCompile(`^(\S+) (\S+) (\S+) \d+ (\d+) "GET (\S+) `)

func hits(t *testing.T, path string) (all []hit) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		m := entryLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("access log: %q", line)
		}
		end, _ := strconv.ParseFloat(m[1], 64)
		took, _ := strconv.ParseFloat(m[2], 64)
		bytes, _ := strconv.Atoi(m[4])
		all = append(all, hit{end - took, end, m[3], m[5], bytes})
	}
	return all
}

// judge says what was wrong with a log of a crawl under one delay: the rules of politeness.awk,
// and how many URLs were asked for again.
func judge(all []hit, delay time.Duration) (faults []string, repeats int) {
	last := map[string]float64{}
	robots, seen := map[string]bool{}, map[string]bool{}
	byStart := append([]hit(nil), all...)
	sortHits(byStart)
	for _, h := range byStart {
		group := h.group()
		if before, ok := last[group]; ok && h.start-before < delay.Seconds()-0.002 {
			faults = append(faults, fmt.Sprintf("%s%s came %.4f s after the request before", h.host, h.path,
				h.start-before))
		}
		last[group] = h.start
		if h.path == "/robots.txt" {
			robots[h.host] = true
			continue
		}
		if !robots[h.host] {
			faults = append(faults, h.host+h.path+" came before robots.txt")
		}
		if strings.HasPrefix(h.path, "/private/") {
			faults = append(faults, h.host+h.path+" is forbidden")
		}
		if seen[h.host+h.path] {
			repeats++
		}
		seen[h.host+h.path] = true
	}
	return faults, repeats
}

func sortHits(all []hit) {
	for i := range all {
		for j := i; j > 0 && all[j].start < all[j-1].start; j-- {
			all[j], all[j-1] = all[j-1], all[j]
		}
	}
}

// TestKilledCrawlGoesOn kills the real command at random moments until it has
// run long enough, and compares what it leaves with a run that nobody disturbed.
func TestKilledCrawlGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	t.Parallel()
	calm, folder := calmCrawl(t), t.TempDir()
	seine, store := build(t, "seine/cmd/seine"), filepath.Join(folder, "crawl")
	web := serveWeb(t, build(t, "seine/cmd/testweb"), folder, 1)
	defer web.end()
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	kills := 0
	for {
		life := 250*time.Millisecond + time.Duration(random.IntN(1200))*time.Millisecond
		if kills == 10 {
			life = 0
		}
		if crawlProcess(t, seine, store, web, life) {
			break
		}
		kills++
	}
	web.end()
	all := hits(t, web.log)
	faults, repeats := judge(all, killDelay)
	for _, fault := range faults {
		t.Error(fault)
	}
	// At most one request of each domain is in flight at a kill.
	if kills == 0 || repeats > kills*10 || repeats > calm.requests/2 {
		t.Errorf("%d kills, %d repeats in %d requests", kills, repeats, len(all))
	}
	t.Logf("%d kills, %d requests, %d of them repeats; %d without kills", kills, len(all), repeats, calm.requests)
	sameRows(t, rows(t, store), calm.rows)
}
