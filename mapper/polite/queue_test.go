package polite

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// take wants a grant of item at now.
func take(t *testing.T, q *Queue[string], now time.Time, item string) Grant[string] {
	t.Helper()
	grant, ok, wait := q.Next(now)
	if !ok || grant.Item != item {
		t.Fatalf("at %v: got %q, %v (wait %v), want %q", now.Sub(start), grant.Item, ok, wait, item)
	}
	return grant
}

// idle wants no grant at now, and the wait.
func idle(t *testing.T, q *Queue[string], now time.Time, want time.Duration) {
	t.Helper()
	if grant, ok, wait := q.Next(now); ok || wait != want {
		t.Fatalf("at %v: got %q, %v, wait %v; want wait %v", now.Sub(start), grant.Item, ok, wait,
			want)
	}
}

func TestDelayCountsFromTheLastByte(t *testing.T) {
	q := New[string](Settings{})
	for _, item := range []string{"1", "2", "3"} {
		q.Add("a", start, time.Second, item)
	}
	take(t, q, start, "1")
	idle(t, q, at(100), Forever) // one in flight: no time passing grants another
	q.Done("a", at(7), Outcome{})
	idle(t, q, at(7.25), 750*time.Millisecond)
	grant := take(t, q, at(8), "2")
	if !grant.Slot.Equal(at(8)) || grant.First {
		t.Errorf("grant %+v", grant)
	}
	// A fast 404 earns nothing: the delay is the delay.
	q.Done("a", at(8.001), Outcome{})
	idle(t, q, at(8.001), time.Second)
	take(t, q, at(9.001), "3")
	q.Done("a", at(10), Outcome{})
	idle(t, q, at(99), Forever)
	if !q.Idle() {
		t.Error("not idle")
	}
}

func TestNotBefore(t *testing.T) {
	q := New[string](Settings{})
	q.Add("a", at(5), 0, "1")
	q.Add("b", time.Time{}, 0, "2")
	take(t, q, start, "2")
	idle(t, q, start, 5*time.Second)
	q.Add("a", at(3), 0, "3") // an earlier slot takes nothing back
	idle(t, q, at(4), time.Second)
	take(t, q, at(5), "1")
}

func TestFirstGoesFirst(t *testing.T) {
	q := New[string](Settings{})
	q.Add("a", start, time.Second, "page")
	q.AddFirst("a", start, time.Second, "robots 1")
	q.AddFirst("a", start, time.Second, "robots 2")
	for i, want := range []string{"robots 1", "robots 2", "page"} {
		grant := take(t, q, at(float64(i)), want)
		if grant.First != (want != "page") {
			t.Errorf("%s: First = %v", want, grant.First)
		}
		q.Done("a", at(float64(i)), Outcome{})
	}
}

func TestPutBackKeepsTheSlot(t *testing.T) {
	q := New[string](Settings{})
	q.Add("a", start, time.Second, "1")
	q.Add("a", start, time.Second, "2")
	grant := take(t, q, start, "1")
	q.PutBack(grant)
	q.AddFirst("a", start, time.Second, "robots")
	q.Done("a", at(0.5), Outcome{Kind: Unsent})
	take(t, q, at(0.5), "robots") // the slot was not used up
	q.Done("a", at(1), Outcome{})
	idle(t, q, at(1), time.Second)
	take(t, q, at(2), "1")
	q.Done("a", at(2), Outcome{Kind: Unsent})
	take(t, q, at(2), "2")
	if got := q.State("a").Sent; got != 1 {
		t.Errorf("Sent = %d, want robots alone", got)
	}
}

func TestSetDelay(t *testing.T) {
	t.Run("in flight, from Done on", func(t *testing.T) {
		q := New[string](Settings{})
		q.AddFirst("a", start, time.Second, "robots")
		q.Add("a", start, time.Second, "1")
		take(t, q, start, "robots")
		q.SetDelay("a", 10*time.Second)
		q.Done("a", at(1), Outcome{})
		idle(t, q, at(1), 10*time.Second)
	})
	t.Run("at rest, from the last end", func(t *testing.T) {
		q := New[string](Settings{})
		q.Add("a", start, time.Second, "1")
		q.Add("a", start, time.Second, "2")
		take(t, q, start, "1")
		q.Done("a", at(1), Outcome{})
		q.SetDelay("a", 4*time.Second)
		idle(t, q, at(3), 2*time.Second)
	})
	t.Run("never shorter", func(t *testing.T) {
		q := New[string](Settings{})
		q.Add("a", start, 2*time.Second, "1")
		q.SetDelay("a", time.Second)
		q.SetDelay("a", -time.Second)
		if got := q.Delay("a"); got != 2*time.Second {
			t.Errorf("Delay = %v", got)
		}
	})
	t.Run("before the first item", func(t *testing.T) {
		q := New[string](Settings{})
		q.SetDelay("a", 3*time.Second)
		q.Add("a", start, time.Second, "1")
		if got := q.Delay("a"); got != 3*time.Second {
			t.Errorf("Delay = %v", got)
		}
	})
}

