package fault_test

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
	storetest.Run(t, func(*testing.T) objstore.Store { return fault.New(mem.New(), nil) })
}

// put stores k once under a fault, and says what came of it.
func put(t *testing.T, f fault.Fault) (err error, there bool) {
	t.Helper()
	behind := mem.New()
	err = objstore.PutIfAbsent(t.Context(), fault.New(behind, fault.At(0, f)), "k", []byte("v"))
	_, statErr := behind.Stat(t.Context(), "k")
	return err, statErr == nil
}

func TestBeforeAndAfter(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault fault.Fault
		there bool
	}{
		{"before", fault.Fault{Before: objstore.ErrUnavailable}, false},
		{"after", fault.Fault{After: objstore.ErrUnavailable}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			err, there := put(t, test.fault)
			if !errors.Is(err, objstore.ErrUnavailable) || there != test.there {
				t.Errorf("got %v, there %t; want unavailable, there %t", err, there, test.there)
			}
		})
	}
}

func TestAfterKeepsTheStoresOwnError(t *testing.T) {
	s := fault.New(mem.New(), fault.At(0, fault.Fault{After: objstore.ErrUnavailable}))
	if _, err := s.Get(t.Context(), "missing"); !errors.Is(err, objstore.ErrNotExist) {
		t.Errorf("got %v, want ErrNotExist", err)
	}
}

func TestHangAndDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		s := fault.New(mem.New(), fault.At(0, fault.Fault{Hang: true}))
		start := time.Now()
		if _, err := s.Get(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("hang: got %v", err)
		}
		if d := time.Since(start); d != time.Hour {
			t.Errorf("hung for %s, want 1h", d)
		}
		s.SetPlan(fault.At(1, fault.Fault{Delay: time.Minute}))
		start = time.Now()
		if err := s.Delete(t.Context(), "k"); err != nil || time.Since(start) != time.Minute {
			t.Errorf("delay: %v after %s", err, time.Since(start))
		}
	})
}

func TestTorn(t *testing.T) {
	s := fault.New(mem.New(), nil)
	for _, key := range []string{"a", "b"} {
		if err := objstore.PutIfAbsent(t.Context(), s, key, []byte("0123456789")); err != nil {
			t.Fatal(err)
		}
	}
	s.SetPlan(fault.When(func(fault.Op) bool { return true }, fault.Fault{Torn: true}))
	p := make([]byte, 8)
	n, err := s.ReadAt(t.Context(), "a", p, 1)
	if string(p[:n]) != "1234" || !errors.Is(err, objstore.ErrUnavailable) {
		t.Errorf("read %q, %v", p[:n], err)
	}
	if _, err := s.Get(t.Context(), "a"); !errors.Is(err, objstore.ErrUnavailable) {
		t.Errorf("get: %v", err)
	}
	listed := 0
	err = s.List(t.Context(), "", "", func(objstore.Info) error { listed++; return nil })
	if listed != 1 || !errors.Is(err, objstore.ErrUnavailable) {
		t.Errorf("listed %d, %v", listed, err)
	}
}

func TestTraceAndTimes(t *testing.T) {
	ctx := t.Context()
	s := fault.New(mem.New(), fault.Times(1, fault.When(
		func(op fault.Op) bool { return op.Kind == objstore.OpPut },
		fault.Fault{Before: objstore.ErrFull})))
	if err := objstore.PutIfAbsent(ctx, s, "a", []byte("xy")); !errors.Is(err, objstore.ErrFull) {
		t.Errorf("first put: %v", err)
	}
	err := errors.Join(objstore.PutIfAbsent(ctx, s, "a", []byte("xy")), s.Delete(ctx, "a", "b"))
	if err != nil {
		t.Error(err)
	}
	_, _ = s.ReadAt(ctx, "a", make([]byte, 3), 4)
	var trace []string
	for _, op := range s.Ops() {
		trace = append(trace, op.String())
	}
	want := []string{"0 put a", "1 put a", "2 delete a", "3 read a 4+3"}
	if diff := cmp.Diff(want, trace); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
}
