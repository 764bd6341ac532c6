package raftnode

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seine/coordinator/peer"
	"seine/coordinator/peer/peertest"
)

// netNode is a node over TCP that can be stopped and started again.
type netNode struct {
	*Node
	Member
	dir  string
	stop func()
}

// netGroup is a group over loopback.
type netGroup struct {
	t         *testing.T
	authority *peertest.Authority
}

func (g *netGroup) port(address string) *peer.Port {
	g.t.Helper()
	certificate, key := g.authority.Issue("node", "")
	id, err := peer.LoadIdentity(nil, g.authority.CA, certificate, key)
	if err != nil {
		g.t.Fatal(err)
	}
	p, err := peer.Listen(address, "", id)
	if err != nil {
		g.t.Fatal(err)
	}
	return p
}

// start starts a node; from is nil or the node that it was before.
func (g *netGroup) start(id, dir string, port *peer.Port, bootstrap []Member) *netNode {
	g.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		if err := port.Run(ctx); err != nil {
			g.t.Error(err)
		}
	})
	n, err := Durable(DurableOptions{ID: id, Dir: dir, Port: port, Bootstrap: bootstrap,
		SnapshotEvery: 64})
	if err != nil {
		g.t.Fatal(err)
	}
	all.Go(func() { drain(ctx, n) })
	stop := sync.OnceFunc(func() {
		if err := n.Close(); err != nil {
			g.t.Error(err)
		}
		cancel()
		all.Wait()
	})
	g.t.Cleanup(stop)
	return &netNode{Node: n, Member: Member{id, port.Address()}, dir: dir, stop: stop}
}

func newNetGroup(t *testing.T, size int) (g *netGroup, nodes []*netNode) {
	t.Helper()
	g = &netGroup{t: t, authority: peertest.New(t)}
	var ports []*peer.Port
	var first []Member
	for i := range size {
		ports = append(ports, g.port("127.0.0.1:0"))
		first = append(first, Member{fmt.Sprintf("n%d", i+1), ports[i].Address()})
	}
	for i, m := range first {
		nodes = append(nodes, g.start(m.ID, t.TempDir(), ports[i], first))
	}
	return g, nodes
}

func (g *netGroup) leader(nodes ...*netNode) *netNode {
	g.t.Helper()
	var plain []*Node
	for _, n := range nodes {
		plain = append(plain, n.Node)
	}
	l := leaderOf(g.t, plain...)
	for _, n := range nodes {
		if n.Node == l {
			return n
		}
	}
	return nil
}

func without(nodes []*netNode, gone *netNode) (rest []*netNode) {
	for _, n := range nodes {
		if n != gone {
			rest = append(rest, n)
		}
	}
	return rest
}

// A group over TCP and TLS keeps what was applied over the death of its leader,
// and a node that comes back on its own folder catches up.
func TestGroupOverTLS(t *testing.T) {
	g, nodes := newNetGroup(t, 3)
	old := g.leader(nodes...)
	for i := range 200 { // beyond the threshold of a snapshot
		if _, err := old.Apply(t.Context(), join(t, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := old.raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	old.stop()
	rest := without(nodes, old)
	next := g.leader(rest...)
	if err := next.Catchup(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := known(next.Node); got != 200 {
		t.Errorf("the next leader knows %d workers, want 200", got)
	}
	if _, err := next.Apply(t.Context(), join(t, "late")); err != nil {
		t.Fatal(err)
	}
	back := g.start(old.ID, old.dir, g.port(old.Address), nil)
	until(t, "the old leader has caught up", func() bool { return known(back.Node) == 201 })
	if l, _ := back.Leader(); l != next.Member {
		t.Errorf("it takes %v for the leader, want %v", l, next.Member)
	}
}

// Members come and go, and leadership is handed over, without a restart.
func TestMembership(t *testing.T) {
	g, nodes := newNetGroup(t, 1)
	first := g.leader(nodes...)
	if _, err := first.Apply(t.Context(), join(t, "a")); err != nil {
		t.Fatal(err)
	}
	second := g.start("n2", t.TempDir(), g.port("127.0.0.1:0"), nil)
	if err := first.AddMember(t.Context(), second.Member); err != nil {
		t.Fatal(err)
	}
	until(t, "the new member has the log", func() bool { return known(second.Node) == 1 })
	_, changed := first.Leader()
	if err := first.Transfer(t.Context(), second.Member); err != nil {
		t.Fatal(err)
	}
	<-changed
	if l := g.leader(first, second); l != second {
		t.Errorf("%s leads after it was handed to n2", l.ID)
	}
	if err := second.RemoveMember(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	members, err := second.Members()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Member{second.Member}, members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if _, err := second.Apply(t.Context(), join(t, "b")); err != nil {
		t.Errorf("the member that is left cannot go on: %v", err)
	}
}

// A node that cannot write its log any more says so and why, and the others go on; once the disk is
// mended it comes back.
func TestDiskThatTakesNoMore(t *testing.T) {
	g, nodes := newNetGroup(t, 3)
	sick := g.leader(nodes...) // a busy machine may choose another meanwhile
	log, kept := filepath.Join(sick.dir, "log"), filepath.Join(sick.dir, "kept")
	if err := os.Rename(log, kept); err != nil { // there is no place for the next file
		t.Fatal(err)
	}
	large := strings.Repeat("x", 256<<10)
	for written := 0; written < 2*segmentBytes && !closed(sick.Failed()); {
		for _, n := range nodes {
			if _, err := n.Apply(t.Context(), join(t, fmt.Sprint(written, large))); err == nil {
				written += len(large)
			}
		}
	}
	until(t, "the node has failed", func() bool { return closed(sick.Failed()) })
	rest := without(nodes, sick)
	err := sick.Failure()
	if err == nil || !strings.Contains(err.Error(), log) || !strings.Contains(err.Error(), "start this node") {
		t.Errorf("it failed for %v, want the folder of its log and what to do", err)
	}
	next := g.leader(rest...)
	if err := next.Catchup(t.Context()); err != nil {
		t.Fatal(err)
	}
	sick.stop()
	if err := os.Rename(kept, log); err != nil {
		t.Fatal(err)
	}
	back := g.start(sick.ID, sick.dir, g.port(sick.Address), nil)
	if _, err := next.Apply(t.Context(), join(t, "late")); err != nil {
		t.Fatal(err)
	}
	want := known(next.Node)
	until(t, "the node has caught up", func() bool { return known(back.Node) == want })
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Who has no certificate of the group's authority is not heard.
func TestStrangers(t *testing.T) {
	g, nodes := newNetGroup(t, 1)
	n := g.leader(nodes...)
	stranger := (&netGroup{t: t, authority: peertest.New(t)}).port("127.0.0.1:0")
	plain, err := peer.Listen("127.0.0.1:0", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = stranger.Dial(t.Context(), peer.Raft, n.Address)
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a stranger's Dial = %v", err)
	}
	conn, err := plain.Dial(t.Context(), peer.Raft, n.Address)
	if err == nil { // TCP took the byte; nobody speaks
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = conn.Write([]byte("hello")) // long enough to be seen for no TLS
		_, err = conn.Read(make([]byte, 1))
	}
	if timeout, ok := err.(net.Error); err == nil || ok && timeout.Timeout() {
		t.Errorf("a connection without TLS is kept: %v", err)
	}
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 600 {
		if is() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("not so after 30 s: %s", what)
}
