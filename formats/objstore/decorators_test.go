package objstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/objstore/mem"
	"seine/formats/objstore/storetest"
)

func TestConformance(t *testing.T) {
	for _, test := range []struct {
		name string
		open func(t *testing.T) objstore.Store
	}{
		{"counter", func(*testing.T) objstore.Store { return objstore.NewCounter(mem.New()) }},
		{"retry", func(*testing.T) objstore.Store {
			return objstore.NewRetry(mem.New(), objstore.Backoff{})
		}},
		{"memo", func(*testing.T) objstore.Store {
			return objstore.NewMemo(mem.New(), objstore.MemoOptions{})
		}},
		{"memo of two small objects", func(*testing.T) objstore.Store {
			return objstore.NewMemo(mem.New(), objstore.MemoOptions{MaxBytes: 8, ObjectBytes: 4})
		}},
		{"cache", func(t *testing.T) objstore.Store {
			return newCache(t, mem.New(), objstore.CacheOptions{Dir: t.TempDir()})
		}},
		{"cache of small blocks", func(t *testing.T) objstore.Store {
			return newCache(t, mem.New(), objstore.CacheOptions{Dir: t.TempDir(), BlockBytes: 3,
				MaxBytes: 1000, ScanBytes: 30})
		}},
	} {
		t.Run(test.name, func(t *testing.T) { storetest.Run(t, test.open) })
	}
}

var unavailable = fault.Fault{Before: objstore.ErrUnavailable}

func anything(fault.Op) bool { return true }

func TestRetryOutlastsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		behind := mem.New()
		for _, key := range []string{"a", "b", "c"} {
			if err := objstore.PutIfAbsent(ctx, behind, key, []byte("v")); err != nil {
				t.Fatal(err)
			}
		}
		for _, test := range []struct {
			name string
			run  func(s objstore.Store) error
		}{
			{"get", func(s objstore.Store) error { _, err := s.Get(ctx, "a"); return err }},
			{"read", func(s objstore.Store) error {
				_, err := s.ReadAt(ctx, "a", make([]byte, 1), 0)
				return err
			}},
			{"stat", func(s objstore.Store) error { _, err := s.Stat(ctx, "a"); return err }},
			{"put", func(s objstore.Store) error {
				return s.Put(ctx, "d", objstore.Bytes(nil), objstore.PutOptions{})
			}},
			{"delete", func(s objstore.Store) error { return s.Delete(ctx, "d") }},
		} {
			outage := fault.New(behind, fault.When(func(op fault.Op) bool { return op.N < 5 }, unavailable))
			start := time.Now()
			if err := test.run(objstore.NewRetry(outage, objstore.Backoff{})); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			// 250 ms doubling: 7.75 s on the average, half to one and a half of that by chance.
			if d := time.Since(start); d < 3800*time.Millisecond || d > 11700*time.Millisecond {
				t.Errorf("%s: waited %s", test.name, d)
			}
		}
	})
}

func TestRetryGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := fault.New(mem.New(), fault.When(anything, unavailable))
		s := objstore.NewRetry(down, objstore.Backoff{Tries: 3})
		if _, err := s.Get(t.Context(), "a"); !errors.Is(err, objstore.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		if n := len(down.Ops()); n != 3 {
			t.Errorf("%d tries, want 3", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := s.Get(ctx, "a")
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, objstore.ErrUnavailable) {
			t.Errorf("at the context's end: got %v, want both causes", err)
		}
	})
}

func TestRetryTriesOnlyWhatMayPass(t *testing.T) {
	for _, err := range []error{objstore.ErrNotExist, objstore.ErrExists, objstore.ErrFull,
		errors.New("x")} {
		s := fault.New(mem.New(), fault.When(anything, fault.Fault{Before: err}))
		_, got := objstore.NewRetry(s, objstore.Backoff{}).Get(t.Context(), "a")
		if !errors.Is(got, err) {
			t.Errorf("got %v, want %v", got, err)
		}
		if n := len(s.Ops()); n != 1 {
			t.Errorf("%v: %d tries, want 1", err, n)
		}
	}
}

