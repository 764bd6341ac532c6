package state

import (
	"slices"

	"seine/formats/layout"
	"seine/jobs"
)

// deathLimit bounds what a task remembers of its deaths.
const deathLimit = 256

func (s *State) grant(p Grant) Result {
	j, t, ok := s.Task(p.Task)
	switch {
	case !ok:
		return refusal(ErrNoJob, "grant %s", p.Task)
	case j != s.Writing() || j.Phase != Running || j.Stage != p.Task.Stage || t.Phase != Waiting:
		return refusal(ErrPhase, "grant %s", p.Task)
	case s.Held(j):
		return refusal(ErrPhase, "grant %s: the round is paused", p.Task)
	case s.Workers[p.Worker] == nil:
		return refusal(ErrPhase, "grant %s: worker %q is not known", p.Task, p.Worker)
	}
	s.Quiet = 0 // who leads has waited
	t.Phase, t.Worker = InProgress, p.Worker
	t.Attempt = layout.Attempt{Epoch: s.Epoch, N: t.Attempt.N + 1}
	if j.Stopped(s.Clock) {
		t.Closing = true
	}
	task := j.Assignment(p.Task.Index)
	return Result{Job: p.Task.Job, Task: &task}
}

// Stopped says whether the hard stop of fetching has come. It does not while a
// pause makes the clock stand.
func (j *Job) Stopped(now int64) bool {
	return j.Stage == jobs.StageFetch &&
		(j.Cancelled || j.Deadline > 0 && j.HeldAt == 0 && now >= j.Deadline)
}

// newest finds the task of an attempt, if no newer one has it.
func (s *State) newest(ref jobs.AttemptRef, what string) (*Task, Result) {
	_, t, ok := s.Task(ref.TaskRef)
	if !ok || t.Attempt != ref.Attempt || t.Worker == "" { // nobody had it yet
		return nil, refusal(jobs.ErrStaleAttempt, "%s %s", what, ref)
	}
	return t, Result{}
}

// complete hears the newest attempt even when its lease has lapsed: what it
// left counts in the store, and nobody else has begun.
func (s *State) complete(p Complete) Result {
	t, r := s.newest(p.AttemptRef, "complete")
	if t == nil || t.Phase == Done {
		return r
	}
	j, _ := s.Job(p.Job)
	if j.Stage != p.Stage || j.Phase == Publishing {
		return refusal(jobs.ErrStaleAttempt, "complete %s", p.AttemptRef)
	}
	t.Phase, t.Result = Done, p.Result
	t.Error, t.NotBefore, t.Deaths = "", 0, nil
	if _, failed := j.Settled(); !failed && j.Phase == Blocked {
		j.Phase = Running // it came late, and nobody need decide any more
	}
	return Result{Job: p.Job}
}

func (s *State) fail(p Fail) Result {
	t, r := s.newest(p.AttemptRef, "fail")
	if t == nil {
		return r
	}
	if t.Phase != InProgress {
		return refusal(jobs.ErrStaleAttempt, "fail %s", p.AttemptRef)
	}
	t.Phase = Waiting
	if p.Excused {
		return Result{Job: p.Job}
	}
	t.Error = p.Error
	t.die(p.Parsing)
	t.Failures++
	// A cause that passes (a store that is away) shall not eat all tries in a
	// moment: 2 s, 4 s.
	t.NotBefore = s.Clock + 1000<<t.Failures
	if t.Failures >= Tries {
		t.Phase = Failed
	}
	return Result{Job: p.Job}
}

// die counts a death for everything that was being parsed.
func (t *Task) die(parsing []string) {
	for _, url := range parsing {
		if t.Deaths == nil {
			t.Deaths = map[string]int{}
		}
		if _, known := t.Deaths[url]; known || len(t.Deaths) < deathLimit {
			t.Deaths[url]++
		}
	}
}

// again gives a failed task its tries back.
func (t *Task) again() {
	t.Phase, t.Failures, t.NotBefore = Waiting, 0, 0
}

// enter begins a stage of a job.
func (s *State) enter(j *Job, stage jobs.Stage) {
	j.Stage, j.Since = stage, s.Clock
	tasks := make([]Task, len(j.Spec.Ranges))
	for i := range tasks {
		tasks[i].Phase = Waiting
	}
	j.Tasks[stage] = tasks
	s.setDeadline(j)
}

