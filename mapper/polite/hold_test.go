package polite

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// While the queue is held nothing is granted, the hard stop does not come and no
// group is left for it; then the moved one holds.
func TestHold(t *testing.T) {
	q := New[string](Settings{HardStop: at(10)})
	for _, item := range []string{"1", "2", "3"} {
		q.Add("a", start, 4*time.Second, item)
	}
	q.Add("b", at(9), time.Second, "x")
	take(t, q, start, "1")
	if !q.Hold() || q.Hold() {
		t.Error("only the first Hold is the first")
	}
	idle(t, q, at(5), Forever)
	q.Done("a", at(8), Outcome{}) // the next slot, at 12, lies beyond the old hard stop
	idle(t, q, at(100), Forever)
	if left := q.TakeLeft(); len(left) > 0 {
		t.Errorf("left while held: %v", left)
	}
	q.Release(at(118))
	take(t, q, at(110), "x")
	take(t, q, at(110), "2")
	q.Done("b", at(111), Outcome{})
	q.Done("a", at(115), Outcome{}) // the slot for 3 is at 119
	if left := q.TakeLeft(); len(left) != 1 || left[0].Why != WhySlot || !slices.Equal(left[0].Items,
		[]string{"3"}) {
		t.Errorf("left %v, want 3 for its slot", left)
	}
	// Released again to another hard stop, without a Hold: what waits is judged anew.
	q.Add("c", at(200), time.Second, "y")
	q.Release(at(150))
	if left := q.TakeLeft(); len(left) != 1 || left[0].Group != "c" {
		t.Errorf("left %v, want c", left)
	}
}

func TestExtract(t *testing.T) {
	q := New[int](Settings{})
	for i := range 6 {
		q.Add("a", start, time.Second, i)
	}
	q.AddFirst("a", start, 0, 7)
	q.Add("b", start, time.Second, 9)
	even := func(i int) bool { return i%2 == 0 }
	got := q.Extract(even)
	if !slices.Equal(got, []int{0, 2, 4}) || q.Pending() != 5 {
		t.Errorf("extracted %v, %d are left", got, q.Pending())
	}
	if got := q.Extract(func(i int) bool { return i == 9 }); len(got) != 1 {
		t.Errorf("extracted %v", got)
	}
	for now, want := start, []int{7, 1, 3, 5}; len(want) > 0; want = want[1:] {
		grant, ok, _ := q.Next(now)
		if !ok || grant.Item != want[0] {
			t.Fatalf("granted %v %v, want %d", grant.Item, ok, want[0])
		}
		now = now.Add(time.Hour)
		q.Done("a", now.Add(-2*time.Second), Outcome{})
	}
	if !q.Idle() {
		t.Error("not idle")
	}
}

func TestRaiseDelays(t *testing.T) {
	q := New[string](Settings{})
	q.Add("a", start, time.Second, "1")
	q.Add("b", start, 9*time.Second, "1")
	q.RaiseDelays(func(string) time.Duration { return 5 * time.Second })
	if a, b := q.Delay("a"), q.Delay("b"); a != 5*time.Second || b != 9*time.Second {
		t.Errorf("delays %v, %v", a, b)
	}
}

func TestBandwidth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Bandwidth
		if wait := b.Take("a", 1<<20); wait != 0 {
			t.Errorf("without a cap the wait is %v", wait)
		}
		b.SetRates(1000, 0)
		for i := range 3 {
			if wait := b.Take("a", 500); wait != time.Duration(i+1)*500*time.Millisecond {
				t.Errorf("after %d bytes the wait is %v", 500*(i+1), wait)
			}
		}
		time.Sleep(time.Minute) // rest earns nothing
		if wait := b.Take("b", 1000); wait != time.Second {
			t.Errorf("after a rest the wait is %v", wait)
		}
		b.SetRates(0, 100)
		for _, group := range []string{"a", "b"} {
			if wait := b.Take(group, 100); wait != time.Second {
				t.Errorf("%s waits for %v: groups do not share", group, wait)
			}
		}
		var none *Bandwidth
		none.SetRates(1, 1)
		if wait := none.Take("a", 99); wait != 0 {
			t.Errorf("nothing bounds, and the wait is %v", wait)
		}
	})
}

// Memory follows the groups that take something in.
func TestBandwidthForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Bandwidth
		b.SetRates(0, 1000)
		for i := range 4 * sweepAt {
			b.Take(string(rune('a'+i%26))+time.Duration(i).String(), 1)
			time.Sleep(time.Millisecond)
		}
		if n := len(b.groups); n > 2*sweepAt {
			t.Errorf("%d groups are remembered", n)
		}
	})
}
