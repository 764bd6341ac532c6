package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/leader"
	"seine/coordinator/state"
	"seine/jobs"
	"seine/jobs/worker"
)

func (w *world) committed() (kinds []string) {
	for _, c := range w.ledger.Commits() {
		kinds = append(kinds, fmt.Sprintf("%d %s %s", c.Job, c.Kind, c.Outcome))
	}
	return kinds
}

func (w *world) expectCommits(want ...string) {
	w.t.Helper()
	if got := w.committed(); !slices.Equal(got, want) {
		w.t.Errorf("commits %q, want %q", got, want)
	}
}

func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4)
		p := w.start()
		defer p.kill()
		stop := w.employ(p, "w", work(10*time.Second))
		defer stop(false)
		inject := state.Submission{RequestID: "i", Kind: jobs.KindInject, Inject: &jobs.Inject{}}
		w.submit(p, inject)
		w.submit(p, round("r1"))
		w.submit(p, round("r2"))
		w.submit(p, round("r1")) // the same again
		var seen []string
		for after := uint64(0); ; {
			j, err := p.Watch(t.Context(), state.JobRef{RequestID: "r2"}, after)
			if err != nil {
				t.Fatal(err)
			}
			after = j.Version
			if at := fmt.Sprint(j.Phase, " ", j.Stage); !slices.Contains(seen, at) {
				seen = append(seen, at)
			}
			if j.Over() {
				if j.Commit != 3 || j.Counts["pages"] != 12 || j.Job != 3 {
					t.Errorf("the round ended as %+v", j)
				}
				break
			}
		}
		want := []string{"queued ", "running generate", "running fetch", "running reduce",
			"publishing reduce", "ended "}
		odd := func(s string) bool { return !slices.Contains(want, s) }
		if slices.ContainsFunc(seen, odd) || len(seen) < 5 {
			t.Errorf("the watcher saw %q", seen)
		}
		w.untilIdle(p)
		w.expectCommits("1 inject commit", "2 round commit", "3 round commit")
		all, err := p.Jobs(t.Context())
		if err != nil || len(all) != 3 {
			t.Errorf("Jobs = %d, %v", len(all), err)
		}
		for last, spec := int64(0), w.ledger.Specs(); len(spec) > 0; spec = spec[1:] {
			if spec[0].Now < last+1000 {
				t.Errorf("now of job %d is %d after %d", spec[0].Job, spec[0].Now, last)
			}
			last = spec[0].Now
		}
	})
}

// A round with nothing to do must not wait for ticks.
func TestEmptyRoundIsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		begin := time.Now()
		p := w.start()
		defer p.kill()
		stop := w.employ(p, "w", work(0))
		defer stop(false)
		w.submit(p, round("r"))
		for after := uint64(0); ; {
			j, err := p.Watch(t.Context(), state.JobRef{RequestID: "r"}, after)
			if err != nil {
				t.Fatal(err)
			}
			if after = j.Version; j.Over() {
				break
			}
		}
		if took := time.Since(begin); took > 500*time.Millisecond {
			t.Errorf("start and an empty round took %v", took)
		}
	})
}

func TestCompactionGoesBetweenJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		merge := jobs.Compact{Merges: map[string][]string{"urls": {"1", "2"}}}
		p := w.start()
		defer p.kill()
		var broken atomic.Bool
		broken.Store(true)
		run := func(ctx context.Context, task jobs.Task, l *worker.Lease, pr *worker.Progress) (
			jobs.Result, error) {
			if task.Stage == jobs.StageCompact && broken.Load() {
				return jobs.Result{}, errors.New("damaged run")
			}
			return work(time.Second)(ctx, task, l, pr)
		}
		defer w.employ(p, "w", run)(false)
		w.untilIdle(p)
		w.ledger.WantCompaction(merge)
		w.ledger.WantCompaction(merge)
		w.submit(p, round("r1"))
		w.submit(p, round("r2"))
		// It fails, is dropped once, and the next round goes on.
		w.until(p, "in the second round", func(st api.Status) bool {
			return len(st.Open) > 0 && st.Open[0].RequestID == "r2"
		})
		w.expectCommits("1 round commit", "2 compact discard")
		broken.Store(false)
		w.submit(p, round("r3"))
		w.untilIdle(p)
		w.expectCommits("1 round commit", "2 compact discard", "3 round commit",
			"4 compact commit", "5 compact commit", "6 round commit")
	})
}

func TestWorkerDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start()
		defer p.kill()
		var mu sync.Mutex
		var closed, next time.Time // when the dead worker's gate closed; when the next began
		hang := func(ctx context.Context, task jobs.Task, l *worker.Lease, pr *worker.Progress) (
			jobs.Result, error) {
			if task.Stage != jobs.StageFetch {
				return work(0)(ctx, task, l, pr)
			}
			defer pr.Parsing("http://killer.test/")()
			for l.Gate() == nil {
				time.Sleep(10 * time.Millisecond)
			}
			mu.Lock()
			closed = time.Now()
			mu.Unlock()
			return jobs.Result{}, jobs.ErrLeaseLost
		}
		first := &line{Conn: p}
		ctx, cancel := context.WithCancel(t.Context())
		runners := map[jobs.Stage]worker.Runner{jobs.StageGenerate: hang, jobs.StageFetch: hang}
		ended := make(chan error, 1)
		go func() { ended <- worker.Run(ctx, worker.Settings{ID: "a"}, first, runners) }()
		w.submit(p, round("r"))
		w.until(p, "fetching", func(st api.Status) bool {
			return len(st.Open) > 0 && st.Open[0].Stage == jobs.StageFetch
		})
		time.Sleep(7 * time.Second)
		first.cut()
		stop := w.employ(p, "b", func(ctx context.Context, task jobs.Task, l *worker.Lease,
			pr *worker.Progress) (jobs.Result, error) {
			mu.Lock()
			if next.IsZero() {
				next = time.Now()
			}
			mu.Unlock()
			return work(0)(ctx, task, l, pr)
		})
		defer stop(false)
		w.untilIdle(p)
		cancel()
		<-ended
		w.expectCommits("1 round commit")
		mu.Lock()
		defer mu.Unlock()
		if closed.IsZero() || next.Sub(closed) < 3*time.Second-100*time.Millisecond {
			t.Errorf("the gate closed at %v, the next attempt began at %v", closed, next)
		}
		if next.Sub(closed) > 7*time.Second {
			t.Errorf("reassigned %v after the gate closed", next.Sub(closed))
		}
	})
}

func TestCancelReachesTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		p := w.start()
		defer p.kill()
		run := func(ctx context.Context, task jobs.Task, l *worker.Lease, pr *worker.Progress) (
			jobs.Result, error) {
			if task.Stage == jobs.StageFetch && !task.Closing {
				<-l.Stop()
			}
			return work(0)(ctx, task, l, pr)
		}
		stop := w.employ(p, "w", run)
		defer stop(false)
		w.submit(p, round("r"))
		w.until(p, "fetching", func(st api.Status) bool {
			return len(st.Open) > 0 && st.Open[0].Stage == jobs.StageFetch
		})
		time.Sleep(time.Minute)
		begin := time.Now()
		if err := p.Cancel(t.Context(), state.Cancel{JobRef: state.JobRef{Job: 1}}); err != nil {
			t.Fatal(err)
		}
		w.untilIdle(p)
		if took := time.Since(begin); took > 4*time.Second {
			t.Errorf("the round ended %v after the cancel", took)
		}
		w.expectCommits("1 round commit")
	})
}

func TestDiscardFreesTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		p := w.start()
		defer p.kill()
		var lost sync.WaitGroup
		lost.Add(2)
		run := func(ctx context.Context, task jobs.Task, l *worker.Lease, pr *worker.Progress) (
			jobs.Result, error) {
			if task.Stage == jobs.StageFetch {
				<-l.Lost()
				lost.Done()
				return jobs.Result{}, l.Gate()
			}
			return work(0)(ctx, task, l, pr)
		}
		stop := w.employ(p, "w", run)
		defer stop(false)
		w.submit(p, round("r"))
		w.until(p, "fetching by two", func(st api.Status) bool {
			return len(st.Workers) == 1 && st.Workers[0].Tasks == 2 &&
				st.Open[0].Stage == jobs.StageFetch
		})
		err := p.Cancel(t.Context(), state.Cancel{JobRef: state.JobRef{RequestID: "r"}, Discard: true})
		if err != nil {
			t.Fatal(err)
		}
		lost.Wait()
		w.untilIdle(p)
		w.expectCommits("1 round discard")
	})
}

func TestDrainGivesBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		p := w.start()
		defer p.kill()
		drains := func(ctx context.Context, task jobs.Task, l *worker.Lease, pr *worker.Progress) (
			jobs.Result, error) {
			if task.Stage == jobs.StageFetch {
				<-l.Drain()
				return jobs.Result{}, jobs.ErrDrained
			}
			return work(0)(ctx, task, l, pr)
		}
		stop := w.employ(p, "a", drains)
		w.submit(p, round("r"))
		w.until(p, "fetching by three", func(st api.Status) bool {
			return len(st.Workers) == 1 && st.Workers[0].Tasks == 3
		})
		stop(false)
		st := w.until(p, "without workers", func(st api.Status) bool { return len(st.Workers) == 0 })
		for _, task := range st.Open[0].Stages[1].Tasks {
			if task.Phase != state.Waiting || task.Failures != 0 {
				t.Errorf("after the drain: %+v", task)
			}
		}
		begin := time.Now()
		defer w.employ(p, "b", work(0))(false)
		w.untilIdle(p)
		if took := time.Since(begin); took > time.Second {
			t.Errorf("the round went on after %v", took)
		}
	})
}

func TestStepDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start()
		stop := w.employ(p, "w", work(time.Minute))
		w.submit(p, round("r"))
		time.Sleep(30 * time.Second)
		w.ledger.SetEpoch(2)
		time.Sleep(5 * time.Minute)
		if _, err := p.Status(t.Context()); !errors.Is(err, api.ErrNotLeader) {
			t.Errorf("Status of a coordinator that stepped down: %v", err)
		}
		stop(true)
		if err := p.kill(); !errors.Is(err, leader.ErrStepDown) {
			t.Errorf("Run = %v, want a step down", err)
		}
		w.expectCommits()
		// The other group goes on, from the store.
		q := w.start()
		defer q.kill()
		defer w.employ(q, "v", work(time.Second))(false)
		w.untilIdle(q)
		w.expectCommits("1 round commit")
	})
}
