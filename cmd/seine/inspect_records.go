package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// batchRows is how many rows of a table are held at once.
const batchRows = 4096

// openForeign reads any Parquet file as Arrow records.
func openForeign(ctx context.Context, src parquet.ReaderAtSeeker) (r array.RecordReader, err error) {
	defer func() {
		if p := recover(); p != nil { // the library trusts what it reads
			r, err = nil, fmt.Errorf("damaged Parquet file: %v", p)
		}
	}()
	pf, err := pqfile.NewParquetReader(src)
	if err != nil {
		return nil, fmt.Errorf("no Parquet file, or a damaged one: %w", err)
	}
	af, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{BatchSize: batchRows}, memory.DefaultAllocator)
	if err != nil {
		return nil, fmt.Errorf("Parquet file: %w", err)
	}
	return af.GetRecordReader(ctx, nil, nil)
}

// printRecords prints up to limit records' rows (below 0: all).
func printRecords(r array.RecordReader, format string, out io.Writer, limit int64) error {
	p, err := newRecordPrinter(r.Schema(), format, out)
	if err != nil {
		return err
	}
	for limit != 0 && r.Next() {
		rec := r.RecordBatch()
		if limit > 0 && rec.NumRows() > limit {
			rec = rec.NewSlice(0, limit)
			defer rec.Release()
		}
		if limit > 0 {
			limit -= rec.NumRows()
		}
		if err := p.record(rec); err != nil {
			return err
		}
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read rows: %w", err)
	}
	return p.finish()
}

// recordPrinter prints records in any format.
type recordPrinter struct {
	rows printer     // nil for arrow
	ipc  *ipc.Writer // of arrow
}

func newRecordPrinter(schema *arrow.Schema, format string, out io.Writer) (*recordPrinter, error) {
	if format == "arrow" {
		return &recordPrinter{ipc: ipc.NewWriter(out, ipc.WithSchema(schema))}, nil
	}
	names := make([]string, schema.NumFields())
	for i := range names {
		names[i] = schema.Field(i).Name
	}
	return &recordPrinter{rows: newPrinter(format, out, names)}, nil
}

func (p *recordPrinter) record(rec arrow.RecordBatch) error {
	if p.ipc != nil {
		if err := p.ipc.Write(rec); err != nil {
			return fmt.Errorf("write Arrow: %w", err)
		}
		return nil
	}
	values := make([]any, rec.NumCols())
	for i := range int(rec.NumRows()) {
		for c := range values {
			values[c] = plainCell(rec.Column(c), i)
		}
		if err := p.rows.row(values); err != nil {
			return err
		}
	}
	return nil
}

func (p *recordPrinter) finish() error {
	if p.ipc != nil {
		return p.ipc.Close()
	}
	return p.rows.finish()
}

// plainCell is a value as JSON can say it.
func plainCell(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch v := cellOf(a, i).(type) {
	case time.Time:
		return v.UTC().Format("2006-01-02T15:04:05.999999Z")
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		if a.DataType().ID() == arrow.FLOAT32 {
			return float32(v)
		}
		return v
	case nil:
	default:
		return v
	}
	switch v := a.GetOneForMarshal(i).(type) {
	case []byte:
		return hex.EncodeToString(v)
	case json.RawMessage:
		var any any
		if json.Unmarshal(v, &any) == nil {
			return entriesAsObject(any)
		}
		return string(v)
	default:
		return v
	}
}

// entriesAsObject turns Arrow's way of writing maps, lists of key and value, into
// objects.
func entriesAsObject(v any) any {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return v
	}
	var out pairs
	for _, e := range list {
		m, ok := e.(map[string]any)
		key, isText := m["key"].(string)
		if _, has := m["value"]; !ok || !isText || !has || len(m) != 2 {
			return v
		}
		out = append(out, pair{key, m["value"]})
	}
	return out
}

// classOfType is what a column's values can be compared with.
func classOfType(t arrow.DataType) class {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING:
		return classText
	case arrow.BOOL:
		return classBool
	case arrow.TIMESTAMP, arrow.DATE32, arrow.DATE64:
		return classTime
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT32, arrow.FLOAT64:
		return classNumber
	}
	return classOther
}

// cellOf is a value that can be compared; nil where it is null. Of other classes
// it is true where the value is not null.
func cellOf(a arrow.Array, i int) cell {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.String:
		return a.Value(i)
	case *array.LargeString:
		return a.Value(i)
	case *array.Boolean:
		return a.Value(i)
	case *array.Timestamp:
		unit := a.DataType().(*arrow.TimestampType).Unit
		return a.Value(i).ToTime(unit)
	case *array.Date32:
		return a.Value(i).ToTime()
	case *array.Date64:
		return a.Value(i).ToTime()
	case *array.Float32:
		return float64(a.Value(i))
	case *array.Float64:
		return a.Value(i)
	case *array.Uint64:
		return a.Value(i)
	case *array.Int64:
		return a.Value(i)
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Uint32:
		return int64(a.Value(i))
	case *array.Uint16:
		return int64(a.Value(i))
	case *array.Uint8:
		return int64(a.Value(i))
	}
	return nil
}

// selection chooses rows and columns of records.
type selection struct {
	schema  *arrow.Schema // of what comes out
	columns []int
	where   *where
	reads   []int // the where's columns
}

// newSelection checks the wishes against the columns that there are.
func newSelection(schema *arrow.Schema, columns []string, expression string) (*selection, error) {
	s := &selection{schema: schema}
	if len(columns) > 0 {
		var fields []arrow.Field
		for _, name := range columns {
			at := schema.FieldIndices(name)
			if len(at) == 0 {
				return nil, usagef("there is no column %q; --schema lists them", name)
			}
			s.columns = append(s.columns, at[0])
			fields = append(fields, schema.Field(at[0]))
		}
		s.schema = arrow.NewSchema(fields, nil)
	}
	if expression == "" {
		return s, nil
	}
	var err error
	s.where, err = parseWhere(expression, func(name string) (class, bool) {
		at := schema.FieldIndices(name)
		if len(at) == 0 {
			return 0, false
		}
		return classOfType(schema.Field(at[0]).Type), true
	})
	if err != nil {
		return nil, usage(err)
	}
	for _, name := range s.where.columns {
		s.reads = append(s.reads, schema.FieldIndices(name)[0])
	}
	return s, nil
}

// apply gives the chosen part of a record. It must be released.
func (s *selection) apply(ctx context.Context, rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	rec.Retain()
	if s.where != nil {
		b := array.NewBooleanBuilder(memory.DefaultAllocator)
		defer b.Release()
		for i := range int(rec.NumRows()) {
			b.Append(s.where.test(func(c int) cell {
				column := rec.Column(s.reads[c])
				if v := cellOf(column, i); v != nil || column.IsNull(i) {
					return v
				}
				return true // a list or map: only whether it is null is asked
			}) == isTrue)
		}
		mask := b.NewArray()
		defer mask.Release()
		out, err := compute.FilterRecordBatch(ctx, rec, mask, compute.DefaultFilterOptions())
		rec.Release()
		if err != nil {
			return nil, fmt.Errorf("choose rows: %w", err)
		}
		rec = out
	}
	if s.columns == nil {
		return rec, nil
	}
	defer rec.Release()
	columns := make([]arrow.Array, len(s.columns))
	for i, c := range s.columns {
		columns[i] = rec.Column(c)
	}
	return array.NewRecordBatch(s.schema, columns, rec.NumRows()), nil
}
