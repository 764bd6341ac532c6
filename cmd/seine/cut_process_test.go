package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"seine/formats/schema"
)

// TestBlockCutsWhatIsInFlight: an answer that drips on for minutes is cut, as its server
// sees it, soon after `seine block`, and the host is not asked again.
func TestBlockCutsWhatIsInFlight(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	t.Parallel()
	dripping, cut := make(chan struct{}), make(chan time.Time, 1)
	var after atomic.Int32 // requests since the block was to be kept
	var kept atomic.Bool
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kept.Load() {
			after.Add(1)
		}
		switch r.URL.Path {
		case "/robots.txt":
			w.WriteHeader(http.StatusNotFound)
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="/drip">drip</a> <a href="/more">more</a>`)
		default:
			w.Header().Set("Content-Type", "text/html")
			close(dripping)
			for n := 0; n < 600 && r.Context().Err() == nil; n++ {
				fmt.Fprintln(w, strings.Repeat("drip ", 400))
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(200 * time.Millisecond):
				}
			}
			cut <- time.Now()
		}
	}))
	defer slow.Close()
	store := filepath.Join(t.TempDir(), "crawl")
	program := build(t, "seine/cmd/seine")
	seine := func(args ...string) *exec.Cmd {
		c := exec.Command(program, append(args, "--store", store)...)
		c.Dir = filepath.Dir(store)
		return c
	}
	var said bytes.Buffer
	crawl := seine("crawl", "--scope", "any", "--allow-network", "127.0.0.0/8", "--delay", "10ms", slow.URL+"/")
	crawl.Stdout, crawl.Stderr = &said, &said
	if err := crawl.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = crawl.Process.Kill() }()
	select {
	case <-dripping:
	case <-time.After(time.Minute):
		t.Fatalf("the page is not asked for:\n%s", said.String())
	}
	if out, err := seine("block", "127.0.0.1", "--reason", "they asked").CombinedOutput(); err != nil {
		t.Fatalf("block: %v\n%s", err, out)
	}
	blocked := time.Now()
	select {
	case at := <-cut:
		if took := at.Sub(blocked); took > heedWithin*time.Second {
			t.Errorf("the answer was cut %v after the block", took)
		}
	case <-time.After(time.Minute):
		t.Fatal("the answer is not cut")
	}
	kept.Store(true)
	if err := crawl.Wait(); err != nil {
		t.Errorf("the crawl: %v\n%s", err, said.String())
	}
	if n := after.Load(); n > 0 {
		t.Errorf("%d requests after the block", n)
	}
	for _, row := range fetched(t, store) {
		if strings.HasSuffix(row.URL, "/drip") && row.Final && row.Reason != schema.Blocked {
			t.Errorf("%s ended as %s: %s", row.URL, row.Reason, row.Detail)
		}
	}
	for url, row := range known(t, store) {
		if !strings.HasSuffix(url, "/") && row.Reason != schema.Blocked {
			t.Errorf("%s is %s (%s), want blocked", url, row.CrawlStatus, row.Reason)
		}
	}
	if out, err := seine("check", "--read-data").CombinedOutput(); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
}
