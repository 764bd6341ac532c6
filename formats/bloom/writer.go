package bloom

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/bits-and-blooms/bloom/v3"
)

// ErrCorrupt marks a sidecar that contradicts itself.
var ErrCorrupt = errors.New("damaged sidecar")

const (
	// GroupRows is how many rows share a filter: its 78 kB are worth one request.
	GroupRows = 64 << 10
	// falsePositives is the rate that filters are sized for.
	falsePositives = 0.01
	magic          = "SEINBLM1"
	trailerSize    = 4 + 4 + len(magic)
	maxIndex       = 64 << 20
	maxKey         = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer writes a sidecar while the object is written.
type Writer struct {
	w     io.Writer
	bytes int64
	keys  []byte // encoded page keys of the group
	parts []byte // page keys of the groups before: they follow the filters
	last  []byte // key of the page before
	first []byte // key of the group's first page
	prior []byte // key of the group before
	page  []byte // key of the page that is being counted
	open  bool   // a page is being counted
	count uint64 // its rows
	pages uint64
	// The group's keys, all of them: the filter's size follows their number.
	arena []byte
	ends  []int
	index []byte
	err   error
}

// NewWriter returns a writer of a sidecar to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Add tells of the object's next row. newPage says that the row is the first of
// a page.
func (w *Writer) Add(key []byte, newPage bool) error {
	if w.err != nil {
		return w.err
	}
	if len(key) > maxKey {
		w.err = fmt.Errorf("key of %d bytes is too long for a sidecar", len(key))
		return w.err
	}
	if newPage || !w.open {
		w.endPage()
		if len(w.ends) >= GroupRows {
			w.err = w.endGroup()
		}
		w.page = append(w.page[:0], key...)
		w.open = true
	}
	w.count++
	w.arena = append(w.arena, key...)
	w.ends = append(w.ends, len(w.arena))
	return w.err
}

func (w *Writer) endPage() {
	if !w.open {
		return
	}
	if w.pages == 0 {
		w.first = append(w.first[:0], w.page...)
		w.last = w.last[:0]
	}
	w.keys = binary.AppendUvarint(w.keys, w.count)
	w.keys = appendFrontCoded(w.keys, w.last, w.page)
	w.last = append(w.last[:0], w.page...)
	w.pages++
	w.count, w.open = 0, false
}

// appendFrontCoded appends key as what it adds to the key before.
func appendFrontCoded(b, before, key []byte) []byte {
	n := 0
	for n < len(before) && n < len(key) && before[n] == key[n] {
		n++
	}
	b = binary.AppendUvarint(b, uint64(n))
	b = binary.AppendUvarint(b, uint64(len(key)-n))
	return append(b, key[n:]...)
}

func (w *Writer) endGroup() error {
	if len(w.ends) == 0 {
		return nil
	}
	m, k := bloom.EstimateParameters(uint(len(w.ends)), falsePositives)
	filter := bloom.New(m, k)
	start := 0
	for _, end := range w.ends {
		filter.Add(w.arena[start:end])
		start = end
	}
	keys := binary.LittleEndian.AppendUint32(w.keys, crc32.Checksum(w.keys, castagnoli))
	words := make([]byte, 0, (m+63)/64*8+4)
	for _, word := range filter.BitSet().Words() {
		words = binary.LittleEndian.AppendUint64(words, word)
	}
	words = binary.LittleEndian.AppendUint32(words, crc32.Checksum(words, castagnoli))
	for _, v := range []int{int(w.pages), len(w.ends), len(keys), len(words), int(m), int(k)} {
		w.index = binary.AppendUvarint(w.index, uint64(v))
	}
	w.index = appendFrontCoded(w.index, w.prior, w.first)
	w.prior = append(w.prior[:0], w.first...)
	w.parts = append(w.parts, keys...)
	w.keys, w.arena, w.ends, w.pages = keys[:0], w.arena[:0], w.ends[:0], 0
	return w.write(words)
}

func (w *Writer) write(b []byte) error {
	n, err := w.w.Write(b)
	w.bytes += int64(n)
	if err != nil {
		return fmt.Errorf("write sidecar: %w", err)
	}
	return nil
}

// Finish writes what is left and the index.
func (w *Writer) Finish() error {
	if w.err != nil {
		return w.err
	}
	w.endPage()
	if w.err = w.endGroup(); w.err != nil {
		return w.err
	}
	b := append(w.parts, w.index...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(w.index)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(w.index, castagnoli))
	w.err = w.write(append(b, magic...))
	if w.err != nil {
		return w.err
	}
	w.err = errors.New("the sidecar is finished")
	return nil
}

// Bytes is the size of the sidecar; it is right after Finish.
func (w *Writer) Bytes() int64 { return w.bytes }
