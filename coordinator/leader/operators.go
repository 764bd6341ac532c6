package leader

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/jobs"
	"seine/jobs/worker"
)

// ready says whether this coordinator may answer.
func (l *Leader) ready() error {
	_, err := l.hear("")
	return err
}

// Submit implements api.Conn.
func (l *Leader) Submit(ctx context.Context, s state.Submission) (api.Submitted, error) {
	if err := l.ready(); err != nil {
		return api.Submitted{}, err
	}
	r, err := l.apply(ctx, s)
	return api.Submitted{Job: r.Job}, err
}

// Cancel implements api.Conn.
func (l *Leader) Cancel(ctx context.Context, c state.Cancel) error {
	return l.order(ctx, c)
}

// Rerun implements api.Conn.
func (l *Leader) Rerun(ctx context.Context, r state.Rerun) error {
	return l.order(ctx, r)
}

// Commit implements api.Conn.
func (l *Leader) Commit(ctx context.Context, c state.CommitPartial) error {
	return l.order(ctx, c)
}

func (l *Leader) order(ctx context.Context, p state.Payload) error {
	if err := l.ready(); err != nil {
		return err
	}
	_, err := l.apply(ctx, p)
	return err
}

// read calls f with the state and what only the leader knows, after making sure
// that this node still leads, so that nothing old is answered.
func (l *Leader) read(ctx context.Context, f func(*state.State)) error {
	if err := l.ready(); err != nil {
		return err
	}
	if err := l.node.Verify(ctx); err != nil {
		return away(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.leading {
		return api.ErrNotLeader
	}
	l.node.View(f)
	return nil
}

// Status implements api.Conn.
func (l *Leader) Status(ctx context.Context) (st api.Status, err error) {
	err = l.read(ctx, func(s *state.State) {
		st = api.Status{Epoch: s.Epoch, Trouble: l.trouble, Settings: l.settings.Version,
			Paused: s.Paused,
			Idle:   len(s.Open) == 0 && len(s.Queue) == 0 && l.compacted}
		for _, j := range s.Open {
			st.Open = append(st.Open, l.openJob(s, j))
		}
		for _, loop := range s.Loops {
			st.Loops = append(st.Loops, *loop)
		}
		for _, q := range s.Queue {
			st.Queued = append(st.Queued, l.queuedJob(q))
		}
		for _, id := range slices.Sorted(maps.Keys(s.Workers)) {
			w := api.Worker{ID: id, Joined: s.Workers[id].Joined}
			if heard, ok := l.heard[id]; ok {
				w.HeardMS = l.mono() - heard
			}
			if j := s.Writing(); j != nil {
				for _, t := range j.Current() {
					if t.Worker == id && t.Phase == state.InProgress {
						w.Tasks++
					}
				}
			}
			st.Workers = append(st.Workers, w)
		}
	})
	return st, err
}

// Jobs implements api.Conn.
func (l *Leader) Jobs(ctx context.Context) (all []api.Job, err error) {
	err = l.read(ctx, func(s *state.State) {
		for _, e := range s.Ended {
			all = append(all, l.endedJob(e))
		}
		for _, j := range s.Open {
			all = append(all, l.openJob(s, j))
		}
		for _, q := range s.Queue {
			all = append(all, l.queuedJob(q))
		}
	})
	return all, err
}

// Watch implements api.Conn.
func (l *Leader) Watch(ctx context.Context, ref state.JobRef, after uint64) (api.Job, error) {
	j, err := l.find(ctx, ref)
	if err != nil || j.Version > after || j.Over() {
		return j, err
	}
	if err := l.await(ctx, j.Version); err != nil {
		return api.Job{}, err
	}
	return l.find(ctx, ref)
}

func (l *Leader) find(ctx context.Context, ref state.JobRef) (found api.Job, err error) {
	ok := false
	is := func(job uint64, id string) bool {
		if ref.Job != 0 {
			return job == ref.Job
		}
		return id == ref.RequestID
	}
	err = l.read(ctx, func(s *state.State) {
		for _, e := range s.Ended {
			if is(e.Job, e.RequestID) {
				found, ok = l.endedJob(e), true
			}
		}
		for _, j := range s.Open {
			if is(j.Spec.Job, j.Spec.RequestID) {
				found, ok = l.openJob(s, j), true
			}
		}
		for _, q := range s.Queue {
			if is(0, q.RequestID) {
				found, ok = l.queuedJob(q), true
			}
		}
	})
	if err == nil && !ok {
		err = fmt.Errorf("%s: %w", ref, state.ErrNoJob)
	}
	return found, err
}

func (l *Leader) queuedJob(q state.Submission) api.Job {
	return api.Job{Version: l.version, RequestID: q.RequestID, Kind: q.Kind, Phase: api.Queued}
}

func (l *Leader) endedJob(e state.Summary) api.Job {
	return api.Job{
		Version: l.version, Job: e.Job, RequestID: e.RequestID, Kind: e.Kind, Phase: api.Ended,
		Outcome: e.Outcome, Opened: e.Opened, Ended: e.Ended, Cancelled: e.Cancelled,
		Commit: e.Commit, Counts: maps.Clone(e.Counts), Partial: slices.Clone(e.Partial),
		Error: e.Error,
	}
}

// openJob copies what is told of an open job: what is returned is read after
// the locks are given up.
func (l *Leader) openJob(s *state.State, j *state.Job) api.Job {
	spec := j.Spec
	v := api.Job{
		Version: l.version, Job: spec.Job, RequestID: spec.RequestID, Kind: spec.Kind,
		Phase: j.Phase, Outcome: j.Outcome, Stage: j.Stage, Spec: &spec, Opened: j.Opened,
		Since: j.Since, Deadline: j.Deadline, Held: s.Held(j), Cancelled: j.Cancelled,
		Error: j.Reason(),
	}
	stages, _ := jobs.Stages(spec.Kind) // an open job's kind is known
	for _, stage := range stages {
		if tasks, began := j.Tasks[stage]; began {
			v.Stages = append(v.Stages, l.stage(j, stage, tasks))
		}
	}
	return v
}

func (l *Leader) stage(j *state.Job, stage jobs.Stage, tasks []state.Task) api.Stage {
	v := api.Stage{Stage: stage, Counts: map[string]int64{}, Tasks: make([]api.Task, len(tasks))}
	for i, t := range tasks {
		var report worker.Report
		counts := t.Result.Counts
		if t.Phase == state.InProgress {
			report = l.reports[jobs.TaskRef{Job: j.Spec.Job, Stage: stage, Index: i}]
			counts = report.Counts
		}
		v.Tasks[i] = api.Task{
			Index: i, Range: j.Spec.Ranges[i], Phase: t.Phase, Attempt: t.Attempt,
			Worker: t.Worker, Failures: t.Failures, Closing: t.Closing, Error: t.Error,
			Counts: maps.Clone(counts), Note: report.Note,
		}
		for name, n := range counts {
			v.Counts[name] += n
		}
	}
	return v
}
