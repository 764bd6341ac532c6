package httpmsg

import (
	"bufio"
	"bytes"
	"io"
)

// Payload returns the body without its transfer coding, for a body that was stored alone.
func (h *Head) Payload(body io.Reader) io.Reader {
	if h.Framing().Kind != ByChunks {
		return body
	}
	return NewChunked(bufio.NewReader(body), nil)
}

// maxStoredHead bounds a header that was stored; no fetcher keeps more.
const maxStoredHead = 1 << 20

// Split finds where the header of a stored response ends: the length of it in bytes, and what it
// says. What does not begin with a status line is all body.
func Split(stored io.Reader) (*Head, int64, error) {
	counted := &counter{r: stored}
	br := bufio.NewReader(counted)
	head, err := ReadHead(br, maxStoredHead)
	if err == io.EOF {
		return &Head{Proto: Proto09, Status: 200}, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if head.Proto == Proto09 {
		return head, 0, nil
	}
	return head, counted.n - int64(br.Buffered()), nil
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// BlockSize is the length of the header block at the start of a stored message, with its empty
// line; all of the message when it has none.
func BlockSize(stored []byte) int {
	for at := 0; at < len(stored); {
		end := bytes.IndexByte(stored[at:], '\n')
		if end < 0 {
			break
		}
		line := stored[at : at+end+1]
		at += end + 1
		if blank(line) {
			return at
		}
	}
	return len(stored)
}
