package fetch

import (
	"strings"
	"testing"
	"time"

	"seine/formats/schema"
	"seine/formats/settings"
)

const htmlHead = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

var gzipHello = gzipped("<p>hello")

var framingCases = []struct {
	name      string
	answer    reply
	reason    schema.Reason
	text      string // of the page; "" with no page
	truncated string
}{
	{"a line without colon", raw(htmlHead, "GARBAGE LINE\r\nContent-Length: 8\r\n\r\n<p>hello"),
		schema.OK, "hello", ""},
	{"a name with a Unicode hyphen", raw(htmlHead,
		"Strict\u2010Transport: b\r\nContent-Length: 8\r\n\r\n<p>hello"), schema.OK, "hello", ""},
	{"an empty name", raw(htmlHead, ": b\r\nContent-Length: 8\r\n\r\n<p>hello"), schema.OK, "hello",
		""},
	{"line feeds alone",
		raw("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 8\n\n<p>hello"), schema.OK,
		"hello", ""},
	{"ICY", raw("ICY 200 OK\r\nContent-Type: text/html\r\n\r\n<p>hello"), schema.OK, "hello", ""},
	{"no header at all", raw("<html><p>hello"), schema.OK, "hello", ""},
	{"a length with NUL", raw(htmlHead, "Content-Length: 8\x00\r\n\r\n<p>hello"), schema.OK, "hello",
		""},
	{"a length twice in a line", raw(htmlHead, "Content-Length: 8, 8\r\n\r\n<p>hello"), schema.OK,
		"hello", ""},
	{"a length with sign", raw(htmlHead, "Content-Length: +8\r\n\r\n<p>hello"), schema.OK, "hello",
		""},
	{"an empty length", raw(htmlHead, "Content-Length:\r\n\r\n<p>hello"), schema.OK, "hello", ""},
	{"two equal lengths", raw(htmlHead, "Content-Length: 8\r\nContent-Length: 8\r\n\r\n<p>hello"),
		schema.OK, "hello", ""},
	{"two lengths that differ", raw(htmlHead,
		"Content-Length: 8\r\nContent-Length: 9\r\n\r\n<p>hello"), schema.Disconnected, "hello",
		"disconnect"},
	{"a length too large", raw(htmlHead, "Content-Length: 100\r\n\r\n<p>hello"), schema.Disconnected,
		"hello", "disconnect"},
	{"no length", raw(htmlHead, "\r\n<p>hello"), schema.OK, "hello", ""},
	{"chunks", raw(htmlHead, "Transfer-Encoding: chunked\r\n\r\n", chunked("<p>he", "llo")),
		schema.OK, "hello", ""},
	{"chunks and a length", raw(htmlHead, "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
		chunked("<p>hello")), schema.OK, "hello", ""},
	{"chunks cut short", raw(htmlHead, "Transfer-Encoding: chunked\r\n\r\n20\r\n<p>hello"),
		schema.Disconnected, "hello", "disconnect"},
	{"identity", raw(htmlHead, "Transfer-Encoding: identity\r\nContent-Length: 8\r\n\r\n<p>hello"),
		schema.OK, "hello", ""},
	{"gzip", raw(htmlHead, "Content-Encoding: gzip\r\n\r\n", gzipHello), schema.OK, "hello", ""},
	{"gzip that is plain", raw(htmlHead, "Content-Encoding: gzip\r\n\r\n<p>hello"), schema.OK,
		"hello", ""},
	{"x-gzip", raw(htmlHead, "Content-Encoding: x-gzip\r\n\r\n", gzipHello), schema.OK, "hello", ""},
	{"gzip twice", raw(htmlHead, "Content-Encoding: gzip, gzip\r\n\r\n", gzipped(gzipHello)),
		schema.OK,
		"hello", ""},
	{"gzip in transfer", raw(htmlHead, "Transfer-Encoding: gzip, chunked\r\n\r\n", chunked(gzipHello)),
		schema.OK, "hello", ""},
	{"gzip with the length of the plain text", raw(htmlHead,
		"Content-Encoding: gzip\r\nContent-Length: 8\r\n\r\n", gzipHello), schema.OK, "", ""},
	{"gzip with garbage behind", raw(htmlHead, "Content-Encoding: gzip\r\n\r\n", gzipHello, "garbage"),
		schema.OK, "hello", ""},
	{"two members", raw(htmlHead, "Content-Encoding: gzip\r\n\r\n", gzipped("<p>hel"), gzipped("lo")),
		schema.OK, "hello", ""},
	{"coding utf-8", raw(htmlHead, "Content-Encoding: utf-8\r\n\r\n<p>hello"), schema.OK, "hello", ""},
	{"coding none", raw(htmlHead, "Content-Encoding: none\r\n\r\n<p>hello"), schema.OK, "hello", ""},
	{"early hints", raw("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", htmlHead, "\r\n<p>hello"),
		schema.OK, "hello", ""},
	{"continue", raw("HTTP/1.1 100 Continue\r\n\r\n", htmlHead, "\r\n<p>hello"), schema.OK, "hello",
		""},
	{"206 that was not asked for",
		raw("HTTP/1.1 206 Partial\r\nContent-Type: text/html\r\n",
			"Content-Range: bytes 0-7/8\r\n\r\n<p>hello"),
		schema.OK, "hello", ""},
	{"999", raw("HTTP/1.1 999 No\r\nContent-Length: 2\r\n\r\nhi"), schema.OddStatus, "", ""},
	{"nothing", reply{}, schema.Reset, "", ""},
	{"silence", reply{hang: true}, schema.Timeout, "", ""},
	{"half a header", raw("HTTP/1.1 200 OK\r\nContent-Ty"), schema.Disconnected, "", ""},
	{"a header without end", reply{pieces: []string{"HTTP/1.1 200 OK\r\n",
		strings.Repeat("X: y\r\n", 4000)}, repeat: true}, schema.HeaderTooLarge, "", ""},
	{"a byte every nine seconds", reply{pieces: []string{htmlHead + "\r\n<p>", "x"},
		every: 9 * time.Second, repeat: true}, schema.TooSlow, "xxx", "time"},
	{"slow in the header", reply{pieces: []string{"HTTP/1.1 200 OK\r\n", "X"},
		every: 9 * time.Second, repeat: true}, schema.TooSlow, "", ""},
	{"just fast enough, without end", reply{pieces: []string{htmlHead + "\r\n<p>hello ",
		strings.Repeat(" ", 2048)}, every: time.Second, repeat: true}, schema.Timeout, "hello",
		"time"},
	{"an endless page", reply{pieces: []string{htmlHead + "\r\n<p>hello ", strings.Repeat(" ",
		1<<20)}, repeat: true}, schema.OK, "hello", "length"},
	{"an endless stream",
		reply{pieces: []string{"HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n",
			strings.Repeat("\xff\xfb", 1<<19)}, repeat: true}, schema.TypeOut, "", ""},
}

