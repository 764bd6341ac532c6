package polite

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestRunnerKeepsTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](Settings{})
		for i := range 2000 * 5 {
			q.Add(fmt.Sprint("g", i%2000), time.Time{}, time.Second, i)
		}
		r := NewRunner(q)
		r.With(func(q *Queue[int]) { q.Close() })
		var mu sync.Mutex
		ends := map[string]time.Time{}
		begin := time.Now()
		var flying, most atomic.Int64
		err := r.Run(t.Context(), 3000, func(_ context.Context, g Grant[int]) (time.Time, Outcome) {
			if n := flying.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer flying.Add(-1)
			mu.Lock()
			last, asked := ends[g.Group]
			mu.Unlock()
			if asked && time.Since(last) < time.Second {
				t.Errorf("%s asked %v after the last answer", g.Group, time.Since(last))
			}
			time.Sleep(300 * time.Millisecond)
			mu.Lock()
			ends[g.Group] = time.Now()
			mu.Unlock()
			return time.Now(), Outcome{}
		})
		if err != nil || !q.Idle() {
			t.Errorf("Run: %v, %d pending", err, q.Pending())
		}
		// Five requests of 0.3 s with four pauses of 1 s between, all groups side by side.
		if took := time.Since(begin); took != 5500*time.Millisecond {
			t.Errorf("took %v, want 5.5s", took)
		}
		if most.Load() > 3000 {
			t.Errorf("%d at once", most.Load())
		}
	})
}

func TestRunnerTakesWorkMetOnTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Settings{})
		q.Add("a", time.Time{}, time.Second, "page")
		r := NewRunner(q)
		var order []string
		known := false
		go func() {
			time.Sleep(time.Minute)
			r.With(func(q *Queue[string]) {
				q.Add("a", time.Time{}, time.Second, "late")
				q.Close()
			})
		}()
		begin := time.Now()
		err := r.Run(t.Context(), 4, func(_ context.Context, g Grant[string]) (time.Time, Outcome) {
			if g.Item == "page" && !known {
				r.With(func(q *Queue[string]) {
					q.PutBack(g)
					q.AddFirst("a", time.Time{}, time.Second, "robots")
				})
				return time.Now(), Outcome{Kind: Unsent}
			}
			known = true
			order = append(order, fmt.Sprint(g.Item, " ", time.Since(begin)))
			return time.Now(), Outcome{}
		})
		if want := "[robots 0s page 1s late 1m0s]"; err != nil || fmt.Sprint(order) != want {
			t.Errorf("Run: %v, %v; want %v", err, order, want)
		}
	})
}

func TestRunnerEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](Settings{})
		for i := range 10 {
			q.Add(fmt.Sprint(i), time.Time{}, time.Second, i)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var ended atomic.Int64
		err := NewRunner(q).Run(ctx, 3, func(ctx context.Context, _ Grant[int]) (time.Time,
			Outcome) {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended.Add(1)
			return time.Now(), Outcome{Kind: Failed}
		})
		if !errors.Is(err, context.DeadlineExceeded) || ended.Load() != 3 {
			t.Errorf("Run: %v, %d sends had ended, want 3", err, ended.Load())
		}
		if q.InFlight() != 0 || q.Pending() != 7 {
			t.Errorf("%d in flight, %d pending", q.InFlight(), q.Pending())
		}
	})
}

func TestRunnerEndsAtTheHardStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](Settings{HardStop: time.Now().Add(10 * time.Second)})
		for i := range 100 {
			q.Add("a", time.Time{}, time.Second, i)
		}
		q.Close()
		sent := 0
		err := NewRunner(q).Run(t.Context(), 3, func(context.Context, Grant[int]) (time.Time,
			Outcome) {
			sent++
			return time.Now(), Outcome{}
		})
		left := q.TakeLeft()
		if err != nil || sent != 10 || len(left) != 1 || len(left[0].Items) != 90 {
			t.Errorf("Run: %v, %d sent, left %v", err, sent, left)
		}
	})
}

func TestAddresses(t *testing.T) {
	v4 := netip.MustParseAddr("192.0.2.1")
	t.Run("ten at once, twenty a second", func(t *testing.T) {
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
	})
	t.Run("slow answers", func(t *testing.T) {
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
	})
	t.Run("who gives up leaves no trace", func(t *testing.T) {
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
	})
	t.Run("nothing bounded", func(t *testing.T) {
		var a Addresses
		for range 1000 {
			if _, err := a.Acquire(t.Context(), v4); err != nil {
				t.Fatal(err)
			}
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
