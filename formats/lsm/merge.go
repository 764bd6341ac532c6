package lsm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"seine/formats/layout"
	"seine/formats/rowfile"
	"seine/formats/schema"
)

// Merge is a merge of adjacent runs, and the runs of the same manifest that stay
// on either side of it; all oldest first. The package comment says what it keeps.
type Merge struct {
	Older   []Run // none: a delta without a whole row is damage
	Runs    []Run
	Younger []Run
	Range   layout.Range
	Stats   *rowfile.Stats // counts what is read, where set
}

// Merge writes the rows that m.Runs become to w, and to list, in the order of
// (object, row), the rows of older runs that the output's Superseded object has
// to name. list may be nil where m.Older is empty.
func (t Table[R]) Merge(ctx context.Context, open Opener, m Merge, w *RunWriter[R],
	list func(Ref) error) error {
	if err := t.mergeInto(ctx, open, m, w); err != nil {
		return fmt.Errorf("merge %s: %w", t.Name, err)
	}
	if len(m.Older) == 0 {
		return nil
	}
	if err := t.carry(ctx, open, m, list); err != nil {
		return fmt.Errorf("merge %s: %w", t.Name, err)
	}
	return nil
}

func (t Table[R]) mergeInto(ctx context.Context, open Opener, m Merge, w *RunWriter[R]) error {
	shadow := &wholeKeys[R]{t: t}
	if err := shadow.start(ctx, open, m); err != nil {
		return err
	}
	defer shadow.close()
	return t.ScanStats(ctx, open, m.Runs, m.Range, nil, m.Stats, func(row *R, refs []Ref) error {
		key := t.Key(row)
		hidden, err := shadow.has(ctx, key)
		if err != nil || hidden {
			return err
		}
		if len(m.Older) == 0 && t.isDelta(row) {
			return fmt.Errorf("%w: run object %s: row %d adds to a row that is not there",
				rowfile.ErrCorrupt, refs[0].Object, refs[0].Row)
		}
		return w.Write(row)
	})
}

// wholeKeys says which keys have a whole row in the younger runs; it is asked in
// key order.
type wholeKeys[R any] struct {
	t      Table[R]
	chains []*chain[R]
	heads  []*keyed[R]
}

func (s *wholeKeys[R]) start(ctx context.Context, open Opener, m Merge) error {
	for _, r := range m.Younger {
		c := &chain[R]{t: s.t, open: open, objects: r.overlapping(m.Range), rng: m.Range,
			ro: rowfile.ReadOptions{Columns: s.t.Always, Stats: m.Stats}}
		s.chains = append(s.chains, c)
	}
	s.heads = make([]*keyed[R], len(s.chains))
	for i := range s.chains {
		if err := s.advance(ctx, i); err != nil {
			s.close()
			return err
		}
	}
	return nil
}

// advance moves chain i to its next whole row.
func (s *wholeKeys[R]) advance(ctx context.Context, i int) error {
	for {
		k, err := s.chains[i].next(ctx)
		if errors.Is(err, io.EOF) {
			s.heads[i] = nil
			return nil
		}
		if err != nil {
			return err
		}
		if !s.t.isDelta(k.row) {
			s.heads[i] = k
			return nil
		}
	}
}

func (s *wholeKeys[R]) has(ctx context.Context, key Key) (bool, error) {
	has := false
	for i := range s.heads {
		for s.heads[i] != nil && s.heads[i].key.Compare(key) < 0 {
			if err := s.advance(ctx, i); err != nil {
				return false, err
			}
		}
		has = has || s.heads[i] != nil && s.heads[i].key == key
	}
	return has, nil
}

func (s *wholeKeys[R]) close() {
	for _, c := range s.chains {
		c.close()
	}
}

// carry lists the rows of older runs, in the range, that lists of the merged
// runs name.
func (t Table[R]) carry(ctx context.Context, open Opener, m Merge, list func(Ref) error) error {
	spans, err := t.rowSpans(ctx, open, m)
	if err != nil {
		return err
	}
	var next []func() (*schema.SupersededRow, error)
	var files []*openFile[schema.SupersededRow]
	defer func() {
		for _, f := range files {
			f.close()
		}
	}()
	for _, r := range m.Runs {
		for _, o := range r.overlapping(m.Range) {
			if o.Superseded == "" {
				continue
			}
			f, err := openList(ctx, open, o, m.Stats)
			if err != nil {
				return err
			}
			files = append(files, f)
			next = append(next, orderedList(o.Superseded, f))
		}
	}
	var last Ref
	return rowfile.MergeFunc(next, compareSuperseded, func(r *schema.SupersededRow, _ int) error {
		span, ok := spans[r.Object]
		ref := Ref{r.Object, r.Row}
		if !ok || r.Row < span[0] || r.Row >= span[1] || ref == last {
			return nil
		}
		last = ref
		return list(ref)
	})
}

func compareSuperseded(a, b *schema.SupersededRow) int {
	return cmp.Or(strings.Compare(a.Object, b.Object), cmp.Compare(a.Row, b.Row))
}

// rowSpans gives, for the objects that stay, the rows of the range.
func (t Table[R]) rowSpans(ctx context.Context, open Opener, m Merge) (map[layout.Key][2]int64, error) {
	spans := map[layout.Key][2]int64{}
	for _, r := range m.Older {
		for _, o := range r.overlapping(m.Range) {
			f, err := openObject[R](ctx, open, o, rowfile.ReadOptions{Columns: t.Always, Stats: m.Stats})
			if err != nil {
				return nil, err
			}
			from, to := f.Partitions(m.Range)
			f.close()
			spans[o.Key] = [2]int64{from, to}
		}
	}
	return spans, nil
}

// openList opens the object that lists what o supersedes.
func openList(ctx context.Context, open Opener, o Object, stats *rowfile.Stats) (*openFile[schema.SupersededRow], error) {
	return openObject[schema.SupersededRow](ctx, open,
		Object{Key: o.Superseded, Bytes: o.SupersededBytes, Rows: o.SupersededRows},
		rowfile.ReadOptions{Stats: stats, BufferBytes: 1 << 20})
}

// orderedList reads a list and holds it to its order.
func orderedList(key layout.Key, f *openFile[schema.SupersededRow]) func() (*schema.SupersededRow, error) {
	cursor := f.Scan(0, f.NumRows())
	var last schema.SupersededRow
	return func() (*schema.SupersededRow, error) {
		row, err := cursor.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				err = fmt.Errorf("read superseded rows %s: %w", key, err)
			}
			return nil, err
		}
		if cursor.Row() > 0 && compareSuperseded(&last, row) >= 0 {
			return nil, fmt.Errorf("read superseded rows %s: %w: row %d is out of order", key,
				rowfile.ErrCorrupt, cursor.Row())
		}
		last = *row
		return row, nil
	}
}
