package state

import (
	"errors"
	"testing"

	"seine/formats/layout"
	"seine/jobs"
)

// fetching is a state with a round of 60 s that is fetching since Clock.
func fetching(t *testing.T) (*State, *Job) {
	t.Helper()
	s := New()
	q := roundOf("r")
	q.Round.Duration = 60_000
	must(t, s, q)
	must(t, s, Join{Worker: "w"})
	must(t, s, Open{Spec: jobs.Spec{Job: 1, Now: 1, Kind: jobs.KindRound, RequestID: "r",
		Round: q.Round, Ranges: layout.Split(1)}})
	ref := jobs.TaskRef{Job: 1, Stage: jobs.StageGenerate}
	r := must(t, s, Grant{Task: ref, Worker: "w"})
	must(t, s, Complete{AttemptRef: r.Task.AttemptRef()})
	must(t, s, Advance{Job: 1, Stage: jobs.StageGenerate})
	return s, s.Writing()
}

func at(t *testing.T, s *State, wall int64, p Payload) Result {
	t.Helper()
	c, err := NewCommand(p, wall)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Apply(s, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPauseMovesTheHardStop(t *testing.T) {
	grant := Grant{Task: jobs.TaskRef{Job: 1, Stage: jobs.StageFetch}, Worker: "w"}
	for _, test := range []struct {
		name  string
		pause Pause
		held  bool
	}{
		{"of the crawl", Pause{At: 1, By: "o"}, true},
		{"of the round", Pause{Round: 1, At: 1, By: "o"}, true},
		{"of another round", Pause{Round: 2, At: 1, By: "o"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, j := fetching(t)
			stop := j.Deadline
			begin := s.Clock
			at(t, s, begin+10_000, test.pause)
			if r := at(t, s, begin+20_000, grant); errors.Is(r.Err, ErrPhase) != test.held {
				t.Errorf("a grant while paused: %v", r.Err)
			}
			if got := j.Stopped(stop + 1); got == test.held {
				t.Errorf("Stopped beyond the old hard stop = %v", got)
			}
			// Pausing again, or something else, does not wind the clock up.
			again := test.pause
			again.Reason = "still"
			at(t, s, begin+30_000, again)
			at(t, s, begin+70_000, Resume{})
			want := stop
			if test.held {
				want += 60_000
			}
			if j.Deadline != want || j.HeldAt != 0 {
				t.Errorf("the hard stop is %d, want %d; held at %d", j.Deadline, want, j.HeldAt)
			}
			at(t, s, begin+80_000, Resume{})
			if j.Deadline != want {
				t.Errorf("a second resume moved the hard stop to %d", j.Deadline)
			}
		})
	}
}

func TestPauseHoldsRoundsAlone(t *testing.T) {
	s, j := fetching(t)
	must(t, s, Pause{At: 1, By: "o"})
	if !s.Held(j) || !s.Waits(roundOf("x")) {
		t.Error("a paused crawl goes on")
	}
	if s.Held(&Job{Spec: jobs.Spec{Kind: jobs.KindInject}}) || s.Waits(Submission{Kind: jobs.KindInject}) {
		t.Error("an inject is held")
	}
	must(t, s, Cancel{JobRef: JobRef{Job: 1}})
	if s.Held(j) || !j.Stopped(s.Clock) {
		t.Error("a cancelled round is held")
	}
	stop := j.Deadline
	must(t, s, Resume{})
	if j.Deadline != stop {
		t.Error("resume moved the hard stop of a cancelled round")
	}
}

func TestARoundThatBeginsToFetchWhilePausedHasItsWholeTime(t *testing.T) {
	s, j := fetching(t)
	j.Stage = jobs.StageGenerate
	must(t, s, Pause{At: 1, By: "o"})
	for i := range j.Current() {
		j.Current()[i].Phase = Done
	}
	begin := s.Clock
	at(t, s, begin+5_000, Advance{Job: 1, Stage: jobs.StageGenerate})
	at(t, s, begin+65_000, Resume{})
	if want := begin + 65_000 + 60_000; j.Deadline != want {
		t.Errorf("the hard stop is %d, want %d", j.Deadline, want)
	}
}
