package sim

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"seine/coordinator/api"
	"seine/jobs"
	"seine/jobs/worker"
)

// Claims whose callers go away at random moments, also the moment at which they
// are granted something, cost no task an attempt that counts, and no lease's
// time.
func TestClaimsThatGoAway(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 9))
			w := newWorld(t, 20)
			p := w.start()
			defer p.kill()
			w.submit(p, round("r"))
			given := map[string]int{}
			for range 200 {
				ctx, cancel := context.WithTimeout(t.Context(),
					time.Duration(dice.IntN(3))*time.Microsecond)
				tasks, err := p.Claim(ctx, worker.Claim{Worker: "fickle", Fetch: 1, Other: 1})
				cancel()
				for _, task := range tasks {
					if err != nil {
						t.Errorf("a claim brought %s and %v", task.ID(), err)
					}
					given[task.ID()]++
					if err := p.Complete(t.Context(), worker.Completion{Worker: "fickle",
						AttemptRef: task.AttemptRef(), Result: jobs.Result{End: "e"}}); err != nil {
						t.Error(err)
					}
				}
			}
			begin := time.Now()
			defer w.employ(p, "steady", work(0))(false)
			w.until(p, "idle without failures", func(st api.Status) bool {
				for _, j := range st.Open {
					for _, s := range j.Stages {
						for _, task := range s.Tasks {
							if task.Failures > 0 {
								t.Errorf("seed %d: %+v", seed, task)
							}
						}
					}
				}
				return st.Idle
			})
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("seed %d: the rest took %v: something waited for a lease", seed, took)
			}
			for id, n := range given {
				if n > 1 {
					t.Errorf("seed %d: %s was given %d times", seed, id, n)
				}
			}
		})
	}
}

// A claim of nonsense is refused; one for nothing gets nothing.
func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start()
		defer p.kill()
		w.submit(p, round("r"))
		for _, bad := range []worker.Claim{{Fetch: 1}, {Worker: "w", Fetch: -1},
			{Worker: "w", Other: -1}} {
			if _, err := p.Claim(t.Context(), bad); err == nil {
				t.Errorf("Claim(%+v) is no error", bad)
			}
		}
		begin := time.Now()
		tasks, err := p.Claim(t.Context(), worker.Claim{Worker: "w", Fetch: 5})
		if err != nil || len(tasks) > 0 || time.Since(begin) != 10*time.Second {
			t.Errorf("Claim = %v, %v after %v", tasks, err, time.Since(begin))
		}
	})
}

// What a heartbeat says of tasks that are not the worker's gets Lost.
func TestHeartbeatOfStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start()
		defer p.kill()
		w.submit(p, round("r"))
		tasks, err := p.Claim(t.Context(), worker.Claim{Worker: "w", Other: 1})
		if err != nil || len(tasks) != 1 {
			t.Fatalf("Claim = %v, %v", tasks, err)
		}
		mine := tasks[0].AttemptRef()
		older, other := mine, mine
		older.Attempt.N--
		other.Job = 99
		beat := func(id string, refs ...jobs.AttemptRef) (orders []worker.Order) {
			h := worker.Heartbeat{Worker: id}
			for _, r := range refs {
				h.Tasks = append(h.Tasks, worker.Beat{AttemptRef: r})
			}
			o, err := p.Heartbeat(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			return o.Tasks
		}
		got := beat("w", mine, older, other)
		if got[0] != worker.Continue || got[1] != worker.Lost || got[2] != worker.Lost {
			t.Errorf("orders %q", got)
		}
		if got := beat("v", mine); got[0] != worker.Lost {
			t.Errorf("another worker's heartbeat got %q", got[0])
		}
		time.Sleep(15*time.Second - time.Millisecond)
		if got := beat("w", mine); got[0] != worker.Continue {
			t.Errorf("just before its end: %q", got[0])
		}
		time.Sleep(15 * time.Second)
		if got := beat("w", mine); got[0] != worker.Lost {
			t.Errorf("at its end: %q", got[0])
		}
	})
}
