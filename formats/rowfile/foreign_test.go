package rowfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

type foreignRow struct {
	Name  string   `parquet:"name"`
	Count *int64   `parquet:"count,optional"`
	Share float64  `parquet:"share"`
	Part  float32  `parquet:"part"`
	Is    bool     `parquet:"is"`
	Types []string `parquet:"types,list"`
}

func foreignFile[R any](t testing.TB, rows []R) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[R](&b, parquet.MaxRowsPerRowGroup(300))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func texts(file []byte) (names []string, rows []string, err error) {
	err = Texts(bytes.NewReader(file), int64(len(file)), func(n []string) error {
		names = n
		return nil
	}, func(number int, cells []string) error {
		rows = append(rows, fmt.Sprint(number, " ", strings.Join(cells, "|")))
		return nil
	})
	return names, rows, err
}

func TestTexts(t *testing.T) {
	n := int64(7)
	all := []foreignRow{{"a", &n, 0.25, 0.1, true, []string{"x/y", `q"r`}}, {"b", nil, -1, 2, false, nil}}
	for range 1000 {
		all = append(all, foreignRow{Name: "c"})
	}
	names, rows, err := texts(foreignFile(t, all))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"name", "count", "share", "part", "is", "types"}, names); diff != "" {
		t.Error(diff)
	}
	want := []string{`1 a|7|0.25|0.1|true|["x/y","q\"r"]`, "2 b||-1|2|false|"}
	if diff := cmp.Diff(want, rows[:2]); diff != "" {
		t.Error(diff)
	}
	if len(rows) != 1002 || rows[1001] != "1002 c||0|0|false|" {
		t.Errorf("%d rows, the last %q", len(rows), rows[len(rows)-1])
	}
}

// TestTextsOfDamage: damage is an error, never a panic.
func TestTextsOfDamage(t *testing.T) {
	type nested struct {
		A struct{ B, C int32 } `parquet:"a"`
	}
	if _, _, err := texts(foreignFile(t, make([]nested, 3))); err == nil ||
		!strings.Contains(err.Error(), `column "a" is a structure`) {
		t.Errorf("a structure: %v", err)
	}
	file := foreignFile(t, make([]foreignRow, 400))
	for _, bad := range [][]byte{nil, []byte("PAR1"), file[:len(file)/2], []byte("for,delay\n")} {
		if _, _, err := texts(bad); err == nil {
			t.Errorf("%d bytes of it are read", len(bad))
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		bad := bytes.Clone(file)
		for range 1 + random.IntN(4) {
			bad[random.IntN(len(bad))] ^= byte(1 << random.IntN(8))
		}
		_, rows, err := texts(bad)
		if err == nil && len(rows) != 400 {
			t.Errorf("%d rows of a damaged file, without an error", len(rows))
		}
	}
	stop := errors.New("stop")
	err := Texts(bytes.NewReader(file), int64(len(file)), func([]string) error { return nil },
		func(int, []string) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("the caller's error is %v", err)
	}
}
