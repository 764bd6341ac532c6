package webtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// frame is how an answer is framed; all of them are accepted by browsers.
type frame int

const (
	framePlain frame = iota
	frameChunked
	frameClose       // no length, the connection ends it
	frameLF          // LF-only header lines
	frameRepeated    // two equal Content-Length
	frameGarbageLine // a header line without colon
	frameIdentity    // Transfer-Encoding: identity
	frameEncoding    // Content-Encoding: utf-8
	frames
)

// answerTo is what a request for path on h is answered with at time now.
func (w *Web) answerTo(h *Host, path string, now time.Time) answer {
	bare, query, _ := strings.Cut(path, "?")
	var a answer
	n, isPage := number(bare)
	switch {
	case bare == "/robots.txt":
		a = h.robotsTxt()
	case bare == "/robots-moved.txt":
		a = answer{status: 200, kind: "text/plain", body: []byte(rules)}
	case bare == "/sitemap.xml":
		a = w.sitemap(h)
	case h.Health == Failing:
		a = answer{status: 500, kind: "text/html", body: []byte("<h1>error</h1>")}
	case isPage && n < h.Pages && query == "":
		a = w.page(h, n, now)
	case strings.HasPrefix(bare, "/trap/"):
		body := fmt.Sprintf("<title>trap</title><a href=\"%s/a/b\">on</a>", bare)
		a = answer{status: 200, kind: "text/html", body: []byte(body)}
	case strings.HasPrefix(bare, "/private/") || strings.HasSuffix(bare, ".secret"):
		a = answer{status: 200, kind: "text/html", body: []byte("<title>private</title><p>private")}
	default:
		a = answer{status: 404, kind: "text/html", body: []byte("<h1>not found</h1>")}
	}
	if h.Health == Slow {
		a.delay += 2 * time.Second
	}
	a.delay += w.spec.Latency
	return a
}

func (w *Web) sitemap(h *Host) answer {
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n")
	for n := range min(h.Pages, 100) {
		fmt.Fprintf(&b, "<url><loc>%s</loc></url>\n", h.URL(Path(n)))
	}
	b.WriteString("</urlset>\n")
	return answer{status: 200, kind: "application/xml", body: b.Bytes()}
}

// throttles says whether a throttled host answers its k-th request with 429.
func (w *Web) throttles(h *Host, k int) bool {
	return h.Health == Throttled && k > 0 && w.hash("429", h.Name, strconv.Itoa(k))%16 == 0
}

// Dial connects to an address that Lookup gave, in memory: the far end is
// served until it is closed. It is what a dialler of the net package would be.
func (w *Web) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	target, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	h := w.at(target.Addr())
	if h == nil || h.Health == Refused {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		w.ServeConn(far)
	}()
	return near, nil
}

func (w *Web) at(a netip.Addr) *Host {
	b := a.Unmap().As4()
	i := (int(b[1])-1-w.spec.Net)<<16 | int(b[2])<<8 | int(b[3])
	if i < 0 || i >= len(w.hosts) || w.hosts[i].Addr != a.Unmap() {
		return nil
	}
	return w.hosts[i]
}

// Serve answers the connections of a listener until ctx ends, then waits for
// those that are open.
func (w *Web) Serve(ctx context.Context, l net.Listener) error {
	var open sync.WaitGroup
	defer open.Wait()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept on %s: %w", l.Addr(), err)
		}
		open.Go(func() {
			defer conn.Close()
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			defer stop()
			w.ServeConn(conn)
		})
	}
}

// ServeConn answers the requests of one connection until it is closed.
func (w *Web) ServeConn(conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		if _, err := in.Peek(1); err != nil {
			return
		}
		received := time.Now()
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if !w.exchange(conn, req, received) {
			return
		}
	}
}

