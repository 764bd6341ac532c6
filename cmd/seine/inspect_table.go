package main

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
)

// source is rows to inspect, as Arrow records.
type source struct {
	name   string
	schema *arrow.Schema
	files  int
	rows   int64 // physical rows, where known
	bytes  int64
	each   func(ctx context.Context, columns []string, use func(arrow.RecordBatch) error) error
}

// inspectable is a table that can be inspected.
type inspectable struct {
	name  string
	open  func(l *looking, round int64) *source
	grows bool // what a round added is in every later snapshot, as far as retention keeps it
}

func inspectables() []inspectable {
	return []inspectable{
		{schema.URLs, func(l *looking, _ int64) *source { return folded(l, lsm.URLs()) }, false},
		{schema.Domains, func(l *looking, _ int64) *source { return folded(l, lsm.Domains()) }, false},
		{schema.Hosts, func(l *looking, _ int64) *source { return folded(l, lsm.Hosts()) }, false},
		{schema.RobotsT, func(l *looking, _ int64) *source { return folded(l, lsm.RobotsTable()) }, false},
		{schema.Frontier, func(l *looking, _ int64) *source { return queued(l) }, false},
		{schema.Lists, appendedOf[schema.List](schema.Lists), true},
		{schema.Pages, appendedOf[schema.Page](schema.Pages), true},
		{schema.Fetches, appendedOf[schema.Fetch](schema.Fetches), true},
		{schema.Links, appendedOf[schema.Link](schema.Links), true},
		{schema.Seeds, appendedOf[schema.Seed](schema.Seeds), true},
		{schema.DeadLetters, appendedOf[schema.DeadLetter](schema.DeadLetters), true},
		{schema.Rounds, appendedOf[schema.RoundRow](schema.Rounds), true},
	}
}

// batches collects rows of struct R into records.
func batches[R any](b *rowBuilder, use func(arrow.RecordBatch) error) (add func(*R) error, flush func() error) {
	flush = func() error {
		if b.rows == 0 {
			return nil
		}
		rec := b.take()
		defer rec.Release()
		return use(rec)
	}
	return func(row *R) error {
		b.add(reflect.ValueOf(row).Elem())
		if b.rows < batchRows {
			return nil
		}
		return flush()
	}, flush
}

// folded is a table of sorted runs, as the snapshot has it.
func folded[R any](l *looking, t lsm.Table[R]) *source {
	newBuilder := func() *rowBuilder { return newRowBuilder(reflect.TypeFor[R](), "partition", "delta") }
	s := &source{name: t.Name, schema: newBuilder().b.Schema()}
	runs := l.head.Tables[t.Name]
	for _, r := range runs {
		s.files += len(r.Objects)
		s.rows += r.Rows()
		s.bytes += r.Bytes()
	}
	s.each = func(ctx context.Context, columns []string, use func(arrow.RecordBatch) error) error {
		add, flush := batches[R](newBuilder(), use)
		err := t.Scan(ctx, l.Store.Open, runs, layout.All, columns, func(row *R, _ []lsm.Ref) error {
			if t.IsDelta != nil && t.IsDelta(row) {
				return nil
			}
			return add(row)
		})
		if err != nil {
			return err
		}
		return flush()
	}
	return s
}

// appendedOf is a table that only grows: all of it, or what one round added.
func appendedOf[R any](table string) func(*looking, int64) *source {
	return func(l *looking, round int64) *source {
		newBuilder := func() *rowBuilder { return newRowBuilder(reflect.TypeFor[R](), "partition") }
		s := &source{name: table, schema: newBuilder().b.Schema()}
		var objects []lsm.Object
		for _, p := range l.head.Parts {
			objects = append(objects, p.Tables[table]...)
		}
		for _, o := range objects {
			s.files++
			s.rows += o.Rows
			s.bytes += o.Bytes
		}
		s.each = func(ctx context.Context, columns []string, use func(arrow.RecordBatch) error) error {
			add, flush := batches[R](newBuilder(), use)
			if columns != nil && round > 0 {
				columns = append(slices.Clone(columns), "round")
			}
			at := reflect.TypeFor[R]()
			f, _ := at.FieldByName("Round")
			for _, o := range objects {
				err := readRows(ctx, l, o, columns, func(row *R) error {
					if round > 0 && reflect.ValueOf(row).Elem().FieldByIndex(f.Index).Int() != round {
						return nil
					}
					return add(row)
				})
				if err != nil {
					return fmt.Errorf("%s: %w; `seine check` says what else is damaged", o.Key, err)
				}
			}
			return flush()
		}
		return s
	}
}

