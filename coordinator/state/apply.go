package state

import (
	"encoding/json"
	"fmt"
	"slices"

	"seine/jobs"
)

// Result is what a command brought.
type Result struct {
	// Job is the number of the job that was submitted; 0: it is queued.
	Job uint64
	// Task is what was granted.
	Task *jobs.Task
	// Err says why the command changed nothing: ErrNoJob, ErrPhase, ErrRefused
	// or jobs.ErrStaleAttempt, wrapped.
	Err error
}

// Apply changes the state by one command. It depends on nothing else. A command
// that cannot be obeyed changes nothing and says so in the result; an error
// wraps ErrUnknown, changes nothing either, and must stop the node.
func Apply(s *State, c Command) (Result, error) {
	if c.Format < 1 || c.Format > Format {
		return Result{}, fmt.Errorf("%w (format %d, known is %d)", ErrUnknown, c.Format, Format)
	}
	do, err := decode(c)
	if err != nil {
		return Result{}, err
	}
	s.Clock = max(s.Clock, c.Wall)
	if c.Format > s.Format {
		return refusal(ErrRefused, "%s needs format %d of commands, and not all coordinators are known to "+
			"know it: once all run this seine, try again", c.Kind, c.Format), nil
	}
	r := do(s)
	return r, nil
}

// decode reads the payload and returns what it does.
func decode(c Command) (func(*State) Result, error) {
	switch c.Kind {
	case KindSubmit:
		return bind(c, (*State).submit)
	case KindOpen:
		return bind(c, (*State).open)
	case KindRefuse:
		return bind(c, (*State).refuse)
	case KindGrant:
		return bind(c, (*State).grant)
	case KindComplete:
		return bind(c, (*State).complete)
	case KindFail:
		return bind(c, (*State).fail)
	case KindAdvance:
		return bind(c, (*State).advance)
	case KindBlock:
		return bind(c, (*State).block)
	case KindClose:
		return bind(c, (*State).close)
	case KindPublishing:
		return bind(c, (*State).publish)
	case KindCommitted:
		return bind(c, (*State).committed)
	case KindCancel:
		return bind(c, (*State).cancel)
	case KindRerun:
		return bind(c, (*State).rerun)
	case KindPartial:
		return bind(c, (*State).commitPartial)
	case KindJoin:
		return bind(c, (*State).join)
	case KindLeave:
		return bind(c, (*State).leave)
	case KindTakeover:
		return bind(c, (*State).takeover)
	case KindPause:
		return bind(c, (*State).pause)
	case KindResume:
		return bind(c, (*State).resume)
	case KindRaise:
		return decodeRaise(c)
	case KindRepeat:
		return bind(c, (*State).repeat)
	case KindAgain:
		return bind(c, (*State).again)
	case KindEndLoop:
		return bind(c, (*State).endLoop)
	}
	return nil, fmt.Errorf("%w (kind %q)", ErrUnknown, c.Kind)
}

func bind[P Payload](c Command, do func(*State, P) Result) (func(*State) Result, error) {
	var p P
	if err := json.Unmarshal(c.Payload, &p); err != nil {
		return nil, fmt.Errorf("%w (%s: %v)", ErrUnknown, c.Kind, err)
	}
	return func(s *State) Result { return do(s, p) }, nil
}

// decodeRaise stops a node that would not know what comes next.
func decodeRaise(c Command) (func(*State) Result, error) {
	var p Raise
	if err := json.Unmarshal(c.Payload, &p); err != nil || p.Format > Format {
		return nil, fmt.Errorf("%w (from now on up to format %d, known is %d)", ErrUnknown, p.Format,
			Format)
	}
	return func(s *State) Result {
		s.Format = max(s.Format, p.Format)
		return Result{}
	}, nil
}

func refusal(kind error, format string, args ...any) Result {
	return Result{Err: fmt.Errorf(format+": %w", append(args, kind)...)}
}

// Find looks a request up: the number of its job, 0 while it is queued.
func (s *State) Find(requestID string) (job uint64, known bool) {
	for _, j := range s.Open {
		if j.Spec.RequestID == requestID {
			return j.Spec.Job, true
		}
	}
	for _, e := range slices.Backward(s.Ended) {
		if e.RequestID == requestID {
			return e.Job, true
		}
	}
	return 0, s.queued(requestID) >= 0
}