// TestFraming has section D of the field's cases: raw answers, and the rows that
// they leave.
func TestFraming(t *testing.T) {
	for _, c := range framingCases {
		t.Run(c.name, func(t *testing.T) {
			s := newScript()
			s.replies["h.test/"] = c.answer
			trial(t, s, settings.Settings{MaxBody: 3 << 20}, []string{"http://h.test/",
				"http://h.test/next"},
				func(t *testing.T, _ *world, l *left) { judgeFraming(t, l, c.reason, c.text, c.truncated) })
		})
	}
}

func judgeFraming(t *testing.T, l *left, reason schema.Reason, text, truncated string) {
	t.Helper()
	got := l.outcome("http://h.test/")
	if got.Reason != reason {
		t.Errorf("ends as %s (%s), want %s", got.Reason, got.Detail, reason)
	}
	p, ok := l.page("http://h.test/")
	switch {
	case !ok && text != "":
		t.Errorf("no page")
	case ok && (p.Text != text && !(text == "xxx" && strings.HasPrefix(p.Text, "xxx")) ||
		p.Truncated != truncated):
		t.Errorf("page of text %.40q, truncated %q; want %q, %q", p.Text, p.Truncated, text, truncated)
	}
	if next := l.outcome("http://h.test/next"); next.Reason != schema.NotFound {
		t.Errorf("the next URL ends as %s (%s)", next.Reason, next.Detail)
	}
}

// TestConnectionsStayInStep: after answers that must not have a body, the next
// answer on the connection is the next one.
func TestConnectionsStayInStep(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	for name, answer := range map[string]string{
		"204 with a length": "HTTP/1.1 204 No\r\nContent-Length: 200\r\n\r\n",
		"204 with a body":   "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\nhello",
		"304 with a length": "HTTP/1.1 304 No\r\nContent-Length: 200\r\n\r\n",
		"more than said":    head + "Content-Length: 2\r\n\r\nhello",
		"chunks with more": head + "Transfer-Encoding: chunked\r\n\r\n" + chunked("hi") +
			"HTTP/1.1 200 OK\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript()
			s.replies["h.test/"] = reply{pieces: []string{answer}, keep: true}
			s.replies["h.test/next"] = html("<title>next</title>")
			trial(t, s, settings.Settings{}, []string{"http://h.test/", "http://h.test/next"},
				func(t *testing.T, _ *world, l *left) {
					if p, ok := l.page("http://h.test/next"); !ok || p.Title != "next" {
						t.Errorf("next page %v, title %q, ends as %+v", ok, p.Title,
							l.outcome("http://h.test/next"))
					}
				})
		})
	}
}

// TestCutBodiesAreNotConfirmed: a body cut short keeps no validator.
func TestCutBodiesAreNotConfirmed(t *testing.T) {
	s := newScript()
	s.replies["h.test/"] = raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n",
		"ETag: \"a\"\r\nContent-Length: 99\r\n\r\n<p>x")
	trial(t, s, settings.Settings{}, []string{"http://h.test/"}, func(t *testing.T, _ *world,
		l *left) {
		if p, ok := l.page("http://h.test/"); !ok || p.ETag != "" {
			t.Errorf("page %v has the validator %q", ok, p.ETag)
		}
	})
}

// TestCookies has section F: none is kept and none is sent.
func TestCookies(t *testing.T) {
	s := newScript()
	jar := strings.Repeat("Set-Cookie: a=b; Domain=test\r\n", 3000)
	s.replies["h.test/1"] = html("x", jar+"Set-Cookie: c=d")
	trial(t, s, settings.Settings{}, []string{"http://h.test/1", "http://h.test/2",
		"http://www.h.test/3"},
		func(t *testing.T, _ *world, l *left) {
			for _, r := range s.log {
				if strings.Contains(strings.ToLower(r.head), "cookie") || strings.Contains(r.head,
					"Referer") {
					t.Errorf("request %q", r.head)
				}
			}
			if len(l.pages) != 1 {
				t.Errorf("%d pages", len(l.pages))
			}
		})
}
