// Package group is a coordinator among others: a member of a Raft group that
// answers every call, by its own leader when it leads and by passing it on to
// the leader otherwise, and that tells and changes who belongs to the group. It
// joins raftnode, leader, peer and the HTTP ends; it decides nothing.
//
// A call that was passed on ends when another node begins to lead: what was
// asked may have been done, so it fails as unavailable, and who asked repeats
// what may be repeated. A call is passed on once, never in a circle.
//
// All methods may be called concurrently; Run once.
package group

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/client"
	"seine/coordinator/leader"
	"seine/coordinator/peer"
	"seine/coordinator/raftnode"
	"seine/coordinator/server"
	"seine/coordinator/state"
)

// Options of a member.
type Options struct {
	ID     string
	Raft   *raftnode.Node
	Port   *peer.Port
	Ledger leader.Ledger
	Log    *slog.Logger
	// Recover says that the group begins in a store on which somebody else may
	// still work.
	Recover bool
}

// QuietTime is how long a group that took a store over waits: longer than all that
// another group may have lent lasts, with the time in which it notices that it has
// been taken over. No option shortens it.
const QuietTime = 60 * time.Second

// Node is a member of a group.
type Node struct {
	local
	port *peer.Port

	mu    sync.Mutex
	conns map[string]*client.Client // by peer address
}

// coordinator is all that a node answers.
type coordinator interface {
	api.Conn
	api.Group
}

var (
	_ coordinator = (*Node)(nil)
	_ coordinator = local{}
)

// New makes a member; it does nothing until Run.
func New(o Options) *Node {
	lead := leader.New(o.Raft, o.Ledger, o.Log)
	n := &Node{local: local{lead, o.ID, o.Raft}, port: o.Port, conns: map[string]*client.Client{}}
	lead.Group = &leader.Group{Quiet: QuietTime, Wait: o.Recover, Formats: n.formats}
	return n
}

// Run takes part until ctx ends, or as leader.Run does; or until the group has taken this node out:
// then it returns ErrRemoved.
func (n *Node) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served, watched := make(chan error, 1), make(chan error, 1)
	go func() {
		watched <- n.watchMembership(ctx)
		cancel()
	}()
	go func() {
		served <- server.Serve(ctx, n.port.Listener(peer.Requests), n.local.Leader,
			server.Options{Group: n.local})
	}()
	err := n.local.Leader.Run(ctx)
	cancel()
	return errors.Join(err, <-watched, <-served)
}

// formats asks all members for the newest format of commands that they know.
func (n *Node) formats(ctx context.Context) (int, error) {
	members, err := n.raft.Members()
	if err != nil {
		return 0, err
	}
	least := state.Format
	for _, m := range members {
		if m.ID == n.id {
			continue
		}
		c, err := n.conn(m.Address)
		if err != nil {
			return 0, err
		}
		f, err := c.Format(ctx)
		if err != nil {
			return 0, fmt.Errorf("ask %s for its format of commands: %w", m.ID, err)
		}
		least = min(least, f.Format)
	}
	return least, nil
}

// conn reaches another member's own answers, through its peer port.
func (n *Node) conn(address string) (*client.Client, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.conns[address]; c != nil {
		return c, nil
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return n.port.Dial(ctx, peer.Requests, address)
	}
	h := &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 64,
		IdleConnTimeout: time.Minute}}
	c, err := client.New("http://"+address, client.Options{HTTP: h})
	if err == nil {
		n.conns[address] = c
	}
	return c, err
}

// errChanged ends a call that was passed on to a leader that leads no more.
var errChanged = fmt.Errorf("%w: the leader changed meanwhile", api.ErrUnavailable)

// Transfer implements api.Group. Passed on, its success ends it: the leader
// changes.
func (n *Node) Transfer(ctx context.Context, m api.MemberRef) error {
	err := order(ctx, n, func(ctx context.Context, c coordinator) error { return c.Transfer(ctx, m) })
	for errors.Is(err, errChanged) {
		leader, changed := n.raft.Leader()
		if leader.ID != "" {
			if m.ID == "" || leader.ID == m.ID {
				return nil
			}
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

// route asks the leader: this node's own, or another's.
func route[R any](ctx context.Context, n *Node, do func(context.Context, coordinator) (R, error)) (
	got R, err error) {
	if n.raft.Leading() {
		return do(ctx, n.local)
	}
	to, changed := n.raft.Leader()
	if to.ID == "" || to.ID == n.id {
		return got, fmt.Errorf("%w, and it knows of none that does", api.ErrNotLeader)
	}
	c, err := n.conn(to.Address)
	if err != nil {
		return got, err
	}
	passing, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-changed:
			cancel()
		case <-passing.Done():
		}
	}()
	got, err = do(passing, c)
	over := passing.Err() != nil && ctx.Err() == nil
	cancel()
	<-done
	if err != nil && over {
		err = errChanged
	}
	return got, err
}

func order(ctx context.Context, n *Node, do func(context.Context, coordinator) error) error {
	_, err := route(ctx, n, func(ctx context.Context, c coordinator) (struct{}, error) {
		return struct{}{}, do(ctx, c)
	})
	return err
}
