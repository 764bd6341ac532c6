// Package raftnode keeps the coordinators' state by Raft: it is the only place
// that knows hashicorp/raft. A node applies commands to the log, says who
// leads, and shows the state; what commands mean is package state's affair.
//
// A command that was applied is in the log of a majority. One that returned an
// error may or may not be: the next leader knows. A node that meets a command
// which it does not know, or whose disk takes no more of the log, stops following
// the log and says so by Failed.
//
// All methods may be called concurrently.
package raftnode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"seine/coordinator/state"
)

// ErrNotLeader: another node leads, or nobody does yet.
var ErrNotLeader = errors.New("this coordinator does not lead")

// applyTimeout bounds how long an entry waits to be taken by the leader.
const applyTimeout = 10 * time.Second

// Node is a member of the Raft group.
type Node struct {
	raft    *raft.Raft
	fsm     *fsm
	changes <-chan bool
	leaders *leaders
	closers []io.Closer // what the node stands on, closed after it

	// Raft forgets questions that wait when it stops, so it is stopped when none
	// does.
	mu      sync.Mutex
	closed  bool
	pending sync.WaitGroup
}

// entries is both of Raft's stores.
type entries interface {
	raft.LogStore
	raft.StableStore
}

// open starts a node that applies to f; group, if any, is written as the first
// configuration when the store is empty.
func open(config *raft.Config, f *fsm, store entries, snapshots raft.SnapshotStore,
	transport raft.Transport, group []raft.Server, warnings io.Writer) (*Node, error) {
	if warnings == nil {
		warnings = io.Discard
	}
	config.Logger = hclog.New(&hclog.LoggerOptions{
		Name: "raft", Level: hclog.Warn, Output: warnings})
	changes := make(chan bool, 16)
	config.NotifyCh = changes
	known, err := raft.HasExistingState(store, store, snapshots)
	if err != nil {
		return nil, fmt.Errorf("read the coordinator's log: %w", err)
	}
	if !known && len(group) > 0 {
		err := raft.BootstrapCluster(config, store, store, snapshots, transport,
			raft.Configuration{Servers: group})
		if err != nil {
			return nil, fmt.Errorf("write the coordinator's first log entry: %w", err)
		}
	}
	r, err := raft.NewRaft(config, f, store, store, snapshots, transport)
	if err != nil {
		return nil, fmt.Errorf("start raft: %w", err)
	}
	n := &Node{raft: r, fsm: f, changes: changes, leaders: &leaders{changed: make(chan struct{})}}
	r.RegisterObserver(raft.NewObserver(nil, false, n.leaders.observe))
	return n, nil
}

// Apply puts a command into the log and waits until it has been applied here.
// ErrNotLeader is final; after other errors it is open whether the command is in
// the log. The state's refusal is in the result, not the error.
func (n *Node) Apply(ctx context.Context, c state.Command) (state.Result, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return state.Result{}, fmt.Errorf("write a %s command: %w", c.Kind, err)
	}
	if err := n.begin(); err != nil {
		return state.Result{}, fmt.Errorf("apply a %s command: %w", c.Kind, err)
	}
	f := n.raft.Apply(b, applyTimeout)
	if err := wait(ctx, counted{f, n.pending.Done}); err != nil {
		return state.Result{}, fmt.Errorf("apply a %s command: %w", c.Kind, err)
	}
	a := f.Response().(applied)
	return a.result, a.err
}

// Verify asks a majority whether this node still leads. Raft counts answers that
// come after the call, also to questions that were on the wire before it: what
// is said may be as old as a message of the group takes, not older.
func (n *Node) Verify(ctx context.Context) error {
	if err := n.begin(); err != nil {
		return fmt.Errorf("verify leadership: %w", err)
	}
	if err := wait(ctx, counted{n.raft.VerifyLeader(), n.pending.Done}); err != nil {
		return fmt.Errorf("verify leadership: %w", err)
	}
	return nil
}

// begin counts a question to Raft, which Close waits for: a Raft that is shut down
// forgets those that it has taken and not yet answered.
func (n *Node) begin() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return fmt.Errorf("%w (the node is closed)", ErrNotLeader)
	}
	n.pending.Add(1)
	return nil
}

// counted is a future that says when it has ended.
type counted struct {
	raft.Future
	ended func()
}

func (c counted) Error() error {
	defer c.ended()
	return c.Future.Error()
}

// Catchup waits until everything that was in the log before the call has been
// applied: what a new leader does first.
func (n *Node) Catchup(ctx context.Context) error {
	if err := n.begin(); err != nil {
		return fmt.Errorf("catch up with the log: %w", err)
	}
	if err := wait(ctx, counted{n.raft.Barrier(applyTimeout), n.pending.Done}); err != nil {
		return fmt.Errorf("catch up with the log: %w", err)
	}
	return nil
}

// wait waits for Raft or for ctx. Every future of Raft ends at the latest when
// the node is closed, so the goroutine does.
func wait(ctx context.Context, f raft.Future) error {
	done := make(chan error, 1)
	go func() { done <- f.Error() }()
	select {
	case err := <-done:
		for _, gone := range []error{raft.ErrNotLeader, raft.ErrLeadershipLost,
			raft.ErrRaftShutdown, raft.ErrLeadershipTransferInProgress} {
			if errors.Is(err, gone) {
				return fmt.Errorf("%w (%v)", ErrNotLeader, err)
			}
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// View calls f with the state, which f must neither change nor keep.
func (n *Node) View(f func(*state.State)) {
	n.fsm.mu.RLock()
	defer n.fsm.mu.RUnlock()
	f(n.fsm.state)
}

// Leadership tells of each change: true when this node begins to lead. It must
// be read by one reader, always.
func (n *Node) Leadership() <-chan bool { return n.changes }

// Leading says whether this node believes that it leads.
func (n *Node) Leading() bool { return n.raft.State() == raft.Leader }

// Entries is how many entries of the log, those of Raft itself among them, this node has applied.
func (n *Node) Entries() uint64 { return n.raft.AppliedIndex() }

// Failed is closed when the node met a command that it does not know, or could
// not write its log.
func (n *Node) Failed() <-chan struct{} { return n.fsm.failed }

// Failure says why, after Failed is closed.
func (n *Node) Failure() error {
	n.fsm.mu.RLock()
	defer n.fsm.mu.RUnlock()
	return n.fsm.failure
}

// Close stops the node and waits for it.
func (n *Node) Close() error {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.pending.Wait()
	err := n.raft.Shutdown().Error()
	if err != nil {
		err = fmt.Errorf("stop raft: %w", err)
	}
	for _, c := range n.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}
