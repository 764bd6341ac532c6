package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The web of the kills: hosts that fail as well as hosts that answer, and none
// that lets a crawl wait.
var killWeb = []string{"-seed", "4", "-domains", "10", "-pages", "14", "-max-host", "60", "-plain",
	"-latency", "2ms", "-count", "6"}

// killDelay is the delay of these crawls.
const killDelay = 30 * time.Millisecond

// build compiles a command, without cgo: what is tried here needs no DuckDB.
func build(t *testing.T, folder, pkg string) string {
	t.Helper()
	path := filepath.Join(folder, filepath.Base(pkg))
	c := exec.Command("go", "build", "-o", path, pkg)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return path
}

// served is a testweb in another process.
type served struct {
	dns, log string
	seeds    []string
	end      func()
}

func serveWeb(t *testing.T, program, folder, address string) served {
	t.Helper()
	log := filepath.Join(folder, "access.log")
	c := exec.Command(program, append(killWeb, "-dns", address, "-log", log)...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	c.Stderr = &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w := served{log: log, end: func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	}}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		switch text := lines.Text(); {
		case text == "ready":
			return w
		case strings.HasPrefix(text, "dns "):
			w.dns = strings.TrimPrefix(text, "dns ")
		case strings.HasPrefix(text, "http"):
			w.seeds = append(w.seeds, text)
		}
	}
	w.end()
	t.Skipf("the web cannot be served here: %s", errs.String())
	return w
}

// crawlProcess is one run of the real command; it is killed after life, if that
// is not zero. It returns whether it ended by itself.
func crawlProcess(t *testing.T, program, store string, w served, life time.Duration) bool {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	c := exec.CommandContext(ctx, program, append([]string{"crawl", "--store", store, "--scope", "any",
		"--delay", killDelay.String(), "--dns", w.dns, "--allow-network", "127.0.0.0/8"}, w.seeds...)...)
	c.Dir = filepath.Dir(store)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if life > 0 {
		timer := time.AfterFunc(life, func() { _ = c.Process.Kill() })
		defer timer.Stop()
	}
	err := c.Wait()
	if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return false
	}
	if err != nil {
		t.Fatalf("seine crawl: %v\n%s", err, out.String())
	}
	return true
}

// hit is a line of the access log.
type hit struct {
	start, end float64 // s
	host, path string
}

var entryLine = regexp.MustCompile(`^(\S+) (\S+) (\S+) \d+ \d+ "GET (\S+) `)

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
		all = append(all, hit{end - took, end, m[3], m[4]})
	}
	return all
}

// judge says what was wrong with a log: the rules of politeness.awk, and how
// many URLs were asked for again.
func judge(all []hit) (faults []string, repeats int) {
	last := map[string]float64{}
	robots, seen := map[string]bool{}, map[string]bool{}
	byStart := append([]hit(nil), all...)
	sortHits(byStart)
	for _, h := range byStart {
		labels := strings.Split(h.host, ".")
		group := strings.Join(labels[len(labels)-2:], ".")
		if before, ok := last[group]; ok && h.start-before < killDelay.Seconds()-0.002 {
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
	folder := t.TempDir()
	seine, testweb := build(t, folder, "seine/cmd/seine"), build(t, folder, "seine/cmd/testweb")
	calm, shaken := filepath.Join(folder, "calm"), filepath.Join(folder, "shaken")
	for _, dir := range []string{calm, shaken} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	web := serveWeb(t, testweb, calm, "127.0.0.1:5391")
	crawlProcess(t, seine, filepath.Join(calm, "crawl"), web, 0)
	web.end()
	quiet := hits(t, web.log)

	web = serveWeb(t, testweb, shaken, "127.0.0.1:5391")
	defer web.end()
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	kills := 0
	for {
		life := 250*time.Millisecond + time.Duration(random.IntN(1200))*time.Millisecond
		if kills == 10 {
			life = 0
		}
		if crawlProcess(t, seine, filepath.Join(shaken, "crawl"), web, life) {
			break
		}
		kills++
	}
	web.end()
	all := hits(t, web.log)
	faults, repeats := judge(all)
	for _, fault := range faults {
		t.Error(fault)
	}
	// At most one request of each domain is in flight at a kill.
	if kills == 0 || repeats > kills*10 || repeats > len(quiet)/2 {
		t.Errorf("%d kills, %d repeats in %d requests", kills, repeats, len(all))
	}
	t.Logf("%d kills, %d requests, %d of them repeats; %d without kills", kills, len(all), repeats, len(quiet))
	sameRows(t, rows(t, filepath.Join(shaken, "crawl")), rows(t, filepath.Join(calm, "crawl")))
}
