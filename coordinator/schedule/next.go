// Package schedule says what a leader does next: a pure function of the
// replicated state and of what only the leader knows (leases, and which workers
// wait for tasks). It gives commands for the log and, when there is something
// to do outside it, one duty. It keeps nothing; calls do not disturb another.
package schedule

import (
	"cmp"
	"fmt"
	"slices"

	"seine/coordinator/state"
	"seine/jobs"
)

// WorkerSilence is after how many ms without a word a worker is forgotten: four
// leases, so that its tasks have long been free.
const WorkerSilence = 60_000

// Facts is what a decision rests on. Times of leases and workers are ms of the
// leader's monotonic clock.
type Facts struct {
	State  *state.State
	Mono   int64
	Leases map[jobs.AttemptRef]Lease
	// Claims are the workers that wait for tasks.
	Claims []Claim
	// Heard says when each known worker was last heard of.
	Heard map[string]int64
	// Compacted: since the last commit compaction was asked about, and nothing
	// is to be compacted.
	Compacted bool
	// Wall is the time, ms; LoopsAt says, by loop, before when none of its rounds
	// is worth while.
	Wall    int64
	LoopsAt map[string]int64
	// Quiet: another group may still have leases, so nothing is granted.
	Quiet bool
	// Planned: a spec has been put, or may have been, that is no job yet.
	Planned bool
}

// Lease is how long a task is lent.
type Lease struct {
	Until   int64
	Began   bool     // it was acknowledged once
	Parsing []string // what the last heartbeat said
}

// Claim is a worker that can take tasks.
type Claim struct {
	Worker       string
	Fetch, Other int
}

// Duty is what the leader does outside the log.
type Duty string

// The duties of a leader.
const (
	Nothing Duty = ""
	Plan    Duty = "plan"    // the first of the queue
	Publish Duty = "publish" // the commit of the job that is worked on
	Compact Duty = "compact" // ask whether a compaction is due
	Repeat  Duty = "repeat"  // ask whether a loop's next round is worth while
)

// Next returns the commands that are due now, ms of wall time; each holds by
// itself, so one that is refused does no harm to the others.
func Next(f Facts, now int64) []state.Payload {
	now = max(now, f.State.Clock)
	due := expire(f)
	due = append(due, forget(f)...)
	j := f.State.Writing()
	if j == nil || j.Phase != state.Running {
		return due
	}
	if move := progress(j); move != nil {
		return append(due, move)
	}
	if f.State.Held(j) || f.Quiet {
		return due
	}
	return append(due, grants(f, j, now)...)
}

// Outside says which duty is due when Next has nothing more.
func Outside(f Facts) Duty {
	switch j := f.State.Writing(); {
	case j != nil && j.Phase == state.Publishing:
		return Publish
	case j != nil:
		return Nothing
	// A compaction goes before the next writing job: it takes runs away, which
	// an open round may name.
	case !f.Compacted:
		return Compact
	case f.Planned || len(f.State.Queue) > 0 && !f.State.Waits(f.State.Queue[0]):
		return Plan
	case f.State.Repeats(max(f.Wall, f.State.Clock), f.LoopsAt) != nil:
		return Repeat
	}
	return Nothing
}

// expire ends attempts whose leases have lapsed. One without a lease is about
// to get one.
func expire(f Facts) (due []state.Payload) {
	for ref, lease := range f.Leases {
		_, t, ok := f.State.Task(ref.TaskRef)
		if !ok || t.Phase != state.InProgress || t.Attempt != ref.Attempt || f.Mono < lease.Until {
			continue
		}
		due = append(due, state.Fail{
			AttemptRef: ref,
			Error:      fmt.Sprintf("worker %s was not heard of for the time of a lease", t.Worker),
			Parsing:    lease.Parsing,
			Excused:    !lease.Began, // the answer to a claim was lost: nothing ran
		})
	}
	slices.SortFunc(due, func(a, b state.Payload) int {
		x, y := a.(state.Fail), b.(state.Fail)
		return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Stage, y.Stage),
			cmp.Compare(x.Index, y.Index))
	})
	return due
}

// forget drops workers that are silent.
func forget(f Facts) (due []state.Payload) {
	for id := range f.State.Workers {
		if heard, ok := f.Heard[id]; ok && f.Mono-heard >= WorkerSilence {
			due = append(due, state.Leave{Worker: id})
		}
	}
	slices.SortFunc(due, func(a, b state.Payload) int {
		return cmp.Compare(a.(state.Leave).Worker, b.(state.Leave).Worker)
	})
	return due
}

// progress moves a job whose tasks are over, or nil.
func progress(j *state.Job) state.Payload {
	if j.Closable() && j.ToClose() {
		return state.Close{Job: j.Spec.Job}
	}
	over, failed := j.Settled()
	if !over {
		return nil
	}
	if failed {
		// Upkeep is only worth something as long as it costs nothing: it must not
		// hold up the crawl.
		if jobs.Upkeep(j.Spec.Kind, j.Spec.Requeue) {
			return state.Publish{Job: j.Spec.Job, Outcome: state.Discard}
		}
		return state.Block{Job: j.Spec.Job}
	}
	if _, more := jobs.Next(j.Spec.Kind, j.Stage); more {
		return state.Advance{Job: j.Spec.Job, Stage: j.Stage}
	}
	return state.Publish{Job: j.Spec.Job, Outcome: state.Commit}
}

// grants hands waiting tasks out: to the worker that had the task last if it
// asks (it may hold a spool of it), else to the one with the fewest.
func grants(f Facts, j *state.Job, now int64) (due []state.Payload) {
	fetch := j.Stage == jobs.StageFetch
	free, load := map[string]int{}, map[string]int{}
	for _, c := range f.Claims {
		if f.State.Workers[c.Worker] == nil {
			continue
		}
		if fetch {
			free[c.Worker] += c.Fetch
		} else {
			free[c.Worker] += c.Other
		}
	}
	for _, t := range j.Current() {
		if t.Phase == state.InProgress {
			load[t.Worker]++
		}
	}
	for i, t := range j.Current() {
		if t.Phase != state.Waiting || now < t.NotBefore {
			continue
		}
		worker := pick(free, load, t.Worker)
		if worker == "" {
			continue
		}
		free[worker]--
		load[worker]++
		ref := jobs.TaskRef{Job: j.Spec.Job, Stage: j.Stage, Index: i}
		due = append(due, state.Grant{Task: ref, Worker: worker})
	}
	return due
}

func pick(free, load map[string]int, last string) (best string) {
	if free[last] > 0 {
		return last
	}
	for worker, n := range free {
		if n > 0 && (best == "" || load[worker] < load[best] ||
			load[worker] == load[best] && worker < best) {
			best = worker
		}
	}
	return best
}
