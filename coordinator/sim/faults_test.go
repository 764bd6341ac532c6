package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/leader"
	"seine/coordinator/raftnode"
	"seine/coordinator/state"
	"seine/formats/layout"
	"seine/jobs"
	"seine/jobs/worker"
)

var errStore = errors.New("the store is away")

// Every call to the store, each in turn, fails before or after it did its work:
// every request becomes one job with one commit, and no spec is left open.
func TestEveryLedgerCallFails(t *testing.T) {
	for fail := range 60 {
		for _, after := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				n, hit := 0, false
				w.ledger.Fault = func(_ string, at bool) error {
					if at != after {
						return nil
					}
					n++
					if n == fail+1 {
						hit = true
						return errStore
					}
					return nil
				}
				p := w.start()
				stop := w.employ(p, "w", work(time.Second))
				w.submit(p, round("r1"))
				w.submit(p, round("r2"))
				w.untilIdle(p)
				stop(false)
				if err := p.kill(); err != nil {
					t.Error(err)
				}
				w.expectCommits("1 round commit", "2 round commit")
				if len(w.ledger.Specs()) != 2 {
					t.Errorf("%d specs", len(w.ledger.Specs()))
				}
				if fail < 8 && !hit {
					t.Errorf("call %d was never made", fail)
				}
			})
		}
		if t.Failed() {
			t.Fatalf("failing call %d", fail)
		}
	}
}

// What cannot be read ends the coordinator instead of being tried for ever; a
// store that is away is waited for, and whoever asks meanwhile is told.
func TestStoreAtTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		var fault atomic.Pointer[error]
		fault.Store(&errStore)
		w.ledger.Fault = func(string, bool) error { return *fault.Load() }
		p := w.start()
		time.Sleep(time.Minute)
		_, err := p.Status(t.Context())
		if !errors.Is(err, api.ErrNotLeader) || !strings.Contains(err.Error(), "is away") {
			t.Errorf("Status = %v", err)
		}
		none := error(nil)
		fault.Store(&none)
		w.untilIdle(p)
		if err := p.kill(); err != nil {
			t.Error(err)
		}
		damaged := fmt.Errorf("rounds/00000001/spec: %w", leader.ErrDamaged)
		fault.Store(&damaged)
		q := w.start()
		time.Sleep(time.Minute)
		if err := q.kill(); !errors.Is(err, leader.ErrDamaged) {
			t.Errorf("Run = %v", err)
		}
	})
}

// A blocked job says why, and goes on when it is told to.
func TestBlockedAndRerun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		p := w.start()
		defer p.kill()
		var full atomic.Bool
		full.Store(true)
		defer w.employ(p, "w", func(ctx context.Context, task jobs.Task, l *worker.Lease,
			pr *worker.Progress) (jobs.Result, error) {
			if task.Stage == jobs.StageReduce && task.Index == 1 && full.Load() {
				return jobs.Result{}, errors.New("the disk is full")
			}
			return work(0)(ctx, task, l, pr)
		})(false)
		w.submit(p, round("r"))
		st := w.until(p, "blocked", func(st api.Status) bool {
			return len(st.Open) > 0 && st.Open[0].Phase == state.Blocked
		})
		if st.Open[0].Error != "the disk is full" {
			t.Errorf("it is blocked because of %q", st.Open[0].Error)
		}
		full.Store(false)
		if err := p.Rerun(t.Context(), state.Rerun{Job: 1}); err != nil {
			t.Fatal(err)
		}
		w.untilIdle(p)
		w.expectCommits("1 round commit")
		if err := p.Commit(t.Context(), state.CommitPartial{Job: 1}); !errors.Is(err, state.ErrPhase) {
			t.Errorf("Commit of an ended job: %v", err)
		}
	})
}

// A planned submission that is refused ends, and the next one goes on.
func TestRefusedPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		refused := false
		w.ledger.Fault = func(call string, after bool) error {
			if call == "plan" && !after && !refused {
				refused = true
				return fmt.Errorf("there is no crawl: %w", state.ErrRefused)
			}
			return nil
		}
		p := w.start()
		defer p.kill()
		defer w.employ(p, "w", work(0))(false)
		w.submit(p, round("r1"))
		w.submit(p, round("r2"))
		w.untilIdle(p)
		w.expectCommits("1 round commit")
		j, err := p.Watch(t.Context(), state.JobRef{RequestID: "r1"}, 0)
		if err != nil || j.Outcome != state.Refused || j.Error == "" {
			t.Errorf("r1 ended as %+v, %v", j, err)
		}
	})
}

// An open round is rebuilt from the store alone: what has ended is not done
// again, and attempts go on above what the store shows.
func TestRebuiltFromTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		spec := jobs.Spec{Format: 1, Job: 7, Kind: jobs.KindRound, Epoch: 1, RequestID: "old",
			Now: time.Now().Add(time.Hour).UnixMilli(), Ranges: layout.Split(2),
			Round: &jobs.Round{OnFailed: "commit", Duration: 1000}}
		w.ledger.Put(spec)
		stray := spec
		stray.Job, stray.RequestID, stray.Now = 8, "stray", spec.Now+1000
		w.ledger.Put(stray)
		end := func(stage jobs.Stage, i int) {
			w.ledger.End(jobs.TaskRef{Job: 7, Stage: stage, Index: i},
				jobs.Result{End: "old", Counts: map[string]int64{"pages": 10}})
		}
		end(jobs.StageGenerate, 0)
		end(jobs.StageGenerate, 1)
		end(jobs.StageFetch, 1)
		w.ledger.Attempt(jobs.TaskRef{Job: 7, Stage: jobs.StageFetch, Index: 0}, 41)
		p := w.start()
		defer p.kill()
		defer w.employ(p, "w", work(0))(false)
		w.submit(p, round("old")) // is known
		w.submit(p, round("new"))
		w.untilIdle(p)
		w.expectCommits("7 round commit", "8 round discard", "9 round commit")
		want := []string{"w 7/fetch/0/a000001-0042", "w 7/reduce/0/a000001-0001",
			"w 7/reduce/1/a000001-0001"}
		w.mu.Lock()
		defer w.mu.Unlock()
		got := slices.Clone(w.ran[:3])
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("ran %q, want first %q", w.ran, want)
		}
		specs := w.ledger.Specs()
		if last := specs[2]; last.Now != stray.Now+1000 {
			t.Errorf("now of the new round is %d, want a second after the last, %d", last.Now, stray.Now)
		}
	})
}

