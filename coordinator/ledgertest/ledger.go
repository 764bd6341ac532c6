// Package ledgertest is a ledger in memory: specs, commits and ends as the
// object store would hold them, for tests of coordinators. Faults come before a
// call, or after it has done its work. It may be used by many goroutines and by
// several coordinators at once, as a store is.
package ledgertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"seine/coordinator/leader"
	"seine/coordinator/state"
	"seine/formats/layout"
	"seine/jobs"
)

// Ledger is a store that holds no data.
type Ledger struct {
	// Tasks is how many ranges a job gets; 0: 1.
	Tasks int
	// DueRounds is after how many commits nothing is due any more.
	DueRounds int
	// Fault, if set, is asked before (after false) and after every call; an
	// error of it is the call's.
	Fault func(call string, after bool) error

	mu          sync.Mutex
	epoch       uint64
	specs       map[uint64]jobs.Spec
	commits     []Commit
	done        map[jobs.TaskRef]jobs.Result
	highest     map[jobs.TaskRef]uint64
	compactions []jobs.Compact
	settings    leader.Settings
}

// Commit is one commit object.
type Commit struct {
	Job     uint64
	Kind    jobs.Kind
	Outcome state.Outcome
	Ends    map[jobs.Stage][]jobs.Result
	Counts  map[string]int64
}

var _ leader.Ledger = (*Ledger)(nil)

// New makes an empty store in epoch 1.
func New(tasks int) *Ledger {
	return &Ledger{Tasks: tasks, epoch: 1, specs: map[uint64]jobs.Spec{},
		done: map[jobs.TaskRef]jobs.Result{}, highest: map[jobs.TaskRef]uint64{}}
}

// Put puts a spec as if a coordinator had before it died.
func (l *Ledger) Put(spec jobs.Spec) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.specs[spec.Job] = spec
}

// End notes that a task's end is in the store.
func (l *Ledger) End(ref jobs.TaskRef, r jobs.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[ref] = r
}

// Attempt notes that the store shows an attempt of this number.
func (l *Ledger) Attempt(ref jobs.TaskRef, n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.highest[ref] = max(l.highest[ref], n)
}

// SetEpoch begins an epoch: another group took the crawl over.
func (l *Ledger) SetEpoch(epoch uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch = epoch
}

// WantCompaction makes CompactNext pick c once what it picked before is
// committed.
func (l *Ledger) WantCompaction(c jobs.Compact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compactions = append(l.compactions, c)
}

// PutSettings makes s the newest version of the settings.
func (l *Ledger) PutSettings(s leader.Settings) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settings = s
}

// Commits are the commits so far, oldest first.
func (l *Ledger) Commits() []Commit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.commits)
}

// Specs are the specs so far, by number.
func (l *Ledger) Specs() []jobs.Spec {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []jobs.Spec
	for _, n := range slices.Sorted(maps.Keys(l.specs)) {
		all = append(all, l.specs[n])
	}
	return all
}

func (l *Ledger) fault(ctx context.Context, call string, after bool) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if l.Fault == nil {
		return nil
	}
	if err := l.Fault(call, after); err != nil {
		return fmt.Errorf("%s (after: %v): %w", call, after, err)
	}
	return nil
}

// around runs one call between its faults.
func around[R any](ctx context.Context, l *Ledger, call string, do func() (R, error)) (
	got R, err error) {
	if err := l.fault(ctx, call, false); err != nil {
		return got, err
	}
	l.mu.Lock()
	r, err := do()
	l.mu.Unlock()
	if err != nil {
		return got, err
	}
	if err := l.fault(ctx, call, true); err != nil {
		return got, err
	}
	return r, nil
}

// Open implements leader.Ledger.
func (l *Ledger) Open(ctx context.Context, known func(uint64) bool) (uint64, []state.OpenJob, error) {
	epoch := uint64(0)
	open, err := around(ctx, l, "open", func() (open []state.OpenJob, err error) {
		epoch = l.epoch
		for _, n := range slices.Sorted(maps.Keys(l.specs)) {
			if _, over := l.commit(n); over {
				continue
			}
			found := state.OpenJob{Spec: l.specs[n]}
			if !known(n) {
				found = l.found(l.specs[n])
			}
			open = append(open, found)
		}
		return open, nil
	})
	return epoch, open, err
}

// Ended implements leader.Ledger.
func (l *Ledger) Ended(ctx context.Context) ([]state.Summary, error) {
	return around(ctx, l, "ended", func() (ended []state.Summary, err error) {
		for i, c := range l.commits[max(0, len(l.commits)-state.Summaries):] {
			ended = append(ended, state.Summary{Job: c.Job, RequestID: l.specs[c.Job].RequestID,
				Kind: c.Kind, Outcome: c.Outcome, Commit: uint64(i + 1), Counts: c.Counts})
		}
		return ended, nil
	})
}

