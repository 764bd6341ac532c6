package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/client"
	"seine/coordinator/group"
	"seine/coordinator/peer"
	"seine/coordinator/raftnode"
	"seine/coordinator/server"
	"seine/formats/objstore/dir"
)

// CoordinateOptions of a coordinator in a process of its own.
type CoordinateOptions struct {
	ID   string
	Data string // the node's own folder: Raft's log and snapshots
	// Raft is where the node listens for the others, Advertise how they reach it
	// (empty: as it listens), Identity by what all prove themselves (nil: plain).
	Raft, Advertise string
	Identity        *peer.Identity
	// Exactly one of these says how an empty folder begins: with the members of a
	// new group, with a group to be taken into, or with a group of one that takes
	// the store over from whoever had it. A folder with a log goes on with that.
	Bootstrap []raftnode.Member
	Join      *client.Client
	Recover   bool

	Listener net.Listener // of the API
	Address  string       // how others reach it, with the scheme
	Server   server.Options
	Log      *slog.Logger
}

// Coordinate is a coordinator of a crawl until ctx ends; then it hands
// leadership over and stops. It returns leader.ErrStepDown when another group
// has the crawl.
func Coordinate(ctx context.Context, c *Crawl, o CoordinateOptions) (err error) {
	held, err := dir.Lock(o.Data, o.Address)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	if c.Store.Root != "" {
		shared, err := dir.Share(c.Store.Root, o.Address)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, shared.Release()) }()
	}
	known, err := raftnode.Known(o.Data)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if known && o.Recover {
		o.Log.Warn("the data folder holds the log of a group: the node goes on with it; to begin a new " +
			"group from the store alone, give --recover an empty folder")
	}
	port, err := peer.Listen(o.Raft, o.Advertise, o.Identity)
	if err != nil {
		return err
	}
	porting, closePort := context.WithCancel(context.WithoutCancel(ctx))
	ported := make(chan error, 1)
	go func() { ported <- port.Run(porting) }()
	defer func() {
		closePort()
		err = errors.Join(err, <-ported)
	}()
	if o.Recover {
		o.Bootstrap = []raftnode.Member{{ID: o.ID, Address: port.Address()}}
	}
	raft, err := raftnode.Durable(raftnode.DurableOptions{ID: o.ID, Dir: o.Data, Port: port,
		Bootstrap: o.Bootstrap, Warnings: logWriter{o.Log}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raft.Close()) }()
	return coordinate(ctx, c, o, port, raft, o.Join != nil && !known)
}

func coordinate(ctx context.Context, c *Crawl, o CoordinateOptions, port *peer.Port, raft *raftnode.Node,
	join bool) error {
	scratch, err := scratchOf(c, Options{Scratch: filepath.Join(o.Data, "scratch")})
	if err != nil {
		return err
	}
	n := group.New(group.Options{ID: o.ID, Raft: raft, Port: port,
		Ledger: NewLedger(c, scratch), Log: o.Log, Recover: o.Recover})
	o.Server.Store, o.Server.Group = c.Store.Name(), n
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, 2)
	go func() { ended <- n.Run(running) }()
	go func() { ended <- server.Serve(running, o.Listener, n, o.Server) }()
	var beside sync.WaitGroup
	if join {
		beside.Go(func() { o.join(ctx, port.Address()) })
	}
	beside.Go(func() { c.sweeps(running, scratch, raft.Leading, o.Log) })
	ends := 2
	select {
	case err = <-ended:
		ends--
	case <-ctx.Done():
		o.handOver(raft)
	}
	stop()
	for range ends {
		err = errors.Join(err, <-ended)
	}
	beside.Wait()
	return err
}

// handOver spares the group an election, if it can be done soon.
func (o CoordinateOptions) handOver(raft *raftnode.Node) {
	members, err := raft.Members()
	if err != nil || len(members) < 2 || !raft.Leading() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := raft.Transfer(ctx, raftnode.Member{}); err != nil {
		o.Log.Warn("hand leadership over before the end", "error", err)
	}
}

// join asks a group to take the node in, until it does.
func (o CoordinateOptions) join(ctx context.Context, address string) {
	for ctx.Err() == nil {
		err := o.Join.Add(ctx, api.Member{ID: o.ID, Peer: address})
		if err == nil {
			o.Log.Info("the group has taken this node in")
			return
		}
		o.Log.Warn("ask the group to take this node in", "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// logWriter passes Raft's own lines on.
type logWriter struct{ log *slog.Logger }

// Write implements io.Writer.
func (w logWriter) Write(line []byte) (int, error) {
	w.log.Warn("raft", "says", string(line))
	return len(line), nil
}
