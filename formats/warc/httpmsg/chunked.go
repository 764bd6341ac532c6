package httpmsg

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrChunk means that a chunked body broke its framing; what was read before it stands.
var ErrChunk = errors.New("malformed chunked body")

const (
	maxChunkLine = 4 << 10 // a size line with its extensions
	maxTrailer   = 32 << 10
	maxBlank     = 8 // line ends between two chunks
)

// Chunked removes the chunked coding. It forgives what clients forgive: LF alone, blanks and
// extensions after a size, missing or extra line ends after a chunk's data, a missing end of the
// trailer. A body whose first line is no size line was never chunked: it is read as it is, until
// the stream ends.
//
// It consumes from its source exactly the bytes of the body, and shows each to raw when it does, so
// that what raw got is the body as it came.
type Chunked struct {
	src   *bufio.Reader
	raw   io.Writer
	left  uint64 // of the chunk at hand
	began bool
	plain bool
	whole bool
	clean bool
	held  []byte // of a plain body: the line that was taken for a size
	err   error
}

// NewChunked reads a body from src. raw may be nil.
func NewChunked(src *bufio.Reader, raw io.Writer) *Chunked {
	if raw == nil {
		raw = io.Discard
	}
	return &Chunked{src: src, raw: raw}
}

// Plain reports whether the body turned out not to be chunked.
func (c *Chunked) Plain() bool { return c.plain }

// Whole reports whether the last chunk was seen: all data has been read, though perhaps not the
// trailer after it.
func (c *Chunked) Whole() bool { return c.whole }

// Clean reports whether the body was read to its very end, the empty line after the last chunk.
func (c *Chunked) Clean() bool { return c.clean }

// Read returns data as it comes. At the end of the body it gives io.EOF; when the stream ends
// before, io.ErrUnexpectedEOF; on broken framing an error that wraps ErrChunk; else the error of
// the source or of raw.
func (c *Chunked) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.left == 0 && !c.plain && c.err == nil {
		c.err = c.nextChunk()
	}
	if len(c.held) > 0 {
		n := copy(p, c.held)
		c.held = c.held[n:]
		return n, nil
	}
	if c.err != nil {
		return 0, c.err
	}
	if !c.plain && uint64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.src.Read(p)
	if !c.plain {
		c.left -= uint64(n)
	}
	if n > 0 {
		if _, werr := c.raw.Write(p[:n]); werr != nil {
			err = werr
		}
	}
	if err == io.EOF && !c.plain {
		err = io.ErrUnexpectedEOF
	}
	c.err = err
	if n > 0 && !c.plain && err == io.ErrUnexpectedEOF {
		return n, nil
	}
	return n, err
}

// nextChunk reads the next size line, and the trailer after the last.
func (c *Chunked) nextChunk() error {
	line, err := c.sizeLine()
	if err != nil && !(err == io.EOF && len(line) > 0) {
		return noEOF(err)
	}
	size, strict, ok := parseChunkSize(line)
	if !c.began && !strict {
		c.plain, c.held = true, line
		return nil
	}
	c.began = true
	switch {
	case !ok:
		return fmt.Errorf("size line %.40q: %w", line, ErrChunk)
	case size == 0:
		c.whole = true
		return c.trailer()
	}
	c.left = size
	return nil
}

// sizeLine reads one line, after the line ends that close the last chunk's data.
func (c *Chunked) sizeLine() ([]byte, error) {
	for range maxBlank {
		line, err := c.line(maxChunkLine)
		if err != nil || !c.began || len(bytes.TrimRight(line, "\r\n")) > 0 {
			return line, err
		}
	}
	return nil, fmt.Errorf("empty lines: %w", ErrChunk)
}

// line consumes one line and shows it to raw. Longer than max it is returned cut there.
func (c *Chunked) line(max int) ([]byte, error) {
	var line []byte
	for {
		part, err := c.src.ReadSlice('\n')
		if _, werr := c.raw.Write(part); werr != nil {
			return line, werr
		}
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
		if len(line) >= max {
			return line, nil
		}
	}
}

// trailer consumes fields up to the empty line. The data is whole already, so that a stream that
// ends here, without it, ends well.
func (c *Chunked) trailer() error {
	for total := 0; total <= maxTrailer; {
		line, err := c.line(maxChunkLine)
		total += len(line)
		if err != nil {
			return err
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			c.clean = true
			return io.EOF
		}
	}
	return fmt.Errorf("trailer: %w", ErrChunk)
}

// parseChunkSize reads the hexadecimal number at the start of a line. strict means that nothing but
// blanks or an extension follows and that the line ends.
func parseChunkSize(line []byte) (size uint64, strict, ok bool) {
	whole := bytes.HasSuffix(line, []byte("\n"))
	line = bytes.Trim(line, " \t\r\n")
	i := 0
	for ; i < len(line); i++ {
		digit, is := hexDigit(line[i])
		if !is {
			break
		}
		if size >= 1<<56 {
			return 0, false, false
		}
		size = size<<4 | digit
	}
	rest := bytes.TrimLeft(line[i:], " \t")
	strict = whole && i > 0 && (len(rest) == 0 || rest[0] == ';')
	return size, strict, i > 0
}

func hexDigit(c byte) (uint64, bool) {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0'), true
	case c >= 'a' && c <= 'f':
		return uint64(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return uint64(c-'A') + 10, true
	}
	return 0, false
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
