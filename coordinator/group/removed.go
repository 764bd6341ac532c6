package group

import (
	"context"
	"errors"
	"slices"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/raftnode"
)

// ErrRemoved ends a node that the group has taken out.
var ErrRemoved = errors.New("the group has taken this node out: it is no member any more; to take it in " +
	"again, start it with an empty data folder and --join")

// removedEvery is how often a node that hears of no leader, or that its own log does not name any
// more, asks the others about itself.
const removedEvery = time.Second

// watchMembership returns ErrRemoved once the leader says that this node is no member, and nil when
// ctx ends. A node that was taken out may never hear of it from the log: the group stops sending it,
// and does so at the latest when it was away meanwhile.
func (n *Node) watchMembership(ctx context.Context) error {
	tick := time.NewTicker(removedEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		members, err := n.raft.Members()
		if err != nil || len(members) == 0 { // it waits to be taken in
			continue
		}
		known := slices.ContainsFunc(members, func(m raftnode.Member) bool { return m.ID == n.id })
		if leader, _ := n.raft.Leader(); known && leader.ID != "" {
			continue
		}
		if n.disowned(ctx, members) {
			return ErrRemoved
		}
	}
}

// disowned asks members until one that leads says whether this node is one of them. What a follower
// says does not count: it may not have heard yet that this node was taken in.
func (n *Node) disowned(ctx context.Context, members []raftnode.Member) bool {
	for _, m := range members {
		if m.ID == n.id {
			continue
		}
		c, err := n.conn(m.Address)
		if err != nil {
			continue
		}
		asking, cancel := context.WithTimeout(ctx, removedEvery)
		g, err := c.Group(asking)
		cancel()
		leads := func(m api.Member) bool { return m.Leader && m.ID == g.Self }
		if err != nil || !slices.ContainsFunc(g.Members, leads) {
			continue
		}
		return !slices.ContainsFunc(g.Members, func(m api.Member) bool { return m.ID == n.id })
	}
	return false
}
