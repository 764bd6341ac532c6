package raftnode

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"
)

// Embedded starts a group of one node on stores in memory: it forgets
// everything when it is closed, and is rebuilt from the object store. warnings
// gets Raft's own log from level warn on; nil drops it.
func Embedded(warnings io.Writer) (*Node, error) {
	g, err := Memory(1, warnings)
	if err != nil {
		return nil, err
	}
	return g.Nodes[0], nil
}

// MemoryGroup is a group within one process, for simulations: its wires can be
// cut.
type MemoryGroup struct {
	Nodes []*Node
	wires []*raft.InmemTransport
}

// Memory starts a group of n nodes that speak within the process.
func Memory(n int, warnings io.Writer) (*MemoryGroup, error) {
	g := &MemoryGroup{}
	var servers []raft.Server
	for i := range n {
		addr := raft.ServerAddress(fmt.Sprintf("memory-%d", i))
		_, wire := raft.NewInmemTransport(addr)
		g.wires = append(g.wires, wire)
		servers = append(servers, raft.Server{ID: raft.ServerID(addr), Address: addr})
	}
	for i := range n {
		g.Join(i)
	}
	for i := range n {
		node, err := open(memoryConfig(servers[i].ID, n), newFSM(), raft.NewInmemStore(),
			raft.NewInmemSnapshotStore(), g.wires[i], servers, warnings)
		if err != nil {
			return nil, errors.Join(err, g.Close())
		}
		g.Nodes = append(g.Nodes, node)
	}
	return g, nil
}

func memoryConfig(id raft.ServerID, n int) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = id
	if n == 1 { // nobody else can lead, so there is nobody to wait for
		c.HeartbeatTimeout = 20 * time.Millisecond
		c.ElectionTimeout = 20 * time.Millisecond
		c.LeaderLeaseTimeout = 20 * time.Millisecond
		c.CommitTimeout = 5 * time.Millisecond
	}
	// The state is small and the log is in memory: keep it short.
	c.SnapshotThreshold, c.TrailingLogs = 1024, 64
	return c
}

// Isolate cuts node i off from the others.
func (g *MemoryGroup) Isolate(i int) {
	for k, other := range g.wires {
		if k != i {
			g.wires[i].Disconnect(other.LocalAddr())
			other.Disconnect(g.wires[i].LocalAddr())
		}
	}
}

// Join connects node i with the others.
func (g *MemoryGroup) Join(i int) {
	for k, other := range g.wires {
		if k != i {
			g.wires[i].Connect(other.LocalAddr(), other)
			other.Connect(g.wires[i].LocalAddr(), g.wires[i])
		}
	}
}

// Close stops all nodes.
func (g *MemoryGroup) Close() error {
	var errs []error
	for _, n := range g.Nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}
