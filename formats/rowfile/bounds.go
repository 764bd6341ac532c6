package rowfile

import (
	"encoding/binary"
	"fmt"
)

// The library's decoders make room for as many values as their input claims:
// five bytes can claim two billion. What a page claims is therefore counted
// first; the walk looks at run headers only.

// checkRuns holds run-length and bit-packed runs of width bits to n values and
// the padding of the last run.
func checkRuns(b []byte, width, n int) error {
	if width < 0 || width > 32 {
		return fmt.Errorf("%w: values of %d bits", ErrCorrupt, width)
	}
	total := uint64(0)
	for len(b) > 0 {
		header, size := binary.Uvarint(b)
		if size <= 0 {
			return fmt.Errorf("%w: header of a run", ErrCorrupt)
		}
		b = b[size:]
		count, bytes := header>>1, uint64(width+7)/8
		if header&1 == 1 {
			if count > uint64(n) {
				return fmt.Errorf("%w: runs of more than %d values", ErrCorrupt, n)
			}
			bytes = count * uint64(width)
			count *= 8
		}
		if count > uint64(n)+7 || total+count > uint64(n)+7 || bytes > uint64(len(b)) {
			return fmt.Errorf("%w: runs of more than %d values", ErrCorrupt, n)
		}
		total += count
		b = b[bytes:]
	}
	return nil
}

// checkPacked holds a delta-binary-packed stream to n values, and returns what
// follows it.
func checkPacked(b []byte, n int) ([]byte, error) {
	bad := fmt.Errorf("%w: packed deltas of other than %d values", ErrCorrupt, n)
	var head [4]uint64 // values a block, mini blocks a block, values, first value
	for i := range head {
		v, size := binary.Uvarint(b)
		if size <= 0 {
			return nil, bad
		}
		head[i], b = v, b[size:]
	}
	block, minis := head[0], head[1]
	if head[2] != uint64(n) || minis == 0 || minis > 512 || block > 1<<16 || block%(32*minis) != 0 || block == 0 {
		return nil, bad
	}
	each := int(block / minis)
	for left := n - 1; left > 0; {
		_, size := binary.Uvarint(b) // the block's least delta
		if size <= 0 || len(b)-size < int(minis) {
			return nil, bad
		}
		widths := b[size : size+int(minis)]
		b = b[size+int(minis):]
		for _, w := range widths {
			if left <= 0 {
				break
			}
			bytes := each * int(w) / 8
			if w > 64 {
				return nil, bad
			}
			b = b[min(bytes, len(b)):] // the last mini block may be cut short
			left -= each
		}
	}
	return b, nil
}
