package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"

	"seine/formats/warc/httpmsg"
)

const (
	// maxHeader bounds a record's named fields.
	maxHeader = 1 << 20
	// maxBlock bounds a record's block: what is read is held in memory.
	maxBlock = 1 << 30
)

// ReadAt reads the record whose gzip member, or bare record, takes length bytes from offset. The
// whole block is held in memory. What is no record gives ErrCorrupt; the error of r is kept.
func ReadAt(r io.ReaderAt, offset, length int64) (*Record, error) {
	if offset < 0 || length <= 0 {
		return nil, fmt.Errorf("record at %d, length %d: %w", offset, length, ErrCorrupt)
	}
	rec, _, _, err := NewReader(io.NewSectionReader(r, offset, length)).Next()
	if err == io.EOF {
		err = fmt.Errorf("nothing there: %w", ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("read record at %d: %w", offset, err)
	}
	return rec, nil
}

// A Reader reads an archive from its start, compressed by members or not at all.
type Reader struct {
	in  *counting
	src *bufio.Reader // of in
	gz  *gzip.Reader
	rec *bufio.Reader // of the member at hand
}

// counting counts what was read, and keeps the error that was not an end.
type counting struct {
	r   io.Reader
	n   int64
	err error
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// NewReader reads from r.
func NewReader(r io.Reader) *Reader {
	in := &counting{r: r}
	return &Reader{
		in: in, src: bufio.NewReaderSize(in, copySize), rec: bufio.NewReaderSize(nil, copySize),
	}
}

// Next returns the next record and where it is: the offset and length of its member (of the bare
// record, with the empty lines that end it). At the end the error is io.EOF. Records whose member
// holds more than one are not told apart by place: such archives cannot be read by offset.
func (r *Reader) Next() (rec *Record, offset, length int64, err error) {
	if err := r.skipEmptyLines(); err != nil {
		return nil, 0, 0, err
	}
	offset = r.place()
	magic, _ := r.src.Peek(2)
	if len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		rec, err = r.member()
	} else {
		if rec, err = readRecord(r.src); err == nil {
			err = endOfRecord(r.src)
		}
	}
	if err != nil {
		return nil, 0, 0, r.cause(fmt.Errorf("record at %d: %w", offset, err))
	}
	return rec, offset, r.place() - offset, nil
}

func (r *Reader) place() int64 { return r.in.n - int64(r.src.Buffered()) }

// cause gives the source's own error the word; all else is corruption.
func (r *Reader) cause(err error) error {
	if r.in.err != nil {
		return fmt.Errorf("read archive: %w", r.in.err)
	}
	if !errors.Is(err, ErrCorrupt) {
		return fmt.Errorf("%w: %w", err, ErrCorrupt)
	}
	return err
}

// skipEmptyLines passes what stray line ends stand between bare records.
func (r *Reader) skipEmptyLines() error {
	for {
		b, err := r.src.Peek(1)
		if err != nil {
			if r.in.err != nil {
				return r.cause(err)
			}
			return err
		}
		if b[0] != '\r' && b[0] != '\n' {
			return nil
		}
		_, _ = r.src.Discard(1)
	}
}

// member reads one gzip member to its end, so that its checksum has been compared.
func (r *Reader) member() (*Record, error) {
	if r.gz == nil {
		r.gz = new(gzip.Reader)
	}
	if err := r.gz.Reset(r.src); err != nil {
		return nil, err
	}
	r.gz.Multistream(false)
	r.rec.Reset(r.gz)
	rec, err := readRecord(r.rec)
	if err != nil {
		return nil, err
	}
	if err := endOfRecord(r.rec); err != nil {
		return nil, err
	}
	rest, err := io.CopyN(io.Discard, r.rec, maxBlock)
	if err != io.EOF {
		return nil, fmt.Errorf("after the record: %w", errors.Join(err, ErrCorrupt))
	}
	if rest > 0 {
		return nil, fmt.Errorf("%d bytes after the record: %w", rest, ErrCorrupt)
	}
	return rec, nil
}

// endOfRecord reads the two line ends after a block. Their lack is forgiven at the end of the
// stream only.
func endOfRecord(src *bufio.Reader) error {
	for ends := 0; ends < 2; {
		b, err := src.ReadByte()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case b == '\n':
			ends++
		case b != '\r':
			return fmt.Errorf("block longer than its length: %w", ErrCorrupt)
		}
	}
	return nil
}

func readRecord(src *bufio.Reader) (*Record, error) {
	raw, err := headerBlock(src)
	if err != nil {
		return nil, err
	}
	rec, length, err := parseHeader(raw)
	if err != nil {
		return nil, err
	}
	if length > maxBlock {
		return nil, fmt.Errorf("block of %d bytes: %w", length, ErrCorrupt)
	}
	var block bytes.Buffer
	if n, err := io.CopyN(&block, src, length); err != nil {
		return nil, fmt.Errorf("block ends after %d of %d bytes: %w", n, length, noEOF(err))
	}
	return rec, rec.split(block.Bytes())
}

// headerBlock reads up to and with the first empty line.
func headerBlock(src *bufio.Reader) ([]byte, error) {
	var raw []byte
	start := 0
	for len(raw) <= maxHeader {
		part, err := src.ReadSlice('\n')
		raw = append(raw, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("header: %w", noEOF(err))
		}
		if len(bytes.TrimRight(raw[start:], "\r\n")) == 0 {
			return raw, nil
		}
		start = len(raw)
	}
	return nil, fmt.Errorf("header over %d bytes: %w", maxHeader, ErrCorrupt)
}

// split finds the HTTP header in the block.
func (r *Record) split(block []byte) error {
	head := 0
	if r.isHTTP() {
		head = httpHeaderSize(r.Type, block)
	}
	r.HTTPHeader = block[:head:head]
	if len(r.HTTPHeader) == 0 {
		r.HTTPHeader = nil
	}
	r.Body = bytes.NewReader(block[head:])
	return nil
}

// httpHeaderSize is how many bytes of a block are the message's header.
func httpHeaderSize(t Type, block []byte) int {
	if t == TypeRequest {
		return httpmsg.BlockSize(block)
	}
	_, n, err := httpmsg.Split(bytes.NewReader(block))
	if err != nil {
		return len(block) // a header that never ends
	}
	return int(n)
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
