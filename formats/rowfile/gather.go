package rowfile

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"
)

const (
	// joinGap is the hole in bytes that is read along rather than asked around: a
	// request to an object store costs as much time as some 100 KiB.
	joinGap = 64 << 10
	// joinMost bounds one request, and with it the memory of a Gather.
	joinMost = 8 << 20
)

// Gather returns the rows of the given numbers, which must ascend. It reads
// only the pages that hold them, and joins the byte ranges of near ones. Each
// row's strings are its own memory.
func (f *File[R]) Gather(rows []int64) ([]R, error) {
	out := make([]R, len(rows))
	if err := f.GatherInto(rows, out); err != nil {
		return nil, err
	}
	return out, nil
}

// GatherInto is Gather into rows that are there: out has one for each number.
func (f *File[R]) GatherInto(rows []int64, out []R) (err error) {
	defer recovered(&err, "read Parquet")
	if err := ascending(rows, f.NumRows()); err != nil {
		return err
	}
	for done := 0; done < len(rows); {
		n, err := f.gatherSome(rows[done:], out[done:])
		if err != nil {
			return err
		}
		done += n
	}
	return nil
}

func ascending(rows []int64, most int64) error {
	for i, r := range rows {
		if r < 0 || r >= most || i > 0 && r <= rows[i-1] {
			return fmt.Errorf("row %d of %d is asked for out of order", r, most)
		}
	}
	return nil
}

// gatherSome reads rows of one row group whose pages take some joinMost bytes.
func (f *File[R]) gatherSome(rows []int64, out []R) (int, error) {
	group := f.group(rows[0])
	if err := f.needIndex(group, f.columns); err != nil {
		return 0, err
	}
	n, size := 0, int64(0)
	var need []pageSpan
	for n < len(rows) && f.group(rows[n]) == group && size < joinMost {
		for _, b := range f.columns {
			for i := range b.leaf {
				s, err := f.pageOf(chunkID{group, b.leaf[i].index}, rows[n])
				if err != nil {
					return 0, err
				}
				if n == 0 || s.row > rows[n-1] {
					need, size = append(need, s), size+s.len
				}
				if n == 0 {
					need = f.needDictionary(need, chunkID{group, b.leaf[i].index})
				}
			}
		}
		n++
	}
	blocks, err := f.readJoined(need, nil)
	if err != nil {
		return 0, err
	}
	f.joined = blocks
	defer func() { f.joined = nil }()
	for _, b := range f.columns {
		if err := f.gatherColumn(b, rows[:n], out[:n], blocks); err != nil {
			return 0, fmt.Errorf("column %s: %w", b.field.name, err)
		}
	}
	return n, nil
}

// Fetch reads the pages that hold the rows [from, to) of spans, which must ascend,
// near ones in one request, so that scans of these rows ask for nothing. It
// replaces what an earlier Fetch read, and keeps the pages alone: the caller
// bounds how many they are.
func (f *File[R]) Fetch(spans [][2]int64) (err error) {
	defer recovered(&err, "read Parquet")
	var need []pageSpan
	last := map[chunkID]int64{} // row behind the last page needed
	for _, s := range spans {
		for row := max(s[0], 0); row < min(s[1], f.NumRows()); {
			next, err := f.needPages(&need, last, row)
			if err != nil {
				return err
			}
			row = next
		}
	}
	read, err := f.readJoined(need, nil)
	if err != nil {
		return err
	}
	f.fetched = make(blocks, len(need))
	for i, s := range need {
		f.fetched[i] = block{s.off, slices.Clone(read.find(s))}
	}
	return nil
}

// needPages adds the pages that hold a row, those not yet asked for, and returns
// the row from which on others do.
func (f *File[R]) needPages(need *[]pageSpan, last map[chunkID]int64, row int64) (int64, error) {
	group := f.group(row)
	if err := f.needIndex(group, f.columns); err != nil {
		return 0, err
	}
	next := f.NumRows()
	for _, b := range f.columns {
		for i := range b.leaf {
			id := chunkID{group, b.leaf[i].index}
			s, err := f.pageOf(id, row)
			if err != nil {
				return 0, err
			}
			if s.row >= last[id] {
				if last[id] == 0 {
					*need = f.needDictionary(*need, id)
				}
				*need, last[id] = append(*need, s), s.row+s.rows
			}
			next = min(next, s.row+s.rows)
		}
	}
	return next, nil
}

