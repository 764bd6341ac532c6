package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/reducer/task"
)

// names writes the list of a merge's superseded rows: those that lsm.Merge gives,
// and those that objects without rows name, in one order.
type names struct {
	out    *task.Output[schema.SupersededRow]
	hidden *task.Sorted[schema.SupersededRow]
	head   *schema.SupersededRow // of hidden; nil at its end
	last   schema.SupersededRow
}

// compareNames is the order of lists.
func compareNames(a, b *schema.SupersededRow) int {
	return cmp.Or(strings.Compare(a.Object, b.Object), cmp.Compare(a.Row, b.Row))
}

// advance moves to the next row that an object without rows names.
func (n *names) advance() error {
	row, err := n.hidden.Next()
	if errors.Is(err, io.EOF) {
		n.head = nil
		return nil
	}
	n.head = row
	return err
}

// add takes the next row that lsm.Merge gives.
func (n *names) add(r lsm.Ref) error {
	row := schema.SupersededRow{Object: r.Object, Row: r.Row}
	if err := n.upTo(&row); err != nil {
		return err
	}
	return n.write(row)
}

// upTo writes what comes before row; nil: all that is left.
func (n *names) upTo(row *schema.SupersededRow) error {
	for n.head != nil && (row == nil || compareNames(n.head, row) < 0) {
		if err := n.write(*n.head); err != nil {
			return err
		}
		if err := n.advance(); err != nil {
			return err
		}
	}
	return nil
}

func (n *names) write(row schema.SupersededRow) error {
	if n.out.Rows() > 0 && compareNames(&n.last, &row) == 0 {
		return nil
	}
	n.last = row
	return n.out.Write(row)
}

// hidden gathers what the merged objects without rows name of older runs in the
// range. Such an object is what an earlier merge left where younger runs hid all
// its rows; lsm reads only objects with rows.
func hidden[R any](ctx context.Context, e task.Env, table lsm.Table[R], m lsm.Merge,
	into *task.Sorter[schema.SupersededRow]) error {
	var spans map[layout.Key][2]int64
	for _, run := range m.Runs {
		for _, o := range run.Objects {
			if o.Rows > 0 || o.Superseded == "" || !o.Range.Overlaps(m.Range) {
				continue
			}
			if spans == nil {
				var err error
				if spans, err = rowSpans(ctx, e, table, m); err != nil {
					return err
				}
			}
			list := lsm.Object{Key: o.Superseded, Rows: o.SupersededRows, Bytes: o.SupersededBytes}
			err := task.EachRow(ctx, e, list, nil, func(row *schema.SupersededRow) error {
				span, ok := spans[row.Object]
				if !ok || row.Row < span[0] || row.Row >= span[1] {
					return nil
				}
				return into.Add(schema.SupersededRow{Object: strings.Clone(row.Object), Row: row.Row})
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// rowSpans gives the rows of the range of each older object.
func rowSpans[R any](ctx context.Context, e task.Env, table lsm.Table[R],
	m lsm.Merge) (map[layout.Key][2]int64, error) {
	spans := map[layout.Key][2]int64{}
	for _, run := range m.Older {
		for _, o := range run.Objects {
			if o.Rows == 0 || !o.Range.Overlaps(m.Range) {
				continue
			}
			src, err := e.Open(ctx, o.Key, o.Bytes)
			if err != nil {
				return nil, fmt.Errorf("open %s: %w", o.Key, err)
			}
			file, err := rowfile.Open[R](src, o.Bytes, rowfile.ReadOptions{Columns: table.Always,
				Stats: e.RowStats()})
			if err != nil {
				task.CloseReader(src)
				return nil, fmt.Errorf("open %s: %w", o.Key, err)
			}
			from, to := file.Partitions(m.Range)
			task.CloseReader(src)
			spans[o.Key] = [2]int64{from, to}
		}
	}
	return spans, nil
}

// nameBytes is about what a name takes in memory.
func nameBytes(r *schema.SupersededRow) int { return 32 + len(r.Object) }
