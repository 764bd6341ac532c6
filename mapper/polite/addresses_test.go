package polite

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var v4 = netip.MustParseAddr("192.0.2.1")

func TestAddressesTenAtOnceTwentyASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAddresses(10, 20)
		begin := time.Now()
		var mu sync.Mutex
		var starts []time.Duration
		var flying, most int
		var wait sync.WaitGroup
		for range 100 {
			wait.Go(func() {
				release, err := a.Acquire(t.Context(), v4)
				if err != nil {
					t.Error(err)
					return
				}
				defer release()
				mu.Lock()
				starts = append(starts, time.Since(begin))
				flying++
				most = max(most, flying)
				mu.Unlock()
				time.Sleep(300 * time.Millisecond)
				mu.Lock()
				flying--
				mu.Unlock()
			})
		}
		wait.Wait()
		for i, at := range starts {
			if want := time.Duration(i) * 50 * time.Millisecond; at != want {
				t.Fatalf("request %d starts at %v, want %v", i, at, want)
			}
		}
		if most > 10 {
			t.Errorf("%d at once", most)
		}
	})
}

func TestAddressesSlowAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAddresses(2, 0)
		begin := time.Now()
		var wait sync.WaitGroup
		for range 10 {
			wait.Go(func() {
				release, _ := a.Acquire(t.Context(), v4)
				time.Sleep(time.Second)
				release()
				release() // a second call is nothing
			})
		}
		wait.Wait()
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("took %v, want 5s", took)
		}
	})
}

func TestAddressesWhoGivesUpLeavesNoTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAddresses(1, 1)
		hold, _ := a.Acquire(t.Context(), v4)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Acquire(ctx, v4); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("in line: %v", err)
		}
		hold()
		release, err := a.Acquire(t.Context(), v4)
		if err != nil {
			t.Fatal(err)
		}
		release()
		ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := a.Acquire(ctx, v4); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before its start: %v", err)
		}
		if _, err := a.Acquire(ctx, v4); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended already: %v", err)
		}
		if release, err = a.Acquire(t.Context(), v4); err != nil {
			t.Fatal(err)
		}
		release()
	})
}

func TestAddressesNothingBounded(t *testing.T) {
	var a Addresses
	for range 1000 {
		if _, err := a.Acquire(t.Context(), v4); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAddressesPassOnAPlaceThatCameTooLate: a waiter's context ends, and its turn comes before it
// could leave the line. The lock held here makes that order certain.
func TestAddressesPassOnAPlaceThatCameTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAddresses(1, 0)
		if _, err := a.Acquire(t.Context(), v4); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		wait.Go(func() {
			if _, err := a.Acquire(ctx, v4); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		a.mu.Lock()
		cancel()
		a.pass(a.known[v4])
		a.mu.Unlock()
		wait.Wait()
		if n := a.known[v4].inFlight; n != 0 {
			t.Errorf("%d places lost", n)
		}
	})
}

func TestAddressBlocks(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true}, {"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true}, {"2001:db8:1:2::1", "2001:db8:1:3::1",
			false},
		{"fe80::1%eth0", "fe80::2%eth1", true},
	} {
		got := block(netip.MustParseAddr(c.a)) == block(netip.MustParseAddr(c.b))
		if got != c.same {
			t.Errorf("%s and %s share limits: %v, want %v", c.a, c.b, got, c.same)
		}
	}
}

func TestAddressesForgetThoseAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAddresses(10, 20)
		addr := netip.MustParseAddr("10.0.0.0")
		for range 3 * sweepAt {
			release, _ := a.Acquire(t.Context(), addr)
			release()
			addr = addr.Next()
			time.Sleep(time.Second)
		}
		if n := len(a.known); n > sweepAt {
			t.Errorf("%d addresses known", n)
		}
	})
}
