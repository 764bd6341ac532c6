package group

import (
	"context"
	"errors"
	"fmt"

	"seine/coordinator/api"
	"seine/coordinator/leader"
	"seine/coordinator/raftnode"
	"seine/coordinator/state"
)

// local is what a node answers by itself.
type local struct {
	*leader.Leader
	id   string
	raft *raftnode.Node
}

// Format implements api.Group.
func (l local) Format(context.Context) (api.Format, error) {
	return api.Format{Format: state.Format}, nil
}

// Group implements api.Group.
func (l local) Group(context.Context) (api.Members, error) {
	members, err := l.raft.Members()
	if err != nil {
		return api.Members{}, fmt.Errorf("%w (%v)", api.ErrUnavailable, err)
	}
	leads, _ := l.raft.Leader()
	g := api.Members{Self: l.id}
	for _, m := range members {
		g.Members = append(g.Members, api.Member{ID: m.ID, Peer: m.Address, Leader: m.ID == leads.ID})
	}
	return g, nil
}

// Add implements api.Group.
func (l local) Add(ctx context.Context, m api.Member) error {
	if m.ID == "" || m.Peer == "" {
		return fmt.Errorf("a member has an id and the address of its peer port: %w", api.ErrBadRequest)
	}
	return away(l.raft.AddMember(ctx, raftnode.Member{ID: m.ID, Address: m.Peer}))
}

// Remove implements api.Group.
func (l local) Remove(ctx context.Context, m api.MemberRef) error {
	if _, err := l.member(m.ID); err != nil {
		return err
	}
	return away(l.raft.RemoveMember(ctx, m.ID))
}

// Transfer implements api.Group.
func (l local) Transfer(ctx context.Context, m api.MemberRef) error {
	if m.ID == "" {
		return away(l.raft.Transfer(ctx, raftnode.Member{}))
	}
	to, err := l.member(m.ID)
	if err != nil {
		return err
	}
	if to.ID == l.id && l.raft.Leading() {
		return nil // as it was asked for
	}
	return away(l.raft.Transfer(ctx, to))
}

func (l local) member(id string) (raftnode.Member, error) {
	members, err := l.raft.Members()
	if err != nil {
		return raftnode.Member{}, fmt.Errorf("%w (%v)", api.ErrUnavailable, err)
	}
	for _, m := range members {
		if m.ID == id {
			return m, nil
		}
	}
	return raftnode.Member{}, fmt.Errorf("no member of the group is called %q: %w", id, api.ErrBadRequest)
}

// away turns what Raft answers into what a caller branches on.
func away(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raftnode.ErrNotLeader):
		return fmt.Errorf("%w (%v)", api.ErrNotLeader, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("%w (%v)", api.ErrUnavailable, err)
}
