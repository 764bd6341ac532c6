package sweep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/jobs"
	"seine/reducer/task"
)

// ErrNewerEpoch: another group of coordinators has the crawl; what it may need is
// not ours to judge.
var ErrNewerEpoch = errors.New("another group of coordinators has taken the crawl over")

// pageObjects is how many objects are listed, planned and deleted together: as
// many as S3 deletes with one request.
const pageObjects = 1000

// Options say what is kept.
type Options struct {
	Epoch     uint64      // of the group that sweeps
	Open      []jobs.Spec // jobs that are not over, queued ones too
	Now       time.Time
	Retention time.Duration // snapshots younger than this are kept
	Snapshots int           // and at least so many of the newest
	// DryRun only counts.
	DryRun bool
}

// Report is what a sweep deleted.
type Report struct {
	Listed  int64
	Deleted int64
	Bytes   int64            // of what was deleted, and cut from commits
	By      map[string]int64 // objects deleted, by why
	Expired int64            // commits cut to their heads
}

// Run deletes what nobody can need, and lets the commits expire that no snapshot
// needs. What it did before an error stays done, and is in the report.
func Run(ctx context.Context, e task.Env, o Options) (Report, error) {
	report := Report{By: map[string]int64{}}
	head, err := lsm.Head(ctx, e.Source(), nil)
	if err != nil {
		return report, fmt.Errorf("sweep: %w", err)
	}
	if head.N == 0 {
		return report, nil
	}
	facts, err := stock(ctx, e, head, o)
	if err != nil {
		return report, fmt.Errorf("sweep: %w", err)
	}
	plan, err := NewPlanner(facts)
	if err != nil {
		return report, fmt.Errorf("sweep: %w", err)
	}
	s := &sweeping{env: e, options: o, head: head, plan: plan, report: &report}
	if err := s.expire(ctx, facts.Kept[0].N); err != nil {
		return report, fmt.Errorf("sweep: %w", err)
	}
	if err := e.Store.List(ctx, layout.RoundPrefix, "", func(i objstore.Info) error {
		return s.add(ctx, i)
	}); err != nil {
		return report, fmt.Errorf("sweep: %w", err)
	}
	if err := s.flush(ctx); err != nil {
		return report, fmt.Errorf("sweep: %w", err)
	}
	return report, nil
}

// stock reads what the kept snapshots name: walking back from the head, the
// commits; and where they end, the oldest kept snapshot whole.
func stock(ctx context.Context, e task.Env, head *lsm.Manifest, o Options) (Facts, error) {
	f := Facts{Kept: []*lsm.Manifest{head}, Open: o.Open, Epoch: o.Epoch, Now: o.Now,
		Retention: o.Retention}
	n, err := walk(ctx, e, head, o, func(c *lsm.Commit, edit bool) {
		f.Closed = max(f.Closed, c.Job)
		if edit {
			f.Edits = append(f.Edits, c.Edit)
		}
	})
	if err != nil {
		return Facts{}, err
	}
	for earlier := n - 1; f.Closed == 0 && earlier >= 1; earlier-- { // takeovers only, so far
		c, err := readCommit(ctx, e, earlier)
		if err != nil {
			return Facts{}, err
		}
		f.Closed = c.Job
	}
	if n == head.N {
		return f, nil
	}
	first, err := e.Snapshot(ctx, n)
	if err != nil {
		return Facts{}, err
	}
	f.Kept = []*lsm.Manifest{first, head}
	return f, nil
}

// Oldest is the number of the oldest snapshot that a sweep with these options keeps.
func Oldest(ctx context.Context, e task.Env, head *lsm.Manifest, o Options) (uint64, error) {
	return walk(ctx, e, head, o, func(*lsm.Commit, bool) {})
}

// walk goes back from the head, commit by commit, to the oldest snapshot that is kept,
// and says which it is. Of that one met gets the commit without the edit.
func walk(ctx context.Context, e task.Env, head *lsm.Manifest, o Options,
	met func(c *lsm.Commit, edit bool)) (uint64, error) {
	cutoff := o.Now.Add(-o.Retention).UnixMilli()
	oldest := atLeast(head, o)
	n := head.N
	for ; n > 1; n-- {
		c, err := readCommit(ctx, e, n)
		if err != nil {
			return 0, err
		}
		if c.Expired { // a longer retention than that of the last sweep brings nothing back
			return readable(n + 1), nil
		}
		if n <= oldest && c.Now != 0 && c.Now <= cutoff {
			met(c, false) // this snapshot was the newest when the retention began
			break
		}
		met(c, true)
	}
	if n > 1 {
		return n, nil
	}
	if c, err := readCommit(ctx, e, 1); err != nil {
		return 0, err
	} else if c.Expired {
		return readable(2), nil
	}
	return 1, nil
}

