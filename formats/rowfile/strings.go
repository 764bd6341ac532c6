package rowfile

import (
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// Strings is a page of one string column, as bytes: string i of the page is
// Data[Offsets[i]:Offsets[i+1]]. It is valid until the next page is read.
type Strings struct {
	Row     int64 // of the page's first string, in the file
	Data    []byte
	Offsets []uint32
}

// Len is the number of strings.
func (s *Strings) Len() int { return len(s.Offsets) - 1 }

// At is string i.
func (s *Strings) At(i int) []byte { return s.Data[s.Offsets[i]:s.Offsets[i+1]] }

// StringReader reads pages of one string column: the way to look at keys at the
// speed of decoding.
type StringReader struct {
	c   *leafCursor
	buf Strings
}

// Strings returns a reader of a string column. Null reads as empty.
func (f *File[R]) Strings(column string) (*StringReader, error) {
	at := slices.IndexFunc(f.leaves, func(l leaf) bool { return l.path == column })
	if at < 0 || f.leaves[at].typ != format.ByteArray || f.leaves[at].maxRep > 0 {
		return nil, fmt.Errorf("%w: it has no string column %q", ErrCorrupt, column)
	}
	return &StringReader{c: f.cursor(at, 1<<20)}, nil
}

// Pages gives the first row of each page of the column.
func (r *StringReader) Pages() (rows []int64, err error) {
	defer recovered(&err, "read Parquet")
	for g := range r.c.t.foot.meta.RowGroups {
		spans, err := r.c.t.spans(chunkID{g, r.c.leaf})
		if err != nil {
			return nil, err
		}
		for _, s := range spans {
			rows = append(rows, s.row)
		}
	}
	return rows, nil
}

// Fetch reads the pages that hold the given ascending rows, near ones in one
// request, so that the following reads of them ask for nothing. It replaces what
// an earlier Fetch read, and the last page; the caller bounds how much that is.
func (r *StringReader) Fetch(rows []int64) (err error) {
	defer recovered(&err, "read Parquet")
	if err := ascending(rows, r.c.t.NumRows()); err != nil {
		return err
	}
	var need []pageSpan
	for i, row := range rows {
		s, err := r.c.t.pageOf(chunkID{r.c.t.group(row), r.c.leaf}, row)
		if err != nil {
			return err
		}
		if i == 0 || s.off != need[len(need)-1].off {
			need = append(need, s)
		}
	}
	r.c.at, r.buf.Offsets = -1, nil // a page without compression lies in the blocks
	r.c.blocks, err = r.c.t.readJoined(need, r.c.blocks)
	return err
}

// Page decodes the page that holds the row.
func (r *StringReader) Page(row int64) (s *Strings, err error) {
	defer recovered(&err, "read Parquet")
	if row < 0 || row >= r.c.t.NumRows() {
		return nil, fmt.Errorf("row %d of %d is asked for", row, r.c.t.NumRows())
	}
	before := r.c.page.span
	p, err := r.c.seek(row)
	if err != nil {
		return nil, err
	}
	if r.c.at >= 0 && r.buf.Offsets != nil && before == p.span {
		return &r.buf, nil
	}
	r.buf.Row = p.span.row
	if p.dict == nil && len(p.rank) == 0 {
		r.buf.Data, r.buf.Offsets = p.data, p.offsets
		return &r.buf, nil
	}
	r.expand(p)
	return &r.buf, nil
}

// expand writes out a page of dictionary indexes or with nulls.
func (r *StringReader) expand(p *page) {
	data, offsets := []byte(nil), []uint32{0}
	vals := &p.values
	if p.dict != nil {
		vals = &p.dict.values
	}
	for row := range int(p.span.rows) {
		if at := p.value(row); at >= 0 {
			data = append(data, vals.data[vals.offsets[at]:vals.offsets[at+1]]...)
		}
		offsets = append(offsets, uint32(len(data)))
	}
	r.buf.Data, r.buf.Offsets = data, offsets
}
