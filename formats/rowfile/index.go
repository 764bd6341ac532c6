package rowfile

import (
	"fmt"
	"hash/crc32"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// wholeIndex is the size in bytes up to which the offset indexes of all columns
// are read at once. A large file has them by the megabyte, some 9 KiB a column of
// a row group, and a lookup wants a few columns.
const wholeIndex = 64 << 10

// spans gives the pages of a column of a row group, from its offset index.
func (t *table) spans(id chunkID) ([]pageSpan, error) {
	if p, ok := t.pages[id]; ok {
		return p, nil
	}
	c := &t.foot.meta.RowGroups[id.group].Columns[id.leaf]
	where := pageSpan{off: c.OffsetIndexOffset, len: int64(c.OffsetIndexLength)}
	stored := t.index.find(where)
	if stored == nil {
		if err := t.loadIndex([]pageSpan{where}); err != nil {
			return nil, err
		}
		stored = t.index.find(where)
	}
	var index format.OffsetIndex
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), stored, &index); err != nil {
		return nil, fmt.Errorf("%w: offset index: %w", ErrCorrupt, err)
	}
	pages := make([]pageSpan, len(index.PageLocations))
	start := t.starts[id.group]
	for i, l := range index.PageLocations {
		pages[i] = pageSpan{off: l.Offset, len: int64(l.CompressedPageSize), row: start + l.FirstRowIndex}
	}
	if err := t.checkSpans(pages, id); err != nil {
		return nil, err
	}
	t.pages[id] = pages
	return pages, nil
}

// checkSpans fills in how many rows the pages have, and holds them to the footer.
// An index read alone has no checksum; it needs none: its pages fill the chunk
// without a gap, between ends that the footer knows, and each page's header says
// how many rows it has (see decode). So no single place or count can be wrong and
// stay unseen.
func (t *table) checkSpans(pages []pageSpan, id chunkID) error {
	if len(pages) == 0 {
		return fmt.Errorf("%w: row group %d has no pages", ErrCorrupt, id.group)
	}
	start, end := t.starts[id.group], t.starts[id.group+1]
	chunk := &t.foot.meta.RowGroups[id.group].Columns[id.leaf].MetaData
	off, stop := chunk.DataPageOffset, chunk.DataPageOffset+chunk.TotalCompressedSize
	if d := chunk.DictionaryPageOffset; d > 0 {
		stop = d + chunk.TotalCompressedSize
	}
	for i := range pages {
		p := &pages[i]
		if p.off != off || p.off < 4 || p.len <= 0 || p.len > MaxPage || p.off+p.len > t.foot.start {
			return fmt.Errorf("%w: page %d lies outside its column", ErrCorrupt, i)
		}
		off += p.len
		next := end
		if i+1 < len(pages) {
			next = pages[i+1].row
		}
		p.rows = next - p.row
		if p.rows <= 0 || next > end || i == 0 && p.row != start {
			return fmt.Errorf("%w: rows of page %d are out of order", ErrCorrupt, i)
		}
	}
	if off != stop {
		return fmt.Errorf("%w: pages end at %d, their column at %d", ErrCorrupt, off, stop)
	}
	return nil
}

// needIndex reads the offset indexes of columns of a row group, near ones in one
// request.
func (t *table) needIndex(group int, columns []*binding) error {
	var need []pageSpan
	for _, b := range columns {
		for i := range b.leaf {
			id := chunkID{group, b.leaf[i].index}
			c := &t.foot.meta.RowGroups[group].Columns[id.leaf]
			where := pageSpan{off: c.OffsetIndexOffset, len: int64(c.OffsetIndexLength)}
			if t.pages[id] == nil && t.index.find(where) == nil {
				need = append(need, where)
			}
		}
	}
	if len(need) == 0 {
		return nil
	}
	return t.loadIndex(need)
}

// loadIndex reads offset indexes; all of them, and holds them to their checksum,
// where they are small.
func (t *table) loadIndex(need []pageSpan) error {
	from, to := t.foot.indexSpan()
	if to < from || to-from > maxFooter {
		return fmt.Errorf("%w: offset indexes of %d bytes", ErrCorrupt, to-from)
	}
	for _, n := range need {
		if n.len <= 0 || n.off < from || n.off+n.len > to {
			return fmt.Errorf("%w: offset index out of place", ErrCorrupt)
		}
	}
	whole := to-from <= wholeIndex || t.src.inTail(from)
	if whole {
		need = []pageSpan{{off: from, len: to - from}}
	}
	read, err := t.readJoined(need, nil)
	if err != nil {
		return err
	}
	if whole && crc32.Checksum(read[0].b, castagnoli) != t.foot.indexCRC {
		return fmt.Errorf("%w: checksum of the offset indexes differs", ErrCorrupt)
	}
	t.index = t.index.with(read)
	return nil
}