// needDictionary adds where the chunk's dictionary lies, unless it was read.
func (t *table) needDictionary(need []pageSpan, id chunkID) []pageSpan {
	at := t.foot.meta.RowGroups[id.group].Columns[id.leaf].MetaData.DictionaryPageOffset
	spans := t.pages[id]
	if at < 4 || t.dicts[id] != nil || len(spans) == 0 || at >= spans[0].off {
		return need
	}
	return append(need, pageSpan{off: at, len: spans[0].off - at})
}

// pageOf is the page of a chunk that holds a row.
func (t *table) pageOf(id chunkID, row int64) (pageSpan, error) {
	spans, err := t.spans(id)
	if err != nil {
		return pageSpan{}, err
	}
	at, _ := slices.BinarySearchFunc(spans, row, func(s pageSpan, row int64) int {
		if s.row <= row {
			return -1
		}
		return 1
	})
	return spans[at-1], nil
}

func (f *File[R]) gatherColumn(b *binding, rows []int64, out []R, blocks blocks) error {
	col := f.column(b, 0)
	for i, l := range col.leaves {
		l.blocks, col.pages[i] = blocks, nil
	}
	var pick []int32
	for at := 0; at < len(rows); {
		if err := col.seek(rows[at]); err != nil {
			return err
		}
		span := col.pages[0].span
		end := span.row + span.rows
		for _, p := range col.pages {
			end = min(end, p.span.row+p.span.rows)
		}
		pick = pick[:0]
		from := at
		for ; at < len(rows) && rows[at] < end; at++ {
			pick = append(pick, int32(rows[at]-span.row))
		}
		var zero R
		d := target{base: unsafe.Pointer(&out[from]), stride: unsafe.Sizeof(zero),
			count: at - from, pick: pick, alone: true}
		if err := col.fill(d); err != nil {
			return err
		}
	}
	return nil
}

// block is bytes of the file.
type block struct {
	off int64
	b   []byte
}

// blocks are in order of off.
type blocks []block

// find gives the bytes of a page; nil where no block has them.
func (bs blocks) find(s pageSpan) []byte {
	at, _ := slices.BinarySearchFunc(bs, s.off, func(b block, off int64) int {
		if b.off <= off {
			return -1
		}
		return 1
	})
	if at == 0 {
		return nil
	}
	b := bs[at-1]
	if from := s.off - b.off; from+s.len <= int64(len(b.b)) {
		return b.b[from : from+s.len]
	}
	return nil
}

// with adds blocks that do not overlap those there are.
func (bs blocks) with(more blocks) blocks {
	out := append(slices.Clip(bs), more...)
	slices.SortFunc(out, func(a, b block) int { return cmp.Compare(a.off, b.off) })
	return out
}

// readJoined reads pages, near ones in one request, into the memory of spare blocks first.
func (t *table) readJoined(need []pageSpan, spare blocks) (blocks, error) {
	slices.SortFunc(need, func(a, b pageSpan) int { return int(a.off - b.off) })
	var out blocks
	for i := 0; i < len(need); {
		from, to := need[i].off, need[i].off+need[i].len
		for i++; i < len(need) && need[i].off-to <= joinGap && need[i].off+need[i].len-from <= joinMost; i++ {
			to = max(to, need[i].off+need[i].len)
		}
		var dst []byte
		if n := len(out); n < len(spare) && !t.src.inTail(spare[n].off) {
			dst = spare[n].b
		}
		b, err := t.src.read(dst, from, to-from)
		if err != nil {
			return nil, err
		}
		out = append(out, block{from, b})
	}
	return out, nil
}