func TestBackOff(t *testing.T) {
	q := New[string](Settings{})
	for i := range 40 {
		q.Add("a", start, time.Second, fmt.Sprint(i))
	}
	now, n := start, 0
	send := func(o Outcome) time.Duration {
		t.Helper()
		take(t, q, now, fmt.Sprint(n))
		n++
		q.Done("a", now, o)
		_, _, wait := q.Next(now)
		now = now.Add(wait)
		return wait
	}
	for i, step := range []struct {
		o    Outcome
		want time.Duration
	}{
		{Outcome{Kind: BackOff}, time.Minute},
		{Outcome{Kind: BackOff}, 2 * time.Minute},
		{Outcome{Kind: BackOff, RetryAfter: 5 * time.Second}, 5 * time.Second},
		{Outcome{Kind: BackOff}, 4 * time.Minute},
		{Outcome{Kind: Failed}, time.Second},
		{Outcome{Kind: BackOff}, 8 * time.Minute},
		{Outcome{Kind: OK}, time.Second},
		{Outcome{Kind: BackOff}, time.Minute},
		{Outcome{Kind: BackOff, RetryAfter: 9e6 * time.Second}, 24 * time.Hour},
		{Outcome{Kind: BackOff, RetryAfter: time.Millisecond}, time.Second},
	} {
		if got := send(step.o); got != step.want {
			t.Errorf("step %d, %+v: wait %v, want %v", i, step.o, got, step.want)
		}
	}
	for range 12 {
		send(Outcome{Kind: BackOff})
	}
	if got := send(Outcome{Kind: BackOff}); got != 24*time.Hour {
		t.Errorf("it doubles to %v, want 24h", got)
	}
}

func TestConnectFailuresRestTheGroup(t *testing.T) {
	q := New[string](Settings{})
	for i := range 12 {
		q.Add("a", start, 0, fmt.Sprint(i))
	}
	kinds := []Kind{ConnectFailure, ConnectFailure, ConnectFailure, ConnectFailure, Failed,
		ConnectFailure, ConnectFailure, ConnectFailure, ConnectFailure, ConnectFailure}
	for i, kind := range kinds {
		take(t, q, start, fmt.Sprint(i))
		q.Done("a", start, Outcome{Kind: kind})
	}
	idle(t, q, start, Forever)
	q.Add("a", start, 0, "late")
	want := []Left[string]{{Group: "a", Items: []string{"10", "11", "late"}, Why: WhyRested,
		Slot: start}}
	if diff := cmp.Diff(want, q.TakeLeft()); diff != "" {
		t.Error(diff)
	}
	if q.TakeLeft() != nil || !q.Idle() {
		t.Error("left twice, or not idle")
	}
}

