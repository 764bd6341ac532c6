package task

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Sorter sorts more rows than memory holds: full batches are sorted and
// spilled to scratch, and Open merges them. Rows that compare as equal come in
// no fixed order, so compare whole rows. Rows are kept beyond Add: they must
// own their strings, for those of a cursor keep its pages alive.
type Sorter[R any] struct {
	dir   string
	name  string
	cmp   func(a, b *R) int
	size  func(*R) int
	bound int64

	rows  []R
	bytes int64
	total int64
	spill []spilled
}

type spilled struct {
	file *scratchFile
	size int64
}

// leastSort is the least that a sorter holds, bytes: below it a spill costs more
// than it frees.
const leastSort = 16 << 10

// NewSorter sorts by cmp, holding at most bound bytes of rows (at least 16 KiB),
// as size counts them.
func NewSorter[R any](e Env, name string, bound int64, size func(*R) int,
	cmp func(a, b *R) int) *Sorter[R] {
	return &Sorter[R]{dir: e.Scratch, name: name, cmp: cmp, size: size,
		bound: max(bound, leastSort)}
}

// Add takes a row.
func (s *Sorter[R]) Add(row R) error {
	s.rows = append(s.rows, row)
	s.bytes += int64(s.size(&row))
	s.total++
	if s.bytes < s.bound {
		return nil
	}
	return s.flush()
}

// Rows is the number of rows added.
func (s *Sorter[R]) Rows() int64 { return s.total }

func (s *Sorter[R]) flush() error {
	s.sort()
	file, err := newScratch(s.dir, s.name)
	if err != nil {
		return err
	}
	size, err := writeSpill(file, s.rows)
	if err != nil {
		file.close()
		return fmt.Errorf("spill %s: %w", s.name, err)
	}
	s.spill = append(s.spill, spilled{file, size})
	clear(s.rows)
	s.rows, s.bytes = s.rows[:0], 0
	return nil
}

func writeSpill[R any](file *scratchFile, rows []R) (int64, error) {
	// Gob, not Parquet: a spill is read once, by this process, row by row, and a
	// Parquet writer would take more memory than the batch that is spilled.
	w := gob.NewEncoder(file)
	for i := range rows {
		if err := w.Encode(&rows[i]); err != nil {
			return 0, err
		}
	}
	return file.size()
}

// spillReader reads a spilled batch.
type spillReader[R any] struct {
	rows *gob.Decoder
	row  R
}

func newSpillReader[R any](s spilled) *spillReader[R] {
	section := io.NewSectionReader(s.file.file, 0, s.size)
	return &spillReader[R]{rows: gob.NewDecoder(bufio.NewReaderSize(section, scratchBuffer))}
}

// next returns a row that is valid until the next call, or io.EOF.
func (r *spillReader[R]) next() (*R, error) {
	var zero R
	r.row = zero // zero fields are not in the stream
	if err := r.rows.Decode(&r.row); err != nil {
		return nil, err
	}
	return &r.row, nil
}

func (s *Sorter[R]) sort() {
	slices.SortFunc(s.rows, func(a, b R) int { return s.cmp(&a, &b) })
}

// Open returns all rows in order. Nothing may be added while it is read; it may
// be opened again.
func (s *Sorter[R]) Open() (*Sorted[R], error) {
	if len(s.spill) == 0 {
		s.sort()
		return &Sorted[R]{memory: s.rows}, nil
	}
	if len(s.rows) > 0 {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	sorted := &Sorted[R]{name: s.name, cmp: s.cmp}
	for _, run := range s.spill {
		sorted.runs = append(sorted.runs, newSpillReader[R](run))
		sorted.heads = append(sorted.heads, nil)
	}
	for i := range sorted.runs {
		if err := sorted.advance(i); err != nil {
			return nil, err
		}
	}
	return sorted, nil
}

// Each gives all rows in order. A row is valid until the next one.
func (s *Sorter[R]) Each(emit func(row *R) error) error {
	sorted, err := s.Open()
	if err != nil {
		return err
	}
	for {
		row, err := sorted.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := emit(row); err != nil {
			return err
		}
	}
}

// Close drops the spilled files.
func (s *Sorter[R]) Close() {
	for _, run := range s.spill {
		run.file.close()
	}
	s.spill, s.rows = nil, nil
}

// Sorted is a Sorter's rows in order.
type Sorted[R any] struct {
	memory []R
	name   string
	cmp    func(a, b *R) int
	runs   []*spillReader[R]
	heads  []*R // of each run; nil at its end
	given  int  // the run whose head Next gave, plus one; 0: none
}

// Next returns the next row, valid until the next call, or io.EOF.
func (s *Sorted[R]) Next() (*R, error) {
	if s.runs == nil {
		if len(s.memory) == 0 {
			return nil, io.EOF
		}
		row := &s.memory[0]
		s.memory = s.memory[1:]
		return row, nil
	}
	if s.given > 0 {
		if err := s.advance(s.given - 1); err != nil {
			return nil, err
		}
		s.given = 0
	}
	least := -1
	for i, head := range s.heads { // a spill is large, so there are few
		if head != nil && (least < 0 || s.cmp(head, s.heads[least]) < 0) {
			least = i
		}
	}
	if least < 0 {
		return nil, io.EOF
	}
	s.given = least + 1
	return s.heads[least], nil
}

func (s *Sorted[R]) advance(i int) error {
	row, err := s.runs[i].next()
	if errors.Is(err, io.EOF) {
		row, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("read spilled %s: %w", s.name, err)
	}
	s.heads[i] = row
	return nil
}
