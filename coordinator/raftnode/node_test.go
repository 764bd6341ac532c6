package raftnode

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"seine/coordinator/state"
)

func join(t *testing.T, worker string) state.Command {
	t.Helper()
	c, err := state.NewCommand(state.Join{Worker: worker}, time.Now().UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// drain reads leadership changes, as a node's user must.
func drain(ctx context.Context, n *Node) {
	for {
		select {
		case <-n.Leadership():
		case <-ctx.Done():
			return
		}
	}
}

// leaderOf waits for a leader among the nodes.
func leaderOf(t *testing.T, nodes ...*Node) *Node {
	t.Helper()
	for range 600 {
		for _, n := range nodes {
			if n.Leading() && n.Verify(t.Context()) == nil {
				return n
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("nobody leads after 30 s")
	return nil
}

func known(n *Node) (workers int) {
	n.View(func(s *state.State) { workers = len(s.Workers) })
	return workers
}

func TestEmbedded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := Embedded(nil)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if leads := <-n.Leadership(); !leads {
			t.Error("the first change of leadership is its loss")
		}
		if took := time.Since(start); took > 100*time.Millisecond {
			t.Errorf("a node alone led after %v", took)
		}
		if err := n.Catchup(t.Context()); err != nil {
			t.Fatal(err)
		}
		// More than the snapshot threshold, so that snapshots are taken too.
		for i := range 1500 {
			if _, err := n.Apply(t.Context(), join(t, fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.Verify(t.Context()); err != nil {
			t.Errorf("Verify = %v", err)
		}
		time.Sleep(10 * time.Minute)
		if got := known(n); got != 1500 {
			t.Errorf("%d workers, want 1500", got)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Apply(t.Context(), join(t, "late")); !errors.Is(err, ErrNotLeader) {
			t.Errorf("Apply after Close = %v", err)
		}
		if err := n.Verify(t.Context()); !errors.Is(err, ErrNotLeader) {
			t.Errorf("Verify after Close = %v", err)
		}
	})
}

func TestUnknownCommandStopsTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := Embedded(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		<-n.Leadership()
		if _, err := n.Apply(t.Context(), join(t, "a")); err != nil {
			t.Fatal(err)
		}
		unknown := join(t, "b")
		unknown.Kind = "teleport"
		if _, err := n.Apply(t.Context(), unknown); !errors.Is(err, state.ErrUnknown) {
			t.Errorf("Apply = %v, want ErrUnknown", err)
		}
		<-n.Failed()
		if err := n.Failure(); !errors.Is(err, state.ErrUnknown) {
			t.Errorf("Failure = %v", err)
		}
		if _, err := n.Apply(t.Context(), join(t, "c")); !errors.Is(err, state.ErrUnknown) {
			t.Errorf("Apply after the failure = %v: the log was followed", err)
		}
		if got := known(n); got != 1 {
			t.Errorf("%d workers, want what was before the failure", got)
		}
	})
}

func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		g, err := Memory(3, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		for _, n := range g.Nodes {
			go drain(ctx, n)
		}
		old := leaderOf(t, g.Nodes...)
		if _, err := old.Apply(ctx, join(t, "a")); err != nil {
			t.Fatal(err)
		}
		var rest []*Node
		for i, n := range g.Nodes {
			if n == old {
				g.Isolate(i)
				defer g.Join(i)
			} else {
				rest = append(rest, n)
			}
		}
		// One that is cut off must not say that it leads, even before it knows.
		time.Sleep(time.Millisecond) // what was on the wire has come
		if !old.Leading() {
			t.Error("the old leader knows already: the test came too late")
		}
		if err := old.Verify(ctx); err == nil {
			t.Error("a leader that is cut off was verified")
		}
		next := leaderOf(t, rest...)
		if err := next.Catchup(ctx); err != nil {
			t.Fatal(err)
		}
		if got := known(next); got != 1 {
			t.Errorf("the next leader knows %d workers, want 1", got)
		}
		if _, err := next.Apply(ctx, join(t, "b")); err != nil {
			t.Errorf("apply at the next leader: %v", err)
		}
		if _, err := old.Apply(ctx, join(t, "c")); !errors.Is(err, ErrNotLeader) {
			t.Errorf("Apply at the old leader = %v", err)
		}
	})
}