func TestHardStop(t *testing.T) {
	settings := Settings{HardStop: at(60)}
	t.Run("slot beyond it", func(t *testing.T) {
		q := New[string](settings)
		q.Add("a", at(61), time.Second, "1")
		q.Add("b", at(60), time.Second, "2")
		q.Add("c", at(59), time.Second, "3")
		want := []Left[string]{
			{Group: "a", Items: []string{"1"}, Why: WhySlot, Slot: at(61)},
			{Group: "b", Items: []string{"2"}, Why: WhySlot, Slot: at(60)},
		}
		if diff := cmp.Diff(want, q.TakeLeft()); diff != "" {
			t.Error(diff)
		}
		take(t, q, at(59), "3")
	})
	t.Run("Retry-After beyond it", func(t *testing.T) {
		q := New[string](settings)
		q.Add("a", start, time.Second, "1")
		q.Add("a", start, time.Second, "2")
		take(t, q, start, "1")
		q.Done("a", at(1), Outcome{Kind: BackOff, RetryAfter: time.Hour})
		want := []Left[string]{{Group: "a", Items: []string{"2"}, Why: WhyBackOff, Slot: at(3601)}}
		if diff := cmp.Diff(want, q.TakeLeft()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("it comes", func(t *testing.T) {
		q := New[string](settings)
		q.Add("a", start, time.Second, "1")
		q.Add("a", start, time.Second, "2")
		q.Add("b", start, time.Second, "3")
		take(t, q, start, "1")
		idle(t, q, at(60), Forever)
		if q.Pending() != 1 || q.InFlight() != 1 {
			t.Errorf("%d pending, %d in flight", q.Pending(), q.InFlight())
		}
		q.Done("a", at(61), Outcome{})
		q.Add("d", start, 0, "4")
		var names []string
		for _, l := range q.TakeLeft() {
			if l.Why != WhyStopped {
				t.Errorf("%s: %v", l.Group, l.Why)
			}
			names = append(names, l.Group+l.Items[0])
		}
		if diff := cmp.Diff([]string{"b3", "a2", "d4"}, names); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLongDelayAllowsOnePage(t *testing.T) {
	q := New[string](Settings{})
	q.AddFirst("a", start, time.Second, "robots")
	for _, item := range []string{"1", "2", "3"} {
		q.Add("a", start, time.Second, item)
	}
	take(t, q, start, "robots")
	q.SetDelay("a", 301*time.Second)
	q.Done("a", start, Outcome{})
	idle(t, q, start, 301*time.Second)
	take(t, q, at(301), "1")
	q.Done("a", at(302), Outcome{})
	want := []Left[string]{{Group: "a", Items: []string{"2", "3"}, Why: WhyLongDelay,
		Slot: at(603)}}
	if diff := cmp.Diff(want, q.TakeLeft()); diff != "" {
		t.Error(diff)
	}
}

// TestLongDelayOverRounds: a Crawl-delay of an hour under rounds of ten minutes. robots.txt takes
// the first slot, its page the next, in the round in which that slot falls.
func TestLongDelayOverRounds(t *testing.T) {
	var state State
	var sent []float64
	for round := range 13 {
		begin := at(float64(round) * 600)
		q := New[string](Settings{HardStop: begin.Add(600 * time.Second)})
		q.Restore("a", state)
		if round == 0 {
			q.AddFirst("a", begin, time.Second, "robots")
		}
		q.Add("a", begin, time.Second, "page")
		q.Add("a", begin, time.Second, "page")
		for now := begin; ; {
			grant, ok, wait := q.Next(now)
			if ok {
				sent = append(sent, now.Sub(start).Seconds())
				if grant.First {
					q.SetDelay("a", time.Hour)
				}
				q.Done("a", now, Outcome{})
				continue
			}
			if wait == Forever {
				break
			}
			now = now.Add(wait)
		}
		state = q.State("a")
	}
	if diff := cmp.Diff([]float64{0, 3600, 7200}, sent); diff != "" {
		t.Error(diff)
	}
}

func TestStateOutlivesTheQueue(t *testing.T) {
	q := New[string](Settings{})
	q.Add("a", start, time.Second, "1")
	take(t, q, start, "1")
	q.Done("a", at(1), Outcome{Kind: BackOff})
	state := q.State("a")
	want := State{Delay: time.Second, NextSlot: at(61), Pause: time.Minute, PausedTo: at(61),
		Sent: 1}
	if diff := cmp.Diff(want, state); diff != "" {
		t.Fatal(diff)
	}
	q = New[string](Settings{})
	q.Restore("a", state)
	q.Add("a", start, 0, "2")
	idle(t, q, at(60), time.Second)
	take(t, q, at(61), "2")
	q.Done("a", at(61), Outcome{Kind: BackOff})
	if got := q.State("a").PausedTo; !got.Equal(at(61 + 120)) {
		t.Errorf("the back-off starts afresh: %v", got.Sub(start))
	}
	if got := q.State("unknown"); got != (State{}) {
		t.Errorf("unknown group: %+v", got)
	}
}

func TestWaiting(t *testing.T) {
	q := New[string](Settings{})
	for i := range 840 {
		q.Add("big", start, time.Second, fmt.Sprint(i))
	}
	q.Add("slow", start, 20*time.Second, "1")
	q.Add("slow", start, 20*time.Second, "2")
	q.Restore("paused", State{PausedTo: at(60)})
	q.Add("paused", start, time.Second, "1")
	q.Add("done", start, 0, "1")
	take(t, q, start, "0")
	want := []Wait{
		{Group: "big", Pending: 839, InFlight: true, Delay: time.Second, NextSlot: start},
		{Group: "paused", Pending: 1, Delay: time.Second, NextSlot: at(60), Paused: true},
		{Group: "slow", Pending: 2, Delay: 20 * time.Second, NextSlot: start},
	}
	if diff := cmp.Diff(want, q.Waiting(3)); diff != "" {
		t.Error(diff)
	}
	if got := q.Waiting(0); got != nil {
		t.Errorf("Waiting(0) = %v", got)
	}
}

func TestDoneWithoutGrantPanics(t *testing.T) {
	for name, prepare := range map[string]func(*Queue[string]){
		"unknown group": func(*Queue[string]) {},
		"nothing sent":  func(q *Queue[string]) { q.Add("a", start, 0, "1") },
		"twice": func(q *Queue[string]) {
			q.Add("a", start, 0, "1")
			q.Next(start)
			q.Done("a", start, Outcome{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := New[string](Settings{})
			prepare(q)
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			q.Done("a", start, Outcome{})
		})
	}
}
