package mem_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"seine/formats/objstore"
	"seine/formats/objstore/mem"
	"seine/formats/objstore/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) objstore.Store { return mem.New() })
}

func TestVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.New()
		if err := objstore.PutIfAbsent(t.Context(), s, "a", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if err := objstore.PutIfAbsent(t.Context(), s, "b", nil); err != nil {
			t.Fatal(err)
		}
		a, errA := s.Stat(t.Context(), "a")
		b, errB := s.Stat(t.Context(), "b")
		if err := errors.Join(errA, errB); err != nil {
			t.Fatal(err)
		}
		if d := b.ModTime.Sub(a.ModTime); d != time.Hour {
			t.Errorf("b is %s younger than a, want 1h", d)
		}
	})
}

func TestLimit(t *testing.T) {
	s := mem.NewLimited(10)
	body := func(n int) objstore.Body { return objstore.Bytes(make([]byte, n)) }
	for _, test := range []struct {
		name string
		key  string
		size int
		want error
	}{
		{"fits", "a", 6, nil},
		{"too much", "b", 5, objstore.ErrFull},
		{"just fits", "b", 4, nil},
		{"overwriting by less", "a", 3, nil},
		{"overwriting by more", "b", 8, objstore.ErrFull},
	} {
		err := s.Put(t.Context(), test.key, body(test.size), objstore.PutOptions{})
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
	if info, err := s.Stat(t.Context(), "b"); err != nil || info.Size != 4 {
		t.Errorf("after a full put b is %+v, %v; want 4 bytes", info, err)
	}
}
