package http1

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"seine/formats/warc/httpmsg"
)

// onlyH2 is a server of net/http that speaks nothing but HTTP/2; dials counts connections to it. A
// strict one refuses a client that offers HTTP/1.1 alone, others hang up at its request.
func onlyH2(t *testing.T, ca *authority, strict bool, handle http.HandlerFunc) (dial Dialer, dials *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handle, Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "h.test", time.Now().Add(time.Hour))}}}
	server.Protocols.SetHTTP2(true)
	if strict {
		other := server.TLSConfig.Clone()
		other.NextProtos = []string{"other"}
		server.TLSConfig.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if slices.Contains(hello.SupportedProtos, "h2") {
				return nil, nil
			}
			return other, nil
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.ServeTLS(l, "", "") // ends by Close
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	dials = new(atomic.Int32)
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	}, dials
}

// TestOnlyHTTP2 asks servers that have nothing else.
func TestOnlyHTTP2(t *testing.T) {
	for _, strict := range []bool{true, false} {
		t.Run(fmt.Sprintf("strict %v", strict), func(t *testing.T) { askOnlyH2(t, strict) })
	}
}

func askOnlyH2(t *testing.T, strict bool) {
	ca := newAuthority(t)
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	_, _ = zip.Write([]byte("<p>packed</p>"))
	_ = zip.Close()
	dial, dials := onlyH2(t, ca, strict, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped.Bytes())
		case "/same":
			w.WriteHeader(http.StatusNotModified)
		case "/long":
			_, _ = w.Write(make([]byte, 1<<20))
		case "/cut":
			_, _ = w.Write(make([]byte, 64<<10))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/headers":
			for i := range 10 {
				w.Header().Set(fmt.Sprint("X-Long-", i), strings.Repeat("x", 4<<10))
			}
		case "/hints":
			w.Header().Set("Link", "</a.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			fmt.Fprint(w, "after the hints")
		case "/none":
		default:
			fmt.Fprintf(w, "%s %s %s|%s|%s", r.Method, r.Host, r.URL, r.UserAgent(), r.Header.Get("If-None-Match"))
		}
	})
	c := New(Settings{Agent: "seine/1", TLS: &tls.Config{RootCAs: ca.pool()}, MaxBody: 256 << 10, MaxHeader: 32 << 10},
		dial)
	if !strict { // the request was sent, so asking again takes a slot
		if _, err := c.Do(t.Context(), getSecure("h.test")); !isCode(err, CodeStale) {
			t.Fatalf("error %v, want %s", err, CodeStale)
		}
	}
	for _, tc := range []struct {
		target, body, truncated string
		status                  int
		code                    Code
	}{
		{target: "/a%20b?q=1&r", body: "GET h.test /a%20b?q=1&r|seine/1|\"e\"", status: 200},
		{target: "/gzip", body: "<p>packed</p>", status: 200},
		{target: "/same", status: 304},
		{target: "/none", status: 200},
		{target: "/hints", body: "after the hints", status: 200},
		{target: "/long", body: strings.Repeat("\x00", 256<<10), status: 200, truncated: TruncatedLength},
		{target: "/cut", body: strings.Repeat("\x00", 64<<10), status: 200, truncated: TruncatedDisconnect},
		{target: "/headers", code: CodeHeaderTooLarge},
	} {
		t.Run(tc.target, func(t *testing.T) {
			req := getSecure("h.test")
			req.Target, req.Header = tc.target, Header{{"If-None-Match", `"e"`}}
			r, err := c.Do(t.Context(), req)
			if tc.code != "" {
				if e := new(Error); !errors.As(err, &e) || e.Code != tc.code || !e.Sent {
					t.Fatalf("error %v, want %s, sent", err, tc.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			body, err := r.Body.Bytes()
			if err != nil || string(body) != tc.body {
				t.Errorf("a body of %d bytes, %.60q, %v; want %d", len(body), body, err, len(tc.body))
			}
			if r.Status != tc.status || r.Proto != Proto2 || r.Truncated != tc.truncated || r.TTFB <= 0 {
				t.Errorf("%d by %s after %v, truncated %q", r.Status, r.Proto, r.TTFB, r.Truncated)
			}
			spoken, suite := r.Spoken()
			if !slices.Equal(spoken, []string{"h2", "tls/1.3"}) || !strings.HasPrefix(suite, "TLS_") {
				t.Errorf("spoken %q by %q", spoken, suite)
			}
			archived(t, r)
		})
	}
	if n := dials.Load(); n != 9 {
		t.Errorf("%d connections for 8 requests, want one more: the first, that was refused", n)
	}
}

// archived: what the archive keeps of a response reads as one of HTTP/1.1.
func archived(t *testing.T, r *Response) {
	t.Helper()
	head, n, err := httpmsg.Split(bytes.NewReader(r.RawHeader))
	if err != nil || n != int64(len(r.RawHeader)) || head.Status != r.Status || head.Proto != "HTTP/1.1" || len(head.Header) != len(r.Header) {
		t.Errorf("the archive holds %+v, %v: %q", head, err, r.RawHeader)
	}
}

// TestHTTP2Gate: with a closed gate nothing leaves, whichever connection it is.
func TestHTTP2Gate(t *testing.T) {
	ca := newAuthority(t)
	var asked atomic.Int32
	dial, _ := onlyH2(t, ca, true, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for open := range int32(5) { // two dials, two greetings, the end of a handshake
		c := New(Settings{TLS: &tls.Config{RootCAs: ca.pool()}}, dial)
		req, refused := getSecure("h.test"), errors.New("lease lost")
		var times atomic.Int32
		req.Gate = func() error {
			if times.Add(1) > open {
				return refused
			}
			return nil
		}
		if r, err := c.Do(t.Context(), req); !errors.Is(err, refused) {
			t.Errorf("%+v, error %v after %d times, want the gate's", r, err, open)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

// TestSilentServer: a server that hangs up at each request is offered HTTP/2 once, not each time.
func TestSilentServer(t *testing.T) {
	ca := newAuthority(t)
	config := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "h.test", time.Now().Add(time.Hour))}}
	dial, wait := secured(t, config, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1000)) })
	defer wait()
	c := New(Settings{TLS: &tls.Config{RootCAs: ca.pool()}}, dial)
	for i, want := range []Code{CodeStale, CodeEOF, CodeEOF} {
		if _, err := c.Do(t.Context(), getSecure("h.test")); !isCode(err, want) {
			t.Errorf("request %d: %v, want %s", i, err, want)
		}
	}
}

