package rowfile

import (
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/plain"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// values are decoded values of one column; which slice is set, its type tells.
type values struct {
	n       int
	bits    []byte // booleans, eight a byte
	int32   []int32
	int64   []int64
	float   []float32
	double  []float64
	data    []byte // byte arrays: all of them, and where each begins
	offsets []uint32
}

// dictionary is the dictionary of a column of a row group.
type dictionary struct {
	values
	strings []string // byte arrays as strings
}

// page is a decoded page; its memory is reused for the next.
type page struct {
	span  pageSpan
	def   []uint8 // definition levels; nil: no nulls possible
	rep   []uint8 // repetition levels; nil: one value a row
	rank  []int32 // value of each level, -1: none; nil: level i is value i
	dict  *dictionary
	index []int32 // into dict, where it is set
	values
	raw  []byte // unpacked payload
	read []byte // as read
	// text is the page's byte arrays as one string, for fields to point into.
	text string
}

// reset forgets the page but keeps its memory.
func (p *page) reset() {
	p.def, p.rep, p.rank, p.dict = p.def[:0], p.rep[:0], p.rank[:0], nil
	p.text, p.n = "", 0
}

// decode decodes the page stored in b.
func (t *table) decode(p *page, id chunkID, span pageSpan, b []byte) error {
	p.reset()
	p.span = span
	l := &t.leaves[id.leaf]
	chunk := &t.foot.meta.RowGroups[id.group].Columns[id.leaf].MetaData
	header, payload, err := splitPage(b)
	if err != nil {
		return err
	}
	h := header.DataPageHeaderV2.V
	if header.Type != format.DataPageV2 || !header.DataPageHeaderV2.Valid ||
		int64(h.NumRows) != span.rows || h.NumNulls < 0 || h.NumValues < h.NumNulls ||
		l.maxRep == 0 && h.NumValues != h.NumRows || !slices.Contains(chunk.Encoding, h.Encoding) {
		return fmt.Errorf("%w: page at %d is not what the index says", ErrCorrupt, span.off)
	}
	if payload, err = p.levels(l, &h, payload); err != nil {
		return err
	}
	size := int(header.UncompressedPageSize) - int(h.RepetitionLevelsByteLength) -
		int(h.DefinitionLevelsByteLength)
	if size < 0 || size > MaxPage {
		return fmt.Errorf("%w: page of %d bytes", ErrCorrupt, size)
	}
	if compressed := !h.IsCompressed.Valid || h.IsCompressed.V; compressed && len(payload) > 0 {
		u, err := t.unpacker(chunk.Codec)
		if err != nil {
			return err
		}
		if u.codec != format.Uncompressed {
			if p.raw, err = u.unpack(p.raw, payload, size); err != nil {
				return err
			}
			payload = p.raw
		}
	}
	if len(payload) != size {
		return fmt.Errorf("%w: page of %d bytes, not %d", ErrCorrupt, len(payload), size)
	}
	t.count(id.leaf, span.rows)
	return t.decodeValues(p, id, h.Encoding, payload, int(h.NumValues-h.NumNulls))
}

// count counts a page of a leaf. Rows are those of the leaf that decoded most: a
// row of three columns is decoded once.
func (t *table) count(leaf int, rows int64) {
	if t.src.stats == nil {
		return
	}
	t.src.stats.Pages.Add(1)
	t.decoded[leaf] += rows
	if more := t.decoded[leaf] - t.most; more > 0 {
		t.most += more
		t.src.stats.Rows.Add(more)
	}
}

// splitPage takes a stored page apart and checks its checksum.
func splitPage(b []byte) (*format.PageHeader, []byte, error) {
	header := new(format.PageHeader)
	protocol := new(thrift.CompactProtocol)
	r := protocol.NewReaderFromBytes(b)
	if err := thrift.NewDecoder(r).Decode(header); err != nil {
		return nil, nil, fmt.Errorf("%w: page header: %w", ErrCorrupt, err)
	}
	payload := b[r.BytesRead():]
	if len(payload) != int(header.CompressedPageSize) {
		return nil, nil, fmt.Errorf("%w: page of %d bytes, header says %d", ErrCorrupt,
			len(payload), header.CompressedPageSize)
	}
	if crc32.ChecksumIEEE(payload) != uint32(header.CRC) {
		return nil, nil, fmt.Errorf("%w: page checksum differs", ErrCorrupt)
	}
	return header, payload, nil
}

// levels decodes the page's levels and returns what follows them.
func (p *page) levels(l *leaf, h *format.DataPageHeaderV2, b []byte) ([]byte, error) {
	n, reps, defs := int(h.NumValues), int(h.RepetitionLevelsByteLength), int(h.DefinitionLevelsByteLength)
	if reps < 0 || defs < 0 || reps > len(b)-defs || (reps > 0) != (l.maxRep > 0) || (defs > 0) != (l.maxDef > 0) {
		return nil, fmt.Errorf("%w: levels of %d and %d bytes", ErrCorrupt, reps, defs)
	}
	var err error
	if p.rep, err = decodeLevels(p.rep, b[:reps], l.maxRep, n); err != nil {
		return nil, err
	}
	if p.def, err = decodeLevels(p.def, b[reps:reps+defs], l.maxDef, n); err != nil {
		return nil, err
	}
	if l.maxDef > 0 {
		p.rank = slices.Grow(p.rank, n)
		at := int32(0)
		for _, d := range p.def {
			if d == l.maxDef {
				p.rank = append(p.rank, at)
				at++
			} else {
				p.rank = append(p.rank, -1)
			}
		}
		if int(at) != n-int(h.NumNulls) {
			return nil, fmt.Errorf("%w: %d values, header says %d", ErrCorrupt, at, n-int(h.NumNulls))
		}
	}
	return b[reps+defs:], nil
}

func decodeLevels(dst []uint8, src []byte, most uint8, n int) ([]uint8, error) {
	if most == 0 {
		return dst[:0], nil
	}
	// A run-length level of n values can be claimed in 5 bytes: n is bound by the
	// rows that the index gives the page, not by the bytes.
	if n > MaxPage {
		return nil, fmt.Errorf("%w: page of %d values", ErrCorrupt, n)
	}
	width := 1
	for 1<<width <= int(most) {
		width++
	}
	if err := checkRuns(src, width, n); err != nil {
		return nil, err
	}
	e := rle.Encoding{BitWidth: width}
	dst, err := e.DecodeLevels(slices.Grow(dst[:0], n), src)
	if err != nil {
		return nil, fmt.Errorf("%w: levels: %w", ErrCorrupt, err)
	}
	if len(dst) < n {
		return nil, fmt.Errorf("%w: %d levels of %d", ErrCorrupt, len(dst), n)
	}
	return dst[:n], nil
}

func (t *table) unpacker(c format.CompressionCodec) (*unpacker, error) {
	if u := t.unpack[c]; u != nil {
		return u, nil
	}
	u, err := newUnpacker(c)
	if err == nil {
		t.unpack[c] = u
	}
	return u, err
}

func (t *table) decodeValues(p *page, id chunkID, enc format.Encoding, b []byte, n int) (err error) {
	if enc != format.RLEDictionary && enc != format.PlainDictionary {
		return p.values.decode(&t.leaves[id.leaf], enc, b, n)
	}
	p.n = n
	p.index = p.index[:0]
	if n == 0 {
		return nil
	}
	if p.dict, err = t.dictionary(id); err != nil {
		return err
	}
	if len(b) == 0 {
		return fmt.Errorf("%w: no dictionary indexes", ErrCorrupt)
	}
	if err := checkRuns(b[1:], int(b[0]), n); err != nil {
		return err
	}
	p.index, err = parquet.RLEDictionary.DecodeInt32(slices.Grow(p.index[:0], n), b)
	if err != nil || len(p.index) < n {
		return fmt.Errorf("%w: %d dictionary indexes of %d: %v", ErrCorrupt, len(p.index), n, err)
	}
	p.index = p.index[:n]
	for _, i := range p.index {
		if uint32(i) >= uint32(p.dict.n) {
			return fmt.Errorf("%w: index %d of a dictionary of %d", ErrCorrupt, i, p.dict.n)
		}
	}
	return nil
}

// dictionary reads and keeps the dictionary of a chunk. It lies before the
// first page.
func (t *table) dictionary(id chunkID) (*dictionary, error) {
	if d := t.dicts[id]; d != nil {
		return d, nil
	}
	chunk := &t.foot.meta.RowGroups[id.group].Columns[id.leaf].MetaData
	spans, err := t.spans(id)
	if err != nil {
		return nil, err
	}
	n := spans[0].off - chunk.DictionaryPageOffset
	if chunk.DictionaryPageOffset < 4 || n <= 0 || n > MaxPage {
		return nil, fmt.Errorf("%w: dictionary of %d bytes", ErrCorrupt, n)
	}
	where := pageSpan{off: chunk.DictionaryPageOffset, len: n}
	b := t.joined.find(where)
	if b == nil {
		b = t.fetched.find(where)
	}
	if b == nil {
		if b, err = t.src.read(nil, chunk.DictionaryPageOffset, n); err != nil {
			return nil, err
		}
	}
	return t.keepDictionary(id, b)
}

func (t *table) keepDictionary(id chunkID, b []byte) (*dictionary, error) {
	chunk := &t.foot.meta.RowGroups[id.group].Columns[id.leaf].MetaData
	header, payload, err := splitPage(b)
	if err != nil {
		return nil, err
	}
	size, count := int(header.UncompressedPageSize), int(header.DictionaryPageHeader.V.NumValues)
	if header.Type != format.DictionaryPage || !header.DictionaryPageHeader.Valid ||
		size < 0 || size > MaxPage || count < 0 || count > 8*size {
		return nil, fmt.Errorf("%w: dictionary of %d values in %d bytes", ErrCorrupt, count, size)
	}
	u, err := t.unpacker(chunk.Codec)
	if err != nil {
		return nil, err
	}
	if payload, err = u.unpack(nil, payload, size); err != nil {
		return nil, err
	}
	d := new(dictionary)
	if err := d.decode(&t.leaves[id.leaf], format.Plain, payload, count); err != nil {
		return nil, err
	}
	if t.leaves[id.leaf].typ == format.ByteArray {
		text := string(d.data)
		d.strings = make([]string, d.n)
		for i := range d.strings {
			d.strings[i] = text[d.offsets[i]:d.offsets[i+1]]
		}
	}
	t.dicts[id] = d
	return d, nil
}

// decode decodes n values.
func (v *values) decode(l *leaf, enc format.Encoding, b []byte, n int) (err error) {
	v.n = n
	if n == 0 {
		v.offsets = append(v.offsets[:0], 0)
		v.data = v.data[:0]
		return nil
	}
	got := -1
	switch {
	case enc == format.Plain && l.typ == format.Boolean:
		v.bits, got = b, len(b)*8
	case enc == format.Plain && l.typ == format.FixedLenByteArray:
		v.data, got = b, len(b)/max(l.length, 1)
	case enc == format.Plain && l.typ == format.Int32:
		v.int32, err = new(plain.Encoding).DecodeInt32(v.int32[:0], b)
		got = len(v.int32)
	case enc == format.Plain && l.typ == format.Int64:
		v.int64, err = new(plain.Encoding).DecodeInt64(v.int64[:0], b)
		got = len(v.int64)
	case enc == format.Plain && l.typ == format.Float:
		v.float, err = new(plain.Encoding).DecodeFloat(v.float[:0], b)
		got = len(v.float)
	case enc == format.Plain && l.typ == format.Double:
		v.double, err = new(plain.Encoding).DecodeDouble(v.double[:0], b)
		got = len(v.double)
	case enc == format.DeltaBinaryPacked && l.typ == format.Int32:
		if _, err := checkPacked(b, n); err != nil {
			return err
		}
		v.int32, err = parquet.DeltaBinaryPacked.DecodeInt32(v.int32[:0], b)
		got = len(v.int32)
	case enc == format.DeltaBinaryPacked && l.typ == format.Int64:
		if _, err := checkPacked(b, n); err != nil {
			return err
		}
		v.int64, err = parquet.DeltaBinaryPacked.DecodeInt64(v.int64[:0], b)
		got = len(v.int64)
	case l.typ == format.ByteArray:
		return v.decodeStrings(enc, b, n)
	}
	if err != nil || got < n {
		return fmt.Errorf("%w: %d of %d values (%s of %s): %v", ErrCorrupt, got, n, enc, l.typ, err)
	}
	return nil
}

func (v *values) decodeStrings(enc format.Encoding, b []byte, n int) (err error) {
	// The decoders take the number of strings from the room for offsets.
	v.offsets = slices.Grow(v.offsets[:0], n+1)[:n+1]
	switch enc {
	case format.Plain:
		v.data, v.offsets, err = new(plain.Encoding).DecodeByteArray(v.data[:0], b, v.offsets)
	case format.DeltaByteArray:
		var rest []byte
		if rest, err = checkPacked(b, n); err == nil {
			_, err = checkPacked(rest, n)
		}
		if err != nil {
			return err
		}
		v.data, v.offsets, err = parquet.DeltaByteArray.DecodeByteArray(v.data[:0], b, v.offsets)
	case format.DeltaLengthByteArray:
		if _, err := checkPacked(b, n); err != nil {
			return err
		}
		v.data, v.offsets, err = parquet.DeltaLengthByteArray.DecodeByteArray(v.data[:0], b, v.offsets)
	default:
		err = fmt.Errorf("strings in encoding %s", enc)
	}
	if err != nil || len(v.offsets) != n+1 {
		return fmt.Errorf("%w: %d offsets of %d strings: %v", ErrCorrupt, len(v.offsets), n, err)
	}
	for i := range n {
		if v.offsets[i] > v.offsets[i+1] {
			return fmt.Errorf("%w: string of negative length", ErrCorrupt)
		}
	}
	if int(v.offsets[n]) > len(v.data) {
		return fmt.Errorf("%w: strings end at %d of %d bytes", ErrCorrupt, v.offsets[n], len(v.data))
	}
	return nil
}
