package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"seine/formats/objstore"
)

// each calls fn for all items, by n goroutines, and reports their errors.
func each[T any](t *testing.T, n int, items []T, fn func(T) error) {
	t.Helper()
	var wait sync.WaitGroup
	var next atomic.Int64
	for range n {
		wait.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(items) {
					return
				}
				if err := fn(items[i]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

func testRacingCreators(t *testing.T, s objstore.Store) {
	race(t, s, 20, 16, func(i int) []byte { return fmt.Appendf(nil, "creator %d", i) })
}

func testRacingBigCreators(t *testing.T, s objstore.Store) {
	race(t, s, 1, 4, func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, bigBytes) })
}

// race lets creators put the same keys, and wants one winner each, whose content is there.
func race(t *testing.T, s objstore.Store, keys, creators int, content func(i int) []byte) {
	for k := range keys {
		key := fmt.Sprintf("race/%d", k)
		winners := make([]bool, creators)
		var wait sync.WaitGroup
		start := make(chan struct{})
		for i := range creators {
			body := content(i)
			wait.Go(func() {
				<-start
				err := objstore.PutIfAbsent(t.Context(), s, key, body)
				if winners[i] = err == nil; err != nil && !errors.Is(err, objstore.ErrExists) {
					t.Errorf("creator %d: %v", i, err)
				}
			})
		}
		close(start)
		wait.Wait()
		got, err := s.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		won := 0
		for i, w := range winners {
			if w {
				won++
				if !bytes.Equal(got, content(i)) {
					t.Errorf("%s has not the winner's content", key)
				}
			}
		}
		if won != 1 {
			t.Errorf("%s has %d winners", key, won)
		}
	}
}

// testReadWhileWriting: readers see nothing or the whole of one version.
func testReadWhileWriting(t *testing.T, s objstore.Store) {
	const size, versions, readers = 300_000, 12, 3
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for range readers {
		wait.Go(func() {
			for ctx.Err() == nil {
				got, err := s.Get(t.Context(), "w/over")
				checkWhole(t, got, err, size)
			}
		})
	}
	for v := range versions {
		body := objstore.Bytes(bytes.Repeat([]byte{byte(v)}, size))
		if err := s.Put(t.Context(), "w/over", body, objstore.PutOptions{}); err != nil {
			t.Error(err)
		}
		once := fmt.Sprintf("w/once%d", v)
		var reader sync.WaitGroup
		reader.Go(func() {
			for done := false; !done; {
				p := make([]byte, size+1)
				n, err := s.ReadAt(t.Context(), once, p, 0)
				if done = n > 0 || err != nil && !errors.Is(err, objstore.ErrNotExist); done {
					if !errors.Is(err, io.EOF) {
						t.Errorf("read %s: %v", once, err)
					}
					checkWhole(t, p[:n], nil, size)
				}
			}
		})
		if err := s.Put(t.Context(), once, body, objstore.PutOptions{IfAbsent: true}); err != nil {
			t.Error(err)
		}
		reader.Wait()
	}
	cancel()
	wait.Wait()
}

func checkWhole(t *testing.T, got []byte, err error, size int) {
	if errors.Is(err, objstore.ErrNotExist) {
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	if len(got) != size || bytes.Count(got, got[:1]) != size {
		t.Errorf("read %d bytes of %d, or a mixture of versions", len(got), size)
	}
}

// testDeleteWhileWriting: puts into a folder that deletes keep emptying.
func testDeleteWhileWriting(t *testing.T, s objstore.Store) {
	var keys []string
	for i := range 40 {
		keys = append(keys, fmt.Sprintf("prune/me/%d/x", i%4)+fmt.Sprint(i))
	}
	each(t, 8, keys, func(key string) error {
		if err := objstore.PutIfAbsent(t.Context(), s, key, []byte(key)); err != nil {
			return err
		}
		if _, err := s.Get(t.Context(), key); err != nil {
			return err
		}
		return s.Delete(t.Context(), key)
	})
	if left := list(t, s, "", ""); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
