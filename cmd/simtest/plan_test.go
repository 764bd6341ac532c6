package main

import (
	"slices"
	"testing"
	"time"
)

// first are the first strikes of a plan.
func (p plan) first(n int) (all []strike) {
	for s := range p.strikes() {
		if len(all) == n {
			break
		}
		all = append(all, s)
	}
	return all
}

// TestPlanIsOfTheSeed: the same seed plans the same faults, another seed others; and
// all kinds come, with clocks set by seconds and by days.
func TestPlanIsOfTheSeed(t *testing.T) {
	const n = 4000
	a := plan{seed: 7}.first(n)
	if !slices.Equal(a, plan{seed: 7}.first(n)) {
		t.Error("two plans of one seed differ")
	}
	if b := (plan{seed: 8}).first(n); slices.Equal(a[:3], b[:3]) {
		t.Error("two seeds plan the same")
	}
	came := map[kind]int{}
	least, most, back := time.Hour, time.Duration(0), 0
	for i, s := range a {
		came[s.kind]++
		least, most = min(least, s.by.Abs()), max(most, s.by.Abs())
		if s.by < 0 {
			back++
		}
		if i > 0 && s.at < a[i-1].at || s.lasts > longest[s.kind] {
			t.Errorf("strike %d: %v", i, s)
		}
	}
	for k := range kinds {
		if came[k] < n/400 {
			t.Errorf("%v came %d times of %d", k, came[k], n)
		}
	}
	if least > 2*time.Second || most < 48*time.Hour || back < n/2 || back > n*9/10 {
		t.Errorf("clocks are set by %v to %v, %d of %d times back", least, most, back, n)
	}
}

// TestFatesAreOfTheRequest: what becomes of a request follows from who asks what for
// which time, and not from when it is asked.
func TestFatesAreOfTheRequest(t *testing.T) {
	p, other := plan{seed: 7}, plan{seed: 8}
	const n = 6000
	failed, same := 0, 0
	var waited time.Duration
	for i := range n {
		f := p.ofRequest("worker-1", "get commits/1", i)
		if f != p.ofRequest("worker-1", "get commits/1", i) {
			t.Fatal("a request has two fates")
		}
		if f.before && f.after {
			t.Error("a request failed twice")
		}
		if f.before || f.after {
			failed++
		}
		if f == other.ofRequest("worker-1", "get commits/1", i) ||
			f == p.ofRequest("worker-2", "get commits/1", i) {
			same++
		}
		waited += f.pause
	}
	if want := n / failOneIn; failed < want*2/3 || failed > want*3/2 {
		t.Errorf("%d of %d requests failed, want about %d", failed, n, want)
	}
	if same > n/3 { // most pauses are next to none
		t.Errorf("%d requests have the same fate for another seed or process", same)
	}
	if mean := waited / n; mean < slowest/40 || mean > slowest/10 {
		t.Errorf("a request takes %v in the mean", mean)
	}
}
