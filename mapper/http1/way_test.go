package http1

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// seenFrom is a server that says where its client's connection came from.
func seenFrom(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		fmt.Fprint(w, host)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func addresses(texts ...string) (all []netip.Addr) {
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

func TestSources(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // nobody named it
	server := seenFrom(t)
	if !isOwn(netip.MustParseAddr("127.0.0.2")) {
		t.Skip("this machine's loopback is one address")
	}
	for _, tc := range []struct {
		name, from, says string
		sources          []netip.Addr
	}{
		{name: "none", from: "127.0.0.1"},
		{name: "one", sources: addresses("127.0.0.2"), from: "127.0.0.2"},
		{name: "the first that is ours", sources: addresses("192.0.2.1", "127.0.0.3", "127.0.0.2"), from: "127.0.0.3"},
		{name: "mapped", sources: addresses("::ffff:127.0.0.2"), from: "127.0.0.2"},
		{name: "another's", sources: addresses("192.0.2.1", "2001:db8::1"), says: "is one of this machine"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dial, err := Way{Sources: tc.sources}.Dialer()
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Fatalf("error %v, want one that says %q", err, tc.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // it does not rotate
				r, err := New(Settings{}, dial).Do(t.Context(), &Request{Scheme: "http", Host: "h.test", Addr: server,
					Target: "/"})
				if err != nil {
					t.Fatal(err)
				}
				body, _ := r.Body.Bytes()
				if string(body) != tc.from || !strings.HasPrefix(r.LocalAddr, tc.from+":") {
					t.Errorf("the server saw %s, we came from %s; want %s", body, r.LocalAddr, tc.from)
				}
				_ = r.Close()
			}
			if len(tc.sources) > 0 {
				if c, err := dial(t.Context(), "tcp", "[::1]:9"); err == nil || c != nil {
					t.Errorf("a family without a source was dialled: %v", err)
				}
			}
		})
	}
}

// proxy is an HTTP proxy that answers CONNECT by say, and tunnels what it lets through; asked is
// what it was asked for.
func proxy(t *testing.T, say string) (address string, asked func() []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []string
	var wg sync.WaitGroup
	serve := func(conn net.Conn) {
		defer conn.Close()
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		mu.Lock()
		seen = append(seen, req.Method+" "+req.Host)
		mu.Unlock()
		_, _ = io.WriteString(conn, say)
		if !strings.HasPrefix(say, "HTTP/1.1 200") {
			return
		}
		to, err := net.Dial("tcp", req.Host)
		if err != nil {
			return
		}
		defer to.Close()
		go func() { _, _ = io.Copy(to, conn); _ = to.Close() }()
		_, _ = io.Copy(conn, to)
	}
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { serve(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return l.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), seen...)
	}
}

// TestProxy tunnels HTTP, HTTPS and HTTP/2 through a proxy.
func TestProxy(t *testing.T) {
	ca := newAuthority(t)
	plain := seenFrom(t)
	var h2 string
	direct, _ := onlyH2(t, ca, true, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) })
	if c, err := direct(t.Context(), "", ""); err == nil {
		h2 = c.RemoteAddr().String()
		_ = c.Close()
	}
	address, asked := proxy(t, "HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
	dial, err := Way{Proxy: address}.Dialer()
	if err != nil {
		t.Fatal(err)
	}
	c := New(Settings{TLS: &tls.Config{RootCAs: ca.pool()}}, dial)
	defer c.CloseIdle()
	for _, tc := range []struct{ scheme, addr, body string }{{"http", plain, "127.0.0.1"}, {"https", h2, "HTTP/2.0"}} {
		r, err := c.Do(t.Context(), &Request{Scheme: tc.scheme, Host: "h.test", Addr: tc.addr, Target: "/"})
		if err != nil {
			t.Fatalf("%s: %v", tc.scheme, err)
		}
		if body, _ := r.Body.Bytes(); string(body) != tc.body || r.RemoteAddr != address {
			t.Errorf("%s: body %q from %s", tc.scheme, body, r.RemoteAddr)
		}
		_ = r.Close()
	}
	for _, a := range asked() {
		if a != "CONNECT "+plain && a != "CONNECT "+h2 {
			t.Errorf("the proxy was asked for %s", a)
		}
	}
	if len(asked()) < 2 {
		t.Errorf("the proxy was asked for %v", asked())
	}
}

// TestProxyTrouble tells a proxy's trouble from a server's.
func TestProxyTrouble(t *testing.T) {
	for _, tc := range []struct {
		say string
		way bool
		has string
	}{
		{"HTTP/1.1 403 Forbidden\r\n\r\n", false, "403 Forbidden"},
		{"HTTP/1.0 504 Gateway Timeout\nVia: x\n\n", false, "504"},
		{"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", true, "credentials"},
		{"SSH-2.0-OpenSSH\r\n\r\n", true, "malformed"},
		{"HTTP/1.1 200 OK\r\n" + strings.Repeat("a: b\r\n", proxyHead), true, "too large"},
		{"", true, "EOF"},
	} {
		address, _ := proxy(t, tc.say)
		dial, err := Way{Proxy: address}.Dialer()
		if err != nil {
			t.Fatal(err)
		}
		_, err = dial(t.Context(), "tcp", "192.0.2.1:80")
		if err == nil || errors.Is(err, ErrWay) != tc.way || !strings.Contains(err.Error(), tc.has) {
			t.Errorf("%.30q: error %v, want %q, the proxy's: %v", tc.say, err, tc.has, tc.way)
		}
	}
	dial, _ := Way{Proxy: "127.0.0.1:1"}.Dialer()
	if _, err := dial(t.Context(), "tcp", "192.0.2.1:80"); !errors.Is(err, ErrWay) {
		t.Errorf("a proxy that is not there: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dial, _ = Way{Proxy: l.Addr().String()}.Dialer()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := dial(ctx, "tcp", "192.0.2.1:80"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a silent proxy: %v", err)
	}
}