// setDeadline gives fetching its whole time, from now.
func (s *State) setDeadline(j *Job) {
	if j.Stage == jobs.StageFetch && j.Spec.Round != nil && j.Spec.Round.Duration > 0 {
		j.Deadline, j.HeldAt = s.Clock+j.Spec.Round.Duration, 0
		s.stand(j)
	}
}

// takeover brings in what the store shows. Jobs that are known keep what they
// have: the log of commands knows more than the store.
func (s *State) takeover(p Takeover) Result {
	if p.Epoch < s.Epoch {
		return refusal(ErrPhase, "take over in epoch %d after %d", p.Epoch, s.Epoch)
	}
	if p.Epoch > s.Epoch {
		s.Epoch = p.Epoch
		s.newEpoch(p.Open)
	}
	s.Quiet = max(s.Quiet, p.Quiet)
	if len(s.Ended) == 0 {
		s.Ended = slices.Clone(p.Ended[max(0, len(p.Ended)-Summaries):])
	}
	found := slices.Clone(p.Open)
	slices.SortFunc(found, func(a, b OpenJob) int { return int(int64(a.Spec.Job - b.Spec.Job)) })
	for _, o := range found {
		if j, ok := s.Job(o.Spec.Job); ok {
			j.raise(o.Highest)
			continue
		}
		ended := func(e Summary) bool { return e.Job == o.Spec.Job }
		stages, err := jobs.Stages(o.Spec.Kind)
		if err != nil || len(o.Spec.Ranges) == 0 || slices.ContainsFunc(s.Ended, ended) {
			continue
		}
		s.rebuild(o, stages)
	}
	return Result{}
}

// newEpoch ends all leases, and leaves to publishing (which will find its
// commit) what another group ended meanwhile.
func (s *State) newEpoch(open []OpenJob) {
	for _, j := range s.Open {
		for i := range j.Current() {
			if t := &j.Current()[i]; t.Phase == InProgress {
				t.Phase = Waiting
			}
		}
		if !slices.ContainsFunc(open, func(o OpenJob) bool { return o.Spec.Job == j.Spec.Job }) {
			j.Phase, j.Outcome = Publishing, Discard
		}
	}
}

// raise lifts attempt numbers to what the store shows.
func (j *Job) raise(highest map[jobs.Stage]map[int]uint64) {
	for i, n := range highest[j.Stage] {
		if i >= 0 && i < len(j.Current()) {
			t := &j.Current()[i]
			t.Attempt.N = max(t.Attempt.N, n)
		}
	}
}

// rebuild opens a job that only the store knows, where it stood. Fetching gets
// its whole time again. A second open job can only be the trace of a planning
// that was cut short: it read the same base as the first, so it changes nothing.
func (s *State) rebuild(o OpenJob, stages []jobs.Stage) {
	j := &Job{Spec: o.Spec, Opened: s.Clock, Phase: Running, Outcome: Commit,
		Tasks: map[jobs.Stage][]Task{}}
	if len(s.Open) > 0 {
		j.Phase, j.Outcome = Publishing, Discard
		j.Error = "another job was open when this one was found in the store"
	}
	if slices.ContainsFunc(s.Ended, func(e Summary) bool {
		return e.RequestID == o.Spec.RequestID // cancelled while it was planned
	}) {
		j.Phase, j.Outcome, j.Cancelled = Publishing, Discard, true
	}
	for _, stage := range stages {
		s.enter(j, stage)
		j.raise(o.Highest)
		all := true
		for i := range j.Current() {
			if r, ok := o.Done[stage][i]; ok {
				t := &j.Current()[i]
				t.Phase, t.Result = Done, r
			} else {
				all = false
			}
		}
		if !all {
			break
		}
	}
	for i, deaths := range o.Deaths {
		if j.Stage == jobs.StageFetch && i >= 0 && i < len(j.Current()) && len(deaths) <= deathLimit {
			j.Current()[i].Deaths = deaths
		}
	}
	if i := s.queued(o.Spec.RequestID); i >= 0 {
		s.Queue = slices.Delete(s.Queue, i, i+1)
	}
	s.Open = append(s.Open, j)
	s.LastJob = max(s.LastJob, o.Spec.Job)
	s.LastNow = max(s.LastNow, o.Spec.Now)
}
