package objstore_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/objstore/mem"
)

// newObject stores n random bytes behind a store that logs operations.
func newObject(t *testing.T, n int) (*fault.Store, []byte) {
	t.Helper()
	content := make([]byte, n)
	if _, err := rand.NewChaCha8([32]byte{7}).Read(content); err != nil {
		t.Fatal(err)
	}
	behind := mem.New()
	if err := objstore.PutIfAbsent(t.Context(), behind, "k", content); err != nil {
		t.Fatal(err)
	}
	return fault.New(behind, nil), content
}

func TestReadRanges(t *testing.T) {
	const size = 20 << 20
	const kib = 1 << 10
	for _, test := range []struct {
		name     string
		ranges   []objstore.Range
		requests int64
	}{
		{"none", nil, 0},
		{"one", []objstore.Range{{Off: 5, Len: 10}}, 1},
		{"neighbours", []objstore.Range{{Off: 0, Len: 10}, {Off: 10, Len: 10}}, 1},
		{"a gap of 64 KiB", []objstore.Range{{Off: 0, Len: 10}, {Off: 10 + 64*kib, Len: 10}}, 1},
		{"a wider gap", []objstore.Range{{Off: 0, Len: 10}, {Off: 11 + 64*kib, Len: 10}}, 2},
		{"out of order", []objstore.Range{{Off: 100, Len: 10}, {Off: 0, Len: 10}, {Off: 50, Len: 5}}, 1},
		{"overlapping", []objstore.Range{{Off: 0, Len: 100}, {Off: 10, Len: 10}, {Off: 90, Len: 20}}, 1},
		{"the same twice", []objstore.Range{{Off: 9, Len: 9}, {Off: 9, Len: 9}}, 1},
		{"empty", []objstore.Range{{Off: 7, Len: 0}}, 0},
		{"at the end", []objstore.Range{{Off: size - 1, Len: 1}, {Off: size, Len: 0}}, 1},
		{"large ones stay apart", []objstore.Range{{Off: 0, Len: 6 << 20},
			{Off: 6 << 20, Len: 6 << 20}}, 2},
		{"inside a large one", []objstore.Range{{Off: 0, Len: 12 << 20}, {Off: 1 << 20, Len: 9}}, 1},
		{"many", []objstore.Range{{Off: 0, Len: 1}, {Off: 1 << 20, Len: 1}, {Off: 2 << 20, Len: 1},
			{Off: 3 << 20, Len: 1}, {Off: 4 << 20, Len: 1}, {Off: 5 << 20, Len: 1}, {Off: 6 << 20, Len: 1},
			{Off: 7 << 20, Len: 1}, {Off: 8 << 20, Len: 1}, {Off: 9 << 20, Len: 1}}, 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, content := newObject(t, size)
			r := objstore.Open(t.Context(), s, "k", size)
			got, err := r.ReadRanges(test.ranges)
			if err != nil {
				t.Fatal(err)
			}
			for i, g := range test.ranges {
				if string(got[i]) != string(content[g.Off:g.Off+g.Len]) {
					t.Errorf("range %+v differs", g)
				}
			}
			if requests, _ := r.Requests(); requests != test.requests || len(s.Ops()) != int(requests) {
				t.Errorf("%d requests, %d reached the store, want %d", requests, len(s.Ops()), test.requests)
			}
		})
	}
}

func TestReadRangesRefuses(t *testing.T) {
	s, _ := newObject(t, 100)
	r := objstore.Open(t.Context(), s, "k", 100)
	for _, g := range []objstore.Range{{Off: -1, Len: 1}, {Off: 0, Len: -1}, {Off: 99, Len: 2},
		{Off: 101, Len: 0}, {Off: 1, Len: 1<<63 - 1}} {
		if _, err := r.ReadRanges([]objstore.Range{g}); err == nil {
			t.Errorf("read %+v of 100 bytes", g)
		}
	}
	shorter := objstore.Open(t.Context(), s, "k", 200)
	if _, err := shorter.ReadRanges([]objstore.Range{{Off: 90, Len: 20}}); err == nil {
		t.Error("an object shorter than its manifest says was read")
	}
}

func TestReaderFails(t *testing.T) {
	s, _ := newObject(t, 1<<20)
	s.SetPlan(fault.At(1, fault.Fault{Before: objstore.ErrUnavailable}))
	r := objstore.Open(t.Context(), s, "k", 1<<20)
	_, err := r.ReadRanges([]objstore.Range{{Off: 0, Len: 1}, {Off: 1 << 19, Len: 1},
		{Off: 1<<20 - 1, Len: 1}})
	if !errors.Is(err, objstore.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r = objstore.Open(ctx, s, "k", 1<<20)
	cancel()
	if _, err := r.ReadAt(make([]byte, 1), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context's end: %v", err)
	}
}

func TestReaderIsAReaderAt(t *testing.T) {
	s, content := newObject(t, 1000)
	r := objstore.Open(t.Context(), s, "k", 1000)
	got, err := io.ReadAll(io.NewSectionReader(r, 10, 2000))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(content[10:], got); diff != "" {
		t.Error("content differs")
	}
	before, _ := r.Requests()
	if n, err := r.ReadAt(make([]byte, 1), 1000); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if after, _ := r.Requests(); after != before {
		t.Error("asked the store for what lies behind the end")
	}
}
