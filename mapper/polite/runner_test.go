package polite

import (
	"context"
	"errors"
	"fmt"
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
		err := r.Run(t.Context(), make(chan struct{}, 3000), func(_ context.Context, g Grant[int]) (time.Time, Outcome) {
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
		err := r.Run(t.Context(), make(chan struct{}, 4), func(_ context.Context, g Grant[string]) (time.Time, Outcome) {
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
		err := NewRunner(q).Run(ctx, make(chan struct{}, 3), func(ctx context.Context, _ Grant[int]) (time.Time,
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
		err := NewRunner(q).Run(t.Context(), make(chan struct{}, 3), func(context.Context,
			Grant[int]) (time.Time, Outcome) {
			sent++
			return time.Now(), Outcome{}
		})
		left := q.TakeLeft()
		if err != nil || sent != 10 || len(left) != 1 || len(left[0].Items) != 90 {
			t.Errorf("Run: %v, %d sent, left %v", err, sent, left)
		}
	})
}
