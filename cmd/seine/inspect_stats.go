package main

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
)

// printSchema prints the columns: name, type, whether they can be null.
func printSchema(schema *arrow.Schema, format string, out io.Writer) error {
	p := newPrinter(format, out, []string{"column", "type", "nullable"})
	for _, f := range schema.Fields() {
		if err := p.row([]any{f.Name, f.Type.String(), f.Nullable}); err != nil {
			return err
		}
	}
	return p.finish()
}

// columnStats are a column's statistics over the rows chosen.
type columnStats struct {
	nulls    int64
	min, max cell
	distinct map[any]struct{} // nil once there are too many
}

// distinctMost is up to how many different values a column's are counted.
const distinctMost = 10_000

// statistics gathers statistics of records.
type statistics struct {
	schema  *arrow.Schema
	rows    int64
	columns []columnStats
}

func newStatistics(schema *arrow.Schema) *statistics {
	s := &statistics{schema: schema, columns: make([]columnStats, schema.NumFields())}
	for i := range s.columns {
		s.columns[i].distinct = map[any]struct{}{}
	}
	return s
}

func (s *statistics) record(rec arrow.RecordBatch) {
	s.rows += rec.NumRows()
	for c := range s.columns {
		col, values := &s.columns[c], rec.Column(c)
		for i := range values.Len() {
			if values.IsNull(i) {
				col.nulls++
				continue
			}
			if v := cellOf(values, i); v != nil {
				col.add(v)
			}
		}
	}
}

func (c *columnStats) add(v cell) {
	if order, ok := compareCells(v, c.min); c.min == nil || ok && order < 0 {
		c.min = cloneCell(v)
	}
	if order, ok := compareCells(v, c.max); c.max == nil || ok && order > 0 {
		c.max = cloneCell(v)
	}
	if c.distinct == nil {
		return
	}
	if _, ok := c.distinct[v]; !ok {
		c.distinct[cloneCell(v)] = struct{}{}
	}
	if len(c.distinct) > distinctMost {
		c.distinct = nil
	}
}

// cloneCell gives a text memory of its own: the record's is let go.
func cloneCell(v cell) cell {
	if s, ok := v.(string); ok {
		return string([]byte(s))
	}
	return v
}

func (s *statistics) print(format string, out io.Writer) error {
	p := newPrinter(format, out, []string{"column", "type", "rows", "nulls", "distinct", "min", "max"})
	for i, f := range s.schema.Fields() {
		c := &s.columns[i]
		var distinct any
		switch {
		case classOfType(f.Type) == classOther:
		case c.distinct == nil:
			distinct = fmt.Sprintf("> %d", distinctMost)
		default:
			distinct = fmt.Sprint(len(c.distinct))
		}
		row := []any{f.Name, f.Type.String(), s.rows, c.nulls, distinct, statText(c.min), statText(c.max)}
		if err := p.row(row); err != nil {
			return err
		}
	}
	return p.finish()
}

func statText(v cell) any {
	if v == nil {
		return nil
	}
	if t, ok := v.(interface{ Format(string) string }); ok {
		return t.Format("2006-01-02T15:04:05Z07:00")
	}
	return fmt.Sprint(v)
}
