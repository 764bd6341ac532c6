package sim

import (
	"context"
	"errors"
	"strings"
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

// startGroup starts a coordinator of a durable group, which takes the store over.
func (w *world) startGroup(g leader.Group) *process {
	w.t.Helper()
	node, err := raftnode.Embedded(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	p := &process{Leader: leader.New(node, w.ledger, nil), node: node}
	if g.Formats == nil {
		g.Formats = func(context.Context) (int, error) { return state.Format, nil }
	}
	p.Leader.Group = &g
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	p.kill = func() error {
		cancel()
		err := <-ended
		return errors.Join(err, node.Close())
	}
	return p
}

// A group that recovers grants nothing for a minute, then goes on with what is
// in the store; the group that had the crawl before finds that out within 31 s,
// and answers nobody any more.
func TestRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		old := w.startGroup(leader.Group{})
		stopOld := w.employ(old, "old", work(time.Hour))
		w.submit(old, round("r"))
		time.Sleep(2 * time.Second)
		w.ledger.End(jobs.TaskRef{Job: 1, Stage: jobs.StageGenerate}, jobs.Result{End: "sealed"})

		next := w.startGroup(leader.Group{Wait: true, Quiet: time.Minute})
		began := time.Now()
		st := w.until(next, "taken over", func(st api.Status) bool { return st.Epoch == 3 })
		if len(st.Open) != 1 || st.Open[0].Stages[0].Done() != 1 {
			t.Errorf("after the takeover %+v is open, want the round with its sealed task", st.Open)
		}
		time.Sleep(31 * time.Second)
		beat := worker.Heartbeat{Worker: "old"}
		if _, err := old.Heartbeat(t.Context(), beat); err == nil {
			t.Error("the old group still renews leases")
		}
		if err := old.kill(); !errors.Is(err, leader.ErrStepDown) {
			t.Errorf("the old group ended with %v", err)
		}
		stopOld(true)
		w.mu.Lock()
		w.ran = nil
		w.mu.Unlock()
		defer w.employ(next, "new", work(time.Second))(false)
		w.untilIdle(next)
		w.expectCommits("1 round commit")
		if took := time.Since(began); took < time.Minute || took > 70*time.Second {
			t.Errorf("the round ended after %v", took)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, ran := range w.ran {
			if strings.Contains(ran, "generate/0/") {
				t.Errorf("%s ran although its end was in the store", ran)
			}
		}
		if err := next.kill(); err != nil {
			t.Error(err)
		}
	})
}

// A leader of an epoch that is over ends before it does anything, also when it
// has just been chosen.
func TestOldGroupIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		g, err := raftnode.Memory(3, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		ended := make(chan error, 3)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		all := &anyLeader{}
		for _, n := range g.Nodes {
			l := leader.New(n, w.ledger, nil)
			l.Group = &leader.Group{Formats: func(context.Context) (int, error) { return 1, nil }}
			all.leaders = append(all.leaders, l)
			go func() { ended <- l.Run(ctx) }()
		}
		w.until(all, "leading", func(api.Status) bool { return true })
		w.ledger.SetEpoch(9)
		w.ledger.Put(jobs.Spec{Format: 1, Job: 1, Kind: jobs.KindRound, RequestID: "theirs", Now: 5,
			Ranges: layout.Split(1), Round: &jobs.Round{OnFailed: "commit"}})
		if err := <-ended; !errors.Is(err, leader.ErrStepDown) {
			t.Errorf("the leader ended with %v", err)
		}
		for i, n := range g.Nodes { // its node is stopped, as its process would
			if n.Leading() {
				g.Isolate(i)
			}
		}
		if err := <-ended; !errors.Is(err, leader.ErrStepDown) {
			t.Errorf("the next leader ended with %v", err)
		}
		if n := len(w.ledger.Commits()); n != 0 {
			t.Errorf("an old group made %d commits", n)
		}
	})
}