// TakeOver implements leader.Ledger.
func (l *Ledger) TakeOver(ctx context.Context) (uint64, error) {
	return around(ctx, l, "take over", func() (uint64, error) {
		l.epoch++
		return l.epoch, nil
	})
}

// Epoch implements leader.Ledger.
func (l *Ledger) Epoch(ctx context.Context) (uint64, error) {
	return around(ctx, l, "epoch", func() (uint64, error) { return l.epoch, nil })
}

func (l *Ledger) found(spec jobs.Spec) state.OpenJob {
	o := state.OpenJob{Spec: spec, Done: map[jobs.Stage]map[int]jobs.Result{},
		Highest: map[jobs.Stage]map[int]uint64{}}
	for ref, r := range l.done {
		if ref.Job == spec.Job {
			if o.Done[ref.Stage] == nil {
				o.Done[ref.Stage] = map[int]jobs.Result{}
			}
			o.Done[ref.Stage][ref.Index] = r
		}
	}
	for ref, n := range l.highest {
		if ref.Job == spec.Job {
			if o.Highest[ref.Stage] == nil {
				o.Highest[ref.Stage] = map[int]uint64{}
			}
			o.Highest[ref.Stage][ref.Index] = n
		}
	}
	return o
}

func (l *Ledger) commit(job uint64) (number uint64, ok bool) {
	i := slices.IndexFunc(l.commits, func(c Commit) bool { return c.Job == job })
	return uint64(i + 1), i >= 0
}

// Plan implements leader.Ledger.
func (l *Ledger) Plan(ctx context.Context, d leader.Draft) (jobs.Spec, error) {
	return around(ctx, l, "plan", func() (jobs.Spec, error) {
		last := jobs.Spec{}
		for n, spec := range l.specs {
			if n > last.Job {
				last = spec
			}
		}
		return jobs.Spec{
			Format: jobs.SpecFormat, Job: last.Job + 1, Kind: d.Kind, Epoch: d.Epoch,
			Base: uint64(len(l.commits)), Now: max(d.Now, last.Now+1000), Settings: max(1, d.Settings),
			Ranges: layout.Split(l.Tasks), RequestID: d.RequestID,
			Round: d.Round, Inject: d.Inject, Requeue: d.Requeue, Restore: d.Restore,
			Prune: d.Prune, Compact: d.Compact,
		}, nil
	})
}

// PutSpec implements leader.Ledger.
func (l *Ledger) PutSpec(ctx context.Context, spec jobs.Spec) (jobs.Spec, error) {
	return around(ctx, l, "put spec", func() (jobs.Spec, error) {
		there, ok := l.specs[spec.Job]
		if ok && there.RequestID != spec.RequestID {
			return there, fmt.Errorf("job %d: %w", spec.Job, leader.ErrExists)
		}
		if !ok {
			l.specs[spec.Job], there = spec, spec
		}
		return there, nil
	})
}

// Publish implements leader.Ledger.
func (l *Ledger) Publish(ctx context.Context, p leader.Publication) (leader.Published, error) {
	return around(ctx, l, "publish", func() (leader.Published, error) {
		if p.Epoch != l.epoch {
			return leader.Published{}, fmt.Errorf("epoch %d is over: %w", p.Epoch, leader.ErrStepDown)
		}
		if n, ok := l.commit(p.Spec.Job); ok {
			return leader.Published{Commit: n, Counts: l.commits[n-1].Counts}, nil
		}
		c := Commit{Job: p.Spec.Job, Kind: p.Spec.Kind, Outcome: p.Outcome, Ends: p.Ends,
			Counts: map[string]int64{}}
		for _, results := range p.Ends {
			for _, r := range results {
				for name, n := range r.Counts {
					c.Counts[name] += n
				}
			}
		}
		l.commits = append(l.commits, c)
		if p.Spec.Kind == jobs.KindCompact && p.Outcome == state.Commit {
			l.compactions = l.compactions[1:]
		}
		return leader.Published{Commit: uint64(len(l.commits)), Counts: c.Counts}, nil
	})
}

// Settings implements leader.Ledger.
func (l *Ledger) Settings(ctx context.Context, _ uint64) (leader.Settings, error) {
	return around(ctx, l, "settings", func() (leader.Settings, error) { return l.settings, nil })
}

// Due implements leader.Ledger: something is due for DueRounds rounds.
func (l *Ledger) Due(ctx context.Context) (due bool, next int64, err error) {
	due, err = around(ctx, l, "due", func() (bool, error) { return len(l.commits) < l.DueRounds, nil })
	return due, 0, err
}

// CompactNext implements leader.Ledger.
func (l *Ledger) CompactNext(ctx context.Context) (*state.Submission, error) {
	return around(ctx, l, "compact", func() (*state.Submission, error) {
		if len(l.compactions) == 0 {
			return nil, nil
		}
		c := l.compactions[0]
		return &state.Submission{Kind: jobs.KindCompact, Compact: &c}, nil
	})
}
