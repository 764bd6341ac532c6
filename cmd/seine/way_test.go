package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"seine/formats/lsm"
	"seine/formats/schema"
)

// TestWayOut crawls a real server from a source address and through a proxy; of a
// proxy that is away no server is blamed.
func TestWayOut(t *testing.T) {
	if l, err := net.Listen("tcp", "127.0.0.2:0"); err != nil {
		t.Skip("this machine's loopback is one address")
	} else {
		_ = l.Close()
	}
	var elsewhere atomic.Int32 // requests from another address than the source
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.RemoteAddr, "127.0.0.2:") {
			elsewhere.Add(1)
		}
		if r.URL.Path == "/robots.txt" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href="/next">next</a>`)
	}))
	defer site.Close()
	var tunnels atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, err := net.Dial("tcp", r.Host)
		if r.Method != http.MethodConnect || err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer to.Close()
		tunnels.Add(1)
		w.WriteHeader(http.StatusOK)
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		go func() { _, _ = io.Copy(to, buffered); _ = to.Close() }()
		_, _ = io.Copy(conn, to)
	}))
	defer proxy.Close()
	crawl := func(store string, code int, more ...string) run {
		t.Helper()
		args := append([]string{"crawl", "--store", store, "--scope", "any", "--allow-network", "127.0.0.0/8",
			"--delay", "10ms", site.URL + "/"}, more...)
		return line{}.run(t, args...).must(t, code)
	}

	store := filepath.Join(t.TempDir(), "source")
	crawl(store, exitOK, "--source-addresses", "192.0.2.1,127.0.0.2")
	n := 0
	for _, row := range fetched(t, store) {
		if n++; row.IP != "127.0.0.1" || row.SourceIP != "127.0.0.2" || row.HTTPStatus == 0 {
			t.Errorf("%s from %s to %s: %s", row.URL, row.SourceIP, row.IP, row.Reason)
		}
	}
	if n != 3 || elsewhere.Load() > 0 {
		t.Errorf("%d exchanges, want 3; %d came from another address", n, elsewhere.Load())
	}
	line{}.run(t, "check", "--store", store).must(t, exitOK)

	store = filepath.Join(t.TempDir(), "proxy")
	crawl(store, exitOK, "--proxy", proxy.URL)
	if rows := fetched(t, store); len(rows) != 3 || rows[0].IP != "127.0.0.1" || rows[0].SourceIP != "" ||
		tunnels.Load() == 0 {
		t.Errorf("%d exchanges, want 3, of %d tunnels: %+v", len(rows), tunnels.Load(), rows)
	}

	// A proxy that is away: no URL ends for it, and the next round has them again.
	store = filepath.Join(t.TempDir(), "away")
	crawl(store, exitWaiting, "--proxy", "http://127.0.0.1:1", "--rounds", "1", "--round-time", "1s")
	for url, row := range known(t, store) {
		if row.CrawlStatus != schema.Pending || row.FailCount != 0 || row.Queued == 0 {
			t.Errorf("%s is %s (%s), though the proxy was away", url, row.CrawlStatus, row.Reason)
		}
	}
	crawl(store, exitOK, "--proxy", proxy.URL)

	for says, args := range map[string][]string{
		"is no address such as": {"--source-addresses", "eth0"},
		"http://HOST:PORT":      {"--proxy", "proxy.test:8080"},
		"no user or password":   {"--proxy", "http://me:secret@proxy.test:8080"},
	} {
		r := crawl(filepath.Join(t.TempDir(), "bad"), exitUsage, args...)
		if !strings.Contains(r.err, says) || strings.Contains(r.err, "secret") {
			t.Errorf("%v says %q", args, r.err)
		}
	}
}

// fetched are the rows of fetches.
func fetched(t *testing.T, store string) (rows []schema.Fetch) {
	t.Helper()
	c, head, done := snapshot(t, store)
	defer done()
	l := &looking{Crawl: c, head: head}
	for _, part := range head.Parts {
		for _, o := range part.Tables[schema.Fetches] {
			err := readRows(t.Context(), l, lsm.Object{Key: o.Key, Bytes: o.Bytes}, nil, func(row *schema.Fetch) error {
				own := *row
				own.URL, own.Reason = strings.Clone(row.URL), strings.Clone(row.Reason)
				own.IP, own.SourceIP = strings.Clone(row.IP), strings.Clone(row.SourceIP)
				rows = append(rows, own)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return rows
}
