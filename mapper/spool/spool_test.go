package spool_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/mapper/spool"
)

const bound = 1 << 20

// open opens a spool that the test's end lets go.
func open(t *testing.T, dir string) *spool.Spool {
	t.Helper()
	s, err := spool.Open(dir, "r1-t2", bound)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func appendAll(t *testing.T, s *spool.Spool, payloads ...string) {
	t.Helper()
	for _, p := range payloads {
		if err := s.Append([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
}

// replay collects the records.
func replay(t *testing.T, s *spool.Spool) ([]string, spool.Recovery) {
	t.Helper()
	var got []string
	r, err := s.Replay(func(p []byte) error { got = append(got, string(p)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return got, r
}

func expect(t *testing.T, s *spool.Spool, want ...string) {
	t.Helper()
	got, r := replay(t, s)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if r.Torn != 0 || r.Damaged != 0 || r.Lost != 0 || r.Records != len(want) {
		t.Errorf("recovery is %+v", r)
	}
}

func TestAppendAndReplay(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	expect(t, s)
	appendAll(t, s, "one", "", "three")
	if err := s.Append([]byte("fo"), nil, []byte("ur")); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "one", "", "three", "four")
	big := string(bytes.Repeat([]byte("x"), 300_000))
	appendAll(t, s, big)
	expect(t, s, "one", "", "three", "four", big)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Append([]byte("late")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
	if _, err := s.Rotate(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("rotate after close: %v", err)
	}
	next := open(t, dir)
	expect(t, next, "one", "", "three", "four", big)
	appendAll(t, next, "six")
	expect(t, next, "one", "", "three", "four", big, "six")
}

func TestOneHolder(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if _, err := spool.Open(dir, "r1-t2", bound); !errors.Is(err, spool.ErrBusy) {
		t.Errorf("second open: got %v, want ErrBusy", err)
	}
	other, err := spool.Open(dir, "r1-t3", bound)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := spool.List(dir)
	if diff := cmp.Diff([]string{"r1-t2", "r1-t3"}, ids); err != nil || diff != "" {
		t.Errorf("list, %v (-want +got):\n%s", err, diff)
	}
	if err := errors.Join(s.Remove(), other.Remove()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	expect(t, open(t, dir))
}

func TestListNothing(t *testing.T) {
	ids, err := spool.List(filepath.Join(t.TempDir(), "missing"))
	if err != nil || len(ids) > 0 {
		t.Errorf("got %q, %v", ids, err)
	}
}

func TestNamesStayInTheFolder(t *testing.T) {
	for _, id := range []string{"", ".", "..", "../x", "a/b", "/a", ".hidden"} {
		if s, err := spool.Open(t.TempDir(), id, bound); err == nil {
			t.Errorf("opened %q", id)
			_ = s.Close()
		}
	}
}

func TestSealing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	appendAll(t, s, "a", "b")
	sealed, err := s.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, s, "c") // while the chunk of a and b is made
	expect(t, s, "a", "b", "c")
	if err := s.Drop(sealed); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "c")
	empty, err := s.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Rotate(); err != nil || again <= empty {
		t.Errorf("generations do not grow: %d, then %d, %v", empty, again, err)
	}
	appendAll(t, s, "d")
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	expect(t, s)
	if s.Bytes() != 0 {
		t.Errorf("an empty spool has %d bytes", s.Bytes())
	}
	appendAll(t, s, "e")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	expect(t, open(t, dir), "e")
}

func TestBound(t *testing.T) {
	s := open(t, t.TempDir())
	piece := make([]byte, bound/4)
	n := 0
	var err error
	for ; err == nil; n++ {
		err = s.Append(piece)
	}
	if !errors.Is(err, spool.ErrFull) || n != 4 {
		t.Fatalf("append %d: got %v, want ErrFull at the 4th", n, err)
	}
	if s.Bytes() > bound {
		t.Errorf("%d bytes are more than %d", s.Bytes(), bound)
	}
	sealed, err := s.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(piece); !errors.Is(err, spool.ErrFull) {
		t.Errorf("older generations are not counted: %v", err)
	}
	if err := s.Drop(sealed); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(piece); err != nil {
		t.Errorf("after a chunk: %v", err)
	}
	err = s.Append(make([]byte, spool.MaxRecord), []byte("x"))
	if err == nil || errors.Is(err, spool.ErrFull) {
		t.Errorf("too large a record: got %v, want an error that sealing does not cure", err)
	}
}

func TestReplayStopsWithTheCallback(t *testing.T) {
	s := open(t, t.TempDir())
	appendAll(t, s, "a", "b", "c")
	stop := errors.New("stop")
	r, err := s.Replay(func(p []byte) error {
		if string(p) == "b" {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || r.Records != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestManyAppenders(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for k := range 50 {
				if err := s.Append(fmt.Appendf(nil, "%d-%d", i, k)); err != nil {
					t.Error(err)
				}
				if k == 25 && i == 0 {
					if _, err := s.Rotate(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	got, r := replay(t, s)
	seen := map[string]bool{}
	for _, p := range got {
		seen[p] = true
	}
	if len(got) != 400 || len(seen) != 400 || r.Lost != 0 {
		t.Errorf("%d records, %d different, %+v", len(got), len(seen), r)
	}
}
