package raftnode

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/raft"
)

// leaders tells of changes of the leader, of any node.
type leaders struct {
	mu      sync.Mutex
	changed chan struct{} // closed at the next change
}

// observe is asked by Raft about everything that it could tell.
func (l *leaders) observe(o *raft.Observation) bool {
	if _, ok := o.Data.(raft.LeaderObservation); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(l.changed)
		l.changed = make(chan struct{})
	}
	return false // it has been told
}

// Leader says who leads, as far as this node knows, and gives a channel that is
// closed when that changes. An empty id: nobody is known.
func (n *Node) Leader() (leader Member, changed <-chan struct{}) {
	n.leaders.mu.Lock()
	changed = n.leaders.changed // before the question: a change in between closes it
	n.leaders.mu.Unlock()
	address, id := n.raft.LeaderWithID()
	return Member{ID: string(id), Address: string(address)}, changed
}

// Members are the nodes of the group, as far as this node knows.
func (n *Node) Members() ([]Member, error) {
	f := n.raft.GetConfiguration()
	if err := f.Error(); err != nil {
		return nil, fmt.Errorf("read the group's members: %w", err)
	}
	var all []Member
	for _, s := range f.Configuration().Servers {
		all = append(all, Member{ID: string(s.ID), Address: string(s.Address)})
	}
	return all, nil
}

// AddMember takes a node into the group, or changes its address. It waits until
// a majority has it in the log; only the leader can.
func (n *Node) AddMember(ctx context.Context, m Member) error {
	f := n.raft.AddVoter(raft.ServerID(m.ID), raft.ServerAddress(m.Address), 0, applyTimeout)
	if err := wait(ctx, f); err != nil {
		return fmt.Errorf("take %s at %s into the group: %w", m.ID, m.Address, err)
	}
	return nil
}

// RemoveMember takes a node out of the group; only the leader can.
func (n *Node) RemoveMember(ctx context.Context, id string) error {
	if err := wait(ctx, n.raft.RemoveServer(raft.ServerID(id), 0, applyTimeout)); err != nil {
		return fmt.Errorf("take %s out of the group: %w", id, err)
	}
	return nil
}

// Transfer hands leadership to another member; an empty id to the one that is
// most up to date.
func (n *Node) Transfer(ctx context.Context, to Member) error {
	var f raft.Future
	if to.ID == "" {
		f = n.raft.LeadershipTransfer()
	} else {
		f = n.raft.LeadershipTransferToServer(raft.ServerID(to.ID), raft.ServerAddress(to.Address))
	}
	if err := wait(ctx, f); err != nil {
		return fmt.Errorf("hand leadership over: %w", err)
	}
	return nil
}
