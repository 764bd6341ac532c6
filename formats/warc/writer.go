package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/klauspost/compress/gzip"
)

// Options are how an archive is written.
type Options struct {
	// Level of gzip, 1 to 9; default 1, which costs half of 6 for a tenth more bytes.
	Level int
	// Seed sets apart the identifiers of records that were given none, such as the file's name.
	Seed string
}

// A Writer appends records.
type Writer struct {
	dst    *offsetWriter
	gz     *gzip.Writer
	seed   string
	count  int
	infoID string
	header bytes.Buffer
	buf    []byte
	err    error
}

// copySize is how much of a block is compressed at once.
const copySize = 32 << 10

// NewWriter writes to w from offset 0. It fails only for a level that there is not.
func NewWriter(w io.Writer, opts Options) (*Writer, error) {
	if opts.Level == 0 {
		opts.Level = gzip.BestSpeed
	}
	dst := &offsetWriter{w: w}
	gz, err := gzip.NewWriterLevel(dst, opts.Level)
	if err != nil {
		return nil, fmt.Errorf("new warc writer: %w", err)
	}
	return &Writer{dst: dst, gz: gz, seed: opts.Seed, buf: make([]byte, copySize)}, nil
}

// Offset is where the next record will begin.
func (w *Writer) Offset() int64 { return w.dst.n }

var errType = errors.New("record without a type")

// Write appends a record and returns where its gzip member begins and how long it is. It fills in
// the record's empty ID, ContentType, WarcinfoID and digests. A record that cannot be read (its
// Body fails) leaves the archive as it was when that shows while digesting; after any error of the
// destination, or a body that changes, all further writes fail.
func (w *Writer) Write(rec *Record) (offset, length int64, err error) {
	if w.err != nil {
		return 0, 0, w.err
	}
	if err := w.complete(rec); err != nil {
		return 0, 0, fmt.Errorf("write %s record of %s: %w", rec.Type, rec.TargetURI, err)
	}
	offset = w.dst.n
	if err := w.member(rec); err != nil {
		w.err = fmt.Errorf("write %s record of %s: %w", rec.Type, rec.TargetURI, err)
		return 0, 0, w.err
	}
	w.count++
	if rec.Type == TypeInfo {
		w.infoID = rec.ID
	}
	return offset, w.dst.n - offset, nil
}

func (w *Writer) complete(rec *Record) error {
	if rec.Type == "" {
		return errType
	}
	if rec.ContentType == "" {
		switch {
		case rec.Type == TypeRequest:
			rec.ContentType = ContentRequest
		case rec.Type == TypeResponse, rec.Type == TypeRevisit:
			rec.ContentType = ContentResponse
		}
	}
	if rec.WarcinfoID == "" && rec.Type != TypeInfo {
		rec.WarcinfoID = w.infoID
	}
	if err := rec.digests(w.buf); err != nil {
		return err
	}
	if rec.ID == "" {
		rec.ID = RecordID(w.seed, strconv.Itoa(w.count), string(rec.Type), rec.TargetURI,
			stamp(rec.Date), rec.BlockDigest)
	}
	return nil
}

func (w *Writer) member(rec *Record) error {
	w.header.Reset()
	rec.appendHeader(&w.header)
	w.gz.Reset(w.dst)
	for _, part := range [][]byte{w.header.Bytes(), rec.HTTPHeader} {
		if _, err := w.gz.Write(part); err != nil {
			return err
		}
	}
	n, err := io.CopyBuffer(onlyWriter{w.gz}, onlyReader{rec.bodyReader()}, w.buf)
	if err != nil {
		return err
	}
	if want := sizeOf(rec.Body); n != want {
		return fmt.Errorf("body of %d bytes gave %d: %w", want, n, io.ErrUnexpectedEOF)
	}
	if _, err := io.WriteString(w.gz, "\r\n\r\n"); err != nil {
		return err
	}
	return w.gz.Close()
}

// appendHeader writes the record's named fields and the empty line, in an order that never changes.
func (r *Record) appendHeader(b *bytes.Buffer) {
	b.WriteString("WARC/1.1\r\n")
	field := func(name, value string) {
		if value != "" {
			writeField(b, name, value)
		}
	}
	field("WARC-Type", string(r.Type))
	field("WARC-Record-ID", bracketed(r.ID))
	field("WARC-Date", stamp(r.Date))
	field("WARC-Target-URI", targetURI(r.TargetURI))
	for _, id := range r.ConcurrentTo {
		field("WARC-Concurrent-To", bracketed(id))
	}
	field("WARC-Refers-To", bracketed(r.RefersTo))
	field("WARC-Refers-To-Target-URI", targetURI(r.RefersToTargetURI))
	if !r.RefersToDate.IsZero() {
		field("WARC-Refers-To-Date", stamp(r.RefersToDate))
	}
	field("WARC-Profile", targetURI(r.Profile))
	field("WARC-Warcinfo-ID", bracketed(r.WarcinfoID))
	field("WARC-Filename", r.Filename)
	field("WARC-IP-Address", r.IP)
	field("WARC-Truncated", r.Truncated)
	field("WARC-Identified-Payload-Type", r.IdentifiedPayloadType)
	field("WARC-Payload-Digest", r.PayloadDigest)
	field("WARC-Block-Digest", r.BlockDigest)
	for _, f := range r.Extra {
		if validName(f[0]) && !known(f[0]) {
			field(f[0], f[1])
		}
	}
	field("Content-Type", r.ContentType)
	field("Content-Length", strconv.FormatInt(r.blockSize(), 10))
	b.WriteString("\r\n")
}

// offsetWriter counts what was written.
type offsetWriter struct {
	w io.Writer
	n int64
}

func (o *offsetWriter) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	o.n += int64(n)
	if n < len(p) && err == nil {
		err = io.ErrShortWrite
	}
	return n, err
}

// onlyWriter and onlyReader keep io.CopyBuffer to the buffer it was given.
type (
	onlyWriter struct{ io.Writer }
	onlyReader struct{ io.Reader }
)
