package httpmsg

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestReadHead(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     Head
		rest     string
	}{
		{"plain", "HTTP/1.1 404 Not Found\r\nA: b\r\n\r\nrest",
			Head{Proto: "HTTP/1.1", Status: 404, Reason: "Not Found", Header: Header{{"A", "b"}},
				Raw: []byte("HTTP/1.1 404 Not Found\r\nA: b\r\n\r\n")}, "rest"},
		{"mixed line ends", "HTTP/1.0 200\nA:b\r\n\nrest",
			Head{Proto: "HTTP/1.0", Status: 200, Header: Header{{"A", "b"}},
				Raw: []byte("HTTP/1.0 200\nA:b\r\n\n")}, "rest"},
		{"rubbish first", "\n\nxHTTP/1.1 200\r\n\r\n",
			Head{Proto: "HTTP/1.1", Status: 200, Raw: []byte("HTTP/1.1 200\r\n\r\n")}, ""},
		{"five bytes of rubbish", "12345HTTP/1.1 200\r\n\r\n", Head{Proto: Proto09, Status: 200},
			"12345HTTP/1.1 200\r\n\r\n"},
		{"no header", "HTTX", Head{Proto: Proto09, Status: 200}, "HTTX"},
		{"cut", "HTTP/1.1 200 OK\r\nA: b\r\nC", Head{Proto: "HTTP/1.1", Status: 200, Reason: "OK",
			Header: Header{{"A", "b"}}, Raw: []byte("HTTP/1.1 200 OK\r\nA: b\r\nC")}, ""},
		{"repeated", "HTTP/1.1 200 OK\r\nA: b\r\na: c\r\n\r\n",
			Head{Proto: "HTTP/1.1", Status: 200, Reason: "OK", Header: Header{{"A", "b"}, {"a", "c"}},
				Raw: []byte("HTTP/1.1 200 OK\r\nA: b\r\na: c\r\n\r\n")}, ""},
	} {
		for mode, wrap := range map[string]func(io.Reader) io.Reader{
			"whole":   func(r io.Reader) io.Reader { return r },
			"by byte": iotest.OneByteReader,
		} {
			t.Run(tc.name+", "+mode, func(t *testing.T) {
				br := bufio.NewReaderSize(wrap(strings.NewReader(tc.in)), 16)
				got, err := ReadHead(br, 1000)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(&tc.want, got); diff != "" {
					t.Errorf("head (-want +got):\n%s", diff)
				}
				if rest, _ := io.ReadAll(br); string(rest) != tc.rest {
					t.Errorf("rest is %q, want %q", rest, tc.rest)
				}
			})
		}
	}
	errBroken := errors.New("broken")
	for _, tc := range []struct {
		name string
		in   io.Reader
		want error
	}{
		{"nothing", strings.NewReader(""), io.EOF},
		{"empty lines alone", strings.NewReader("\r\n\r\n"), io.EOF},
		{"status line cut", strings.NewReader("HTTP/1.1 200"), io.ErrUnexpectedEOF},
		{"too large",
			strings.NewReader("HTTP/1.1 200\r\n" + strings.Repeat("A: b\r\n", 200)), ErrTooLarge},
		{"source fails at once", iotest.ErrReader(errBroken), errBroken},
		{"source fails later", io.MultiReader(strings.NewReader("HTTP/1.1 200\r\nA"),
			iotest.ErrReader(errBroken)), errBroken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := ReadHead(bufio.NewReader(tc.in), 1000); err != tc.want {
				t.Errorf("error is %v, want %v", err, tc.want)
			}
		})
	}
}

