package rowfile

import (
	"fmt"
	"io"
	"unsafe"
)

const (
	defaultBuffer = 4 << 20
	minAhead      = 64 << 10
	maxBatch      = DefaultPageRows
)

// Cursor reads rows in order.
type Cursor[R any] struct {
	f     *File[R]
	cols  []column
	row   int64 // next row to decode
	to    int64
	group int // whose indexes were read; -1: none
	batch []R
	at    int // next row of batch
	err   error
}

// column is a field of the row struct being read.
type column struct {
	*binding
	leaves []*leafCursor
	pages  []*page
}

// Scan reads the rows [from, to); numbers beyond the file are cut to it.
func (f *File[R]) Scan(from, to int64) *Cursor[R] {
	c := &Cursor[R]{f: f, row: max(from, 0), to: min(to, f.NumRows()), group: -1}
	buffer := f.o.BufferBytes
	if buffer == 0 {
		buffer = defaultBuffer
	}
	leaves := 0
	for _, b := range f.columns {
		leaves += len(b.leaf)
	}
	ahead := int64(0)
	if buffer > 0 {
		ahead = int64(max(buffer/max(leaves, 1), minAhead))
	}
	for _, b := range f.columns {
		c.cols = append(c.cols, f.column(b, ahead))
	}
	return c
}

func (f *File[R]) column(b *binding, ahead int64) column {
	col := column{binding: b}
	for i := range b.leaf {
		col.leaves = append(col.leaves, f.cursor(b.leaf[i].index, ahead))
	}
	col.pages = make([]*page, len(b.leaf))
	return col
}

// Next returns the next row, which is valid until the next call (its strings
// stay valid, unless they are borrowed), or io.EOF.
func (c *Cursor[R]) Next() (*R, error) {
	if c.at < len(c.batch) {
		c.at++
		return &c.batch[c.at-1], nil
	}
	if c.err == nil {
		c.err = c.decode()
	}
	if c.err != nil {
		return nil, c.err
	}
	c.at = 1
	return &c.batch[0], nil
}

// Batch returns the next rows, up to the nearest end of a page, or io.EOF. They are
// valid until the next call.
func (c *Cursor[R]) Batch() ([]R, error) {
	if c.at == len(c.batch) && c.err == nil {
		c.err = c.decode()
	}
	if c.err != nil {
		return nil, c.err
	}
	rows := c.batch[c.at:]
	c.at = len(c.batch)
	return rows, nil
}

// Row is the number of the row that Next returned last.
func (c *Cursor[R]) Row() int64 { return c.row - int64(len(c.batch)) + int64(c.at) - 1 }

// decode fills the batch with the rows up to the nearest end of a page.
func (c *Cursor[R]) decode() (err error) {
	defer recovered(&err, "read Parquet")
	c.at, c.batch = 0, c.batch[:0]
	if c.row >= c.to {
		return io.EOF
	}
	if g := c.f.group(c.row); g != c.group {
		if err := c.f.needIndex(g, c.f.columns); err != nil {
			return err
		}
		c.group = g
	}
	end := min(c.to, c.row+maxBatch)
	for i := range c.cols {
		if err := c.cols[i].seek(c.row); err != nil {
			return err
		}
		for _, p := range c.cols[i].pages {
			end = min(end, p.span.row+p.span.rows)
		}
	}
	n := int(end - c.row)
	if cap(c.batch) < n {
		c.batch = make([]R, max(n, min(maxBatch, int(c.to-c.row))))
	}
	c.batch = c.batch[:n]
	var zero R
	for i := range c.cols {
		col := &c.cols[i]
		d := target{base: unsafe.Pointer(&c.batch[0]), stride: unsafe.Sizeof(zero), count: n,
			from: int(c.row - col.pages[0].span.row), borrow: c.f.o.Borrow}
		if err := col.fill(d); err != nil {
			return err
		}
	}
	c.row = end
	return nil
}

func (c *column) seek(row int64) (err error) {
	for i, l := range c.leaves {
		if c.pages[i], err = l.seek(row); err != nil {
			return fmt.Errorf("column %s: %w", c.field.name, err)
		}
	}
	return nil
}

func (c *column) fill(d target) error {
	if c.field.form == scalar {
		return fillScalar(c.binding, c.pages[0], d)
	}
	return fillNested(c.binding, c.pages, d)
}
