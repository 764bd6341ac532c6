package state

import (
	"errors"
	"fmt"
	"testing"

	"seine/formats/layout"
	"seine/jobs"
)

func loopOf(times int64) Loop {
	return Loop{RequestID: "l", Times: times, Round: jobs.Round{OnFailed: "commit"}}
}

// runRound opens the oldest submission and commits it.
func runRound(t *testing.T, s *State, counts map[string]int64) {
	t.Helper()
	n := s.LastJob + 1
	must(t, s, Open{Spec: jobs.Spec{Job: n, Now: int64(n), Kind: jobs.KindRound, Ranges: layout.Split(1),
		RequestID: s.Queue[0].RequestID, Round: s.Queue[0].Round}})
	must(t, s, Publish{Job: n, Outcome: Discard})
	must(t, s, Committed{Job: n, Counts: counts})
}

func TestLoopRunsItsRounds(t *testing.T) {
	s := New()
	s.Format = Format
	must(t, s, loopOf(2))
	must(t, s, loopOf(2)) // the answer to the first was lost
	if len(s.Loops) != 1 {
		t.Fatalf("%d loops", len(s.Loops))
	}
	for n := int64(1); n <= 2; n++ {
		if s.Repeats(s.Clock, nil) == nil {
			t.Fatalf("round %d is not due", n)
		}
		must(t, s, Again{RequestID: "l", N: n})
		if r := try(t, s, Again{RequestID: "l", N: n}); !errors.Is(r.Err, ErrPhase) || len(s.Queue) != 1 {
			t.Errorf("round %d twice: %v, %d wait", n, r.Err, len(s.Queue))
		}
		if want := fmt.Sprintf("l-%d", n); s.Queue[0].RequestID != want {
			t.Errorf("the round is %q, want %q", s.Queue[0].RequestID, want)
		}
		if s.Repeats(s.Clock+1e9, nil) != nil {
			t.Error("another round is due while one waits")
		}
		runRound(t, s, nil)
	}
	if len(s.Loops) != 0 {
		t.Errorf("it goes on after its times: %+v", s.Loops[0])
	}
	last := s.Ended[len(s.Ended)-1]
	if last.RequestID != "l" || last.Kind != KindLoop || last.Counts["rounds"] != 2 {
		t.Errorf("its end is remembered as %+v", last)
	}
	must(t, s, loopOf(2)) // asked again after its end: it is the same one
	if len(s.Loops) != 0 {
		t.Error("it began again")
	}
}

func TestLoopPauses(t *testing.T) {
	s := New()
	s.Format = Format
	l := loopOf(0)
	l.Every = 5_000_000
	must(t, s, l)
	must(t, s, Again{RequestID: "l", N: 1})
	runRound(t, s, map[string]int64{"fetch_bytes": 1})
	if s.Repeats(s.Clock+4_000_000, nil) != nil || s.Repeats(s.Clock+5_000_000, nil) == nil {
		t.Errorf("next at %d, the clock says %d", s.Loops[0].Next, s.Clock)
	}
	if s.Repeats(s.Clock+5_000_000, map[string]int64{"l": s.Clock + 6_000_000}) != nil {
		t.Error("what waits for a slot is not waited for")
	}
	must(t, s, EndLoop{RequestID: "l"})
	if e := s.Ended[len(s.Ended)-1]; !e.Cancelled || len(s.Loops) != 0 {
		t.Errorf("cancelled: %+v", e)
	}
	if r := try(t, s, EndLoop{RequestID: "l"}); !errors.Is(r.Err, ErrNoJob) {
		t.Errorf("cancelled twice: %v", r.Err)
	}
}

// Rounds that bring nothing end a loop until idle, and slow one for ever.
func TestLoopOfEmptyRounds(t *testing.T) {
	for _, untilIdle := range []bool{true, false} {
		t.Run(fmt.Sprint(untilIdle), func(t *testing.T) {
			s := New()
			s.Format = Format
			l := loopOf(0)
			l.UntilIdle = untilIdle
			must(t, s, l)
			for n := range int64(idleRounds) {
				must(t, s, Again{RequestID: "l", N: n + 1})
				runRound(t, s, nil)
			}
			if ended := len(s.Loops) == 0; ended != untilIdle {
				t.Fatalf("ended: %v", ended)
			}
			if !untilIdle && s.Loops[0].Next < s.Clock+idlePause {
				t.Error("it does not pause")
			}
		})
	}
}

// A group whose members do not all know loops has none in its log.
func TestLoopNeedsTheFormat(t *testing.T) {
	s := New()
	if r := try(t, s, loopOf(1)); !errors.Is(r.Err, ErrRefused) || len(s.Loops) != 0 {
		t.Errorf("a loop in format 1: %v", r.Err)
	}
	must(t, s, Raise{Format: 2})
	must(t, s, loopOf(1))
	b, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Restore(b)
	if err != nil || again.Format != 2 || len(again.Loops) != 1 {
		t.Errorf("restored %+v, %v", again, err)
	}
	c, err := NewCommand(Raise{Format: Format + 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Apply(s, c); !errors.Is(err, ErrUnknown) {
		t.Errorf("raised beyond what is known: %v", err)
	}
}