// Processes die at random, coordinator and worker together as in an embedded
// crawl: every round is committed once, and no attempt number is used twice.
func TestKilledAgainAndAgain(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 3))
			w := newWorld(t, 3)
			for life := 0; len(w.ledger.Commits()) < 3; life++ {
				if life > 200 {
					t.Fatalf("seed %d: no end after 200 lives", seed)
				}
				p := w.start()
				stop := w.employ(p, fmt.Sprint("w", life), work(700*time.Millisecond))
				w.submit(p, round(fmt.Sprint("r", len(w.ledger.Commits()))))
				time.Sleep(time.Duration(dice.IntN(2500)) * time.Millisecond)
				stop(true)
				if err := p.kill(); err != nil {
					t.Error(err)
				}
			}
			seen := map[uint64]bool{}
			for _, c := range w.ledger.Commits() {
				if seen[c.Job] || c.Outcome != state.Commit {
					t.Errorf("seed %d: commits %q", seed, w.committed())
				}
				seen[c.Job] = true
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			began := map[string]bool{}
			for _, run := range w.ran {
				var worker, attempt string
				_, _ = fmt.Sscan(run, &worker, &attempt)
				if began[attempt] {
					t.Errorf("seed %d: attempt %s began twice", seed, attempt)
				}
				began[attempt] = true
			}
		})
	}
}

// anyLeader asks whichever coordinator leads.
type anyLeader struct {
	api.Conn // nil: only the calls below are made
	leaders  []*leader.Leader
}

func ask[R any](a *anyLeader, do func(*leader.Leader) (R, error)) (got R, err error) {
	for _, l := range a.leaders {
		if got, err = do(l); err == nil || errors.Is(err, jobs.ErrStaleAttempt) {
			return got, err
		}
	}
	return got, err
}

func (a *anyLeader) Claim(ctx context.Context, c worker.Claim) ([]jobs.Task, error) {
	return ask(a, func(l *leader.Leader) ([]jobs.Task, error) { return l.Claim(ctx, c) })
}

func (a *anyLeader) Heartbeat(ctx context.Context, h worker.Heartbeat) (worker.Orders, error) {
	return ask(a, func(l *leader.Leader) (worker.Orders, error) { return l.Heartbeat(ctx, h) })
}

func (a *anyLeader) Complete(ctx context.Context, c worker.Completion) error {
	_, err := ask(a, func(l *leader.Leader) (int, error) { return 0, l.Complete(ctx, c) })
	return err
}

func (a *anyLeader) Fail(ctx context.Context, f worker.Failure) error {
	_, err := ask(a, func(l *leader.Leader) (int, error) { return 0, l.Fail(ctx, f) })
	return err
}

func (a *anyLeader) Leave(ctx context.Context, p worker.Leave) error {
	_, err := ask(a, func(l *leader.Leader) (int, error) { return 0, l.Leave(ctx, p) })
	return err
}

func (a *anyLeader) Status(ctx context.Context) (api.Status, error) {
	return ask(a, func(l *leader.Leader) (api.Status, error) { return l.Status(ctx) })
}

func (a *anyLeader) Submit(ctx context.Context, s state.Submission) (api.Submitted, error) {
	return ask(a, func(l *leader.Leader) (api.Submitted, error) { return l.Submit(ctx, s) })
}

// A leader is cut off from its group while a task runs: it acknowledges no
// heartbeat, the next leader grants the lease anew, and the task, which is alive
// all the time, is not given to anybody else.
func TestLeaderIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		g, err := raftnode.Memory(3, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		ctx, cancel := context.WithCancel(t.Context())
		all := &anyLeader{}
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		for _, n := range g.Nodes {
			l := leader.New(n, w.ledger, nil)
			all.leaders = append(all.leaders, l)
			running.Go(func() { _ = l.Run(ctx) })
		}
		defer w.employ(all, "w", work(time.Minute))(false)
		w.submit(all, round("r"))
		time.Sleep(90 * time.Second) // in fetch
		for i, n := range g.Nodes {
			if n.Leading() {
				g.Isolate(i)
				time.Sleep(time.Millisecond) // what was on the wire has come
				h := worker.Heartbeat{Worker: "w"}
				if _, err := all.leaders[i].Heartbeat(ctx, h); err == nil {
					t.Error("a leader that is cut off acknowledged a heartbeat")
				}
				break
			}
		}
		w.untilIdle(all)
		w.expectCommits("1 round commit")
		w.mu.Lock()
		defer w.mu.Unlock()
		want := []string{"w 1/generate/0/a000001-0001", "w 1/fetch/0/a000001-0001",
			"w 1/reduce/0/a000001-0001"}
		if !slices.Equal(w.ran, want) {
			t.Errorf("ran %q, want %q", w.ran, want)
		}
	})
}