// exchange answers one request and logs it; it says whether the connection
// stays open.
func (w *Web) exchange(conn net.Conn, req *http.Request, received time.Time) bool {
	name := req.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	h, ok := w.Host(name)
	if !ok {
		io.WriteString(conn, "HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n")
		return true
	}
	entry := Request{At: received, Host: h.Name, Domain: h.Domain, Path: req.RequestURI,
		Agent: req.UserAgent(), Conditional: req.Header.Get("If-None-Match") != ""}
	k := w.Log.begin(&entry)
	if h.Health == Silent {
		io.Copy(io.Discard, conn) // until the client gives up
		w.Log.end(k, 0, 0)
		return false
	}
	a := w.answerTo(h, req.RequestURI, received)
	if w.throttles(h, w.Log.count(h.Name)) && req.RequestURI != "/robots.txt" {
		a = answer{status: 429, kind: "text/html", header: []string{"Retry-After: 30"}}
	}
	if a.delay > 0 {
		time.Sleep(a.delay)
	}
	if a.etag != "" && req.Header.Get("If-None-Match") == a.etag {
		a = answer{status: 304, etag: a.etag}
	}
	n, err := a.write(conn, strings.Contains(req.Header.Get("Accept-Encoding"), "gzip"))
	if err != nil {
		// The client had gone while the answer was made. When it did cannot be
		// seen here: the answer counts as given up from the start.
		w.Log.abort(k)
		return false
	}
	w.Log.end(k, a.status, n)
	return a.frame != frameClose
}

// write frames the answer onto the connection.
func (a answer) write(conn io.Writer, acceptsGzip bool) (int64, error) {
	var b bytes.Buffer
	eol := "\r\n"
	if a.frame == frameLF {
		eol = "\n"
	}
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+eol, args...) }
	body := a.body
	line("HTTP/1.1 %d %s", a.status, http.StatusText(a.status))
	line("Date: %s", time.Now().UTC().Format(http.TimeFormat))
	if a.kind != "" {
		line("Content-Type: %s", a.kind)
	}
	if a.location != "" {
		line("Location: %s", a.location)
	}
	if a.etag != "" {
		line("ETag: %s", a.etag)
	}
	for _, h := range a.header {
		line("%s", h)
	}
	if a.gzip && acceptsGzip {
		line("Content-Encoding: gzip")
		body = gzipped(body)
	}
	a.frameBody(&b, line, eol, body)
	n, err := conn.Write(b.Bytes())
	return int64(n), err
}

func (a answer) frameBody(b *bytes.Buffer, line func(string, ...any), eol string, body []byte) {
	switch a.frame {
	case frameChunked:
		line("Transfer-Encoding: chunked")
		b.WriteString(eol)
		half := len(body) / 2
		fmt.Fprintf(b, "%x;ext=1\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", half, body[:half],
			len(body)-half, body[half:])
		return
	case frameClose:
		line("Connection: close")
		b.WriteString(eol)
		b.Write(body)
		return
	case frameRepeated:
		line("Content-Length: %d", len(body))
	case frameGarbageLine:
		line("GARBAGE LINE")
		line("Content-Disposition = inline")
	case frameIdentity:
		line("Transfer-Encoding: identity")
	case frameEncoding:
		line("Content-Encoding: utf-8")
	}
	if a.status != http.StatusNotModified {
		line("Content-Length: %d", len(body))
	}
	b.WriteString(eol)
	b.Write(body)
}

// ErrNoHost is returned by Resolve for a name that the web does not have.
var ErrNoHost = errors.New("no such host")

// Resolve is Lookup in the shape of a resolver.
func (w *Web) Resolve(_ context.Context, name string) ([]netip.Addr, error) {
	a, ok := w.Lookup(name)
	if !ok {
		return nil, fmt.Errorf("resolve %s: %w", name, ErrNoHost)
	}
	return []netip.Addr{a}, nil
}

// expUnit maps u in [0, 1) to [1, n] with density 1/x: Zipf's law with s = 1.
func expUnit(u, n float64) float64 { return math.Pow(n, u) }