func isCode(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// hostile answers HTTP/2 frames by hand, behind the preface and the request.
func hostile(t *testing.T, ca *authority, set Settings, answer func(f *http2.Framer)) (*Response, error) {
	t.Helper()
	config := &tls.Config{NextProtos: []string{"h2"},
		Certificates: []tls.Certificate{ca.issue(t, "h.test", time.Now().Add(time.Hour))}}
	dial, wait := secured(t, config, func(conn net.Conn) {
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(conn, preface); err != nil || string(preface) != http2.ClientPreface {
			return
		}
		f := http2.NewFramer(conn, conn)
		f.AllowIllegalWrites = true
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if _, ok := frame.(*http2.HeadersFrame); ok {
				answer(f)
				_, _ = io.Copy(io.Discard, conn)
				return
			}
		}
	})
	defer wait()
	set.TLS = &tls.Config{RootCAs: ca.pool()}
	set.FirstByteTimeout = 5 * time.Second
	c := New(set, dial)
	if _, err := c.Do(t.Context(), getSecure("h.test")); !isCode(err, CodeStale) {
		t.Fatalf("error %v, want %s", err, CodeStale)
	}
	r, err := c.Do(t.Context(), getSecure("h.test"))
	if err == nil {
		t.Cleanup(func() { _ = r.Close() })
	}
	return r, err
}

