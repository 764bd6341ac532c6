package rowfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"seine/formats/schema"
)

// random sets every field of a row, about a third of them to zero.
func random(r *rand.Rand, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		if r.IntN(3) > 0 {
			randomValue(r, f)
		}
	}
}

func randomValue(r *rand.Rand, f reflect.Value) {
	switch f.Kind() {
	case reflect.String:
		f.SetString(fmt.Sprintf("v%d\x00é", r.IntN(400)))
		if r.IntN(300) == 0 { // some values make the library cut pages by itself
			f.SetString(strings.Repeat(f.String(), 5000))
		}
	case reflect.Bool:
		f.SetBool(r.IntN(2) == 0)
	case reflect.Int32:
		f.SetInt(int64(int32(r.Uint32())))
	case reflect.Int64:
		f.SetInt(int64(r.Uint64()))
	case reflect.Uint64:
		f.SetUint(r.Uint64())
	case reflect.Float32:
		f.SetFloat(float64(r.Float32()))
	case reflect.Array:
		for i := range f.Len() {
			f.Index(i).SetUint(uint64(r.IntN(256)))
		}
	case reflect.Slice:
		f.Set(reflect.MakeSlice(f.Type(), 0, 4))
		for range r.IntN(4) {
			e := reflect.New(f.Type().Elem()).Elem()
			randomValue(r, e)
			f.Set(reflect.Append(f, e))
		}
	case reflect.Map:
		f.Set(reflect.MakeMap(f.Type()))
		for range r.IntN(4) {
			k, e := reflect.New(f.Type().Key()).Elem(), reflect.New(f.Type().Elem()).Elem()
			randomValue(r, k)
			randomValue(r, e)
			f.SetMapIndex(k, e)
		}
	}
}

func randomRows[R any](seed uint64, n int) []R {
	r := rand.New(rand.NewPCG(seed, 1))
	rows := make([]R, n)
	for i := range rows {
		random(r, reflect.ValueOf(&rows[i]).Elem())
	}
	return rows
}

func write[R any](t testing.TB, rows []R, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter[R](&b, o)
	if err := w.Write(rows...); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	if w.Bytes() != int64(b.Len()) || w.Rows() != int64(len(rows)) {
		t.Fatalf("Bytes %d, Rows %d; wrote %d bytes of %d rows", w.Bytes(), w.Rows(), b.Len(), len(rows))
	}
	return b.Bytes()
}

func open[R any](t testing.TB, b []byte, o ReadOptions) *File[R] {
	t.Helper()
	f, err := Open[R](bytes.NewReader(b), int64(len(b)), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func scan[R any](f *File[R], from, to int64) ([]R, error) {
	var out []R
	c := f.Scan(from, to)
	for {
		row, err := c.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if want := from + int64(len(out)); c.Row() != want {
			return nil, fmt.Errorf("row number %d, want %d", c.Row(), want)
		}
		out = append(out, *row)
	}
}

// everySchema calls a test for the row struct of every table.
func everySchema(t *testing.T, run func(t *testing.T, name string, s schemaTest)) {
	for _, s := range []schemaTest{
		of[schema.URL](), of[schema.FrontierRow](), of[schema.SupersededRow](), of[schema.Domain](),
		of[schema.Host](), of[schema.Robots](), of[schema.List](), of[schema.Fetch](),
		of[schema.Page](), of[schema.Link](), of[schema.Discovery](), of[schema.DeadLetter](),
		of[schema.Seed](), of[schema.RoundRow](),
	} {
		t.Run(s.name, func(t *testing.T) { run(t, s.name, s) })
	}
}

type schemaTest struct {
	name string
	// roundTrip writes random rows, reads them in several ways, and returns the
	// file with the rows as any.
	roundTrip func(t *testing.T, n int, o Options) (file []byte, rows []any)
}

func of[R any]() schemaTest {
	return schemaTest{reflect.TypeFor[R]().Name(), roundTrip[R]}
}

func roundTrip[R any](t *testing.T, n int, o Options) ([]byte, []any) {
	rows := randomRows[R](uint64(n), n)
	file := write(t, rows, o)
	if again := write(t, rows, o); !bytes.Equal(file, again) {
		t.Error("the same rows gave other bytes")
	}
	f := open[R](t, file, ReadOptions{})
	got, err := scan(f, 0, f.NumRows())
	if err != nil {
		t.Fatal(err)
	}
	same := cmpopts.EquateEmpty()
	if d := cmp.Diff(rows, got, same); d != "" {
		t.Fatalf("scan (-want +got):\n%.2000s", d)
	}
	r := rand.New(rand.NewPCG(7, 7))
	var at []int64
	var want []R
	for i := range rows {
		if r.IntN(40) == 0 {
			at, want = append(at, int64(i)), append(want, rows[i])
		}
	}
	if got, err = f.Gather(at); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, same); d != "" {
		t.Fatalf("gather (-want +got):\n%.2000s", d)
	}
	from, to := int64(n/3), int64(n/2)
	if got, err = scan(f, from, to); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(rows[from:to], got, same); d != "" {
		t.Fatalf("scan [%d,%d) (-want +got):\n%.2000s", from, to, d)
	}
	out := make([]any, n)
	for i := range rows {
		out[i] = rows[i]
	}
	return file, out
}

func TestEveryTableReadsBack(t *testing.T) {
	everySchema(t, func(t *testing.T, _ string, s schemaTest) {
		for _, o := range []Options{
			{}, {Codec: Snappy, PageRows: 100, GroupRows: 700}, {Codec: None, PageRows: 33},
		} {
			s.roundTrip(t, 750, o)
		}
		s.roundTrip(t, 0, Options{})
		s.roundTrip(t, 1, Options{})
	})
}
