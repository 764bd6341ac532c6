package http1

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// A responder is a server over net.Pipe. answer is called for each request of a connection with
// the bytes that came and says what to send; what it returns as the second decides whether the
// connection stays open.
type responder struct {
	answer func(n int, request string) (response string, open bool)
	wg     sync.WaitGroup
	mu     sync.Mutex
	dials  int
	seen   []string
}

func (r *responder) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	r.mu.Lock()
	r.dials++
	r.mu.Unlock()
	r.wg.Go(func() { r.serve(server) })
	return client, nil
}

func (r *responder) serve(conn net.Conn) {
	defer conn.Close()
	br := bufio.NewReader(conn)
	for {
		request, err := readRequest(br)
		if err != nil {
			return
		}
		r.mu.Lock()
		n := len(r.seen)
		r.seen = append(r.seen, request)
		r.mu.Unlock()
		response, open := r.answer(n, request)
		if _, err := io.WriteString(conn, response); err != nil || !open {
			return
		}
	}
}

func (r *responder) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.seen...)
}

func readRequest(br *bufio.Reader) (string, error) {
	var b strings.Builder
	for !strings.HasSuffix(b.String(), "\r\n\r\n") {
		line, err := br.ReadString('\n')
		b.WriteString(line)
		if err != nil {
			return b.String(), err
		}
	}
	return b.String(), nil
}

// always answers every request alike.
func always(response string, open bool) *responder {
	return &responder{answer: func(int, string) (string, bool) { return response, open }}
}

// client is a client of r; the returned function ends both.
func (r *responder) client(set Settings) (*Client, func()) {
	c := New(set, r.dial)
	return c, func() { c.CloseIdle(); r.wg.Wait() }
}

func get(target string) *Request {
	return &Request{Scheme: "http", Host: "h.test", Addr: "192.0.2.1:80", Target: target}
}

func do(t *testing.T, c *Client, req *Request) *Response {
	t.Helper()
	resp, err := c.Do(context.Background(), req)
	if err != nil {
		t.Fatalf("Do: %v", err)
	}
	t.Cleanup(func() { _ = resp.Close() })
	return resp
}

func body(t *testing.T, s *Spool) string {
	t.Helper()
	b, err := s.Bytes()
	if err != nil {
		t.Fatalf("read body: %v", err)
	}
	return string(b)
}

func wantError(t *testing.T, err error, phase Phase, code Code) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %v, want %s/%s", err, phase, code)
	}
	if e.Phase != phase || e.Code != code {
		t.Fatalf("error is %v, want %s/%s", err, phase, code)
	}
	return e
}

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

// later is how long a test's server stays silent when it means for ever.
const later = time.Hour
