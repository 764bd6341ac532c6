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
)

// A part is what a server sends after a wait.
type part struct {
	wait time.Duration
	data string
}

// slow dials a server that sends its script, then is silent until the client leaves.
func slow(r *responder, script func(yield func(part) bool)) Dialer {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		r.wg.Go(func() {
			defer server.Close()
			buf := make([]byte, 4096)
			if _, err := server.Read(buf); err != nil {
				return
			}
			for p := range script {
				time.Sleep(p.wait)
				if _, err := io.WriteString(server, p.data); err != nil {
					return
				}
			}
			_, _ = server.Read(buf)
		})
		return client, nil
	}
}

func parts(ps ...part) func(func(part) bool) {
	return func(yield func(part) bool) {
		for _, p := range ps {
			if !yield(p) {
				return
			}
		}
	}
}

// endless sends first and then the same part for ever.
func endless(first string, wait time.Duration, data string) func(func(part) bool) {
	return func(yield func(part) bool) {
		for p := (part{0, first}); yield(p); p = (part{wait, data}) {
		}
	}
}

func TestTimes(t *testing.T) {
	kilobyte := strings.Repeat("x", 1024)
	for _, tc := range []struct {
		name   string
		set    Settings
		script func(func(part) bool)
		took   time.Duration
		phase  Phase // of the error; PhaseBody: of the fault
		code   Code
	}{
		{"no first byte", Settings{}, parts(), 30 * time.Second, PhaseHeader, CodeFirstByte},
		{"first byte late but in time", Settings{}, parts(part{29 * time.Second, hello}),
			29 * time.Second, "", ""},
		{"header by the byte", Settings{}, endless("H", 9*time.Second, "T"), 30 * time.Second,
			PhaseHeader, CodeTooSlow},
		{"header stops", Settings{}, parts(part{0, ok}), 30 * time.Second, PhaseHeader, CodeTooSlow},
		{"loris", Settings{}, endless(ok+"\r\n", 9*time.Second, "x"), 30 * time.Second, PhaseBody,
			CodeTooSlow},
		{"loris in chunks", Settings{}, endless(ok+"Transfer-Encoding: chunked\r\n\r\n",
			9*time.Second, "1\r\nx\r\n"), 30 * time.Second, PhaseBody, CodeTooSlow},
		{"just under the rate", Settings{}, endless(ok+"\r\n", 1002*time.Millisecond, kilobyte[:1000]),
			30 * time.Second, PhaseBody, CodeTooSlow},
		{"over the rate, too long", Settings{}, endless(ok+"\r\n", time.Second, kilobyte+kilobyte),
			120 * time.Second, PhaseBody, CodeTotal},
		{"fast, then slow", Settings{}, parts(part{0, ok + "\r\n"},
			part{0, strings.Repeat(kilobyte, 31)}, part{31 * time.Second, "x"}), 60 * time.Second,
			PhaseBody, CodeTooSlow},
		{"no rate", Settings{MinRate: -1}, endless(ok+"\r\n", 9*time.Second, "x"), 120 * time.Second,
			PhaseBody, CodeTotal},
		{"exchange shorter than first byte", Settings{ExchangeTimeout: 20 * time.Second}, parts(),
			20 * time.Second, PhaseHeader, CodeTotal},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &responder{}
				c := New(tc.set, slow(r, tc.script))
				start := time.Now()
				resp, err := c.Do(t.Context(), get("/"))
				if took := time.Since(start); took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
				switch tc.phase {
				case "":
					if err != nil || resp.Fault != nil {
						t.Fatalf("error %v, fault %v", err, resp.Fault)
					}
				case PhaseBody:
					if err != nil || resp.Fault == nil {
						t.Fatalf("error %v, response %+v", err, resp)
					}
					wantError(t, resp.Fault, PhaseBody, tc.code)
					if resp.Truncated != TruncatedTime || resp.Body.Size() == 0 {
						t.Errorf("truncated %q, %d bytes", resp.Truncated, resp.Body.Size())
					}
				default:
					wantError(t, err, tc.phase, tc.code)
				}
				if resp != nil {
					if end := resp.EndOfAnswer.Sub(start); end != tc.took || resp.Total != tc.took {
						t.Errorf("answer ended after %v, total %v, want %v", end, resp.Total, tc.took)
					}
					_ = resp.Close()
				}
				c.CloseIdle()
				r.wg.Wait()
			})
		})
	}
}

func TestTimings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &responder{}
		server := slow(r, parts(part{2 * time.Second, ok + "Content-Length: 5\r\n\r\n"},
			part{3 * time.Second, "hello"}))
		c := New(Settings{}, func(ctx context.Context, network, addr string) (net.Conn, error) {
			time.Sleep(time.Second)
			return server(ctx, network, addr)
		})
		resp := do(t, c, get("/"))
		if resp.Connect != time.Second || resp.TTFB != 2*time.Second || resp.Total != 6*time.Second {
			t.Errorf("connect %v, first byte %v, total %v", resp.Connect, resp.TTFB, resp.Total)
		}
		c.CloseIdle()
		r.wg.Wait()
	})
}

func TestConnectTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Settings{}, func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		start := time.Now()
		_, err := c.Do(t.Context(), get("/"))
		wantError(t, err, PhaseDial, CodeConnectTimeout)
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestHandshakeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &responder{}
		c := New(Settings{}, slow(r, parts()))
		start := time.Now()
		_, err := c.Do(t.Context(), &Request{Scheme: "https", Host: "h.test", Addr: "192.0.2.1:443"})
		wantError(t, err, PhaseTLS, CodeConnectTimeout)
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("took %v", took)
		}
		r.wg.Wait()
	})
}

// TestServerDoesNotRead: a request that cannot be sent is not waited for longer than an answer.
func TestServerDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, server := net.Pipe()
		defer server.Close()
		c := New(Settings{}, func(context.Context, string, string) (net.Conn, error) {
			client, _ := net.Pipe()
			return client, nil
		})
		_, err := c.Do(t.Context(), get("/"))
		if e := wantError(t, err, PhaseWrite, CodeFirstByte); e.Sent {
			t.Error("said to be sent")
		}
	})
}

func TestCancel(t *testing.T) {
	cause := errors.New("hard stop")
	for _, tc := range []struct {
		name   string
		scheme string
		script func(func(part) bool)
		phase  Phase
	}{
		{"in the handshake", "https", parts(), PhaseTLS},
		{"before the header", "http", parts(), PhaseHeader},
		{"in the header", "http", parts(part{0, ok}), PhaseHeader},
		{"in the body", "http", parts(part{0, ok + "\r\nhi"}), PhaseBody},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &responder{}
				c := New(Settings{}, slow(r, tc.script))
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(5*time.Second, func() { cancel(cause) })
				start := time.Now()
				_, err := c.Do(ctx, &Request{Scheme: tc.scheme, Host: "h.test", Addr: "192.0.2.1:1"})
				wantError(t, err, tc.phase, CodeCanceled)
				if !errors.Is(err, cause) {
					t.Errorf("error %v does not tell the cause", err)
				}
				if took := time.Since(start); took != 5*time.Second {
					t.Errorf("took %v", took)
				}
				r.wg.Wait()
			})
		})
	}
}
