package leader

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"seine/coordinator/schedule"
	"seine/coordinator/state"
	"seine/jobs"
)

// planning is a submission on its way to a job. The spec is kept over retries:
// an error of putting it leaves open whether it is there, and a second one for
// the same request would never be worked on.
type planning struct {
	submission state.Submission
	spec       *jobs.Spec
}

func (l *Leader) do(ctx context.Context, d schedule.Duty) error {
	switch d {
	case schedule.Plan:
		return l.planNext(ctx)
	case schedule.Publish:
		return l.publish(ctx)
	case schedule.Compact:
		return l.compact(ctx)
	case schedule.Repeat:
		return l.again(ctx)
	}
	return fmt.Errorf("duty %q is not known", d)
}

func (l *Leader) planNext(ctx context.Context) error {
	if l.planning == nil || l.planning.spec == nil {
		l.planning = nil // what was cancelled meanwhile is not planned
		l.node.View(func(s *state.State) {
			if len(s.Queue) > 0 {
				l.planning = &planning{submission: s.Queue[0]}
			}
		})
	}
	if l.planning == nil {
		return nil
	}
	err := l.plan(ctx, l.planning)
	if errors.Is(err, state.ErrRefused) {
		refuse := state.Refuse{RequestID: l.planning.submission.RequestID, Error: err.Error()}
		l.planning = nil
		_, err = l.apply(ctx, refuse)
		if errors.Is(err, state.ErrNoJob) { // cancelled meanwhile
			err = nil
		}
	}
	return err
}

// plan makes a submission a job: spec in the store, then in the log.
func (l *Leader) plan(ctx context.Context, p *planning) error {
	if p.spec == nil {
		d := Draft{Submission: p.submission}
		l.node.View(func(s *state.State) {
			d.Epoch = s.Epoch
			d.Now = max(s.LastNow+1000, l.wall())
			d.Workers = max(1, len(s.Workers))
		})
		spec, err := l.ledger.Plan(ctx, d)
		if err != nil {
			return fmt.Errorf("plan request %q: %w", d.RequestID, err)
		}
		p.spec = &spec
	}
	spec, err := l.ledger.PutSpec(ctx, *p.spec)
	if errors.Is(err, ErrExists) {
		p.spec = nil // plan again, above it
	}
	if err != nil {
		return fmt.Errorf("put the spec of request %q: %w", p.submission.RequestID, err)
	}
	if _, err := l.apply(ctx, state.Open{Spec: spec}); err != nil {
		return fmt.Errorf("open job %d: %w", spec.Job, err)
	}
	l.planning = nil
	return nil
}

func (l *Leader) publish(ctx context.Context) error {
	var p Publication
	l.node.View(func(s *state.State) {
		if j := s.Writing(); j != nil && j.Phase == state.Publishing {
			p = Publication{Spec: j.Spec, Epoch: s.Epoch, Outcome: j.Outcome, Ends: j.Ends()}
		}
	})
	if p.Spec.Job == 0 {
		return nil
	}
	done, err := l.ledger.Publish(ctx, p)
	if err != nil {
		return fmt.Errorf("publish job %d: %w", p.Spec.Job, err)
	}
	committed := state.Committed{Job: p.Spec.Job, Commit: done.Commit, Counts: done.Counts}
	if _, err := l.apply(ctx, committed); err != nil {
		return fmt.Errorf("enter the commit of job %d: %w", p.Spec.Job, err)
	}
	l.log.Info("job committed", "job", p.Spec.Job, "kind", p.Spec.Kind, "commit", done.Commit,
		"outcome", p.Outcome)
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.Outcome == state.Commit {
		l.compacted = false
	} else if jobs.Upkeep(p.Spec.Kind, p.Spec.Requeue) {
		l.compacted = true // it failed: not again before something else is committed
	}
	for ref := range l.leases {
		if ref.Job == p.Spec.Job {
			delete(l.leases, ref)
			delete(l.reports, ref.TaskRef)
		}
	}
	l.change()
	return nil
}

// compact opens the compaction that is due, or notes that none is. Other upkeep
// goes into the queue, as whatever may be cancelled does.
func (l *Leader) compact(ctx context.Context) error {
	if l.planning == nil || l.planning.submission.Kind != jobs.KindCompact {
		next, err := l.ledger.CompactNext(ctx)
		if err != nil {
			return fmt.Errorf("pick a compaction: %w", err)
		}
		if next == nil {
			l.setCompacted()
			return nil
		}
		if next.Kind != jobs.KindCompact {
			return l.enqueue(ctx, *next)
		}
		l.planning = &planning{submission: *next}
		l.node.View(func(s *state.State) {
			l.planning.submission.RequestID = fmt.Sprintf("compact-%d-%d", s.Epoch, s.LastJob+1)
		})
	}
	err := l.plan(ctx, l.planning)
	if errors.Is(err, state.ErrRefused) {
		l.planning = nil
		l.setCompacted()
		l.log.Warn("a compaction was refused", "error", err)
		return nil
	}
	return err
}

// enqueue submits upkeep, unless some waits already: what is due then will be
// seen again after its commit.
func (l *Leader) enqueue(ctx context.Context, next state.Submission) error {
	waits := false
	l.node.View(func(s *state.State) {
		next.RequestID = fmt.Sprintf("upkeep-%d-%d", s.Epoch, s.LastJob+1)
		waits = slices.ContainsFunc(s.Queue, func(q state.Submission) bool {
			return jobs.Upkeep(q.Kind, q.Requeue)
		})
	})
	if !waits {
		_, err := l.apply(ctx, next)
		if err != nil && !errors.Is(err, state.ErrRefused) {
			return fmt.Errorf("submit upkeep (%s): %w", next.Kind, err)
		}
		if err != nil {
			l.log.Warn("upkeep was refused", "kind", next.Kind, "error", err)
		}
	}
	l.setCompacted()
	return nil
}

func (l *Leader) setCompacted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compacted = true
	l.change()
}
