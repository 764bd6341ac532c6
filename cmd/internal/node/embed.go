package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/leader"
	"seine/coordinator/raftnode"
	"seine/coordinator/server"
	"seine/formats/objstore"
	"seine/formats/objstore/dir"
	"seine/jobs"
	"seine/jobs/worker"
)

// Options of an embedded node.
type Options struct {
	Web     Web
	Scratch string          // default: below the store's local folder
	Drain   <-chan struct{} // closed: seal, and end
	Log     *slog.Logger
}

// heartbeat is short, because it costs nothing within a process and the progress
// that a person sees comes with it.
const heartbeat = 500 * time.Millisecond

// ErrDrained ends Embed after a drain.
var ErrDrained = errors.New("stopped on request; the same command goes on")

// Embed runs a coordinator and a worker in this process, alone on the crawl, as
// long as use runs; then it waits for all that it started. The store is locked
// for this machine: a second process is told who has it. Control verbs of other
// processes reach the node over loopback.
func Embed(ctx context.Context, c *Crawl, o Options, use func(ctx context.Context, conn api.Conn) error) (err error) {
	// What cannot be read is told at once; a store that is away is waited for.
	if _, err := c.Head(ctx); err != nil && !errors.Is(err, objstore.ErrUnavailable) {
		return err
	}
	lock, err := dir.Lock(c.Store.Local, "")
	var locked *dir.LockedError
	if errors.As(err, &locked) {
		locked.Root = c.Store.URL
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	return embed(ctx, c, o, lock.Announce, use)
}

func embed(ctx context.Context, c *Crawl, o Options, announce func(string) error,
	use func(ctx context.Context, conn api.Conn) error) error {
	scratch, err := scratchOf(c, o)
	if err != nil {
		return err
	}
	runners := Runners(c, scratch, o.Web, Limits{})
	group, err := raftnode.Embedded(nil)
	if err != nil {
		return err
	}
	lead := leader.New(group, NewLedger(c, scratch), o.Log)
	lead.Group = c.fences()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, group.Close())
	}
	if err := announce(listener.Addr().String()); err != nil {
		return errors.Join(err, listener.Close(), group.Close())
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	leading, serving := make(chan error, 1), make(chan error, 1)
	go func() { leading <- lead.Run(ctx) }()
	go func() { serving <- server.Serve(ctx, listener, lead, server.Options{Store: c.Store.Name()}) }()
	err = work(ctx, o, lead, runners, leading, use)
	stop()
	if lerr := <-leading; lerr != nil {
		err = errors.Join(err, lerr)
	}
	return errors.Join(err, <-serving, group.Close())
}

// work runs the worker beside use until either ends.
func work(ctx context.Context, o Options, conn api.Conn, runners map[jobs.Stage]worker.Runner,
	leading chan error, use func(ctx context.Context, conn api.Conn) error) error {
	using, stopUsing := context.WithCancelCause(ctx)
	defer stopUsing(nil)
	end := make(chan struct{}) // drains the worker when use is over
	drained := make(chan error, 1)
	go func() {
		drained <- worker.Run(ctx, worker.Settings{ID: workerID(), Slots: runtime.GOMAXPROCS(0),
			Heartbeat: heartbeat, Drain: end, Log: o.Log}, conn, runners)
	}()
	used := make(chan error, 1)
	go func() {
		if err := lead(using, conn); err != nil {
			used <- err
			return
		}
		used <- use(using, conn)
	}()
	var err error
	select {
	case err = <-used:
		used = nil
	case lerr := <-leading:
		leading <- lerr
		stopUsing(lerr)
	case <-o.Drain:
		close(end)
		err = <-drained
		stopUsing(ErrDrained)
		if <-used; err == nil {
			err = ErrDrained
		}
		return err
	case <-ctx.Done():
	}
	close(end)
	derr := <-drained
	if used != nil {
		stopUsing(context.Cause(ctx))
		err = errors.Join(err, <-used)
	}
	if ctx.Err() != nil {
		derr = nil
	}
	return errors.Join(err, derr)
}

// lead waits until the coordinator answers: until it has taken over what the
// store shows.
func lead(ctx context.Context, conn api.Conn) error {
	for {
		_, err := conn.Status(ctx)
		if !errors.Is(err, api.ErrNotLeader) && !errors.Is(err, api.ErrUnavailable) {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// scratchOf is the folder for spools and files of moments. It outlives the
// process, so that what a killed one fetched is found again.
func scratchOf(c *Crawl, o Options) (string, error) {
	scratch := o.Scratch
	if scratch == "" {
		scratch = filepath.Join(c.Store.Local, ".seine", "scratch")
	}
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return "", fmt.Errorf("scratch folder: %w", err)
	}
	return filepath.Abs(scratch)
}
