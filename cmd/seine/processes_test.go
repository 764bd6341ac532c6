package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// What the tests of real processes share: each program is built once, and the crawl that
// nobody disturbs runs once. Those tests mostly wait, for leases above all, and so run beside
// each other, each with a web on addresses of its own.

// workshop holds what was built for this run of the tests.
type workshop struct {
	mu     sync.Mutex
	folder string            // made by the first build, removed by TestMain
	built  map[string]string // by package
	truth  *undisturbed
}

// undisturbed is what a crawl of killWeb is when nobody disturbs it.
type undisturbed struct {
	rows     map[string][]string
	requests int
}

// under are the rows of the same crawl under another delay.
func (u *undisturbed) under(delay time.Duration) map[string][]string {
	rows := maps.Clone(u.rows)
	domains := slices.Clone(rows["domains"])
	for i, row := range domains {
		domains[i] = strings.Replace(row, fmt.Sprintf(`"delay_ms":%d,`, killDelay.Milliseconds()),
			fmt.Sprintf(`"delay_ms":%d,`, delay.Milliseconds()), 1)
	}
	rows["domains"] = domains
	return rows
}

var shop = workshop{built: map[string]string{}}

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(shop.folder) // a folder of the system's temporary ones
	os.Exit(code)
}

// build compiles a command, without cgo: what is tried here needs no DuckDB.
func build(t *testing.T, pkg string) string {
	t.Helper()
	shop.mu.Lock()
	defer shop.mu.Unlock()
	return shop.build(t, pkg)
}

func (s *workshop) build(t *testing.T, pkg string) string {
	t.Helper()
	if path := s.built[pkg]; path != "" {
		return path
	}
	if s.folder == "" {
		folder, err := os.MkdirTemp("", "seine-programs-")
		if err != nil {
			t.Fatal(err)
		}
		s.folder = folder
	}
	path := filepath.Join(s.folder, filepath.Base(pkg))
	c := exec.Command("go", "build", "-o", path, pkg)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	s.built[pkg] = path
	return path
}

// calmCrawl is the undisturbed crawl of killWeb in one process.
func calmCrawl(t *testing.T) *undisturbed {
	t.Helper()
	shop.mu.Lock()
	defer shop.mu.Unlock()
	if shop.truth != nil {
		return shop.truth
	}
	calm := t.TempDir()
	web := serveWeb(t, shop.build(t, "seine/cmd/testweb"), calm, 0)
	defer web.end()
	store := filepath.Join(calm, "crawl")
	crawlProcess(t, shop.build(t, "seine/cmd/seine"), store, web, 0)
	web.end()
	shop.truth = &undisturbed{rows: rows(t, store), requests: len(hits(t, web.log))}
	return shop.truth
}

// The web of the kills: hosts that fail as well as hosts that answer, and none
// that lets a crawl wait.
var killWeb = []string{"-seed", "4", "-domains", "10", "-pages", "14", "-max-host", "60", "-plain",
	"-latency", "2ms", "-count", "6"}

// killDelay is the delay of these crawls.
const killDelay = 30 * time.Millisecond

// served is a testweb in another process.
type served struct {
	dns, log string
	seeds    []string
	end      func() // may be called again
}

// serveWeb serves killWeb from the addresses of a net: 0 is that of the truth, each test has
// another.
func serveWeb(t *testing.T, program, folder string, net int) served {
	t.Helper()
	return serve(t, program, folder, net, killWeb)
}

// serve serves a web of testweb's flags from the addresses of a net, or of a spare one when
// somebody else has those.
func serve(t *testing.T, program, folder string, net int, flags []string) served {
	t.Helper()
	const firstSpare, spares = 211, 40 // beyond those of 200 storms
	for range 20 {
		w, trouble := tryServe(t, program, folder, net, flags)
		if trouble == "" {
			return w
		}
		if !strings.Contains(trouble, syscall.EADDRINUSE.Error()) {
			t.Skipf("the web cannot be served here: %s", trouble)
		}
		net = firstSpare + rand.IntN(spares)
	}
	t.Fatal("all addresses for a web are in use")
	return served{}
}

// tryServe serves a web, or says what hinders.
func tryServe(t *testing.T, program, folder string, net int, flags []string) (w served,
	trouble string) {
	t.Helper()
	log := filepath.Join(folder, "access.log")
	c := exec.Command(program, append(slices.Clone(flags), "-net", fmt.Sprint(net), "-log", log,
		"-dns", fmt.Sprintf("127.0.0.1:%d", 5390+net))...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	c.Stderr = &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w = served{log: log, end: sync.OnceFunc(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	})}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		switch text := lines.Text(); {
		case text == "ready":
			return w, ""
		case strings.HasPrefix(text, "dns "):
			w.dns = strings.TrimPrefix(text, "dns ")
		case strings.HasPrefix(text, "http"):
			w.seeds = append(w.seeds, text)
		}
	}
	w.end()
	return w, "testweb ended: " + errs.String()
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
