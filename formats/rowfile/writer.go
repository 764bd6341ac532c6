package rowfile

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"unsafe"

	"github.com/parquet-go/parquet-go"
)

// Writer writes rows of struct R as one Parquet file. What was not finished is
// no file. Strings, slices and maps of a row are kept until its page is written:
// they must not be changed meanwhile.
type Writer[R any] struct {
	out    *tailWriter
	pw     *parquet.GenericWriter[R]
	shape  *shape
	parts  *partitionCounter[R]
	o      Options
	page   []R
	bytes  int64 // of the page so far, about
	group  int64 // rows written to the row group
	gbytes int64 // bytes written to the row group, about
	rows   int64
	err    error // what NewWriter or an earlier call met; sticky
}

var errFinished = errors.New("the file is finished")

// NewWriter returns a writer to w. A row type or option that cannot be written
// is reported by the first Write or by Finish.
func NewWriter[R any](w io.Writer, o Options) *Writer[R] {
	if o.PageRows <= 0 {
		o.PageRows = DefaultPageRows
	}
	if o.GroupRows <= 0 {
		o.GroupRows = DefaultGroupRows
	}
	wr := &Writer[R]{out: &tailWriter{w: w}, o: o}
	wr.err = wr.open()
	return wr
}

func (w *Writer[R]) open() (err error) {
	defer recovered(&err, "write Parquet")
	if w.shape, err = shapeOf(reflect.TypeFor[R]()); err != nil {
		return err
	}
	if w.o.Partitioned {
		if w.parts, err = newPartitionCounter[R](w.shape); err != nil {
			return err
		}
	}
	codec, err := packer(w.o.Codec)
	if err != nil {
		return err
	}
	options := []parquet.WriterOption{
		parquet.Compression(codec),
		parquet.CreatedBy("seine", "1", "0"),
		parquet.ColumnIndexSizeLimit(func([]string) int { return indexBytes }),
		parquet.DataPageStatistics(false), // they repeat the column index
		parquet.DictionaryMaxBytes(dictionaryBytes),
		// The library cuts a column's page on its own where it grows beyond this:
		// where single values are large. See pageBytes.
		parquet.PageBufferSize(columnBuffer),
	}
	for k, v := range w.o.Metadata {
		options = append(options, parquet.KeyValueMetadata(k, v))
	}
	options = append(options, parquet.KeyValueMetadata(metaColumns, w.shape.checksum()))
	w.pw = parquet.NewGenericWriter[R](w.out, options...)
	w.page = make([]R, 0, w.o.PageRows)
	return nil
}

// Write appends rows.
func (w *Writer[R]) Write(rows ...R) error {
	for i := range rows {
		if err := w.WriteRow(&rows[i]); err != nil {
			return err
		}
	}
	return w.err
}

// WriteRow appends one row; it is copied.
func (w *Writer[R]) WriteRow(row *R) error {
	if w.err != nil {
		return w.err
	}
	if w.parts != nil {
		if w.err = w.parts.add(row); w.err != nil {
			return w.err
		}
	}
	w.page = append(w.page, *row)
	w.bytes += w.shape.size(row)
	w.rows++
	if len(w.page) < w.o.PageRows && w.bytes < pageBytes {
		return nil
	}
	w.err = w.flushPage()
	return w.err
}

func (w *Writer[R]) flushPage() (err error) {
	defer recovered(&err, "write Parquet page")
	if len(w.page) == 0 {
		return nil
	}
	for rows := w.page; len(rows) > 0; {
		n := w.shape.wholeNulls(unsafe.Pointer(&rows[0]), unsafe.Sizeof(rows[0]), min(len(rows), blockRows))
		if _, err := w.pw.Write(rows[:n]); err != nil {
			return fmt.Errorf("write Parquet page: %w", err)
		}
		rows = rows[n:]
	}
	for _, c := range w.pw.ColumnWriters() {
		if err := c.Flush(); err != nil {
			return fmt.Errorf("write Parquet page: %w", err)
		}
	}
	w.group += int64(len(w.page))
	w.gbytes += w.bytes
	clear(w.page)
	w.page, w.bytes = w.page[:0], 0
	if w.group < int64(w.o.GroupRows) && w.gbytes < groupBytes {
		return nil
	}
	return w.flushGroup()
}

func (w *Writer[R]) flushGroup() error {
	if err := w.pw.Flush(); err != nil {
		return fmt.Errorf("write Parquet row group: %w", err)
	}
	w.group, w.gbytes = 0, 0
	return nil
}

// Rows is the number of rows written so far.
func (w *Writer[R]) Rows() int64 { return w.rows }

// Bytes is the size of the file; it is right after Finish.
func (w *Writer[R]) Bytes() int64 { return w.out.bytes }

// Finish writes what is left and the footer. The underlying writer is not
// closed. After an error nothing of the file counts.
func (w *Writer[R]) Finish() error {
	if w.err != nil {
		return w.err
	}
	w.err = w.finish()
	if w.err != nil {
		return w.err
	}
	w.err = errFinished
	return nil
}

func (w *Writer[R]) finish() (err error) {
	defer recovered(&err, "finish Parquet")
	if err := w.flushPage(); err != nil {
		return err
	}
	if w.group > 0 {
		if err := w.flushGroup(); err != nil {
			return err
		}
	}
	if w.parts != nil {
		w.pw.SetKeyValueMetadata(metaPartitions, w.parts.encode())
	}
	w.out.hold = true
	if err := w.pw.Close(); err != nil {
		return fmt.Errorf("finish Parquet: %w", err)
	}
	var index int64
	for _, g := range w.pw.File().Metadata().RowGroups {
		for i := range g.Columns {
			index += int64(g.Columns[i].OffsetIndexLength)
		}
	}
	if err := w.out.seal(index); err != nil {
		return fmt.Errorf("finish Parquet: %w", err)
	}
	w.pw, w.page = nil, nil
	return nil
}

// Abort gives up: nothing more is written. It may follow Finish.
func (w *Writer[R]) Abort() {
	if w.err == nil {
		w.err = errors.New("the file was aborted")
	}
	w.pw, w.page = nil, nil
}

// recovered turns a panic of the Parquet library into an error: it trusts much
// of what it reads, and a damaged object must not end the process.
func recovered(err *error, doing string) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: %w: %v", doing, ErrCorrupt, p)
	}
}

// StartsPage says whether the next row begins a page.
func (w *Writer[R]) StartsPage() bool { return len(w.page) == 0 }