// TestRetryLostAnswer: a put-if-absent that happened, and whose answer was lost.
func TestRetryLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			name  string
			there string
			o     objstore.PutOptions
			want  error
		}{
			{"the caller must look", "", objstore.PutOptions{IfAbsent: true}, objstore.ErrExists},
			{"same is success", "", objstore.PutOptions{IfAbsent: true, Same: true}, nil},
			{"another's object", "theirs", objstore.PutOptions{IfAbsent: true, Same: true},
				objstore.ErrExists},
		} {
			behind := mem.New()
			if test.there != "" {
				if err := objstore.PutIfAbsent(t.Context(), behind, "k", []byte(test.there)); err != nil {
					t.Fatal(err)
				}
			}
			lost := fault.New(behind, fault.At(0, fault.Fault{After: objstore.ErrUnavailable}))
			s := objstore.NewRetry(lost, objstore.Backoff{})
			err := s.Put(t.Context(), "k", objstore.Bytes([]byte("ours")), test.o)
			if !errors.Is(err, test.want) {
				t.Errorf("%s: got %v, want %v", test.name, err, test.want)
			}
		}
	})
}

func TestRetryListGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fault.New(mem.New(), nil)
		want := []string{"p/a", "p/b", "p/c", "p/d"}
		for _, key := range want {
			if err := objstore.PutIfAbsent(t.Context(), s, key, nil); err != nil {
				t.Fatal(err)
			}
		}
		s.SetPlan(fault.Times(3, fault.When(anything, fault.Fault{Torn: true})))
		var got []string
		err := objstore.NewRetry(s, objstore.Backoff{}).List(t.Context(), "p/", "",
			func(i objstore.Info) error { got = append(got, i.Key); return nil })
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("listed (-want +got), %v:\n%s", err, diff)
		}
	})
}

func TestRetryLeavesTheCallbacksError(t *testing.T) {
	behind := mem.New()
	if err := objstore.PutIfAbsent(t.Context(), behind, "a", nil); err != nil {
		t.Fatal(err)
	}
	calls := 0
	err := objstore.NewRetry(behind, objstore.Backoff{}).List(t.Context(), "", "",
		func(objstore.Info) error { calls++; return objstore.ErrUnavailable })
	if !errors.Is(err, objstore.ErrUnavailable) || calls != 1 {
		t.Errorf("%d calls, %v; want one", calls, err)
	}
}

func TestCounter(t *testing.T) {
	ctx := t.Context()
	c := objstore.NewCounter(mem.New())
	err := errors.Join(
		objstore.PutIfAbsent(ctx, c, "rounds/1/spec", []byte("12345")),
		objstore.PutIfAbsent(ctx, c, "rounds/2/spec", []byte("123")),
		objstore.PutIfAbsent(ctx, c, "commits/1", nil))
	if err != nil {
		t.Fatal(err)
	}
	before := c.Uses()
	_, _ = c.ReadAt(ctx, "rounds/1/spec", make([]byte, 9), 1)
	_, _ = c.Get(ctx, "rounds/1/spec")
	_, _ = c.Get(ctx, "rounds/3/spec")
	_, _ = c.Stat(ctx, "commits/1")
	err = errors.Join(c.List(ctx, "rounds/", "", func(objstore.Info) error { return nil }),
		c.Delete(ctx, "rounds/1/spec", "commits/1"))
	if err != nil {
		t.Fatal(err)
	}
	want := []objstore.Use{
		{Kind: objstore.OpPut, Segment: "commits", Requests: 1},
		{Kind: objstore.OpPut, Segment: "rounds", Requests: 2, Bytes: 8},
	}
	if diff := cmp.Diff(want, before); diff != "" {
		t.Errorf("puts (-want +got):\n%s", diff)
	}
	want = []objstore.Use{
		{Kind: objstore.OpDelete, Segment: "commits", Requests: 1},
		{Kind: objstore.OpStat, Segment: "commits", Requests: 1},
		{Kind: objstore.OpDelete, Segment: "rounds", Requests: 1},
		{Kind: objstore.OpGet, Segment: "rounds", Requests: 2, Bytes: 5, Failed: 1},
		{Kind: objstore.OpList, Segment: "rounds", Requests: 1},
		{Kind: objstore.OpRead, Segment: "rounds", Requests: 1, Bytes: 4},
	}
	if diff := cmp.Diff(want, objstore.Since(c.Uses(), before)); diff != "" {
		t.Errorf("since (-want +got):\n%s", diff)
	}
}
