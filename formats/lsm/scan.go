package lsm

import (
	"context"
	"errors"
	"fmt"
	"io"

	"seine/formats/layout"
	"seine/formats/rowfile"
)

// Scan emits every key of the runs (oldest first) in a range of partitions,
// folded, in key order, with the rows behind it, newest first. columns are those
// to read (nil: all); the key's are always read. A key that has only deltas in
// the runs is emitted as a delta. The row and refs are valid until emit returns.
func (t Table[R]) Scan(ctx context.Context, open Opener, runs []Run, rng layout.Range,
	columns []string, emit func(row *R, refs []Ref) error) error {
	return t.ScanStats(ctx, open, runs, rng, columns, nil, emit)
}

// ScanStats is Scan that counts what it reads.
func (t Table[R]) ScanStats(ctx context.Context, open Opener, runs []Run, rng layout.Range,
	columns []string, stats *rowfile.Stats, emit func(row *R, refs []Ref) error) error {
	ro := rowfile.ReadOptions{Columns: t.columns(columns), Stats: stats,
		BufferBytes: scanBuffer / max(len(runs), 1)}
	f := folder[R]{t: t}
	var key Key
	flush := func() error {
		if len(f.rows) == 0 {
			return nil
		}
		return emit(f.fold(), f.refs)
	}
	err := t.mergeRows(ctx, open, runs, rng, ro, func(row *R, k Key, ref Ref, _ int) error {
		if len(f.rows) == 0 || k != key {
			if err := flush(); err != nil {
				return err
			}
			f.reset()
			key = k
		}
		f.add(row, ref)
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// scanBuffer is how much a scan reads ahead, over all its runs, in bytes.
const scanBuffer = 16 << 20

// mergeRows emits all physical rows of a range by key and, of one key, from the
// newest run to the oldest. run is the index into runs.
func (t Table[R]) mergeRows(ctx context.Context, open Opener, runs []Run, rng layout.Range,
	ro rowfile.ReadOptions, emit func(row *R, key Key, ref Ref, run int) error) error {
	chains := make([]*chain[R], len(runs))
	next := make([]func() (*keyed[R], error), len(runs))
	for i := range runs {
		c := &chain[R]{t: t, open: open, objects: runs[len(runs)-1-i].overlapping(rng), rng: rng, ro: ro}
		chains[i], next[i] = c, func() (*keyed[R], error) { return c.next(ctx) }
	}
	defer func() {
		for _, c := range chains {
			c.close()
		}
	}()
	compare := func(a, b *keyed[R]) int { return a.key.Compare(b.key) }
	return rowfile.MergeFunc(next, compare, func(k *keyed[R], source int) error {
		return emit(k.row, k.key, k.ref, len(runs)-1-source)
	})
}

// keyed is a row with its key and place.
type keyed[R any] struct {
	row *R
	key Key
	ref Ref
}

// chain reads the objects of one run, one after the other.
type chain[R any] struct {
	t       Table[R]
	open    Opener
	objects []Object
	rng     layout.Range
	ro      rowfile.ReadOptions
	file    *openFile[R]
	cursor  *rowfile.Cursor[R]
	at      keyed[R]
	begun   bool
}

func (c *chain[R]) next(ctx context.Context) (*keyed[R], error) {
	for {
		if c.cursor == nil {
			if len(c.objects) == 0 {
				return nil, io.EOF
			}
			if err := c.enter(ctx); err != nil {
				return nil, err
			}
		}
		row, err := c.cursor.Next()
		if errors.Is(err, io.EOF) {
			c.close()
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read run object %s: %w", c.file.key, err)
		}
		before := c.at.key
		c.at = keyed[R]{row, c.t.Key(row), Ref{c.file.key, c.cursor.Row()}}
		if c.begun && before.Compare(c.at.key) >= 0 {
			return nil, fmt.Errorf("read run object %s: %w: row %d is out of order", c.file.key,
				rowfile.ErrCorrupt, c.at.ref.Row)
		}
		c.begun = true
		return &c.at, nil
	}
}

func (c *chain[R]) enter(ctx context.Context) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.file, err = openObject[R](ctx, c.open, c.objects[0], c.ro); err != nil {
		return err
	}
	c.objects = c.objects[1:]
	c.cursor = c.file.Scan(c.file.Partitions(c.rng))
	return nil
}

func (c *chain[R]) close() {
	if c.file != nil {
		c.file.close()
		c.file, c.cursor = nil, nil
	}
}
