package state

import (
	"slices"

	"seine/formats/layout"
	"seine/jobs"
)

// Settled says whether every task of the stage is over, and whether one of them
// failed.
func (j *Job) Settled() (over, failed bool) {
	over = true
	for _, t := range j.Current() {
		over = over && (t.Phase == Done || t.Phase == Failed)
		failed = failed || t.Phase == Failed
	}
	return over, failed
}

// Closable says whether a failed task gets a closing attempt without being
// asked about: a failed function always blocks, since it can be done again.
func (j *Job) Closable() bool {
	return j.Stage == jobs.StageFetch && j.Spec.Round != nil &&
		(j.Spec.Round.OnFailed == "commit" || j.Partial || j.Cancelled)
}

// ToClose says whether a failed task waits for its closing attempt.
func (j *Job) ToClose() bool {
	return slices.ContainsFunc(j.Current(), func(t Task) bool {
		return t.Phase == Failed && !t.Closing
	})
}

// job finds an open job, telling one that ended from one that never was.
func (s *State) job(number uint64, what string) (*Job, Result) {
	if j, ok := s.Job(number); ok {
		return j, Result{Job: number}
	}
	if slices.ContainsFunc(s.Ended, func(e Summary) bool { return e.Job == number }) {
		return nil, refusal(ErrPhase, "%s job %d: it has ended", what, number)
	}
	return nil, refusal(ErrNoJob, "%s job %d", what, number)
}

func (s *State) advance(p Advance) Result {
	j, r := s.job(p.Job, "advance")
	if j == nil {
		return r
	}
	over, failed := j.Settled()
	next, more := jobs.Next(j.Spec.Kind, p.Stage)
	if j.Phase != Running || j.Stage != p.Stage || !over || failed || !more {
		return refusal(ErrPhase, "advance job %d beyond %s", p.Job, p.Stage)
	}
	s.enter(j, next)
	return r
}

func (s *State) block(p Block) Result {
	j, r := s.job(p.Job, "block")
	if j == nil {
		return r
	}
	if over, failed := j.Settled(); j.Phase != Running || !over || !failed {
		return refusal(ErrPhase, "block job %d", p.Job)
	}
	j.Phase = Blocked
	return r
}

func (s *State) close(p Close) Result {
	j, r := s.job(p.Job, "close the failed tasks of")
	if j == nil {
		return r
	}
	if j.Phase != Running || !j.Closable() || !j.ToClose() {
		return refusal(ErrPhase, "close the failed tasks of job %d", p.Job)
	}
	j.closeFailed(false)
	return r
}

// closeFailed gives failed tasks closing attempts; those whose closing failed
// too only when asked for.
func (j *Job) closeFailed(again bool) {
	for i := range j.Current() {
		t := &j.Current()[i]
		if t.Phase == Failed && (again || !t.Closing) {
			t.again()
			t.Closing, t.GaveUp = true, true
		}
	}
}

func (s *State) publish(p Publish) Result {
	j, r := s.job(p.Job, "publish")
	if j == nil {
		return r
	}
	over, failed := j.Settled()
	_, more := jobs.Next(j.Spec.Kind, j.Stage)
	finished := over && !failed && !more
	if j != s.Writing() || j.Phase == Publishing || !finished && p.Outcome != Discard {
		return refusal(ErrPhase, "publish job %d", p.Job)
	}
	j.Phase, j.Outcome = Publishing, p.Outcome
	if failed {
		j.Error = j.firstError()
	}
	return r
}

// Reason is why the job is blocked or given up; "" when it is neither.
func (j *Job) Reason() string {
	if j.Error == "" && j.Phase == Blocked {
		return j.firstError()
	}
	return j.Error
}

func (j *Job) firstError() string {
	for _, t := range j.Current() {
		if t.Phase == Failed {
			return t.Error
		}
	}
	return ""
}

func (s *State) committed(p Committed) Result {
	j, r := s.job(p.Job, "commit")
	if j == nil {
		return r
	}
	if j.Phase != Publishing || j != s.Writing() {
		return refusal(ErrPhase, "commit job %d", p.Job)
	}
	s.Open = slices.Delete(s.Open, 0, 1)
	s.remember(Summary{
		Job: p.Job, RequestID: j.Spec.RequestID, Kind: j.Spec.Kind, Outcome: j.Outcome,
		Commit: p.Commit, Now: j.Spec.Now, Opened: j.Opened, Ended: s.Clock,
		Cancelled: j.Cancelled, Counts: p.Counts, Partial: j.partial(), Error: j.Error,
	})
	return r
}

