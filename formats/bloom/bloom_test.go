package bloom

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// build writes the sidecar of keys whose pages begin at starts.
func build(t testing.TB, keys [][]byte, starts map[int]bool) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	for i, k := range keys {
		if err := w.Add(k, starts[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	if w.Bytes() != int64(b.Len()) {
		t.Fatalf("Bytes is %d, wrote %d", w.Bytes(), b.Len())
	}
	if err := w.Add(nil, true); err == nil {
		t.Error("a finished sidecar took a key")
	}
	return b.Bytes()
}

func sorted(n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key/%08d", i*3)
	}
	return keys
}

func everyPage(n, page int) map[int]bool {
	starts := map[int]bool{}
	for i := 0; i < n; i += page {
		starts[i] = true
	}
	return starts
}

// check reads all of a sidecar and holds it to the keys.
func check(t *testing.T, b []byte, keys [][]byte, starts map[int]bool) {
	t.Helper()
	f, err := Open(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	row := 0
	for g, group := range f.Groups() {
		if group.Row != int64(row) || !bytes.Equal(group.First, keys[row]) {
			t.Fatalf("group %d begins at row %d with %q", g, group.Row, group.First)
		}
		filter, err := f.Filter(g)
		if err != nil {
			t.Fatal(err)
		}
		pages, err := f.Pages(g)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pages {
			if p.Row != int64(row) || row > 0 && !starts[row] || !bytes.Equal(p.First, keys[row]) {
				t.Fatalf("page of row %d begins with %q", p.Row, p.First)
			}
			for range p.Rows {
				if !filter.MayHold(keys[row]) {
					t.Fatalf("false negative: %q", keys[row])
				}
				row++
			}
		}
	}
	if row != len(keys) || f.Rows() != int64(len(keys)) {
		t.Fatalf("pages have %d rows, Rows is %d, want %d", row, f.Rows(), len(keys))
	}
}

func TestSidecarReadsBack(t *testing.T) {
	for _, c := range []struct{ n, page int }{{0, 10}, {1, 10}, {100, 7}, {200_000, 1024}, {70_000, 70_000}} {
		t.Run(fmt.Sprint(c.n, "/", c.page), func(t *testing.T) {
			keys, starts := sorted(c.n), everyPage(c.n, c.page)
			check(t, build(t, keys, starts), keys, starts)
		})
	}
}

func TestFalsePositivesAreAtMostOnePercent(t *testing.T) {
	keys := sorted(GroupRows)
	b := build(t, keys, everyPage(len(keys), 1024))
	f, err := Open(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	filter, err := f.Filter(0)
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	const asked = 100_000
	for i := range asked {
		if filter.MayHold(fmt.Appendf(nil, "key/%08d", i*3+1)) {
			wrong++
		}
	}
	if wrong > asked*12/1000 {
		t.Errorf("%d of %d absent keys pass", wrong, asked)
	}
}

// TestReadsByRange: a few groups of a large sidecar cost a few requests.
func TestReadsByRange(t *testing.T) {
	keys := sorted(10 * GroupRows)
	b := build(t, keys, everyPage(len(keys), 1024))
	requests, read := 0, int64(0)
	f, err := Open(bytes.NewReader(b), int64(len(b)), func(n int64) { requests++; read += n })
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []int{2, 3, 7} {
		if _, err := f.Pages(g); err != nil {
			t.Fatal(err)
		}
	}
	if requests != 1 {
		t.Errorf("index and page keys took %d requests, want 1", requests)
	}
	if _, err := f.Filter(7); err != nil {
		t.Fatal(err)
	}
	if requests != 2 || read > int64(len(b))/4 {
		t.Errorf("%d requests read %d of %d bytes", requests, read, len(b))
	}
}

// TestEveryFlippedByteIsFound: no damage passes for a sidecar.
func TestEveryFlippedByteIsFound(t *testing.T) {
	keys := sorted(300)
	b := build(t, keys, everyPage(len(keys), 20))
	for i := range b {
		damaged := bytes.Clone(b)
		damaged[i] ^= 0x41
		if err := readAll(damaged); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("byte %d of %d flipped: %v", i, len(b), err)
		}
	}
	for n := range len(b) {
		if err := readAll(b[:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(b), err)
		}
	}
}

func readAll(b []byte) error {
	f, err := Open(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		return err
	}
	for g := range f.Groups() {
		if _, err := f.Pages(g); err != nil {
			return err
		}
		filter, err := f.Filter(g)
		if err != nil {
			return err
		}
		filter.MayHold([]byte("x"))
	}
	return nil
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add(build(f, sorted(50), everyPage(50, 9)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := readAll(b); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("error of another kind: %v", err)
		}
		// The same bytes as index, whose checksum a fuzzer does not guess.
		file := &File{size: int64(len(b))}
		if err := file.decodeIndex(b, int64(len(b))); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("error of another kind: %v", err)
		}
	})
}

// FuzzKeys: whatever keys, they come back, and none is denied.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("a\nab\nabc\nb"), uint64(3))
	f.Add([]byte("\n\n\x00\xff"), uint64(0))
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		keys := bytes.Split(text, []byte("\n"))
		slices.SortFunc(keys, bytes.Compare)
		r := rand.New(rand.NewPCG(seed, 0))
		starts := map[int]bool{}
		for i := range keys {
			starts[i] = r.IntN(3) == 0
		}
		check(t, build(t, keys, starts), keys, starts)
	})
}
