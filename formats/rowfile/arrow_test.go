package rowfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// TestArrowReadsEveryTable: the second reader sees the same rows in the same
// order, nulls where zero values are optional.
func TestArrowReadsEveryTable(t *testing.T) {
	everySchema(t, func(t *testing.T, _ string, s schemaTest) {
		for _, codec := range []Codec{Zstd} {
			b, rows := s.roundTrip(t, 300, Options{Codec: codec, PageRows: 64, GroupRows: 200})
			r, err := file.NewParquetReader(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			ar, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
			if err != nil {
				t.Fatal(err)
			}
			table, err := ar.ReadTable(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			compareTable(t, table, rows)
			table.Release()
		}
	})
}

func compareTable(t *testing.T, table arrow.Table, rows []any) {
	t.Helper()
	if table.NumRows() != int64(len(rows)) {
		t.Fatalf("arrow reads %d rows of %d", table.NumRows(), len(rows))
	}
	typ := reflect.TypeOf(rows[0])
	for i := range typ.NumField() {
		f := typ.Field(i)
		tags := strings.Split(f.Tag.Get("parquet"), ",")
		at := table.Schema().FieldIndices(tags[0])
		if len(at) != 1 {
			t.Fatalf("arrow has %d columns %s", len(at), tags[0])
		}
		row := 0
		for _, chunk := range table.Column(at[0]).Data().Chunks() {
			for k := range chunk.Len() {
				want := reflect.ValueOf(rows[row]).Field(i)
				if d := differs(chunk, k, want, strings.Contains(f.Tag.Get("parquet"), "optional")); d != "" {
					t.Fatalf("row %d, column %s: %s", row, tags[0], d)
				}
				row++
			}
		}
	}
}

// differs says how value k of an arrow array is not the field's; "" where it is.
func differs(a arrow.Array, k int, want reflect.Value, optional bool) string {
	if a.IsNull(k) {
		if want.IsZero() && (optional || want.Kind() == reflect.Slice || want.Kind() == reflect.Map) {
			return ""
		}
		return fmt.Sprintf("null, want %v", want)
	}
	if optional && want.IsZero() {
		return fmt.Sprintf("%s, want null", a.ValueStr(k))
	}
	var got any
	switch c := a.(type) {
	case *array.Int32:
		got = c.Value(k)
	case *array.Int64:
		got = c.Value(k)
	case *array.Uint64:
		got = c.Value(k)
	case *array.Float32:
		got = c.Value(k)
	case *array.Boolean:
		got = c.Value(k)
	case *array.String:
		got = c.Value(k)
	case *array.Timestamp:
		if c.DataType().(*arrow.TimestampType).Unit != arrow.Millisecond {
			return "a timestamp not of milliseconds"
		}
		got = time.UnixMilli(int64(c.Value(k))).UnixMilli()
	case *array.FixedSizeBinary:
		got = [16]byte(c.Value(k))
	case array.ExtensionArray: // uuid
		got = [16]byte(c.Storage().(*array.FixedSizeBinary).Value(k))
	default:
		return differsAsJSON(a, k, want)
	}
	if got != want.Interface() {
		return fmt.Sprintf("%v, want %v", got, want)
	}
	return ""
}

// differsAsJSON compares lists and maps by what they print.
func differsAsJSON(a arrow.Array, k int, want reflect.Value) string {
	raw, err := json.Marshal(a.GetOneForMarshal(k))
	if err != nil {
		return err.Error()
	}
	got := reflect.New(want.Type())
	if want.Kind() == reflect.Slice {
		if err := json.Unmarshal(raw, got.Interface()); err != nil {
			return err.Error()
		}
	} else if err := unmarshalMap(raw, got.Elem()); err != nil {
		return err.Error()
	}
	if want.Len() == 0 && got.Elem().Len() == 0 || reflect.DeepEqual(got.Elem().Interface(), want.Interface()) {
		return ""
	}
	return fmt.Sprintf("%s, want %v", raw, want)
}

// unmarshalMap reads arrow's form of a map: a list of keys and values.
func unmarshalMap(raw []byte, m reflect.Value) error {
	var pairs []struct {
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(raw, &pairs); err != nil {
		return err
	}
	m.Set(reflect.MakeMap(m.Type()))
	for _, p := range pairs {
		v := reflect.New(m.Type().Elem())
		if err := json.Unmarshal(p.Value, v.Interface()); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(p.Key), v.Elem())
	}
	return nil
}
