package sim

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/leader"
	"seine/coordinator/ledgertest"
	"seine/coordinator/raftnode"
	"seine/coordinator/state"
	"seine/formats/layout"
	"seine/jobs"
)

// Whoever had asked a group that is lost with its log asks the next one again: what
// was committed is not done again.
func TestRequestOfALostGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		for range 2 {
			p := w.startGroup(leader.Group{})
			stop := w.employ(p, "w", work(time.Second))
			w.submit(p, round("r"))
			w.untilIdle(p)
			j, err := p.Watch(t.Context(), state.JobRef{RequestID: "r"}, 0)
			if err != nil || j.Outcome != state.Commit || j.Counts["pages"] != 3 {
				t.Errorf("r ended as %+v, %v", j, err)
			}
			stop(false)
			if err := p.kill(); err != nil {
				t.Error(err)
			}
		}
		w.expectCommits("1 round commit")
	})
}

// reader notes of which open jobs a leader read what their tasks left.
type reader struct {
	*ledgertest.Ledger
	mu   sync.Mutex
	read []bool // job 1, at each Open
}

func (r *reader) Open(ctx context.Context, known func(uint64) bool) (uint64, []state.OpenJob,
	error) {
	r.mu.Lock()
	r.read = append(r.read, !known(1))
	r.mu.Unlock()
	return r.Ledger.Open(ctx, known)
}

// A leader that follows another reads nothing of the tasks of a round, which may be
// thousands of objects: its log knows them. One that begins with the store does.
func TestNextLeaderReadsNoTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		w.ledger.Put(jobs.Spec{Format: 1, Job: 1, Kind: jobs.KindRound, RequestID: "r", Now: 5,
			Ranges: layout.Split(2), Round: round("r").Round})
		r := &reader{Ledger: w.ledger}
		g, err := raftnode.Memory(3, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		all := &anyLeader{}
		var ended sync.WaitGroup
		defer ended.Wait()
		defer cancel()
		for _, n := range g.Nodes {
			l := leader.New(n, r, nil)
			l.Group = &leader.Group{Formats: func(context.Context) (int, error) { return state.Format, nil }}
			all.leaders = append(all.leaders, l)
			ended.Go(func() { _ = l.Run(ctx) })
		}
		w.until(all, "leading", func(st api.Status) bool { return len(st.Open) == 1 })
		for i, n := range g.Nodes {
			if n.Leading() {
				g.Isolate(i)
			}
		}
		time.Sleep(10 * time.Second)
		w.until(all, "leading again", func(st api.Status) bool { return len(st.Open) == 1 })
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.read) != 2 || !r.read[0] || r.read[1] {
			t.Errorf("tasks were read at the takeovers: %v, want at the first of two", r.read)
		}
	})
}
