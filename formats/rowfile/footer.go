package rowfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// firstRead is how much of a file's end is read at once: the footer, and for
// small files the offset indexes and all else.
const firstRead = 64 << 10

// source is the bytes of a file, with its end kept and its reads counted.
type source struct {
	r     io.ReaderAt
	size  int64
	tail  []byte // the last bytes of the file
	stats *Stats
}

// inTail says whether bytes from off on come from the tail.
func (s *source) inTail(off int64) bool { return off >= s.size-int64(len(s.tail)) }

// read returns n bytes at off in memory of its own, of dst or of the tail.
func (s *source) read(dst []byte, off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > s.size-n {
		return nil, fmt.Errorf("%w: %d bytes at %d in a file of %d", ErrCorrupt, n, off, s.size)
	}
	if start := s.size - int64(len(s.tail)); off >= start {
		return s.tail[off-start : off-start+n], nil
	}
	if int64(cap(dst)) < n {
		dst = make([]byte, n)
	}
	dst = dst[:n]
	if s.stats != nil {
		s.stats.Requests.Add(1)
		s.stats.Bytes.Add(n)
	}
	got, err := s.r.ReadAt(dst, off)
	if int64(got) == n {
		return dst, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: it ends at %d, not %d", ErrCorrupt, off+int64(got), s.size)
	}
	return nil, fmt.Errorf("read %d bytes at %d: %w", n, off, err)
}

// footer is what a file says of itself.
type footer struct {
	meta     format.FileMetaData
	indexCRC uint32 // of the offset indexes; sealed files only
	sealed   bool
	start    int64 // where the footer begins
}

// readFooter reads the end of the file: one request where it fits in firstRead.
func (s *source) readFooter() (*footer, error) {
	if s.size < 12 {
		return nil, fmt.Errorf("%w: it has %d bytes", ErrCorrupt, s.size)
	}
	n := min(s.size, firstRead)
	tail, err := s.read(nil, s.size-n, n)
	if err != nil {
		return nil, err
	}
	if string(tail[n-4:]) != "PAR1" {
		return nil, fmt.Errorf("%w: it does not end in PAR1", ErrCorrupt)
	}
	length := int64(binary.LittleEndian.Uint32(tail[n-8:]))
	if length > min(s.size-12, maxFooter) {
		return nil, fmt.Errorf("%w: footer of %d bytes in a file of %d", ErrCorrupt, length, s.size)
	}
	if want := length + 8 + int64(sealSize); want > n && want <= s.size {
		if tail, err = s.read(nil, s.size-want, want); err != nil {
			return nil, err
		}
	}
	s.tail = tail
	f := &footer{start: s.size - 8 - length}
	return f, f.decode(tail, length)
}

func (f *footer) decode(tail []byte, length int64) error {
	n := int64(len(tail))
	body := tail[n-8-length : n-8]
	seal := n - 8 - length - int64(sealSize)
	if seal < 0 || string(tail[seal:seal+8]) != sealMagic {
		return fmt.Errorf("%w: its footer carries no seal", ErrCorrupt)
	}
	f.indexCRC = binary.LittleEndian.Uint32(tail[seal+8:])
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(tail[seal+12:]) {
		return fmt.Errorf("%w: footer checksum differs", ErrCorrupt)
	}
	f.sealed = true
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), body, &f.meta); err != nil {
		return fmt.Errorf("%w: footer: %w", ErrCorrupt, err)
	}
	return nil
}

// leaf is a leaf column of the file.
type leaf struct {
	path   string // dotted
	index  int    // among the leaves
	typ    format.Type
	length int // of a fixed-length value
	maxDef uint8
	maxRep uint8
}

// leaves walks the schema tree, stored depth first.
func (f *footer) leaves() ([]leaf, error) {
	nodes := f.meta.Schema
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%w: no schema", ErrCorrupt)
	}
	var out []leaf
	var walk func(at int, path []string, def, rep uint8) (int, error)
	walk = func(at int, path []string, def, rep uint8) (int, error) {
		if at >= len(nodes) || len(path) > 8 {
			return 0, fmt.Errorf("%w: schema tree is cut short", ErrCorrupt)
		}
		n := &nodes[at]
		if len(path) > 0 || at > 0 {
			switch n.RepetitionType.V {
			case format.Optional:
				def++
			case format.Repeated:
				def, rep = def+1, rep+1
			}
			path = append(path, n.Name)
		}
		children := int(n.NumChildren.V)
		at++
		if children == 0 && len(path) > 0 {
			out = append(out, leaf{strings.Join(path, "."), len(out), n.Type.V,
				int(n.TypeLength.V), def, rep})
			return at, nil
		}
		var err error
		for range children {
			if at, err = walk(at, path[:len(path):len(path)], def, rep); err != nil {
				return 0, err
			}
		}
		return at, nil
	}
	_, err := walk(0, nil, 0, 0)
	return out, err
}

// check holds the footer against the file's size, so that later code may trust
// counts and offsets.
func (f *footer) check(leaves int) error {
	rows := int64(0)
	for i := range f.meta.RowGroups {
		g := &f.meta.RowGroups[i]
		if len(g.Columns) != leaves || g.NumRows <= 0 {
			return fmt.Errorf("%w: row group %d has %d columns of %d and %d rows", ErrCorrupt, i,
				len(g.Columns), leaves, g.NumRows)
		}
		rows += g.NumRows
	}
	if rows != f.meta.NumRows || rows < 0 {
		return fmt.Errorf("%w: %d rows in groups, %d in all", ErrCorrupt, rows, f.meta.NumRows)
	}
	return nil
}

// indexSpan is where the offset indexes of all columns lie.
func (f *footer) indexSpan() (from, to int64) {
	for i := range f.meta.RowGroups {
		for j := range f.meta.RowGroups[i].Columns {
			c := &f.meta.RowGroups[i].Columns[j]
			if from == 0 || c.OffsetIndexOffset < from {
				from = c.OffsetIndexOffset
			}
			to = max(to, c.OffsetIndexOffset+int64(c.OffsetIndexLength))
		}
	}
	return from, to
}
