package state

import (
	"cmp"

	"seine/jobs"
)

// Pause holds rounds on request: nothing of them starts, their leases are kept
// and their clocks stand. Whoever leads takes it from the store; the log makes
// it hold at the same moment for all.
type Pause struct {
	Round  uint64 `json:"round,omitempty"` // 0: every round
	At     int64  `json:"at"`              // ms; when it was asked for
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Resume ends the pause.
type Resume struct{}

func (Pause) kind() Kind  { return KindPause }
func (Resume) kind() Kind { return KindResume }

// Held says whether the pause holds a job. It holds rounds alone, for they are
// what troubles web servers, and no round that was cancelled: that one shall
// end.
func (s *State) Held(j *Job) bool {
	return s.Paused != nil && j.Spec.Kind == jobs.KindRound && !j.Cancelled &&
		(s.Paused.Round == 0 || s.Paused.Round == j.Spec.Job)
}

// Waits says whether the pause keeps a submission from being planned.
func (s *State) Waits(q Submission) bool {
	return s.Paused != nil && s.Paused.Round == 0 && q.Kind == jobs.KindRound
}

func (s *State) pause(p Pause) Result {
	s.release()
	s.Paused = &p
	for _, j := range s.Open {
		s.stand(j)
	}
	return Result{}
}

func (s *State) resume(Resume) Result {
	s.release()
	return Result{}
}

// stand stops the clock of a round that is fetching, if it is held.
func (s *State) stand(j *Job) {
	if s.Held(j) && j.Deadline > 0 {
		j.HeldAt = cmp.Or(j.HeldAt, s.Clock)
	}
}

// release lets all clocks go on: the hard stop moves by the time that they
// stood.
func (s *State) release() {
	s.Paused = nil
	for _, j := range s.Open {
		if j.HeldAt > 0 {
			j.Deadline += s.Clock - j.HeldAt
			j.HeldAt = 0
		}
	}
}
