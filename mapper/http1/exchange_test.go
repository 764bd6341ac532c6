package http1

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const hello = ok + "Content-Length: 5\r\n\r\nhello"

func TestRequestBytes(t *testing.T) {
	const fixed = "User-Agent: seine/1 (+x@y.test)\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n" +
		"Connection: keep-alive\r\n"
	set := Settings{Agent: "seine/1 (+x@y.test)\r\n", Accept: "*/*"}.withDefaults()
	for _, tc := range []struct {
		name, target string
		header       Header
		want         string
	}{
		{"plain", "/a?b=c", nil, "GET /a?b=c HTTP/1.1\r\nHost: h.test\r\n" + fixed + "\r\n"},
		{"empty", "", nil, "GET / HTTP/1.1\r\nHost: h.test\r\n" + fixed + "\r\n"},
		{"query alone", "?q", nil, "GET /?q HTTP/1.1\r\nHost: h.test\r\n" + fixed + "\r\n"},
		{"fragment", "/a#b", nil, "GET /a HTTP/1.1\r\nHost: h.test\r\n" + fixed + "\r\n"},
		{"odd bytes stay", "/100%/a%zz|[x]", nil,
			"GET /100%/a%zz|[x] HTTP/1.1\r\nHost: h.test\r\n" + fixed + "\r\n"},
		{"smuggling", "/ HTTP/1.1\r\nX: y\x00\té", nil,
			"GET /%20HTTP/1.1%0D%0AX:%20y%00%09%C3%A9 HTTP/1.1\r\nHost: h.test\r\n" + fixed + "\r\n"},
		{"validators", "/", Header{{"If-None-Match", `W/"x"`}, {"If-Modified-Since", "then"}},
			"GET / HTTP/1.1\r\nHost: h.test\r\n" + fixed +
				"If-None-Match: W/\"x\"\r\nIf-Modified-Since: then\r\n\r\n"},
		{"fields left out", "/", Header{
			{"Cookie", "a"}, {"Authorization", "b"}, {"REFERER", "c"}, {"Host", "d"}, {"A b", "e"},
			{"", "f"}, {"If-None-Match", "x\r\nCookie: y"}, {"Content-Length", "1"}, {"X", "z\x00"},
		}, "GET / HTTP/1.1\r\nHost: h.test\r\n" + fixed + "\r\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := get(tc.target)
			req.Header = tc.header
			b, err := req.encode(&set)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(b)); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
	for _, host := range []string{"", "a b", "a\r\nX: y", "u@h", "h/x", "hé"} {
		t.Run("host "+host, func(t *testing.T) {
			c := New(Settings{}, func(context.Context, string, string) (net.Conn, error) {
				t.Error("dialled")
				return nil, io.EOF
			})
			_, err := c.Do(t.Context(), &Request{Scheme: "http", Host: host, Addr: "192.0.2.1:80"})
			if e := wantError(t, err, PhaseWrite, CodeRequest); e.Sent {
				t.Error("said to be sent")
			}
		})
	}
}

// TestSentIsRecorded: RawRequest is what the server saw, byte for byte.
func TestSentIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := always(hello, true)
		c, end := r.client(Settings{})
		defer end()
		resp := do(t, c, get("/x y"))
		if diff := cmp.Diff(r.requests(), []string{string(resp.RawRequest)}); diff != "" {
			t.Error(diff)
		}
		if resp.BytesOut != int64(len(resp.RawRequest)) || resp.BytesIn != int64(len(hello)) {
			t.Errorf("%d bytes out, %d in", resp.BytesOut, resp.BytesIn)
		}
	})
}

var errLease = errors.New("lease lost")

func TestGate(t *testing.T) {
	closed := func() error { return errLease }
	t.Run("closed before the dial", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := always(hello, true)
			c, end := r.client(Settings{})
			defer end()
			req := get("/")
			req.Gate = closed
			_, err := c.Do(t.Context(), req)
			if e := wantError(t, err, PhaseDial, CodeGate); e.Sent || !errors.Is(err, errLease) {
				t.Errorf("error is %v, sent %v", err, e.Sent)
			}
			if r.dials != 0 {
				t.Errorf("%d dials", r.dials)
			}
		})
	})
	t.Run("closed while dialling", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := always(hello, true)
			c, end := r.client(Settings{})
			defer end()
			asked := 0
			req := get("/")
			req.Gate = func() error {
				if asked++; asked > 1 {
					return errLease
				}
				return nil
			}
			_, err := c.Do(t.Context(), req)
			if e := wantError(t, err, PhaseWrite, CodeGate); e.Sent {
				t.Error("said to be sent")
			}
			synctest.Wait()
			if got := r.requests(); len(got) != 0 {
				t.Errorf("server saw %q", got)
			}
		})
	})
	t.Run("closed on a kept connection", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := always(hello, true)
			c, end := r.client(Settings{})
			defer end()
			do(t, c, get("/"))
			req := get("/2")
			req.Gate = closed
			_, err := c.Do(t.Context(), req)
			wantError(t, err, PhaseWrite, CodeGate)
			if resp := do(t, c, get("/3")); resp.Reused {
				t.Error("a connection that a gate closed on was kept")
			}
			if got := r.requests(); len(got) != 2 {
				t.Errorf("server saw %q", got)
			}
		})
	})
}

func TestStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &responder{answer: func(n int, _ string) (string, bool) {
			if n == 1 {
				return "", false // as if it had died just then
			}
			return hello, true
		}}
		c, end := r.client(Settings{})
		defer end()
		do(t, c, get("/"))
		_, err := c.Do(t.Context(), get("/2"))
		if e := wantError(t, err, PhaseHeader, CodeStale); !e.Sent {
			t.Error("said not to be sent, but the server saw it")
		}
		if got := len(r.requests()); got != 2 {
			t.Errorf("%d requests: one was repeated in silence", got)
		}
		if resp := do(t, c, get("/2")); resp.Reused {
			t.Error("dead connection used again")
		}
	})
}

// TestLeftovers: bytes of a body that should not have been there are not the next response.
func TestLeftovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &responder{answer: func(n int, _ string) (string, bool) {
			if n == 1 {
				return "late body of the first response", true
			}
			return hello, true
		}}
		c, end := r.client(Settings{})
		defer end()
		do(t, c, get("/"))
		_, err := c.Do(t.Context(), get("/2"))
		wantError(t, err, PhaseHeader, CodeStale)
	})
}

func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, end := always("", false).client(Settings{})
		defer end()
		_, err := c.Do(t.Context(), get("/"))
		if e := wantError(t, err, PhaseHeader, CodeEOF); !e.Sent {
			t.Error("said not to be sent")
		}
	})
}

func TestPool(t *testing.T) {
	use := func(t *testing.T, c *Client, host, pool string) bool {
		t.Helper()
		return do(t, c, &Request{Scheme: "http", Host: host, Addr: "192.0.2.1:80", Pool: pool}).Reused
	}
	run := func(name string, set Settings, f func(*testing.T, *Client)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, end := always(hello, true).client(set)
				defer end()
				f(t, c)
			})
		})
	}
	expect := func(t *testing.T, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("reused: %v, want %v", got, want)
		}
	}
	run("same key and peer", Settings{}, func(t *testing.T, c *Client) {
		expect(t, use(t, c, "a.test", "g"), false)
		expect(t, use(t, c, "a.test", "g"), true)
	})
	run("one key, two peers", Settings{}, func(t *testing.T, c *Client) {
		expect(t, use(t, c, "a.test", "g"), false)
		expect(t, use(t, c, "b.test", "g"), false)
		expect(t, use(t, c, "a.test", "g"), false)
	})
	run("no key", Settings{}, func(t *testing.T, c *Client) {
		expect(t, use(t, c, "a.test", ""), false)
		expect(t, use(t, c, "b.test", ""), false)
		expect(t, use(t, c, "a.test", ""), true)
	})
	run("idle too long", Settings{IdleTimeout: time.Minute}, func(t *testing.T, c *Client) {
		expect(t, use(t, c, "a.test", ""), false)
		time.Sleep(59 * time.Second)
		expect(t, use(t, c, "a.test", ""), true)
		time.Sleep(61 * time.Second)
		expect(t, use(t, c, "a.test", ""), false)
	})
	run("bounded", Settings{MaxIdle: 2}, func(t *testing.T, c *Client) {
		for _, host := range []string{"a.test", "b.test", "c.test"} {
			expect(t, use(t, c, host, ""), false)
		}
		expect(t, use(t, c, "b.test", ""), true)
		expect(t, use(t, c, "c.test", ""), true)
		expect(t, use(t, c, "a.test", ""), false)
	})
	run("closed by CloseIdle", Settings{}, func(t *testing.T, c *Client) {
		expect(t, use(t, c, "a.test", ""), false)
		c.CloseIdle()
		expect(t, use(t, c, "a.test", ""), false)
	})
}

func TestHeaderBound(t *testing.T) {
	big := strings.Repeat("x", 3000)
	for _, tc := range []struct {
		name, raw string
		code      Code
	}{
		{"one line", ok + "A: " + big + big + "\r\n\r\n", CodeHeaderTooLarge},
		{"many lines", ok + strings.Repeat("A: b\r\n", 1000) + "\r\n", CodeHeaderTooLarge},
		{"empty lines", strings.Repeat("\r\n", 5000), CodeHeaderTooLarge},
		{"interim responses", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 50), CodeMalformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, end := always(tc.raw, false).client(Settings{MaxHeader: 4096})
				defer end()
				_, err := c.Do(t.Context(), get("/"))
				wantError(t, err, PhaseHeader, tc.code)
			})
		})
	}
}
