package objstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/objstore/mem"
)

// TestRetryEndsTriesThatHang: a try without an answer is one at a store that is away.
func TestRetryEndsTriesThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		hang := fault.New(mem.New(), fault.Times(2, fault.When(func(fault.Op) bool { return true },
			fault.Fault{Hang: true})))
		s := objstore.NewRetry(hang, objstore.Backoff{Timeout: time.Minute})
		began := time.Now()
		if err := objstore.PutIfAbsent(ctx, s, "a", []byte("x")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 2*time.Minute || took > 3*time.Minute {
			t.Errorf("took %v", took)
		}
		ended, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		hang.SetPlan(fault.When(func(fault.Op) bool { return true }, fault.Fault{Hang: true}))
		if _, err := s.Get(ended, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's own end: %v", err)
		}
	})
}
