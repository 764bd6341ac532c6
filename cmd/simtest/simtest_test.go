package main

import (
	"testing"
)

// TestRulesHold is a short batch of what the command does.
func TestRulesHold(t *testing.T) {
	found, was := simulate(t, 1, "", false)
	for _, what := range found {
		t.Error(what)
	}
	if was.faults < 20 {
		t.Errorf("only %d faults", was.faults)
	}
}

// TestMissingFencesAreSeen leaves out one fence at a time: a rule breaks, and it is
// seen. This proves that TestRulesHold can fail. Each begins with a seed that shows it
// soon.
func TestMissingFencesAreSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs; they are made without the race detector")
	}
	const seeds = 20
	first := map[string]uint64{"ack": 1, "lease": 1, "mono": 7, "quiet": 4}
	for name := range fences {
		t.Run(name, func(t *testing.T) {
			for seed := first[name]; seed < first[name]+seeds; seed++ {
				if found, _ := simulate(t, seed, name, false); len(found) > 0 {
					t.Logf("seed %d: %s", seed, found[0])
					return
				}
			}
			t.Errorf("%d runs without the fence %q broke nothing", seeds, name)
		})
	}
}
