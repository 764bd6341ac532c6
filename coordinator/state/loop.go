package state

import (
	"fmt"
	"maps"
	"slices"

	"seine/jobs"
)

// KindLoop is the kind under which the end of a loop is remembered.
const KindLoop jobs.Kind = "loop"

const (
	// LoopLimit bounds the loops at a time.
	LoopLimit = 16
	// idleRounds is how many rounds in a row may bring nothing before what keeps
	// them from it is taken to keep the next one, too.
	idleRounds = 3
	// idlePause is how long a loop that goes on for ever then waits, ms.
	idlePause = 60_000
)

// Loop submits one round after another. It is in the log, so that a change of
// the leader neither loses nor doubles it.
type Loop struct {
	RequestID string     `json:"request_id"` // names the loop; its rounds are ID-1, ID-2, …
	Settings  uint64     `json:"settings,omitempty"`
	Round     jobs.Round `json:"round"`
	// Every is the time from the beginning of a round to that of the next, ms; 0:
	// the next begins when one has ended.
	Every int64 `json:"every,omitempty"`
	// Times is how many rounds are run; 0: no limit.
	Times int64 `json:"times,omitempty"`
	// UntilIdle ends the loop when nothing is due, nor waits for a slot.
	UntilIdle bool `json:"until_idle,omitempty"`
}

// Again submits the next round of a loop.
type Again struct {
	RequestID string `json:"request_id"` // of the loop
	N         int64  `json:"n"`          // of the round, from 1
}

// EndLoop ends a loop; a round of it that runs goes on to its end.
type EndLoop struct {
	RequestID string `json:"request_id"`
	Idle      bool   `json:"idle,omitempty"` // nothing is due; else somebody cancelled it
}

func (Loop) kind() Kind    { return KindRepeat }
func (Again) kind() Kind   { return KindAgain }
func (EndLoop) kind() Kind { return KindEndLoop }

// Looping is a loop under way.
type Looping struct {
	Loop
	Begun   int64  `json:"begun"`             // rounds submitted so far
	Current string `json:"current,omitempty"` // request id of the round that has not ended
	Next    int64  `json:"next"`              // ms; the next round is not submitted before
	Since   int64  `json:"since"`             // ms; when the last one was submitted
	Idle    int    `json:"idle,omitempty"`    // rounds in a row that brought nothing
}

func (s *State) loop(id string) (int, *Looping) {
	i := slices.IndexFunc(s.Loops, func(l *Looping) bool { return l.RequestID == id })
	if i < 0 {
		return i, nil
	}
	return i, s.Loops[i]
}

func (s *State) repeat(p Loop) Result {
	if _, known := s.Find(p.RequestID); known {
		return Result{}
	}
	if _, l := s.loop(p.RequestID); l != nil {
		return Result{}
	}
	round := Submission{RequestID: p.RequestID, Kind: jobs.KindRound, Round: &p.Round}
	err := round.check()
	switch {
	case err != nil:
		return refusal(ErrRefused, "repeat %q: %v", p.RequestID, err)
	case p.Every < 0 || p.Times < 0:
		return refusal(ErrRefused, "repeat %q: a number is below 0", p.RequestID)
	case len(s.Loops) >= LoopLimit:
		return refusal(ErrRefused, "repeat %q: %d loops run already", p.RequestID, len(s.Loops))
	}
	s.Loops = append(s.Loops, &Looping{Loop: p, Next: s.Clock})
	return Result{}
}

func (s *State) again(p Again) Result {
	_, l := s.loop(p.RequestID)
	switch {
	case l == nil:
		return refusal(ErrNoJob, "repeat %q", p.RequestID)
	case l.Current != "" || p.N != l.Begun+1:
		return refusal(ErrPhase, "begin round %d of loop %q after %d", p.N, p.RequestID, l.Begun)
	}
	round := l.Round
	id := fmt.Sprintf("%s-%d", l.RequestID, p.N)
	r := s.submit(Submission{RequestID: id, Kind: jobs.KindRound, Settings: l.Settings, Round: &round})
	if r.Err == nil {
		l.Begun, l.Current, l.Since = p.N, id, s.Clock
	}
	return r
}

func (s *State) endLoop(p EndLoop) Result {
	i, l := s.loop(p.RequestID)
	if l == nil {
		return refusal(ErrNoJob, "end loop %q", p.RequestID)
	}
	s.Loops = slices.Delete(s.Loops, i, i+1)
	s.remember(Summary{RequestID: l.RequestID, Kind: KindLoop, Outcome: Commit, Ended: s.Clock,
		Cancelled: !p.Idle, Counts: map[string]int64{"rounds": l.Begun}})
	return Result{}
}

// settleLoop notes that a round of a loop has ended, and ends the loop if it was
// the last.
func (s *State) settleLoop(e Summary) {
	i := slices.IndexFunc(s.Loops, func(l *Looping) bool { return l.Current == e.RequestID })
	if e.RequestID == "" || i < 0 {
		return
	}
	l := s.Loops[i]
	l.Current = ""
	l.Next = max(s.Clock, l.Since+l.Every)
	if l.Idle++; brought(e.Counts) {
		l.Idle = 0
	}
	end := Summary{RequestID: l.RequestID, Kind: KindLoop, Outcome: Commit, Ended: s.Clock,
		Counts: map[string]int64{"rounds": l.Begun}}
	switch {
	case e.Outcome == Refused:
		end.Error = e.Error
	case l.Times > 0 && l.Begun >= l.Times:
	case l.Idle >= idleRounds && l.UntilIdle:
		end.Error = fmt.Sprintf("%d rounds in a row brought nothing", l.Idle)
	case l.Idle >= idleRounds:
		l.Next = max(l.Next, s.Clock+idlePause)
		return
	default:
		return
	}
	s.Loops = slices.Delete(s.Loops, i, i+1)
	s.remember(end)
}

// brought says whether a round moved the crawl on.
func brought(counts map[string]int64) bool {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		switch name {
		case "fetch_bytes", "generate_refused", "generate_deferred":
			if counts[name] > 0 {
				return true
			}
		}
	}
	return false
}

// Repeats is the first loop whose next round is due, or nil. A round that is
// open or waits goes first.
func (s *State) Repeats(now int64, notBefore map[string]int64) *Looping {
	for _, l := range s.Loops {
		if l.Current == "" && now >= max(l.Next, notBefore[l.RequestID]) {
			return l
		}
	}
	return nil
}
