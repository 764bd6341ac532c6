package http1

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/andybalholm/brotli"
)

// A rawCase is one odd response: what a server sends before it closes (or not, with open), and what
// is made of it.
type rawCase struct {
	name      string
	raw       string
	open      bool
	status    int
	body      string
	truncated string
	reusable  bool
	check     func(t *testing.T, r *Response)
}

const ok = "HTTP/1.1 200 OK\r\n"

func headerIs(name, want string) func(*testing.T, *Response) {
	return func(t *testing.T, r *Response) {
		t.Helper()
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func protoIs(want string) func(*testing.T, *Response) {
	return func(t *testing.T, r *Response) {
		t.Helper()
		if r.Proto != want {
			t.Errorf("protocol is %q, want %q", r.Proto, want)
		}
	}
}

func faultIs(want Code) func(*testing.T, *Response) {
	return func(t *testing.T, r *Response) {
		t.Helper()
		if r.Fault == nil || r.Fault.Code != want {
			t.Errorf("fault is %v, want %s", r.Fault, want)
		}
	}
}

// headerCases: cases.md 81 and the first half of its raw-input table.
func headerCases() []rawCase {
	hi := "Content-Length: 2\r\n\r\nhi"
	good := func(name, raw string, check func(*testing.T, *Response)) rawCase {
		return rawCase{
			name: name, raw: raw, open: true, status: 200, body: "hi", reusable: true, check: check,
		}
	}
	return []rawCase{
		good("line without colon", ok+"GARBAGE LINE\r\nA: b\r\n"+hi, headerIs("A", "b")),
		good("equals sign for colon", ok+"Content-Disposition = attachment\r\n"+hi, nil),
		good("fold onto garbage", ok+"A: b\r\nGARBAGE\r\n more\r\n"+hi, headerIs("A", "b")),
		good("space before colon", ok+"Content-Length : 2\r\n\r\nhi", nil),
		good("status line with two spaces", "HTTP/1.1  200  OK\r\n"+hi, nil),
		good("status line with tab", "HTTP/1.1\t200\tOK\r\n"+hi, nil),
		good("status line without reason", "HTTP/1.1 200\r\n"+hi, nil),
		good("status line without number", "HTTP/1.1 OK\r\n"+hi, nil),
		good("status line, version alone", "HTTP/1.1\r\n"+hi, nil),
		good("status line in lower case", "http/1.1 200 ok\r\n"+hi, protoIs("HTTP/1.1")),
		good("empty lines first", "\r\n\r\n"+ok+hi, nil),
		good("four bytes of rubbish first", "ab\r\n"+ok+hi, nil),
		good("line feeds alone", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", nil),
		good("folded", ok+"A: b\r\n c\r\n\td\r\n"+hi, headerIs("a", "b c d")),
		good("fold first", ok+" x: y\r\n"+hi, nil),
		good("name not ASCII", ok+"X-é: b\r\n"+hi, headerIs("X-é", "b")),
		good("hyphen not ASCII", ok+"Strict‐Transport: b\r\n"+hi, headerIs("Strict‐Transport", "b")),
		good("name not UTF-8", ok+"X-\xe9: b\xff\r\n"+hi, headerIs("X-\xe9", "b\xff")),
		good("name empty", ok+": b\r\n"+hi, headerIs("", "")),
		good("NUL in a value", ok+"A: b\x00c\r\n"+hi, headerIs("A", "bc")),
		good("CR in a value", ok+"A: b\rX-Y: z\r\n"+hi, headerIs("A", "b X-Y: z")),
		good("value with colons", ok+"A: b:c: d\r\n"+hi, headerIs("A", "b:c: d")),
		good("names without case", ok+"cOnTeNt-LeNgTh: 2\r\n\r\nhi", nil),
		{name: "status 999", raw: "HTTP/1.1 999 Denied\r\n" + hi, open: true, status: 999, body: "hi",
			reusable: true},
		{name: "status of two digits", raw: "HTTP/1.1 20\r\n" + hi, open: true, status: 20, body: "hi",
			reusable: true},
		{name: "status of five digits", raw: "HTTP/1.1 40412\r\n" + hi, open: true, status: 404,
			body: "hi", reusable: true},
		{name: "no version", raw: "HTTP 200 OK\r\n" + hi, status: 200, body: "hi"},
		{name: "a later version", raw: "HTTP/2 200\r\n" + hi, status: 200, body: "hi"},
		{name: "ICY", raw: "ICY 200 OK\r\nicy-name: x\r\n\r\nhi", status: 200, body: "hi",
			check: protoIs("ICY")},
		{name: "HTTP/0.9", raw: "<html>hi</html>", status: 200, body: "<html>hi</html>",
			check: protoIs("HTTP/0.9")},
		{name: "HTTP/0.9, one byte", raw: "H", status: 200, body: "H", check: protoIs("HTTP/0.9")},
		{name: "HTTP/1.0", raw: "HTTP/1.0 200 OK\r\n" + hi, open: true, status: 200, body: "hi"},
		{name: "HTTP/1.0 kept", raw: "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n" + hi, open: true,
			status: 200, body: "hi", reusable: true},
		{name: "told to close", raw: ok + "Connection: x, Close\r\n" + hi, open: true, status: 200,
			body: "hi"},
		{name: "header cut", raw: ok + "Content-Length: 2\r\nX-Y", status: 200,
			truncated: TruncatedDisconnect, check: faultIs(CodeEOF)},
		{name: "header cut after status line", raw: ok, status: 200, truncated: TruncatedDisconnect},
	}
}

// lengthCases: cases.md 83, 85, 91.
func lengthCases() []rawCase {
	length := func(name, fields string) rawCase {
		return rawCase{name: "content-length " + name, raw: ok + fields + "\r\nhi", open: true,
			status: 200, body: "hi", reusable: true}
	}
	return []rawCase{
		length("with NUL", "Content-Length: 2\x00\r\n"),
		length("twice in one", "Content-Length: 2, 2\r\n"),
		length("with plus", "Content-Length: +2\r\n"),
		length("twice", "Content-Length: 2\r\nContent-Length: 2\r\n"),
		length("empty and not", "Content-Length:\r\nContent-Length: 2\r\n"),
		length("with zeros", "Content-Length: 002\r\n"),
		length("with TE: identity", "Transfer-Encoding: identity\r\nContent-Length: 2\r\n"),
		{name: "content-length empty", raw: ok + "Content-Length:\r\n\r\nhi", status: 200, body: "hi"},
		{name: "content-length negative", raw: ok + "Content-Length: -1\r\n\r\nhi", status: 200,
			body: "hi"},
		{name: "content-length no number", raw: ok + "Content-Length: two\r\n\r\nhi", status: 200,
			body: "hi"},
		{name: "content-length over int64", raw: ok + "Content-Length: 99999999999999999999\r\n\r\nhi",
			status: 200, body: "hi"},
		{name: "content-length twice, different",
			raw:    ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!",
			status: 200, body: "hi!", truncated: TruncatedUnspecified, check: faultIs(CodeMalformed)},
		{name: "content-length different, cut", raw: ok + "Content-Length: 2, 3\r\n\r\nhi",
			status: 200, body: "hi", truncated: TruncatedDisconnect, check: faultIs(CodeEOF)},
		{name: "content-length too big", raw: ok + "Content-Length: 100\r\n\r\nhi", status: 200,
			body: "hi", truncated: TruncatedDisconnect, check: faultIs(CodeEOF)},
		{name: "content-length too big, open", raw: ok + "Content-Length: 100\r\n\r\nhi", open: true,
			status: 200, body: "hi", truncated: TruncatedTime, check: faultIs(CodeTooSlow)},
		{name: "content-length too small", raw: ok + "Content-Length: 1\r\n\r\nhi", open: true,
			status: 200, body: "h"},
		{name: "content-length zero", raw: ok + "Content-Length: 0\r\n\r\n", open: true, status: 200,
			reusable: true},
		{name: "no length", raw: ok + "\r\nhi", status: 200, body: "hi"},
		{name: "TE: identity alone", raw: ok + "Transfer-Encoding: identity\r\n\r\nhi", status: 200,
			body: "hi"},
		{name: "204", raw: "HTTP/1.1 204 No Content\r\n\r\n", open: true, status: 204, reusable: true},
		{name: "204 with body", raw: "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nhi",
			open: true, status: 204},
		{name: "304", raw: "HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", open: true, status: 304,
			reusable: true},
		{name: "304 with length", raw: "HTTP/1.1 304 Not Modified\r\nContent-Length: 200\r\n\r\n",
			open: true, status: 304},
		{name: "100 then 200", raw: "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nhi",
			open: true, status: 200, body: "hi", reusable: true},
		{name: "103 then 200", raw: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok +
			"Content-Length: 2\r\n\r\nhi", open: true, status: 200, body: "hi", reusable: true},
		{name: "101", raw: "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", open: true, status: 101},
		{name: "206 whole", raw: "HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-1/2\r\n" +
			"Content-Length: 2\r\n\r\nhi", open: true, status: 206, body: "hi", reusable: true},
		{name: "301 without location", raw: "HTTP/1.1 301 Moved\r\nContent-Length: 2\r\n\r\nhi",
			open: true, status: 301, body: "hi", reusable: true},
		{name: "302 with odd location", raw: "HTTP/1.1 302 Found\r\nLocation: /caf\xe9 x\r\n" +
			"Content-Length: 0\r\n\r\n", open: true, status: 302, reusable: true,
			check: headerIs("Location", "/caf\xe9 x")},
	}
}

// chunkCases: chunked bodies, right and wrong.
func chunkCases() []rawCase {
	const head = ok + "Transfer-Encoding: chunked\r\n"
	good := func(name, raw string) rawCase {
		return rawCase{name: "chunked " + name, raw: head + "\r\n" + raw, open: true, status: 200,
			body: "hi", reusable: true}
	}
	return []rawCase{
		good("", "2\r\nhi\r\n0\r\n\r\n"),
		good("twice", "1\r\nh\r\n1\r\ni\r\n0\r\n\r\n"),
		good("with line feeds", "2\nhi\n0\n\n"),
		good("with extension", "2;a=b;c=\"d\"\r\nhi\r\n0;x\r\n\r\n"),
		good("with blanks", "  2  \r\nhi\r\n0  \r\n\r\n"),
		good("with zeros", "0000000000000000002\r\nhi\r\n000\r\n\r\n"),
		good("with trailer", "2\r\nhi\r\n0\r\nX-Sum: 1\r\nno colon\r\n\r\n"),
		good("without line end after data", "1\r\nh1\r\ni0\r\n\r\n"),
		good("with empty lines", "1\r\nh\r\n\r\n\r\n1\r\ni\r\n0\r\n\r\n"),
		good("with junk after a later size", "1\r\nh\r\n1 junk\r\ni\r\n0\r\n\r\n"),
		{name: "chunked and content-length", raw: head + "Content-Length: 7\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
			open: true, status: 200, body: "hi", reusable: true},
		{name: "chunked by HTTP/1.0", raw: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"2\r\nhi\r\n0\r\n\r\n", open: true, status: 200, body: "hi"},
		{name: "chunked, bytes after", raw: head + "\r\n2\r\nhi\r\n0\r\n\r\njunk", open: true,
			status: 200, body: "hi"},
		{name: "chunked, end without its line", raw: head + "\r\n2\r\nhi\r\n0\r\n", status: 200,
			body: "hi"},
		{name: "chunked, end without its line, open", raw: head + "\r\n2\r\nhi\r\n0\r\n", open: true,
			status: 200, body: "hi"},
		{name: "chunked in capitals", raw: ok + "Transfer-Encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
			open: true, status: 200, body: "hi", reusable: true},
		{name: "chunked twice named", raw: ok + "Transfer-Encoding: chunked, chunked\r\n\r\n" +
			"2\r\nhi\r\n0\r\n\r\n", open: true, status: 200, body: "hi", reusable: true},
		{name: "chunked cut in data", raw: head + "\r\n5\r\nhi", status: 200, body: "hi",
			truncated: TruncatedDisconnect, check: faultIs(CodeEOF)},
		{name: "chunked without last chunk", raw: head + "\r\n2\r\nhi\r\n", status: 200, body: "hi",
			truncated: TruncatedDisconnect, check: faultIs(CodeEOF)},
		{name: "chunked, bad size later", raw: head + "\r\n2\r\nhi\r\nzz\r\nmore", open: true,
			status: 200, body: "hi", truncated: TruncatedUnspecified, check: faultIs(CodeMalformed)},
		{name: "chunked, size over 64 bits", raw: head + "\r\n2\r\nhi\r\nfffffffffffffffff\r\nmore",
			status: 200, body: "hi", truncated: TruncatedUnspecified, check: faultIs(CodeMalformed)},
		{name: "chunked, not at all", raw: head + "\r\n<p>hi\r\n</p>", status: 200,
			body: "<p>hi\r\n</p>"},
		{name: "chunked, not at all, like a size", raw: head + "\r\nadd me\r\n", status: 200,
			body: "add me\r\n"},
		{name: "chunked, nothing", raw: head + "\r\n", status: 200, truncated: TruncatedDisconnect},
		{name: "chunked, no data", raw: head + "\r\n0\r\n\r\n", open: true, status: 200, reusable: true},
	}
}

func deflated(s string) string {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, 6)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

func zlibbed(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

func brotlied(s string) string {
	var b bytes.Buffer
	w := brotli.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

// codingCases: cases.md 87, 89 and the gzip rows of the table.
func codingCases() []rawCase {
	coded := func(name, coding, data, want string) rawCase {
		return rawCase{name: name, open: true, status: 200, body: want, reusable: true,
			raw: fmt.Sprintf("%sContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s",
				ok, coding, len(data), data)}
	}
	hello := gzipped("hello")
	tail := func(c rawCase, check func(*testing.T, *Response)) rawCase { c.check = check; return c }
	broke := func(t *testing.T, r *Response) {
		if r.DecodeError == nil {
			t.Error("no decode error")
		}
	}
	return []rawCase{
		coded("gzip", "gzip", hello, "hello"),
		coded("gzip said, plain sent", "gzip", "hello", "hello"),
		coded("gzip said, one byte sent", "gzip", "\x1f", "\x1f"),
		coded("gzip trailing garbage", "gzip", hello+"garbage", "hello"),
		coded("gzip two members", "gzip", hello+gzipped(" you"), "hello you"),
		coded("double gzip", "gzip, gzip", gzipped(hello), "hello"),
		coded("double gzip, one said plain", "gzip, gzip", hello, "hello"),
		coded("x-gzip", "X-GZIP", hello, "hello"),
		coded("coding utf-8", "utf-8", "hello", "hello"),
		coded("coding none", "none", "hello", "hello"),
		coded("coding none, gzip", "none, gzip", hello, "hello"),
		coded("zlib", "deflate", zlibbed("hello"), "hello"),
		coded("bare deflate", "deflate", deflated("hello"), "hello"),
		coded("deflate said, plain sent", "deflate", "<html>hello</html>", "<html>hello</html>"),
		coded("br", "br", brotlied("hello"), "hello"),
		coded("br said, plain sent", "br", "<html>hello</html>", "<html>hello</html>"),
		coded("gzip file without coding", "identity", hello, hello),
		tail(coded("gzip without trailer", "gzip", hello[:len(hello)-8], "hello"), broke),
		tail(coded("gzip, wrong checksum", "gzip", hello[:len(hello)-8]+"12345678", "hello"), broke),
		tail(coded("gzip head alone", "gzip", hello[:10], ""), broke),
		{name: "gzip chunked", raw: ok + "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" +
			fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(hello), hello), open: true, status: 200,
			body: "hello", reusable: true},
		{name: "TE: gzip, chunked", raw: ok + "Transfer-Encoding: gzip, chunked\r\n\r\n" +
			fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(hello), hello), open: true, status: 200,
			body: "hello", reusable: true},
		{name: "TE: gzip", raw: ok + "Transfer-Encoding: gzip\r\n\r\n" + hello, status: 200,
			body: "hello"},
		{name: "gzip with length of plain", raw: ok + "Content-Encoding: gzip\r\n" +
			"Content-Length: 5000\r\n\r\n" + hello, status: 200, body: "hello",
			check: func(t *testing.T, r *Response) {
				if r.RawTruncated != TruncatedDisconnect {
					t.Errorf("raw truncated is %q", r.RawTruncated)
				}
			}},
		{name: "gzip cut", raw: ok + "Content-Encoding: gzip\r\n\r\n" + hello[:len(hello)-8],
			status: 200, body: "hello", truncated: TruncatedDisconnect, check: broke},
	}
}

func TestRawResponses(t *testing.T) {
	groups := map[string][]rawCase{
		"header": headerCases(), "length": lengthCases(), "chunks": chunkCases(),
		"coding": codingCases(),
	}
	for group, cases := range groups {
		for _, tc := range cases {
			t.Run(group+"/"+tc.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { checkRaw(t, tc) })
			})
		}
	}
}

// checkRaw makes the exchange, then another one, to see whether the first left the connection in
// step.
func checkRaw(t *testing.T, tc rawCase) {
	const second = ok + "Content-Length: 6\r\n\r\nsecond"
	r := &responder{answer: func(n int, _ string) (string, bool) {
		if n == 0 {
			return tc.raw, tc.open
		}
		return second, true
	}}
	c, end := r.client(Settings{})
	defer end()
	resp := do(t, c, get("/"))
	if resp.Status != tc.status {
		t.Errorf("status is %d, want %d", resp.Status, tc.status)
	}
	if got := body(t, resp.Body); got != tc.body {
		t.Errorf("body is %q, want %q", got, tc.body)
	}
	if resp.Truncated != tc.truncated {
		t.Errorf("truncated is %q, want %q", resp.Truncated, tc.truncated)
	}
	if tc.check != nil {
		tc.check(t, resp)
	}
	if whole := string(resp.RawHeader) + body(t, resp.RawBody); !strings.Contains(tc.raw, whole) {
		t.Errorf("raw response is %q, not of %q", whole, tc.raw)
	}
	next := do(t, c, get("/2"))
	if got := body(t, next.Body); got != "second" {
		t.Errorf("next body is %q", got)
	}
	if next.Reused != tc.reusable {
		t.Errorf("connection reused: %v, want %v", next.Reused, tc.reusable)
	}
}
