package http1

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A tape is a connection that plays bytes and ends.
type tape struct{ *strings.Reader }

func (tape) Write(p []byte) (int, error)      { return len(p), nil }
func (tape) Close() error                     { return nil }
func (tape) LocalAddr() net.Addr              { return nil }
func (tape) RemoteAddr() net.Addr             { return nil }
func (tape) SetDeadline(time.Time) error      { return nil }
func (tape) SetReadDeadline(time.Time) error  { return nil }
func (tape) SetWriteDeadline(time.Time) error { return nil }

const (
	fuzzHeader = 2 << 10
	fuzzBody   = 4 << 10
)

func play(raw string) (*Response, error) {
	c := New(Settings{MaxHeader: fuzzHeader, MaxBody: fuzzBody},
		func(context.Context, string, string) (net.Conn, error) {
			return tape{strings.NewReader(raw)}, nil
		})
	return c.Do(context.Background(), get("/"))
}

// FuzzResponse: whatever a server sends, the answer is bounded, has an explanation, and can be had
// again from the bytes that were kept.
func FuzzResponse(f *testing.F) {
	for _, cases := range [][]rawCase{headerCases(), lengthCases(), chunkCases(), codingCases()} {
		for _, tc := range cases {
			f.Add(tc.raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw string) {
		r, err := play(raw)
		if err != nil {
			if _, ok := err.(*Error); !ok {
				t.Fatalf("error %v is not the web's", err)
			}
			return
		}
		if len(r.RawHeader) > fuzzHeader || r.RawBody.Size() > 2*fuzzBody+framingRoom ||
			r.Body.Size() > fuzzBody {
			t.Fatalf("header %d, raw body %d, body %d bytes", len(r.RawHeader), r.RawBody.Size(),
				r.Body.Size())
		}
		if r.Status < 1 || r.Status > 999 {
			t.Fatalf("status %d", r.Status)
		}
		for _, field := range r.Header {
			if field[0] == "" || strings.ContainsAny(field[0]+field[1], "\r\n\x00") {
				t.Fatalf("field %q", field)
			}
		}
		kept := string(r.RawHeader) + body(t, r.RawBody)
		if !strings.Contains(raw, kept) {
			t.Fatalf("kept %q, which did not come", kept)
		}
		if r.RawTruncated == TruncatedLength {
			return
		}
		again, err := play(kept)
		if err != nil {
			if kept == "" || err.(*Error).Code == CodeEOF {
				return // HTTP/0.9 without a byte cannot be told from no answer
			}
			t.Fatalf("kept bytes: %v", err)
		}
		if again.Status != r.Status || again.Proto != r.Proto || again.Truncated != r.Truncated {
			t.Fatalf("%s %d %q became %s %d %q", r.Proto, r.Status, r.Truncated, again.Proto,
				again.Status, again.Truncated)
		}
		if diff := cmp.Diff(r.Header, again.Header); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(body(t, r.Body), body(t, again.Body)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzRequest: no target can leave its line.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{"/", "", "?a b", "/a HTTP/1.1\r\nX: y\r\n\r\n", "/\x00é#f", "*"} {
		f.Add(s, s)
	}
	set := Settings{}.withDefaults()
	f.Fuzz(func(t *testing.T, target, value string) {
		req := get(target)
		req.Header = Header{{"If-None-Match", value}, {value, "x"}}
		b, err := req.encode(&set)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(b), "\r\n")
		if n := strings.Count(string(b), "\n"); n != len(lines)-1 || n > 9 || n < 7 {
			t.Fatalf("%d lines in %q", n, b)
		}
		if parts := strings.Split(lines[0], " "); len(parts) != 3 || parts[0] != "GET" ||
			parts[2] != "HTTP/1.1" || !strings.HasPrefix(parts[1], "/") {
			t.Fatalf("request line %q", lines[0])
		}
		if strings.ContainsAny(string(b), "\x00") || !strings.HasSuffix(string(b), "\r\n\r\n") {
			t.Fatalf("request %q", b)
		}
	})
}

// FuzzSpool: a spool holds what was written, wherever its boundary falls.
func FuzzSpool(f *testing.F) {
	f.Add([]byte("some bytes of a body"), uint8(3), uint8(5), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, bound, step, off uint8) {
		files := &scratch{dir: t.TempDir()}
		defer files.clear()
		s := newSpool(files, int(bound)+1, int64(step))
		defer s.Close()
		for rest := data; len(rest) > 0; {
			n := min(int(step)+1, len(rest))
			if _, err := s.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		got, err := io.ReadAll(io.NewSectionReader(s, int64(off), s.Size()))
		if err != nil || string(got) != string(data[min(int(off), len(data)):]) {
			t.Fatalf("%q, %v", got, err)
		}
	})
}
