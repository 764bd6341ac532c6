package httpmsg

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// ErrTooLarge means that a header block did not end within the caller's bound.
var ErrTooLarge = errors.New("http header too large")

// slop is how many bytes of rubbish browsers allow before "HTTP/"; so do we.
const slop = 4

// Protocols of a [Head] that are not HTTP/x.y.
const (
	ProtoICY = "ICY"      // a SHOUTcast server: an HTTP/1.0 response by another name
	Proto09  = "HTTP/0.9" // no header at all: the connection's bytes are the body
)

// A Head is what stands before a response's body.
type Head struct {
	Proto  string // as it came, in capitals, or ProtoICY, Proto09
	Status int    // 1 to 999; 200 where the line has no number
	Reason string
	Header Header
	Raw    []byte // status line, fields and the empty line, as they came; empty for Proto09
}

// ReadHead reads the head of one response from br, which must buffer at least 16 bytes. Empty lines
// and up to 4 bytes of rubbish before it are skipped. A response that does not begin with a status
// line is HTTP/0.9 and loses no byte. The block is at most max bytes, else ErrTooLarge.
//
// Without any byte the error is the reader's (io.EOF at a clean end). A header block cut short by
// the end of the stream is read as far as it came, when its status line is whole; otherwise
// io.ErrUnexpectedEOF. Any other error of the reader is returned as it is.
func ReadHead(br *bufio.Reader, max int) (*Head, error) {
	if err := skipEmptyLines(br, max); err != nil {
		return nil, err
	}
	at, err := findStatusLine(br)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		return &Head{Proto: Proto09, Status: 200}, nil
	}
	if _, err := br.Discard(at); err != nil {
		return nil, err
	}
	raw, err := readBlock(br, max)
	if err != nil && (err != io.ErrUnexpectedEOF || bytes.IndexByte(raw, '\n') < 0) {
		return nil, err
	}
	return ParseHead(raw), nil
}

func skipEmptyLines(br *bufio.Reader, max int) error {
	for range max {
		b, err := br.Peek(1)
		if err != nil {
			return err
		}
		if b[0] != '\r' && b[0] != '\n' {
			return nil
		}
		if _, err := br.Discard(1); err != nil {
			return err
		}
	}
	return ErrTooLarge
}

// findStatusLine returns how many bytes of rubbish stand before the status line, or -1 when there
// is none. It asks for no more bytes than the answer needs, as more may never come.
func findStatusLine(br *bufio.Reader) (int, error) {
	for n := 1; ; n++ {
		b, err := br.Peek(n)
		if len(b) < n {
			if len(b) > 0 && (err == io.EOF || err == io.ErrUnexpectedEOF) {
				return -1, nil
			}
			return 0, err
		}
		if at, open := statusLineAt(b); at >= 0 || !open {
			return at, nil
		}
	}
}

// statusLineAt looks for the start of a status line in b. open means that more bytes could show
// one.
func statusLineAt(b []byte) (at int, open bool) {
	for i := range min(len(b), slop+1) {
		rest := b[i:]
		if whole, maybe := hasPrefixFold(rest, "HTTP/"); whole {
			return i, false
		} else if maybe {
			open = true
		}
		if i > 0 {
			continue
		}
		if whole, maybe := hasPrefixFold(rest, "ICY "); whole {
			return 0, false
		} else if maybe {
			open = true
		}
		if whole, maybe := hasPrefixFold(rest, "HTTP "); whole {
			return 0, false
		} else if maybe {
			open = true
		}
	}
	return -1, open || len(b) <= slop
}

// hasPrefixFold reports whether b starts with p, and whether it could once longer.
func hasPrefixFold(b []byte, p string) (whole, maybe bool) {
	if len(b) >= len(p) {
		return strings.EqualFold(string(b[:len(p)]), p), false
	}
	return false, strings.EqualFold(string(b), p[:len(b)])
}

// readBlock reads lines up to and with the first empty one.
func readBlock(br *bufio.Reader, max int) ([]byte, error) {
	raw := make([]byte, 0, 1024)
	start := 0
	for {
		part, err := br.ReadSlice('\n')
		if len(raw)+len(part) > max {
			return raw, ErrTooLarge
		}
		raw = append(raw, part...)
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF:
			return raw, io.ErrUnexpectedEOF
		case err != nil:
			return raw, err
		}
		if blank(raw[start:]) {
			return raw, nil
		}
		start = len(raw)
	}
}

// Ended reports whether the header block is whole, not cut by the end of the stream.
func (h *Head) Ended() bool {
	if len(h.Raw) == 0 {
		return h.Proto == Proto09
	}
	last := bytes.LastIndexByte(h.Raw[:len(h.Raw)-1], '\n')
	return last >= 0 && h.Raw[len(h.Raw)-1] == '\n' && blank(h.Raw[last+1:])
}

func blank(line []byte) bool { return len(bytes.TrimRight(line, "\r\n")) == 0 }

// ParseHead reads a header block that begins with a status line, as [ReadHead] leaves it in
// [Head.Raw]: ParseHead(h.Raw) equals h. It accepts every input.
func ParseHead(raw []byte) *Head {
	line, rest, _ := bytes.Cut(raw, []byte("\n"))
	h := &Head{Raw: raw, Header: parseFields(rest)}
	h.Proto, h.Status, h.Reason = parseStatusLine(clean(string(line)))
	return h
}

// parseStatusLine reads "HTTP/1.1 200 OK" and its relatives. As in browsers, a line without a
// number is a 200. Of more than three digits the first three count.
func parseStatusLine(line string) (proto string, status int, reason string) {
	proto, rest := cutBlank(line)
	proto = strings.ToUpper(proto)
	digits := 0
	for digits < len(rest) && digits < 3 && rest[digits] >= '0' && rest[digits] <= '9' {
		status = status*10 + int(rest[digits]-'0')
		digits++
	}
	if status == 0 {
		return proto, 200, rest
	}
	return proto, status, trim(rest[digits:])
}

func cutBlank(s string) (first, rest string) {
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, ""
	}
	return s[:i], trim(s[i:])
}

// parseFields reads field lines up to the first empty one. A line without a colon, and what is
// folded onto it, is skipped; so is a field without a name.
func parseFields(b []byte) Header {
	var h Header
	open := false
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte("\n"))
		line = bytes.TrimRight(line, "\r")
		if len(line) == 0 {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			if more := clean(string(line)); open && more != "" {
				last := &h[len(h)-1]
				last[1] = trim(last[1] + " " + more)
			}
			continue
		}
		name, value, colon := strings.Cut(string(line), ":")
		name = clean(name)
		if open = colon && name != ""; open {
			h = append(h, [2]string{name, clean(value)})
		}
	}
	return h
}
