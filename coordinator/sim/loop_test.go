package sim

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/leader"
	"seine/coordinator/raftnode"
	"seine/coordinator/state"
	"seine/jobs"
)

func (a *anyLeader) Repeat(ctx context.Context, p state.Loop) error {
	_, err := ask(a, func(l *leader.Leader) (struct{}, error) { return struct{}{}, l.Repeat(ctx, p) })
	return err
}

// A loop until idle outlives its leader: each round is run once, and it ends
// when nothing is due.
func TestLoopOverAChangeOfLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.ledger.DueRounds = 4
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
		defer w.employ(all, "w", work(10*time.Second))(false)
		w.until(all, "leading", func(api.Status) bool { return true })
		loop := state.Loop{RequestID: "l", UntilIdle: true, Round: jobs.Round{OnFailed: "commit", Duration: 600_000}}
		if err := all.Repeat(ctx, loop); err != nil {
			t.Fatal(err)
		}
		for len(w.ledger.Commits()) < 1 {
			time.Sleep(time.Second)
		}
		for i, n := range g.Nodes {
			if n.Leading() {
				g.Isolate(i)
				break
			}
		}
		w.until(all, "the loop is over", func(st api.Status) bool {
			return st.Idle && len(st.Loops) == 0
		})
		var ids []string
		for _, spec := range w.ledger.Specs() {
			ids = append(ids, spec.RequestID)
		}
		if want := []string{"l-1", "l-2", "l-3"}; !slices.Equal(ids, want) {
			t.Errorf("rounds %q, want %q (brought nothing, so three are enough)", ids, want)
		}
	})
}

// A loop of so many rounds keeps its distance, and is run though nothing is due.
func TestLoopEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start()
		defer func() { _ = p.kill() }()
		defer w.employ(p, "w", work(time.Second))(false)
		w.untilIdle(p)
		began := time.Now()
		loop := state.Loop{RequestID: "l", Times: 3, Every: time.Hour.Milliseconds(),
			Round: jobs.Round{OnFailed: "commit", Duration: 600_000}}
		if err := p.Repeat(t.Context(), loop); err != nil {
			t.Fatal(err)
		}
		for len(w.ledger.Commits()) < 3 {
			time.Sleep(time.Second)
		}
		if took := time.Since(began); took < 2*time.Hour || took > 2*time.Hour+time.Minute {
			t.Errorf("three rounds an hour apart took %v", took)
		}
		time.Sleep(3 * time.Hour)
		w.expectCommits("1 round commit", "2 round commit", "3 round commit")
	})
}