func readRows[R any](ctx context.Context, l *looking, o lsm.Object, columns []string, use func(*R) error) error {
	src, err := l.Store.Open(ctx, o.Key, o.Bytes)
	if err != nil {
		return err
	}
	f, err := rowfile.Open[R](src, o.Bytes, rowfile.ReadOptions{Columns: columns})
	if err != nil {
		return err
	}
	return scanRows(f, 0, f.NumRows(), use)
}

func scanRows[R any](f *rowfile.File[R], from, to int64, use func(*R) error) error {
	for c := f.Scan(from, to); ; {
		row, err := c.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := use(row); err != nil {
			return err
		}
	}
}

// queued is the frontier: the rows behind the cursors that are live.
func queued(l *looking) *source {
	newBuilder := func() *rowBuilder { return newRowBuilder(reflect.TypeFor[schema.FrontierRow](), "partition") }
	s := &source{name: schema.Frontier, schema: newBuilder().b.Schema()}
	for _, r := range l.head.Frontier {
		for _, o := range r.Objects {
			s.files++
			s.rows += o.Rows
			s.bytes += o.Bytes
		}
	}
	s.each = func(ctx context.Context, _ []string, use func(arrow.RecordBatch) error) error {
		add, flush := batches[schema.FrontierRow](newBuilder(), use)
		q := &liveRows{l: l, add: add}
		for _, r := range l.head.Frontier {
			for _, o := range r.Objects {
				if err := q.object(ctx, o); err != nil {
					return fmt.Errorf("%s: %w", o.Key, err)
				}
			}
		}
		if err := q.flush(ctx); err != nil {
			return err
		}
		return flush()
	}
	return s
}

// liveRows passes on the rows of the frontier whose ticket is their URL's, a
// batch of lookups at a time.
type liveRows struct {
	l    *looking
	add  func(*schema.FrontierRow) error
	rows []schema.FrontierRow
}

func (q *liveRows) object(ctx context.Context, o lsm.QueueObject) error {
	if o.Left() == 0 {
		return nil
	}
	src, err := q.l.Store.Open(ctx, o.Key, o.Bytes)
	if err != nil {
		return err
	}
	f, err := rowfile.Open[schema.FrontierRow](src, o.Bytes, rowfile.ReadOptions{})
	if err != nil {
		return err
	}
	from := int64(0)
	for i, n := range o.Counts {
		skip := int64(0)
		if i < len(o.Cursor) {
			skip = o.Cursor[i]
		}
		err := scanRows(f, from+skip, from+n, func(row *schema.FrontierRow) error {
			if q.rows = append(q.rows, *row); len(q.rows) < 16<<10 {
				return nil
			}
			return q.flush(ctx)
		})
		if err != nil {
			return err
		}
		from += n
	}
	return nil
}

func (q *liveRows) flush(ctx context.Context) error {
	var keys []lsm.Key
	for _, r := range q.rows {
		keys = append(keys, lsm.Key{Partition: uint16(r.Partition), Domain: r.Domain, Host: r.Host, URL: r.URL})
	}
	slices.SortFunc(keys, lsm.Key.Compare)
	keys = slices.Compact(keys)
	tickets := map[string]int64{}
	err := lsm.URLs().Lookup(ctx, q.l.Store.Open, q.l.head.Tables[schema.URLs], keys,
		lsm.LookupOptions{Columns: []string{"queued"}}, func(h lsm.Hit[schema.URL]) error {
			tickets[keys[h.Index].URL] = h.Row.Queued
			return nil
		})
	if err != nil {
		return err
	}
	for i := range q.rows {
		if r := &q.rows[i]; r.Ticket != 0 && tickets[r.URL] == r.Ticket {
			if err := q.add(r); err != nil {
				return err
			}
		}
	}
	q.rows = q.rows[:0]
	return nil
}
