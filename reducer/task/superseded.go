package task

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
)

type supersededRow = schema.SupersededRow

// superseded gathers row numbers an older object: each object's as the
// differences of its ascending rows, one or two bytes each, on scratch, so that
// a task that replaces millions of rows holds none of them.
type superseded struct {
	dir     string
	objects map[layout.Key]*rowNumbers
}

type rowNumbers struct {
	file *scratchFile
	last int64
	rows int64
}

func newSuperseded(dir string) *superseded {
	return &superseded{dir: dir, objects: map[layout.Key]*rowNumbers{}}
}

func (s *superseded) add(refs []lsm.Ref) error {
	var buffer [binary.MaxVarintLen64]byte
	for _, ref := range refs {
		n := s.objects[ref.Object]
		if n == nil {
			file, err := newScratch(s.dir, "superseded")
			if err != nil {
				return err
			}
			n = &rowNumbers{file: file, last: -1}
			s.objects[ref.Object] = n
		}
		if ref.Row <= n.last {
			return fmt.Errorf("row %d of %s after row %d", ref.Row, ref.Object, n.last)
		}
		gap := binary.PutUvarint(buffer[:], uint64(ref.Row-n.last))
		if _, err := n.file.Write(buffer[:gap]); err != nil {
			return fmt.Errorf("scratch file: %w", err)
		}
		n.last = ref.Row
		n.rows++
	}
	return nil
}

// each gives the rows by (object, row).
func (s *superseded) each(emit func(supersededRow) error) error {
	keys := make([]layout.Key, 0, len(s.objects))
	for key := range s.objects {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if err := s.objects[key].each(key, emit); err != nil {
			return err
		}
	}
	return nil
}

func (n *rowNumbers) each(key layout.Key, emit func(supersededRow) error) error {
	size, err := n.file.size()
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(io.NewSectionReader(n.file.file, 0, size), scratchBuffer)
	row := int64(-1)
	for range n.rows {
		gap, err := binary.ReadUvarint(r)
		if err != nil {
			return fmt.Errorf("scratch file: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
		row += int64(gap)
		if err := emit(supersededRow{Object: key, Row: row}); err != nil {
			return err
		}
	}
	return nil
}

func (s *superseded) close() {
	for _, n := range s.objects {
		n.file.close()
	}
}
