package raftnode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"

	"seine/coordinator/peer"
)

// Timeouts of a group over a network: an election begins after electionTime
// without a word of the leader, at random up to twice that, so that a new one
// leads within 3 s, and no short pause of a busy machine makes one.
const (
	electionTime = 500 * time.Millisecond
	leaseTime    = 400 * time.Millisecond
	// messageTime bounds a message within the group; a larger snapshot gets more.
	messageTime = 5 * time.Second
	// segmentBytes is the size of the log's files, which are made in advance.
	segmentBytes = 8 << 20
	// keepSnapshots is how many snapshots stay.
	keepSnapshots = 2
)

// Member is one coordinator of a group.
type Member struct {
	ID      string `json:"id"`
	Address string `json:"address"` // of its peer port
}

// DurableOptions say how a node of a group over a network starts.
type DurableOptions struct {
	ID   string // unique in the group, the same at every start
	Dir  string // the node's own: log and snapshots
	Port *peer.Port
	// Bootstrap is written as the first configuration when Dir is empty; each of
	// the first members names the same. Empty: wait until the group takes this
	// node in.
	Bootstrap []Member
	// SnapshotEvery is how many entries make a snapshot, and with it a shorter
	// log; 0: 4096.
	SnapshotEvery uint64
	Warnings      io.Writer // gets Raft's log from level warn on; nil drops it
}

// Known says whether a node's folder holds the log of a group already.
func Known(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, "log"))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Durable starts a node whose log and snapshots outlive it. The port must run.
func Durable(o DurableOptions) (*Node, error) {
	if o.SnapshotEvery == 0 {
		o.SnapshotEvery = 4096
	}
	if o.Warnings == nil {
		o.Warnings = io.Discard
	}
	logger := hclog.New(&hclog.LoggerOptions{Name: "raft", Level: hclog.Warn, Output: o.Warnings})
	folder := filepath.Join(o.Dir, "log")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("the coordinator's log: %w", err)
	}
	meta := &metadb.BoltMetaDB{} // the log leaves it open
	store, err := wal.Open(folder, wal.WithSegmentSize(segmentBytes), wal.WithMetaStore(meta),
		wal.WithLogger(logger))
	if err != nil {
		return nil, fmt.Errorf("open the coordinator's log in %s: %w", folder, errors.Join(err, meta.Close()))
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(o.Dir, keepSnapshots, logger)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the coordinator's snapshots in %s: %w", o.Dir, err), store.Close(), meta.Close())
	}
	transport := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: stream{o.Port}, MaxPool: 3, Timeout: messageTime, Logger: logger})
	var servers []raft.Server
	for _, m := range o.Bootstrap {
		servers = append(servers, raft.Server{ID: raft.ServerID(m.ID), Address: raft.ServerAddress(m.Address)})
	}
	f := newFSM()
	n, err := open(durableConfig(o), f, &disk{store, folder, f}, snapshots, transport, servers, o.Warnings)
	if err != nil {
		return nil, errors.Join(err, transport.Close(), store.Close(), meta.Close())
	}
	n.closers = []io.Closer{transport, store, meta}
	return n, nil
}

// disk is a log on a disk. Once it cannot be written it never can again before it is opened anew (a
// file that is full stays the last one, also when there is room for another), and a node without a
// log only disturbs the others' elections: so it ends.
type disk struct {
	*wal.WAL
	folder string
	fsm    *fsm
}

// StoreLogs implements raft.LogStore.
func (d *disk) StoreLogs(logs []*raft.Log) error {
	err := d.WAL.StoreLogs(logs)
	if err != nil {
		d.fsm.mu.Lock()
		defer d.fsm.mu.Unlock()
		d.fsm.fail(fmt.Errorf("write the coordinator's log in %s: %w%s; then start this node again, with "+
			"the same command: what the group knows is not lost", d.folder, err, d.advice()))
	}
	return err
}

// advice says what to do about a log that cannot be written.
func (d *disk) advice() string {
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.folder, &s); err != nil {
		return fmt.Sprintf(" (%v): mend the disk", err)
	}
	if left := int64(s.Bavail) * s.Bsize; left < 2*segmentBytes {
		return fmt.Sprintf(": the disk is full, %d bytes are left: make room for %d", left, 2*segmentBytes)
	}
	return ": mend the disk"
}

func durableConfig(o DurableOptions) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(o.ID)
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = electionTime, electionTime, leaseTime
	c.SnapshotThreshold, c.TrailingLogs = o.SnapshotEvery, o.SnapshotEvery/4
	c.SnapshotInterval = 30 * time.Second
	c.ShutdownOnRemove = false // whoever runs the node asks the others, and stops it
	return c
}

// stream is the port as Raft wants it.
type stream struct{ *peer.Port }

// Dial implements raft.StreamLayer.
func (s stream) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.Port.Dial(ctx, peer.Raft, string(address))
}

// Accept implements net.Listener.
func (s stream) Accept() (net.Conn, error) { return s.Listener(peer.Raft).Accept() }

// Close implements net.Listener.
func (s stream) Close() error { return s.Listener(peer.Raft).Close() }

// Addr implements net.Listener.
func (s stream) Addr() net.Addr { return s.Listener(peer.Raft).Addr() }
