package rowfile

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"reflect"
	"unsafe"

	"seine/formats/layout"
)

// Keys of the footer's metadata that are this package's own.
const (
	metaPartitions = "seine.partitions"
	metaColumns    = "seine.columns"
)

// partitionCounter counts the rows of each partition as they are written.
type partitionCounter[R any] struct {
	offset uintptr
	last   int32
	counts [layout.Partitions]int64
}

func newPartitionCounter[R any](s *shape) (*partitionCounter[R], error) {
	f := s.field("partition")
	if f == nil || f.kind != reflect.Int32 {
		return nil, fmt.Errorf("%s has no int32 column partition", s.typ)
	}
	return &partitionCounter[R]{offset: f.offset}, nil
}

func (c *partitionCounter[R]) add(row *R) error {
	p := *(*int32)(unsafe.Add(unsafe.Pointer(row), c.offset))
	if p < c.last || p >= layout.Partitions {
		return fmt.Errorf("row of partition %d after one of %d", p, c.last)
	}
	c.last = p
	c.counts[p]++
	return nil
}

// encode gives the counts as base64 of varints: first partition with rows, then
// the counts up to the last one with rows.
func (c *partitionCounter[R]) encode() string {
	lo, hi := 0, layout.Partitions
	for lo < hi && c.counts[lo] == 0 {
		lo++
	}
	for hi > lo && c.counts[hi-1] == 0 {
		hi--
	}
	b := binary.AppendUvarint(nil, uint64(lo))
	for _, n := range c.counts[lo:hi] {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// decodePartitions gives the first row of each partition, and the number of
// rows at the end.
func decodePartitions(s string, rows int64) ([]int64, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("%w: partition offsets: %w", ErrCorrupt, err)
	}
	next := func() (uint64, bool) {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, false
		}
		b = b[n:]
		return v, true
	}
	lo, ok := next()
	if !ok || lo > layout.Partitions {
		return nil, fmt.Errorf("%w: partition offsets begin at %d", ErrCorrupt, lo)
	}
	offsets := make([]int64, layout.Partitions+1)
	at, p := int64(0), int(lo)
	for ; len(b) > 0 && p < layout.Partitions; p++ {
		n, ok := next()
		if !ok || n > uint64(rows-at) {
			return nil, fmt.Errorf("%w: partition %d has %d rows", ErrCorrupt, p, n)
		}
		at += int64(n)
		offsets[p+1] = at
	}
	for ; p < layout.Partitions; p++ {
		offsets[p+1] = at
	}
	if at != rows || len(b) > 0 {
		return nil, fmt.Errorf("%w: partitions hold %d of %d rows", ErrCorrupt, at, rows)
	}
	return offsets, nil
}