func TestFraming(t *testing.T) {
	for _, tc := range []struct {
		head string
		want Framing
	}{
		{"HTTP/1.1 200\n\n", Framing{Kind: UntilEnd}},
		{"HTTP/1.1 200\nContent-Length: 7\n\n", Framing{Kind: Length, N: 7, Reusable: true}},
		{"HTTP/1.1 200\nContent-Length: 0x7\n\n", Framing{Kind: UntilEnd}},
		{"HTTP/1.1 200\nContent-Length: 7, 8\n\n", Framing{Kind: Contested, N: 8}},
		{"HTTP/1.1 200\nContent-Length: 8, x\n\n", Framing{Kind: UntilEnd}},
		{"HTTP/1.1 200\nTransfer-Encoding: gzip, CHUNKED;q=1\n\n",
			Framing{Kind: ByChunks, Reusable: true}},
		{"HTTP/1.1 200\nTransfer-Encoding: chunked\nContent-Length: 1, 2\n\n", Framing{Kind: ByChunks}},
		{"HTTP/1.1 304\nContent-Length: 0\n\n", Framing{Kind: None, Reusable: true}},
		{"HTTP/1.1 304\nContent-Length: 9\n\n", Framing{Kind: None}},
		{"HTTP/1.1 199\n\n", Framing{Kind: None, Reusable: true}},
		{"ICY 200\nContent-Length: 9\n\n", Framing{Kind: Length, N: 9}},
	} {
		t.Run(strings.ReplaceAll(tc.head, "\n", "|"), func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ParseHead([]byte(tc.head)).Framing()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSplit: what was read from a connection is found again in what was stored.
func TestSplit(t *testing.T) {
	for _, tc := range []struct{ name, head, body, payload string }{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "hi", "hi"},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "2\r\nhi\r\n0\r\n\r\n", "hi"},
		{"no header", "", "<html>", "<html>"},
		{"nothing", "", "", ""},
		{"header cut", "HTTP/1.1 200 OK\r\nA: b", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stored := tc.head + tc.body
			head, n, err := Split(strings.NewReader(stored))
			if err != nil || int(n) != len(tc.head) {
				t.Fatalf("header of %d bytes, want %d; %v", n, len(tc.head), err)
			}
			payload, err := io.ReadAll(head.Payload(strings.NewReader(stored[n:])))
			if err != nil || string(payload) != tc.payload {
				t.Errorf("payload %q, %v", payload, err)
			}
		})
	}
}

// FuzzHead: ParseHead and ReadHead agree, and nothing is lost between head and rest.
func FuzzHead(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\nrest"))
	f.Add([]byte("\r\nICY 200\n\n"))
	f.Add([]byte("<html>"))
	f.Fuzz(func(t *testing.T, in []byte) {
		br := bufio.NewReaderSize(bytes.NewReader(in), 16)
		h, err := ReadHead(br, 1<<10)
		if err != nil {
			return
		}
		rest, _ := io.ReadAll(br)
		if !bytes.HasSuffix(in, append(append([]byte{}, h.Raw...), rest...)) {
			t.Fatalf("%q and %q are not the end of %q", h.Raw, rest, in)
		}
		h.Framing()
		if h.Proto != Proto09 || len(h.Raw) > 0 {
			if diff := cmp.Diff(h, ParseHead(h.Raw)); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// FuzzChunked: what is shown to raw is what was consumed, and reading that alone, in pieces of any
// size, gives the same data.
func FuzzChunked(f *testing.F) {
	for _, s := range []string{
		"2\r\nhi\r\n0\r\n\r\nrest", "2;x\nhi\n0\nT: v\n\n", "<html>", "5\r\nhi", "1\r\nh1\r\ni0",
	} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, step uint8) {
		var raw bytes.Buffer
		br := bufio.NewReaderSize(bytes.NewReader(in), 16)
		c := NewChunked(br, &raw)
		data, err := io.ReadAll(c)
		rest, _ := io.ReadAll(br)
		if got := raw.String() + string(rest); got != string(in) {
			t.Fatalf("consumed %q of %q", got, in)
		}
		again := NewChunked(bufio.NewReader(iotest.OneByteReader(bytes.NewReader(raw.Bytes()))), nil)
		var data2 bytes.Buffer
		_, err2 := io.CopyBuffer(&data2, struct{ io.Reader }{again}, make([]byte, int(step)+1))
		if data2.String() != string(data) || (err == nil) != (err2 == nil) {
			t.Fatalf("%q, %v became %q, %v", data, err, data2.String(), err2)
		}
		if c.Plain() != again.Plain() || c.Clean() != again.Clean() || c.Whole() != again.Whole() {
			t.Fatal("another verdict")
		}
	})
}

// FuzzChunking: decoding undoes encoding, however the data is cut.
func FuzzChunking(f *testing.F) {
	f.Add([]byte("hello"), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		var coded bytes.Buffer
		for rest := data; len(rest) > 0; {
			n := min(int(step)+1, len(rest))
			coded.WriteString(strings.ToUpper(hexOf(n)) + "\r\n" + string(rest[:n]) + "\r\n")
			rest = rest[n:]
		}
		coded.WriteString("0\r\n\r\n")
		c := NewChunked(bufio.NewReader(&coded), nil)
		got, err := io.ReadAll(c)
		if err != nil || !bytes.Equal(got, data) || !c.Clean() {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

func hexOf(n int) string {
	const digits = "0123456789abcdef"
	if n < 16 {
		return digits[n : n+1]
	}
	return hexOf(n/16) + digits[n%16:n%16+1]
}
