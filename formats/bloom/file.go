package bloom

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/bits-and-blooms/bloom/v3"
)

const (
	// firstRead is how much of a sidecar's end is read at once: the index of some
	// ten million rows, or index and page keys of some hundred thousand.
	firstRead = 16 << 10
	// ahead is how many page keys are read at once, in bytes: those of a million
	// rows or two, which is all that a thin batch of a partition or two wants.
	ahead = 64 << 10
)

// File reads a sidecar by range.
type File struct {
	r      io.ReaderAt
	size   int64
	groups []Group
	onRead func(bytes int64)
	keep   []byte // bytes of the file from keepAt on: its end, or what was read ahead
	keepAt int64
	// keysEnd is where the page keys end.
	keysEnd int64
}

// Group is some 64 Ki rows of the object.
type Group struct {
	First []byte // key of its first row
	Row   int64  // its first row, in the object
	Rows  int64
	Pages int
	// FilterBytes is what reading its filter costs.
	FilterBytes int64
	filterOff   int64
	keysOff     int64
	keysLen     int64
	bits        uint64
	hashes      uint64
}

// Page is a page of the object.
type Page struct {
	First []byte // key of its first row
	Row   int64  // its first row, in the object
	Rows  int64
}

// Open reads the index of a sidecar of size bytes. onRead, where set, is called
// with the bytes of every request.
func Open(r io.ReaderAt, size int64, onRead func(bytes int64)) (*File, error) {
	f := &File{r: r, size: size, onRead: onRead}
	if size < int64(trailerSize) {
		return nil, fmt.Errorf("%w: it has %d bytes", ErrCorrupt, size)
	}
	n := min(size, firstRead)
	tail, err := f.read(size-n, n)
	if err != nil {
		return nil, err
	}
	t := tail[n-int64(trailerSize):]
	length := int64(binary.LittleEndian.Uint32(t))
	if string(t[8:]) != magic || length > min(size-int64(trailerSize), maxIndex) {
		return nil, fmt.Errorf("%w: its trailer is not one", ErrCorrupt)
	}
	if length+int64(trailerSize) > n {
		n = length + int64(trailerSize)
		if tail, err = f.read(size-n, n); err != nil {
			return nil, err
		}
	}
	f.keep, f.keepAt = tail, size-n
	index := tail[n-int64(trailerSize)-length : n-int64(trailerSize)]
	if crc32.Checksum(index, castagnoli) != binary.LittleEndian.Uint32(t[4:]) {
		return nil, fmt.Errorf("%w: checksum of its index differs", ErrCorrupt)
	}
	return f, f.decodeIndex(index, size-int64(trailerSize)-length)
}

func (f *File) read(off, n int64) ([]byte, error) {
	b := make([]byte, n)
	if f.onRead != nil {
		f.onRead(n)
	}
	got, err := f.r.ReadAt(b, off)
	if int64(got) == n {
		return b, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: it ends at %d, not %d", ErrCorrupt, off+int64(got), f.size)
	}
	return nil, fmt.Errorf("read sidecar at %d: %w", off, err)
}

// decodeIndex reads the groups; parts is the length of all their parts.
func (f *File) decodeIndex(b []byte, parts int64) error {
	d := decoder{b: b}
	var filters, keys, row int64
	var before []byte
	for len(d.b) > 0 {
		g := Group{filterOff: filters, keysOff: keys, Row: row}
		g.Pages = int(d.uvarint(1 << 31))
		g.Rows = int64(d.uvarint(1 << 40))
		g.keysLen = int64(d.uvarint(uint64(parts)))
		g.FilterBytes = int64(d.uvarint(uint64(parts)))
		g.bits = d.uvarint(1 << 40)
		g.hashes = d.uvarint(64)
		g.First = d.frontCoded(before)
		before = g.First
		filters += g.FilterBytes
		keys += g.keysLen
		row += g.Rows
		words := (g.bits + 63) / 64
		if d.bad || g.Pages < 1 || int64(g.Pages) > g.Rows || g.hashes < 1 || g.bits < 1 ||
			int64(words)*8+4 != g.FilterBytes || filters+keys > parts || g.keysLen < 4 {
			return fmt.Errorf("%w: group %d of its index", ErrCorrupt, len(f.groups))
		}
		f.groups = append(f.groups, g)
	}
	if d.bad || filters+keys != parts {
		return fmt.Errorf("%w: its parts take %d of %d bytes", ErrCorrupt, filters+keys, parts)
	}
	for i := range f.groups {
		f.groups[i].keysOff += filters
	}
	f.keysEnd = parts
	return nil
}

