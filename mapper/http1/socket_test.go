package http1

import (
	"io"
	"net"
	"sync"
	"testing"
)

// listen serves each connection on a loopback socket until the test ends, and returns the request
// that leads there.
func listen(t *testing.T, serve func(net.Conn)) *Request {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { serve(conn); _ = conn.Close() })
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return &Request{Scheme: "http", Host: "h.test", Addr: l.Addr().String(), Target: "/"}
}

func buf() []byte { return make([]byte, 4096) }

// TestSocketErrors: what only real sockets say.
func TestSocketErrors(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		req := &Request{Scheme: "http", Host: "h.test", Addr: l.Addr().String()}
		_, err = New(Settings{}, nil).Do(t.Context(), req)
		if e := wantError(t, err, PhaseDial, CodeConnectRefused); e.Sent {
			t.Error("said to be sent")
		}
	})
	t.Run("reset", func(t *testing.T) {
		req := listen(t, func(conn net.Conn) {
			_, _ = conn.Read(buf())
			_ = conn.(*net.TCPConn).SetLinger(0)
		})
		_, err := New(Settings{}, nil).Do(t.Context(), req)
		wantError(t, err, PhaseHeader, CodeReset)
	})
	t.Run("TLS to plain", func(t *testing.T) {
		req := listen(t, func(conn net.Conn) {
			_, _ = conn.Read(buf())
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		})
		req.Scheme = "https"
		_, err := New(Settings{}, nil).Do(t.Context(), req)
		wantError(t, err, PhaseTLS, CodeHandshake)
	})
}

// TestSocketsKept: a connection is used again if it is alive.
func TestSocketsKept(t *testing.T) {
	for _, farewell := range []string{"", "HTTP/1.1 408 Timeout\r\n\r\n"} {
		t.Run("closed while idle, saying "+farewell, func(t *testing.T) {
			left := make(chan struct{}, 2)
			req := listen(t, func(conn net.Conn) {
				_, _ = conn.Read(buf())
				_, _ = io.WriteString(conn, hello)
				_, _ = io.WriteString(conn, farewell)
				_ = conn.Close()
				left <- struct{}{}
			})
			c := New(Settings{}, nil)
			defer c.CloseIdle()
			do(t, c, req)
			<-left
			// Loopback delivers the end before the server's Close returns; a dead connection is
			// then seen before anything is sent on it.
			if resp := do(t, c, req); resp.Reused || resp.RemoteAddr != req.Addr {
				t.Errorf("reused %v, from %s", resp.Reused, resp.RemoteAddr)
			}
		})
	}
	t.Run("kept", func(t *testing.T) {
		req := listen(t, func(conn net.Conn) {
			for {
				if _, err := conn.Read(buf()); err != nil {
					return
				}
				_, _ = io.WriteString(conn, hello)
			}
		})
		c := New(Settings{}, nil)
		defer c.CloseIdle()
		do(t, c, req)
		if resp := do(t, c, req); !resp.Reused {
			t.Error("not reused")
		}
	})
}
