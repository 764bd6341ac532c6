package rowfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// The seal stands between the page indexes and the footer, where no reader
// looks: Parquet checks its pages but neither its footer nor its indexes.
const (
	sealMagic = "SEINTAIL"
	sealSize  = len(sealMagic) + 4 + 4 // magic, crc of offset indexes, crc of footer
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// tailWriter passes a file through and keeps back its end, to seal it.
type tailWriter struct {
	w     io.Writer
	bytes int64 // passed on
	hold  bool
	tail  []byte
}

func (t *tailWriter) Write(p []byte) (int, error) {
	if t.hold {
		t.tail = append(t.tail, p...)
		return len(p), nil
	}
	n, err := t.w.Write(p)
	t.bytes += int64(n)
	return n, err
}

// seal writes the end of the file. indexLen is the length of the offset indexes
// that end where the footer begins.
func (t *tailWriter) seal(indexLen int64) error {
	n := len(t.tail)
	if n < 8 {
		return fmt.Errorf("file ends after %d bytes of footer", n)
	}
	footer := n - 8 - int(binary.LittleEndian.Uint32(t.tail[n-8:]))
	if footer < 0 || int64(footer) < indexLen {
		return fmt.Errorf("footer of %d bytes and index of %d in a tail of %d", n-8-footer, indexLen, n)
	}
	index := t.tail[footer-int(indexLen) : footer]
	seal := append([]byte(nil), sealMagic...)
	seal = binary.LittleEndian.AppendUint32(seal, crc32.Checksum(index, castagnoli))
	seal = binary.LittleEndian.AppendUint32(seal, crc32.Checksum(t.tail[footer:n-8], castagnoli))
	t.hold = false
	for _, part := range [][]byte{t.tail[:footer], seal, t.tail[footer:]} {
		if _, err := t.Write(part); err != nil {
			return err
		}
	}
	t.tail = nil
	return nil
}
