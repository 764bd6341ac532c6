package audit

import (
	"context"
	"errors"
	"fmt"
	"io"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/weburl"
)

// runs checks the tables of sorted runs: order, ranges, partitions, and that the
// lists of superseded rows name exactly the rows that do not count.
func (a *auditor) runs(ctx context.Context) error {
	return errors.Join(checkRuns(ctx, a, lsm.URLs()), checkRuns(ctx, a, lsm.Domains()),
		checkRuns(ctx, a, lsm.Hosts()), checkRuns(ctx, a, lsm.RobotsTable()))
}

// marks is a bit for each row of an object.
type marks struct {
	bits []uint64
	rows int64
}

func (m *marks) has(row int64) bool { return m.bits[row>>6]>>(row&63)&1 == 1 }
func (m *marks) set(row int64)      { m.bits[row>>6] |= 1 << (row & 63) }

func checkRuns[R any](ctx context.Context, a *auditor, t lsm.Table[R]) error {
	gone := map[layout.Key]*marks{}
	total, readable := int64(0), true
	for _, r := range a.m.Tables[t.Name] {
		for _, o := range r.Objects {
			gone[o.Key] = &marks{make([]uint64, o.Rows/64+1), o.Rows}
			total += o.Rows
			if err := checkOrder(ctx, a, t, o); err != nil {
				if !a.damaged(ctx, "runs", o.Key, err) {
					return err
				}
				readable = false
			}
		}
	}
	named, err := superseded(ctx, a, t.Name, gone)
	if err != nil {
		return err
	}
	if !readable {
		return nil // what counts cannot be told without all rows
	}
	count := int64(0)
	err = t.Scan(ctx, a.Open, a.m.Tables[t.Name], layout.All, t.Always, func(row *R, refs []lsm.Ref) error {
		last := refs[len(refs)-1]
		if t.IsDelta != nil && t.IsDelta(row) {
			a.find("runs", last.Object, fmt.Sprintf("row %d adds to %s, of which there is no whole row",
				last.Row, printed(t.Key(row))), nextReport)
		}
		for _, ref := range refs {
			if gone[ref.Object].has(ref.Row) {
				a.find("runs", ref.Object, fmt.Sprintf("row %d, %s, counts, but is named as superseded", ref.Row,
					printed(t.Key(row))), nextReport)
			}
			count++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if count+named != total {
		a.find("runs", "", fmt.Sprintf("%s has %d rows: %d count and %d are named as superseded, so %d are in "+
			"the views that should not be", t.Name, total, count, named, total-count-named), nextReport)
	}
	return nil
}

func printed(k lsm.Key) string {
	switch {
	case k.URL != "":
		return k.URL
	case k.Host != "":
		return k.Host
	}
	return k.Domain
}

// checkOrder reads one object: its keys ascend, lie in its range, and are in the
// partition of their domain.
func checkOrder[R any](ctx context.Context, a *auditor, t lsm.Table[R], o lsm.Object) error {
	columns := t.Always
	if a.o.ReadData {
		columns = nil
	}
	var last lsm.Key
	n := int64(0)
	err := eachRow(ctx, a, o, columns, func(row *R, at int64) error {
		key := t.Key(row)
		if n > 0 && last.Compare(key) >= 0 {
			a.find("runs", o.Key, fmt.Sprintf("row %d is out of order: %s after %s", at, printed(key),
				printed(last)), nextReport)
		}
		if !o.Range.Holds(key.Partition) {
			a.find("runs", o.Key, fmt.Sprintf("row %d is of partition %d, the object of %s", at, key.Partition,
				o.Range), nextReport)
		}
		if key.Domain != last.Domain && key.Partition != weburl.Partition(key.Domain) {
			a.find("runs", o.Key, fmt.Sprintf("row %d: %s is in partition %d, not %d", at, key.Domain,
				weburl.Partition(key.Domain), key.Partition), nextReport)
		}
		if key.Host != "" && key.Host != last.Host && a.Suffixes.Domain(key.Host) != key.Domain {
			a.find("runs", o.Key, fmt.Sprintf("row %d: %s is a host of %s, not of %s", at, key.Host,
				a.Suffixes.Domain(key.Host), key.Domain), nextReport)
		}
		last = key
		n++
		return nil
	})
	a.checked(t.Name, n)
	return err
}

// superseded marks the rows that lists name, and counts them.
func superseded(ctx context.Context, a *auditor, table string, gone map[layout.Key]*marks) (int64, error) {
	named := int64(0)
	for _, r := range a.m.Tables[table] {
		for _, o := range r.Objects {
			if o.Superseded == "" {
				continue
			}
			list := lsm.Object{Key: o.Superseded, Bytes: o.SupersededBytes, Rows: o.SupersededRows}
			err := eachRow(ctx, a, list, nil, func(row *schema.SupersededRow, _ int64) error {
				m := gone[row.Object]
				switch {
				case m == nil: // of an object that was merged since
				case row.Row < 0 || row.Row >= m.rows:
					a.find("runs", o.Superseded, fmt.Sprintf("it names row %d of %s, which has %d", row.Row,
						row.Object, m.rows), nextReport)
				case !m.has(row.Row):
					m.set(row.Row)
					named++
				}
				return nil
			})
			if err != nil && !a.damaged(ctx, "runs", o.Superseded, err) {
				return named, err
			}
		}
	}
	return named, nil
}

// eachRow reads an object's rows, with their numbers.
func eachRow[R any](ctx context.Context, a *auditor, o lsm.Object, columns []string,
	use func(row *R, at int64) error) error {
	if a.broken[o.Key] {
		return fmt.Errorf("%s cannot be read", o.Key)
	}
	src, err := a.Open(ctx, o.Key, o.Bytes)
	if err != nil {
		return err
	}
	if c, ok := src.(io.Closer); ok {
		defer func() { _ = c.Close() }() // only read
	}
	f, err := rowfile.Open[R](src, o.Bytes, rowfile.ReadOptions{Columns: columns})
	if err != nil {
		return err
	}
	if o.Rows != 0 && f.NumRows() != o.Rows {
		return fmt.Errorf("%w: %d rows, the snapshot says %d", rowfile.ErrCorrupt, f.NumRows(), o.Rows)
	}
	return eachOf(ctx, f, 0, f.NumRows(), use)
}

func eachOf[R any](ctx context.Context, f *rowfile.File[R], from, to int64,
	use func(row *R, at int64) error) error {
	for c := f.Scan(from, to); ; {
		row, err := c.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if c.Row()%65536 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := use(row, c.Row()); err != nil {
			return err
		}
	}
}
