package rowfile

import (
	"errors"
	"io"
)

// Merge emits the rows of sorted cursors in the order of cmp; of equal rows,
// those of the first cursor first. source is the cursor's index. The row is
// valid until emit returns.
func Merge[R any](cursors []*Cursor[R], cmp func(a, b *R) int,
	emit func(row *R, source int) error) error {
	next := make([]func() (*R, error), len(cursors))
	for i, c := range cursors {
		next[i] = c.Next
	}
	return MergeFunc(next, cmp, emit)
}

// MergeFunc is Merge over anything that gives rows in order and io.EOF at its
// end. A row must stay valid until the next call of its function.
func MergeFunc[R any](next []func() (*R, error), cmp func(a, b *R) int,
	emit func(row *R, source int) error) error {
	m := merger[R]{next: next, cmp: cmp, head: make([]*R, len(next))}
	for i := range next {
		if err := m.advance(i); err != nil {
			return err
		}
		if m.head[i] != nil {
			m.push(i)
		}
	}
	for len(m.heap) > 0 {
		i := m.heap[0]
		if err := emit(m.head[i], i); err != nil {
			return err
		}
		if err := m.advance(i); err != nil {
			return err
		}
		if m.head[i] == nil {
			last := len(m.heap) - 1
			m.heap[0] = m.heap[last]
			m.heap = m.heap[:last]
		}
		m.down(0)
	}
	return nil
}

// merger is a binary heap of sources by their next row.
type merger[R any] struct {
	next []func() (*R, error)
	cmp  func(a, b *R) int
	head []*R
	heap []int
}

func (m *merger[R]) advance(i int) error {
	row, err := m.next[i]()
	if errors.Is(err, io.EOF) {
		m.head[i] = nil
		return nil
	}
	m.head[i] = row
	return err
}

func (m *merger[R]) less(i, j int) bool {
	c := m.cmp(m.head[i], m.head[j])
	return c < 0 || c == 0 && i < j
}

func (m *merger[R]) push(i int) {
	m.heap = append(m.heap, i)
	for at := len(m.heap) - 1; at > 0; {
		up := (at - 1) / 2
		if !m.less(m.heap[at], m.heap[up]) {
			return
		}
		m.heap[at], m.heap[up] = m.heap[up], m.heap[at]
		at = up
	}
}

func (m *merger[R]) down(at int) {
	for {
		least := at
		for _, kid := range []int{2*at + 1, 2*at + 2} {
			if kid < len(m.heap) && m.less(m.heap[kid], m.heap[least]) {
				least = kid
			}
		}
		if least == at {
			return
		}
		m.heap[at], m.heap[least] = m.heap[least], m.heap[at]
		at = least
	}
}
