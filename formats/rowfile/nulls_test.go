package rowfile

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"
)

type optionalRow struct {
	ID    int32   `parquet:"id"`
	Text  string  `parquet:"text,optional"`
	Word  string  `parquet:"word,optional,dict"`
	Long  int64   `parquet:"long,optional"`
	Int   uint32  `parquet:"int,optional,dict"`
	Ratio float32 `parquet:"ratio,optional"`
}

// optionalRows are rows with set values where set says so.
func optionalRows(n int, set func(row, column int) bool) []optionalRow {
	rows := make([]optionalRow, n)
	for i := range rows {
		r := &rows[i]
		r.ID = int32(i)
		if set(i, 0) {
			r.Text = "t"
		}
		if set(i, 1) {
			r.Word = "w"
		}
		if set(i, 2) {
			r.Long = 1
		}
		if set(i, 3) {
			r.Int = 2
		}
		if set(i, 4) {
			r.Ratio = 0.5
		}
	}
	return rows
}

// TestZeroIsNull: every zero value of an optional column is stored as null, and
// nothing else is, however runs of values lie in the library's blocks of 64 rows.
func TestZeroIsNull(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 30))
	for begin := range 34 {
		for length := range 34 {
			run := func(row, _ int) bool { return row >= begin && row < begin+length }
			checkNulls(t, optionalRows(130, run))
		}
	}
	for range 100 {
		var density [5]float64
		for i := range density {
			density[i] = r.Float64() * r.Float64()
		}
		checkNulls(t, optionalRows(1+r.IntN(300), func(_, column int) bool {
			return r.Float64() < density[column]
		}))
	}
}

func checkNulls(t *testing.T, rows []optionalRow) {
	t.Helper()
	file := write(t, rows, Options{Codec: None})
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	want := make([]int64, 6)
	for i := range rows {
		for c, null := range []bool{rows[i].Text == "", rows[i].Word == "", rows[i].Long == 0,
			rows[i].Int == 0, rows[i].Ratio == 0} {
			if null {
				want[c+1]++
			}
		}
	}
	for c, chunk := range f.RowGroups()[0].ColumnChunks() {
		index, err := chunk.ColumnIndex()
		if err != nil {
			t.Fatal(err)
		}
		nulls := int64(0)
		for p := range index.NumPages() {
			nulls += index.NullCount(p)
		}
		if nulls != want[c] {
			t.Fatalf("column %d has %d nulls, want %d: %+v", c, nulls, want[c], rows)
		}
	}
	got, err := open[optionalRow](t, file, ReadOptions{}).Gather(all(len(rows)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if got[i] != rows[i] {
			t.Fatalf("row %d: %+v, want %+v", i, got[i], rows[i])
		}
	}
}

func all(n int) []int64 {
	numbers := make([]int64, n)
	for i := range numbers {
		numbers[i] = int64(i)
	}
	return numbers
}