// partial lists the ranges of fetch tasks that were closed for their failures.
func (j *Job) partial() (ranges []layout.Range) {
	for i, t := range j.Tasks[jobs.StageFetch] {
		if t.GaveUp {
			ranges = append(ranges, j.Spec.Ranges[i])
		}
	}
	return ranges
}

// cancel stops a job. Before anything is fetched, and in jobs that fetch
// nothing, there is nothing to keep, and cancelling discards.
func (s *State) cancel(p Cancel) Result {
	if p.Job == 0 {
		number, known := s.Find(p.RequestID)
		if i := s.queued(p.RequestID); i >= 0 {
			q := s.Queue[i]
			s.Queue = slices.Delete(s.Queue, i, i+1)
			s.remember(Summary{RequestID: q.RequestID, Kind: q.Kind, Outcome: Discard,
				Ended: s.Clock, Cancelled: true})
			return Result{}
		}
		if !known || number == 0 {
			return refusal(ErrNoJob, "cancel %s", p.JobRef)
		}
		p.Job = number
	}
	j, r := s.job(p.Job, "cancel")
	if j == nil {
		return r
	}
	switch {
	case j.Phase == Publishing:
		return refusal(ErrPhase, "cancel job %d: its commit is being written", p.Job)
	case p.Discard || j.Stage != jobs.StageFetch && j.Stage != jobs.StageReduce:
		j.Phase, j.Outcome, j.Cancelled = Publishing, Discard, true
	case j.Stage == jobs.StageReduce:
		return refusal(ErrPhase, "cancel job %d: fetching is over; it commits, or is dropped "+
			"by cancel --discard", p.Job)
	default:
		j.Phase, j.Cancelled = Running, true
		j.Deadline, j.HeldAt = s.Clock, 0
		j.closeFailed(true)
	}
	return r
}

func (s *State) rerun(p Rerun) Result {
	j, r := s.job(p.Job, "rerun")
	if j == nil {
		return r
	}
	if j.Phase == Publishing {
		return refusal(ErrPhase, "rerun job %d: its commit is being written", p.Job)
	}
	chosen, missing := j.failedTasks(p.Partitions)
	switch {
	case len(missing) > 0:
		return refusal(ErrPhase, "rerun job %d: partitions %d are in no failed task", p.Job, missing)
	case len(chosen) == 0:
		return refusal(ErrPhase, "rerun job %d: no task has failed", p.Job)
	}
	for _, i := range chosen {
		t := &j.Current()[i]
		t.again()
		t.Closing, t.GaveUp = false, false
	}
	j.Phase = Running
	if !j.Cancelled && j.Deadline > 0 && j.Deadline <= s.Clock {
		s.setDeadline(j)
	}
	return r
}

// failedTasks chooses the failed tasks that hold one of the partitions (all,
// when none is given), and names partitions that no failed task holds.
func (j *Job) failedTasks(partitions []uint16) (chosen []int, missing []uint16) {
	found := map[uint16]bool{}
	for i, t := range j.Current() {
		if t.Phase != Failed {
			continue
		}
		take := len(partitions) == 0
		for _, p := range partitions {
			if j.Spec.Ranges[i].Holds(p) {
				take, found[p] = true, true
			}
		}
		if take {
			chosen = append(chosen, i)
		}
	}
	for _, p := range partitions {
		if !found[p] {
			missing = append(missing, p)
		}
	}
	return chosen, missing
}

func (s *State) commitPartial(p CommitPartial) Result {
	j, r := s.job(p.Job, "commit")
	if j == nil {
		return r
	}
	if j.Phase != Blocked || j.Stage != jobs.StageFetch {
		return refusal(ErrPhase, "commit job %d without its failed tasks: only a round that is "+
			"blocked in fetch can be; rerun it, or cancel --discard", p.Job)
	}
	j.Phase, j.Partial = Running, true
	j.closeFailed(true)
	return r
}
