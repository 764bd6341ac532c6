package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/reducer/task"
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
	said := line{}.run(t, "round", "show", "2", "--store", store).must(t, exitOK).out
	if !strings.Contains(said, "requests from 127.0.0.2 2\n") {
		t.Errorf("the round's report does not say where its requests came from:\n%s", said)
	}

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
				rows = append(rows, task.Own(*row))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return rows
}

// TestIPv6: a site that has IPv6 alone, by its address and by a name.
func TestIPv6(t *testing.T) {
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6: ", err)
	}
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href="/next">next</a>`)
	}))
	_ = site.Listener.Close()
	site.Listener = listener
	site.Start()
	defer site.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	names := nameServer(t, "::1")
	for name, root := range map[string]string{"address": site.URL + "/", "name": "http://six.test:" + port + "/"} {
		t.Run(name, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "crawl")
			line{}.run(t, "crawl", "--store", store, "--allow-network", "::1/128", "--delay", "10ms", "--dns", names,
				"--source-addresses", "::1", root).must(t, exitOK)
			rows := fetched(t, store)
			if len(rows) != 3 {
				t.Errorf("%d exchanges, want 3", len(rows))
			}
			for _, row := range rows {
				if row.IP != "::1" || row.SourceIP != "::1" || row.HTTPStatus == 0 {
					t.Errorf("%s from %s to %s: %s %s", row.URL, row.SourceIP, row.IP, row.Reason, row.Detail)
				}
			}
			line{}.run(t, "check", "--read-data", "--store", store).must(t, exitOK)
		})
	}
	// Outside of what is allowed, a private address is one, of whichever family.
	store := filepath.Join(t.TempDir(), "refused")
	line{}.run(t, "crawl", "--store", store, "--contact", "https://example.org/", "--dns", names,
		"http://six.test:"+port+"/").must(t, exitOK)
	rows := fetched(t, store)
	for _, row := range rows {
		if row.Reason != schema.Private {
			t.Errorf("%s: %s, want %s", row.URL, row.Reason, schema.Private)
		}
	}
	if len(rows) == 0 {
		t.Error("nobody says why the private address was not asked")
	}
}

// nameServer answers for every name with one IPv6 address, and with none of IPv4.
func nameServer(t *testing.T, address string) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		packet := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			var asked dnsmessage.Message
			if asked.Unpack(packet[:n]) != nil || len(asked.Questions) != 1 {
				continue
			}
			q := asked.Questions[0]
			answer := dnsmessage.Message{Header: dnsmessage.Header{ID: asked.ID, Response: true,
				RecursionAvailable: true}, Questions: asked.Questions}
			if q.Type == dnsmessage.TypeAAAA {
				answer.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name,
					Class: q.Class, TTL: 60}, Body: &dnsmessage.AAAAResource{AAAA: netip.MustParseAddr(address).As16()}}}
			}
			if b, err := answer.Pack(); err == nil {
				_, _ = conn.WriteTo(b, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}