// readable is the oldest snapshot that can be read if n is the number of the oldest
// commit that has not expired: a sweep that was interrupted may have left some that no
// whole manifest precedes.
func readable(n uint64) uint64 {
	return (n + lsm.WholeEvery - 1) / lsm.WholeEvery * lsm.WholeEvery
}

// atLeast is the newest snapshot that must be the oldest kept, whatever its age.
func atLeast(head *lsm.Manifest, o Options) uint64 {
	oldest := uint64(1)
	if n := uint64(max(o.Snapshots, 1)); n < head.N {
		oldest = head.N - n + 1
	}
	for _, spec := range o.Open {
		if reads := spec.Reads(); reads != 0 {
			oldest = min(oldest, reads)
		}
	}
	return oldest
}

func readCommit(ctx context.Context, e task.Env, n uint64) (*lsm.Commit, error) {
	key := layout.Commit(n)
	body, err := e.Store.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	c, err := lsm.DecodeCommit(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return c, nil
}

// sweeping is a sweep at work.
type sweeping struct {
	env     task.Env
	options Options
	head    *lsm.Manifest
	plan    *Planner
	report  *Report
	page    []objstore.Info
}

func (s *sweeping) add(ctx context.Context, i objstore.Info) error {
	s.page = append(s.page, i)
	s.report.Listed++
	if len(s.page) < pageObjects {
		return nil
	}
	return s.flush(ctx)
}

// flush deletes what goes of a page. The head is read again before: a takeover
// ends the sweep.
func (s *sweeping) flush(ctx context.Context) error {
	deletes := s.plan.Plan(s.page)
	s.page = s.page[:0]
	if len(deletes) == 0 {
		return nil
	}
	if err := s.leads(ctx); err != nil {
		return err
	}
	keys := make([]string, len(deletes))
	for i, d := range deletes {
		keys[i] = d.Key
	}
	if !s.options.DryRun {
		if err := s.env.Store.Delete(ctx, keys...); err != nil {
			return err
		}
	}
	for _, d := range deletes {
		s.report.Deleted++
		s.report.Bytes += d.Bytes
		s.report.By[d.Why]++
	}
	return nil
}

// leads looks whether the crawl is still ours.
func (s *sweeping) leads(ctx context.Context) error {
	head, err := lsm.Head(ctx, s.env.Source(), s.head)
	if err != nil {
		return err
	}
	s.head = head
	if head.Epoch > s.options.Epoch {
		return fmt.Errorf("epoch %d, the store is in epoch %d: %w", s.options.Epoch, head.Epoch,
			ErrNewerEpoch)
	}
	return nil
}

// expire cuts the commits below the whole manifest that the oldest kept snapshot
// begins with to their heads, in the order of their numbers: so those that are cut
// already are all below the first that is not, and a sweep that ended early is
// taken up where it ended. It ends at the first that is too young.
func (s *sweeping) expire(ctx context.Context, oldest uint64) error {
	var old []objstore.Info
	base := max(oldest-oldest%lsm.WholeEvery, 1)
	err := s.env.Store.List(ctx, layout.CommitPrefix, "", func(i objstore.Info) error {
		if n, err := layout.ParseCommit(i.Key); err == nil && n < base {
			old = append(old, i)
		}
		return nil
	})
	if err != nil {
		return err
	}
	commits := make([]*lsm.Commit, len(old)) // as they will be
	first := len(old)
	for ; first > 0; first-- {
		n, _ := layout.ParseCommit(old[first-1].Key) // it did so above
		c, err := readCommit(ctx, s.env, n)
		if err != nil {
			return err
		}
		if c.Expired {
			break
		}
		commits[first-1] = c.Expire()
	}
	for at := first; at < len(old); at++ {
		if s.options.Now.Sub(old[at].ModTime) < Grace {
			break
		}
		if (at-first)%pageObjects == 0 {
			if err := s.leads(ctx); err != nil {
				return err
			}
		}
		body, err := commits[at].Encode()
		if err != nil {
			return err
		}
		if !s.options.DryRun {
			err := s.env.Store.Put(ctx, old[at].Key, objstore.Bytes(body), objstore.PutOptions{})
			if err != nil {
				return err
			}
		}
		s.report.Expired++
		s.report.Bytes += max(old[at].Size-int64(len(body)), 0)
	}
	return nil
}