func (s *State) queued(requestID string) int {
	return slices.IndexFunc(s.Queue, func(q Submission) bool { return q.RequestID == requestID })
}

func (s *State) submit(p Submission) Result {
	if job, known := s.Find(p.RequestID); known {
		return Result{Job: job}
	}
	if err := p.check(); err != nil {
		return refusal(ErrRefused, "submit %q: %v", p.RequestID, err)
	}
	if len(s.Queue) >= QueueLimit {
		return refusal(ErrRefused, "submit %q: %d wait already", p.RequestID, len(s.Queue))
	}
	s.Queue = append(s.Queue, p)
	return Result{}
}

func (p Submission) check() error {
	if p.RequestID == "" {
		return fmt.Errorf("no request id")
	}
	if _, err := jobs.Stages(p.Kind); err != nil {
		return err
	}
	filled := map[jobs.Kind]bool{
		jobs.KindRound:   p.Round != nil,
		jobs.KindInject:  p.Inject != nil,
		jobs.KindRequeue: p.Requeue != nil,
		jobs.KindRestore: p.Restore != nil,
		jobs.KindPrune:   p.Prune != nil,
		jobs.KindCompact: p.Compact != nil,
	}
	for kind, ok := range filled {
		if ok != (kind == p.Kind) {
			return fmt.Errorf("a %s needs exactly the field %s", p.Kind, p.Kind)
		}
	}
	if p.Round != nil && p.Round.OnFailed != "commit" && p.Round.OnFailed != "block" {
		return fmt.Errorf("on_failed is %q: say commit or block", p.Round.OnFailed)
	}
	return nil
}

func (s *State) open(p Open) Result {
	spec := p.Spec
	if _, ok := s.Job(spec.Job); ok {
		return Result{Job: spec.Job}
	}
	stages, err := jobs.Stages(spec.Kind)
	switch {
	case err != nil:
		return refusal(ErrRefused, "open job %d: %v", spec.Job, err)
	case len(s.Open) > 0:
		return refusal(ErrPhase, "open job %d: job %d is open", spec.Job, s.Open[0].Spec.Job)
	case spec.Job <= s.LastJob, spec.Now <= s.LastNow, len(spec.Ranges) == 0:
		return refusal(ErrPhase, "open job %d with now %d and %d ranges after job %d with now %d",
			spec.Job, spec.Now, len(spec.Ranges), s.LastJob, s.LastNow)
	}
	j := &Job{Spec: spec, Opened: s.Clock, Phase: Running, Outcome: Commit,
		Tasks: map[jobs.Stage][]Task{}}
	s.enter(j, stages[0])
	if i := s.queued(spec.RequestID); i >= 0 {
		s.Queue = slices.Delete(s.Queue, i, i+1)
	} else if spec.Kind != jobs.KindCompact {
		// Cancelled while it was planned. Its spec is in the store for good, so
		// it ends as a job that changes nothing.
		j.Phase, j.Outcome, j.Cancelled = Publishing, Discard, true
	}
	s.Open = append(s.Open, j)
	s.LastJob, s.LastNow = spec.Job, spec.Now
	return Result{Job: spec.Job}
}

func (s *State) refuse(p Refuse) Result {
	i := s.queued(p.RequestID)
	if i < 0 {
		return refusal(ErrNoJob, "refuse %q", p.RequestID)
	}
	q := s.Queue[i]
	s.Queue = slices.Delete(s.Queue, i, i+1)
	s.remember(Summary{RequestID: q.RequestID, Kind: q.Kind, Outcome: Refused, Ended: s.Clock,
		Error: p.Error})
	return Result{}
}

func (s *State) remember(e Summary) {
	s.Ended = append(s.Ended, e)
	if n := len(s.Ended) - Summaries; n > 0 {
		s.Ended = slices.Delete(s.Ended, 0, n)
	}
	s.settleLoop(e)
}

func (s *State) join(p Join) Result {
	if p.Worker != "" && s.Workers[p.Worker] == nil {
		s.Workers[p.Worker] = &Worker{ID: p.Worker, Joined: s.Clock}
	}
	return Result{}
}

func (s *State) leave(p Leave) Result {
	delete(s.Workers, p.Worker)
	for _, j := range s.Open {
		for i := range j.Current() {
			if t := &j.Current()[i]; t.Phase == InProgress && t.Worker == p.Worker {
				t.Phase = Waiting
			}
		}
	}
	return Result{}
}
