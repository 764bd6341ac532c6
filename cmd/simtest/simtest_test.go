package main

import (
	"slices"
	"strings"
	"testing"
)

// TestRulesHold is a short batch of what the command does: one run. It is struck as its
// seed plans it, whatever order its goroutines run in.
func TestRulesHold(t *testing.T) {
	found, was := simulate(t, 1, fence{}, false)
	for _, what := range found {
		t.Error(what)
	}
	if was.faults < 100 {
		t.Errorf("only %d faults", was.faults)
	}
	if want := (plan{seed: 1}).first(len(was.strikes)); !slices.Equal(was.strikes, want) {
		t.Errorf("it was struck by\n%v, want\n%v", was.strikes, want)
	}
}

// TestMissingFencesAreSeen leaves out one fence at a time: a rule breaks, and it is
// seen. This proves that TestRulesHold can fail, and by what. What shows only in that a
// crawl does not end may be the faults' own doing: then it must end with the fence in its
// place, under the same faults. (For all of them: -aim.)
func TestMissingFencesAreSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs; they are made without the race detector")
	}
	for _, f := range fences {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for seed := f.first; seed < f.first+uint64(f.tries); seed++ {
				found, _ := simulate(t, seed, f, false)
				if len(found) == 0 {
					continue
				}
				t.Logf("seed %d: %s", seed, found[0])
				if !strings.Contains(found[0], "does not end") {
					return
				}
				for _, what := range stormy(t, seed, f.mended(), false).broken {
					t.Errorf("with the fence in its place, %s (go run ./cmd/simtest -seed %d -runs 1 -v%s)",
						what, seed, f.mended().flags())
				}
				return
			}
			t.Errorf("%d runs without the fence %q broke nothing: "+
				"go run ./cmd/simtest -seed %d -runs %d -v%s", f.tries, f.name, f.first, f.tries, f.flags())
		})
	}
}

// TestTriesAreEnough holds how many runs are made without a fence to how many of them
// break a rule: less than one test in a million finds nothing.
func TestTriesAreEnough(t *testing.T) {
	for _, f := range fences {
		miss := 1.0
		for range f.tries {
			miss *= 1 - f.share
		}
		if miss >= 1e-6 {
			t.Errorf("%s: %d runs of which %.0f %% break a rule find nothing with probability %.1g",
				f.name, f.tries, 100*f.share, miss)
		}
	}
}