// Groups are the sidecar's groups, in key order.
func (f *File) Groups() []Group { return f.groups }

// Rows is the number of rows of the object.
func (f *File) Rows() int64 {
	if len(f.groups) == 0 {
		return 0
	}
	last := f.groups[len(f.groups)-1]
	return last.Row + last.Rows
}

// Pages gives the pages of a group. It reads ahead: following groups ask for
// nothing.
func (f *File) Pages(group int) ([]Page, error) {
	g := &f.groups[group]
	if g.keysOff < f.keepAt || g.keysOff+g.keysLen > f.keepAt+int64(len(f.keep)) {
		n := max(g.keysLen, min(ahead, f.keysEnd-g.keysOff))
		b, err := f.read(g.keysOff, n)
		if err != nil {
			return nil, err
		}
		f.keep, f.keepAt = b, g.keysOff
	}
	b := f.keep[g.keysOff-f.keepAt:][:g.keysLen]
	b, ok := checked(b)
	if !ok {
		return nil, fmt.Errorf("%w: checksum of the page keys of group %d differs", ErrCorrupt, group)
	}
	d := decoder{b: b}
	pages := make([]Page, 0, min(g.Pages, len(b)))
	row := g.Row
	var before []byte
	for len(d.b) > 0 && !d.bad {
		p := Page{Row: row, Rows: int64(d.uvarint(uint64(g.Rows)))}
		p.First = d.frontCoded(before)
		before = p.First
		row += p.Rows
		pages = append(pages, p)
	}
	if d.bad || len(pages) != g.Pages || row != g.Row+g.Rows {
		return nil, fmt.Errorf("%w: page keys of group %d", ErrCorrupt, group)
	}
	return pages, nil
}

// Filter is the Bloom filter of a group.
type Filter struct{ f *bloom.BloomFilter }

// Filter reads the filter of a group.
func (f *File) Filter(group int) (Filter, error) {
	g := &f.groups[group]
	b, err := f.read(g.filterOff, g.FilterBytes)
	if err != nil {
		return Filter{}, err
	}
	b, ok := checked(b)
	if !ok {
		return Filter{}, fmt.Errorf("%w: checksum of filter %d differs", ErrCorrupt, group)
	}
	words := make([]uint64, len(b)/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(b[i*8:])
	}
	return Filter{bloom.FromWithM(words, uint(g.bits), uint(g.hashes))}, nil
}

// MayHold says whether the key may be in the group; false is certain.
func (f Filter) MayHold(key []byte) bool { return f.f.Test(key) }

// checked takes the checksum off a part.
func checked(b []byte) ([]byte, bool) {
	n := len(b) - 4
	return b[:n], crc32.Checksum(b[:n], castagnoli) == binary.LittleEndian.Uint32(b[n:])
}

// decoder reads varints and keys; bad is set by the first that is not there.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uvarint(most uint64) uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v > most {
		d.b, d.bad = nil, true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) frontCoded(before []byte) []byte {
	shared, rest := d.uvarint(uint64(len(before))), d.uvarint(maxKey)
	if d.bad || rest > uint64(len(d.b)) {
		d.b, d.bad = nil, true
		return nil
	}
	key := make([]byte, 0, shared+rest)
	key = append(append(key, before[:shared]...), d.b[:rest]...)
	d.b = d.b[rest:]
	return key
}
