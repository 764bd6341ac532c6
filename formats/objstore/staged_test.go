package objstore_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/objstore/mem"
)

func stage(t *testing.T, src io.ReaderAt, size int64, share float64) io.ReaderAt {
	t.Helper()
	folder := t.TempDir()
	r, err := objstore.Staging{Folder: folder, Block: 1 << 20}.Stage(src, size, share)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := r.(*objstore.Staged)
	if !ok {
		t.Fatalf("%d bytes are not staged", size)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("the file can be seen: %v, %v", left, err)
	}
	return s
}

// TestStagedReadsEachBlockOnce reads an object all over, as bytes.Reader would, and counts.
func TestStagedReadsEachBlockOnce(t *testing.T) {
	const size = 3<<20 + 17
	data := make([]byte, size)
	dice := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(dice.Uint32())
	}
	store := mem.New()
	if err := store.Put(t.Context(), "k", objstore.Bytes(data), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	open := objstore.Open(t.Context(), store, "k", size)
	s := stage(t, open, size, 0.5)
	plain := bytes.NewReader(data)
	for range 300 {
		off, p := dice.Int64N(size+1), make([]byte, dice.IntN(200_000))
		q := make([]byte, len(p))
		n, err := s.ReadAt(p, off)
		m, want := plain.ReadAt(q, off)
		if n != m || !errors.Is(err, want) || !bytes.Equal(p[:n], q[:m]) {
			t.Fatalf("%d bytes at %d: %d, %v; want %d, %v", len(p), off, n, err, m, want)
		}
	}
	if requests, read := open.Requests(); requests != 7 || read != size {
		t.Errorf("%d requests for %d bytes, want 7 for all %d", requests, read, size)
	}
}

// TestStagedFailsAsTheStoreDoes: what could not be read is no part of the file, and is asked for
// again.
func TestStagedFailsAsTheStoreDoes(t *testing.T) {
	broken := true
	store := fault.New(mem.New(), func(op fault.Op) fault.Fault {
		if broken && op.Kind == objstore.OpRead {
			return fault.Fault{Before: objstore.ErrUnavailable}
		}
		return fault.Fault{}
	})
	content := bytes.Repeat([]byte("content"), 100_000)
	if err := store.Put(t.Context(), "k", objstore.Bytes(content), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	s := stage(t, objstore.Open(t.Context(), store, "k", 700_000), 700_000, 1)
	p := make([]byte, 7)
	if n, err := s.ReadAt(p, 0); n != 0 || !errors.Is(err, objstore.ErrUnavailable) {
		t.Errorf("%d, %v; want ErrUnavailable", n, err)
	}
	broken = false
	if n, err := s.ReadAt(p, 0); n != 7 || err != nil || string(p) != "content" {
		t.Errorf("%d, %v, %q", n, err, p)
	}
}