func fields(pairs ...string) []byte {
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for i := 0; i < len(pairs); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return block.Bytes()
}

func heads(f *http2.Framer, end bool, pairs ...string) {
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: fields(pairs...), EndHeaders: true,
		EndStream: end})
}

// TestHostileHTTP2: frames that break rules are a reason, never a panic or a wait
// without end.
func TestHostileHTTP2(t *testing.T) {
	ca := newAuthority(t)
	for _, tc := range []struct {
		name   string
		answer func(f *http2.Framer)
		code   Code   // "": there is a response
		fault  string // of the response's body
	}{
		{name: "no frames", answer: func(f *http2.Framer) { _ = f.WriteRawFrame(0xff, 0xff, 1<<30, make([]byte, 17<<10)) },
			code: CodeMalformed},
		{name: "data before the head", answer: func(f *http2.Framer) { _ = f.WriteData(1, true, []byte("x")) },
			code: CodeMalformed},
		{name: "no status", answer: func(f *http2.Framer) { heads(f, true, "a", "b") }, code: CodeMalformed},
		{name: "a status that is none", answer: func(f *http2.Framer) { heads(f, true, ":status", "-1") },
			code: CodeMalformed},
		{name: "a line break in a field", answer: func(f *http2.Framer) { heads(f, true, ":status", "200", "a", "b\r\nc: d") },
			code: CodeMalformed},
		{name: "refused stream", answer: func(f *http2.Framer) { _ = f.WriteRSTStream(1, http2.ErrCodeRefusedStream) },
			code: CodeEOF},
		{name: "refused connection", answer: func(f *http2.Framer) { _ = f.WriteGoAway(0, http2.ErrCodeNo, nil) },
			code: CodeEOF},
		{name: "interim without end", answer: func(f *http2.Framer) {
			for range 20 {
				heads(f, false, ":status", "103")
			}
		}, code: CodeMalformed},
		{name: "pings without end", answer: func(f *http2.Framer) {
			for range 2 * h2Frames {
				if f.WriteSettings() != nil {
					return
				}
			}
		}, code: CodeMalformed},
		{name: "a push", answer: func(f *http2.Framer) {
			_ = f.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: fields(":path", "/"),
				EndHeaders: true})
		}, code: CodeMalformed},
		{name: "shorter than it said", answer: func(f *http2.Framer) {
			heads(f, false, ":status", "200", "content-length", "9")
			_ = f.WriteData(1, true, []byte("short"))
		}, fault: TruncatedUnspecified},
		{name: "reset in the body", answer: func(f *http2.Framer) {
			heads(f, false, ":status", "200")
			_ = f.WriteData(1, false, []byte("half"))
			_ = f.WriteRSTStream(1, http2.ErrCodeInternal)
		}, fault: TruncatedDisconnect},
		{name: "fields of a connection", answer: func(f *http2.Framer) {
			heads(f, false, ":status", "200", "transfer-encoding", "chunked", "connection", "close")
			_ = f.WriteData(1, true, []byte("plain"))
		}},
		{name: "trailers", answer: func(f *http2.Framer) {
			heads(f, false, ":status", "200")
			_ = f.WriteData(1, false, []byte("plain"))
			heads(f, true, "checksum", "1")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := hostile(t, ca, Settings{}, tc.answer)
			if tc.code != "" {
				if e := new(Error); !errors.As(err, &e) || e.Code != tc.code || !e.Sent {
					t.Fatalf("%+v, error %v, want %s", r, err, tc.code)
				}
				return
			}
			if err != nil || r.RawTruncated != tc.fault {
				t.Fatalf("%+v, error %v, want truncated %q", r, err, tc.fault)
			}
			if body, _ := r.Body.Bytes(); tc.fault == "" && string(body) != "plain" {
				t.Errorf("body %q", body)
			}
			archived(t, r)
		})
	}
}
