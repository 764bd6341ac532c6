package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"seine/coordinator/api"
	"seine/jobs/worker"
)

// ears listen to the heartbeats that workers send through them.
type ears struct {
	t *testing.T

	mu    sync.Mutex
	at    map[string]string // address of an ear, by the one that it leads to
	named map[string]int    // by URL, the acknowledged heartbeats in which it was being parsed
}

// ear gives the address by which the workers reach a coordinator.
func (e *ears) ear(from, _, address string) string {
	if !strings.HasPrefix(from, "w") {
		return address
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.at[address] == "" {
		to := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: address})
		}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusBadGateway) // a worker has gone, or the test is over
		}}
		e.at[address] = serveLocal(e.t, e.listening(to))
	}
	return e.at[address]
}

func (e *ears) listening(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != api.PathHeartbeat {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		var beat worker.Heartbeat
		if err := errors.Join(err, json.Unmarshal(body, &beat)); err != nil {
			return // the worker was killed while it sent this
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		seen := &seenStatus{ResponseWriter: w}
		next.ServeHTTP(seen, r)
		if seen.status != http.StatusOK {
			return
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, task := range beat.Tasks {
			for _, url := range task.Parsing {
				e.named[url]++
			}
		}
	})
}

func (e *ears) heard(url string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.named[url]
}

// seenStatus remembers the status of an answer.
type seenStatus struct {
	http.ResponseWriter
	status int
}

func (s *seenStatus) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

// serveLocal serves until the test ends, and gives the address.
func serveLocal(t *testing.T, handler http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, served := &http.Server{Handler: handler}, make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// killOneAt waits for a worker that parses url, and kills it as soon as a heartbeat has named the
// URL. The worker is suspended until one is due, so that it is still parsing then.
func (c *cluster) killOneAt(url string, e *ears) {
	c.t.Helper()
	before := e.heard(url)
	await(c.t, "a worker that parses "+url, func() bool {
		for _, d := range c.workers {
			if d.hasEnded() || !parses(filepath.Join(c.folder, d.name()), url) {
				continue
			}
			_ = d.cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(worker.HeartbeatEvery)
			_ = d.cmd.Process.Signal(syscall.SIGCONT)
			await(c.t, "a heartbeat that names "+url, func() bool { return e.heard(url) > before })
			d.end(syscall.SIGKILL)
			if !parses(filepath.Join(c.folder, d.name()), url) {
				c.t.Errorf("%s had parsed %s when it was killed", d.name(), url)
			}
			return true
		}
		return false
	})
}

// await looks every millisecond whether something is so, for a minute at most.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// TestPageThatKillsItsWorkers: a page at which two workers of a cluster died is set aside with a
// reason, since their heartbeats named it; the third worker fetches all the rest.
func TestPageThatKillsItsWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs and kills them")
	}
	t.Parallel()
	folder := t.TempDir()
	c := &cluster{t: t, folder: folder, store: filepath.Join(folder, "crawl"),
		seine: build(t, "seine/cmd/seine"), seined: build(t, "seine/cmd/seined")}
	e := &ears{t: t, at: map[string]string{}, named: map[string]int{}}
	c.settle.wire = e.ear
	c.startAll(3)
	root, asked := heavySite(t)
	heavy := root + "/heavy"
	var out bytes.Buffer
	crawl := c.command(c.urls, "crawl", "--delay", "10ms", "--max-body", "100MiB", "--allow-network",
		"127.0.0.0/8", root+"/", root+"/seed1", root+"/seed2")
	crawl.Stdout, crawl.Stderr = &out, &out
	if err := crawl.Start(); err != nil {
		t.Fatal(err)
	}
	c.killOneAt(heavy, e)
	c.killOneAt(heavy, e)
	if err := crawl.Wait(); err != nil {
		t.Fatalf("seine crawl: %v\n%s", err, out.String())
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("%d requests for the page, want 2", n)
	}
	c.check()
	for path, wants := range map[string][]string{
		"/heavy": {"FAILED", "parser_crashed", "killed"}, "/": {"fetched: ok"},
		"/light": {"fetched: ok"}, "/seed1": {"fetched: ok"}, "/seed2": {"fetched: ok"},
	} {
		said, err := exec.Command(c.seine, "explain", "--store", c.store, root+path).CombinedOutput()
		lacks := func(want string) bool { return !strings.Contains(string(said), want) }
		if err != nil || slices.ContainsFunc(wants, lacks) {
			t.Errorf("explain %s does not say %q (%v):\n%s", path, wants, err, said)
		}
	}
}
