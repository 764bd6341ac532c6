package sim

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/leader"
	"seine/coordinator/state"
	"seine/formats/layout"
	"seine/jobs"
	"seine/jobs/worker"
)

// asks is a runner whose fetch tasks ask once a second unless they are held,
// until their hard stop.
func (w *world) asks(asked *[]time.Time) worker.Runner {
	return func(ctx context.Context, t jobs.Task, l *worker.Lease, _ *worker.Progress) (
		jobs.Result, error) {
		result := jobs.Result{End: t.ID() + "/end"}
		if t.Stage != jobs.StageFetch {
			return result, nil
		}
		for {
			live, _ := l.Live()
			if live.Deadline > 0 && !live.Held && time.Now().UnixMilli() >= live.Deadline {
				return result, l.Gate()
			}
			if !live.Held {
				w.mu.Lock()
				*asked = append(*asked, time.Now())
				w.mu.Unlock()
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return jobs.Result{}, ctx.Err()
			case <-l.Drain():
				return jobs.Result{}, jobs.ErrDrained
			}
		}
	}
}

// A pause stops what runs within 5 s, told or not, keeps the lease, outlives the
// coordinator, and costs the round nothing of its time.
func TestPause(t *testing.T) {
	for _, test := range []struct {
		name string
		told bool
	}{{"told", true}, {"found by the leader itself", false}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				p := w.start()
				var asked []time.Time
				stop := w.employ(p, "w", w.asks(&asked))
				r := round("r")
				r.Round.Duration = 60_000
				w.submit(p, r)
				time.Sleep(20 * time.Second)
				before := w.count(&asked)
				if before < 15 {
					t.Fatalf("%d requests in 20 s", before)
				}
				w.change(p, test.told, leader.Settings{Version: 2, Paused: &state.Pause{At: 1, By: "o"}})
				time.Sleep(5 * time.Second)
				quiet := w.count(&asked)
				time.Sleep(10 * time.Minute) // far beyond the hard stop
				st := w.until(p, "answering", func(api.Status) bool { return true })
				if w.count(&asked) != quiet {
					t.Errorf("%d requests while paused", w.count(&asked)-quiet)
				}
				if st.Paused == nil || st.Paused.By != "o" || len(st.Open) != 1 || !st.Open[0].Held ||
					st.Open[0].Stages[1].Tasks[0].Phase != state.InProgress {
					t.Errorf("while paused the status is %+v", st)
				}
				w.change(p, test.told, leader.Settings{Version: 3})
				w.untilIdle(p)
				if n := w.count(&asked); n < 55 || n > 72 {
					t.Errorf("%d requests in a round of 60 s", n)
				}
				w.expectCommits("1 round commit")
				stop(false)
				if err := p.kill(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// count is how many requests there were.
func (w *world) count(asked *[]time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(*asked)
}

func (w *world) change(c api.Conn, told bool, s leader.Settings) {
	w.t.Helper()
	w.ledger.PutSettings(s)
	if !told {
		return
	}
	if err := c.Heed(w.t.Context(), api.Settings{Version: s.Version}); err != nil {
		w.t.Error(err)
	}
}

// A coordinator that starts over a paused crawl grants nothing.
func TestPauseOutlivesTheCoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.ledger.Put(jobs.Spec{Format: 1, Job: 1, Kind: jobs.KindRound, Now: 1, Ranges: layout.Split(1),
			RequestID: "r", Round: &jobs.Round{OnFailed: "commit", Duration: 60_000}})
		w.ledger.PutSettings(leader.Settings{Version: 1, Paused: &state.Pause{At: 1, By: "o"}})
		p := w.start()
		defer p.kill()
		stop := w.employ(p, "w", work(time.Second))
		defer stop(false)
		time.Sleep(5 * time.Minute)
		if len(w.ran) > 0 {
			t.Errorf("ran while paused: %q", w.ran)
		}
		inject := state.Submission{RequestID: "i", Kind: jobs.KindInject, Inject: &jobs.Inject{}}
		w.submit(p, inject)
		w.change(p, true, leader.Settings{Version: 2})
		w.untilIdle(p)
		w.expectCommits("1 round commit", "2 inject commit")
	})
}

// A coordinator that is told of a version which its store does not have says so.
func TestHeedOfAnotherStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start()
		defer p.kill()
		w.until(p, "leading", func(api.Status) bool { return true })
		if err := p.Heed(t.Context(), api.Settings{Version: 4}); err == nil {
			t.Error("a version of another store is no error")
		}
	})
}
