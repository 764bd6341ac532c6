package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// rowBuilder turns rows of a table's struct into Arrow records.
type rowBuilder struct {
	fields []builtField
	b      *array.RecordBuilder
	rows   int
}

type builtField struct {
	index    int
	optional bool // zero is null
	unit     bool // a timestamp in ms
}

var (
	arrowMillis = &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}
	arrowTypes  = map[reflect.Kind]arrow.DataType{reflect.String: arrow.BinaryTypes.String,
		reflect.Bool: arrow.FixedWidthTypes.Boolean, reflect.Int32: arrow.PrimitiveTypes.Int32,
		reflect.Int64: arrow.PrimitiveTypes.Int64, reflect.Uint64: arrow.PrimitiveTypes.Uint64,
		reflect.Float32: arrow.PrimitiveTypes.Float32, reflect.Array: arrow.BinaryTypes.String}
)

// newRowBuilder is a builder of the columns of row struct t; hidden ones are left
// out.
func newRowBuilder(t reflect.Type, hidden ...string) *rowBuilder {
	r := &rowBuilder{}
	var fields []arrow.Field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		if slices.Contains(hidden, name) {
			continue
		}
		b := builtField{index: i, optional: strings.Contains(options, "optional"),
			unit: strings.Contains(options, "timestamp(")}
		r.fields = append(r.fields, b)
		fields = append(fields, arrow.Field{Name: name, Type: arrowType(f.Type, b.unit), Nullable: b.optional})
	}
	r.b = array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	return r
}

func arrowType(t reflect.Type, timestamp bool) arrow.DataType {
	switch {
	case timestamp:
		return arrowMillis
	case t.Kind() == reflect.Slice:
		return arrow.ListOf(arrowType(t.Elem(), false))
	case t.Kind() == reflect.Map:
		return arrow.MapOf(arrowType(t.Key(), false), arrowType(t.Elem(), false))
	}
	return arrowTypes[t.Kind()]
}

func (r *rowBuilder) add(row reflect.Value) {
	for i, f := range r.fields {
		v := row.Field(f.index)
		if f.optional && v.IsZero() {
			r.b.Field(i).AppendNull()
			continue
		}
		appendValue(r.b.Field(i), v)
	}
	r.rows++
}

func appendValue(b array.Builder, v reflect.Value) {
	switch b := b.(type) {
	case *array.StringBuilder:
		if v.Kind() == reflect.Array {
			raw := make([]byte, v.Len())
			reflect.Copy(reflect.ValueOf(raw), v)
			b.Append(fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]))
			return
		}
		b.Append(v.String())
	case *array.BooleanBuilder:
		b.Append(v.Bool())
	case *array.Int32Builder:
		b.Append(int32(v.Int()))
	case *array.Int64Builder:
		b.Append(v.Int())
	case *array.Uint64Builder:
		b.Append(v.Uint())
	case *array.Float32Builder:
		b.Append(float32(v.Float()))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.Int()))
	case *array.ListBuilder:
		b.Append(true)
		for i := range v.Len() {
			appendValue(b.ValueBuilder(), v.Index(i))
		}
	case *array.MapBuilder:
		b.Append(true)
		keys := v.MapKeys()
		slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
		for _, k := range keys {
			appendValue(b.KeyBuilder(), k)
			appendValue(b.ItemBuilder(), v.MapIndex(k))
		}
	default:
		b.AppendNull() // newRowBuilder knows every type of formats/schema: a test holds it to that
	}
}

// take gives the record built so far.
func (r *rowBuilder) take() arrow.RecordBatch {
	r.rows = 0
	return r.b.NewRecordBatch()
}
