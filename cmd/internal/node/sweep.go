package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"seine/reducer/sweep"
)

// sweptName is the file in the scratch folder whose time is the last sweep's.
const sweptName = "swept"

// SweepDaily deletes what nobody can need any more, if the last sweep that the scratch
// folder remembers ("": the store's own) is a day old: nothing younger than sweep.Grace
// ever goes, so more often finds nothing. Before a sweep it calls settle.
func (c *Crawl) SweepDaily(ctx context.Context, scratch string, now time.Time,
	settle func(context.Context) error) (sweep.Report, error) {
	scratch, err := scratchOf(c, Options{Scratch: scratch})
	if err != nil {
		return sweep.Report{}, err
	}
	marker := filepath.Join(scratch, sweptName)
	info, err := os.Stat(marker)
	if err == nil {
		if age := now.Sub(info.ModTime()); age >= 0 && age < sweep.Grace {
			return sweep.Report{}, nil
		}
	}
	fresh := errors.Is(err, fs.ErrNotExist)
	if err := settle(ctx); err != nil {
		return sweep.Report{}, err
	}
	err = os.WriteFile(marker, nil, 0o600)
	if err == nil {
		err = os.Chtimes(marker, now, now)
	}
	if err != nil {
		return sweep.Report{}, fmt.Errorf("note a sweep: %w", err)
	}
	if fresh { // a crawl that was begun just now has nothing to sweep
		return sweep.Report{}, nil
	}
	return c.sweep(ctx, scratch, sweep.Options{Now: now})
}

// Sweep deletes what nobody can need any more. Retention and Snapshots of o that
// are not set are the newest settings'; Epoch and Open are found.
func (c *Crawl) Sweep(ctx context.Context, o sweep.Options) (sweep.Report, error) {
	scratch, err := scratchOf(c, Options{})
	if err != nil {
		return sweep.Report{}, err
	}
	return c.sweep(ctx, scratch, o)
}

// sweep may run beside the work on the crawl: jobs that begin meanwhile have numbers
// above those that it takes from, and what their bases name, save a restore's, is named
// by the newest snapshot; a restore takes none that is about to go.
func (c *Crawl) sweep(ctx context.Context, scratch string, o sweep.Options) (sweep.Report, error) {
	head, err := c.Head(ctx)
	if err != nil {
		return sweep.Report{}, err
	}
	o.Epoch = max(head.Epoch, 1)
	o.Open, err = NewLedger(c, scratch).OpenSpecs(ctx, head)
	if err != nil {
		return sweep.Report{}, err
	}
	if o, err = c.keep(ctx, o); err != nil {
		return sweep.Report{}, err
	}
	return sweep.Run(ctx, c.Env(scratch), o)
}

// sweepLook is how often a coordinator looks whether a sweep is due.
const sweepLook = time.Minute

// sweeps deletes, until ctx ends, once a day while leads says that this node leads,
// what nobody can need any more.
func (c *Crawl) sweeps(ctx context.Context, scratch string, leads func() bool, log *slog.Logger) {
	for {
		if leads() {
			swept, err := c.SweepDaily(ctx, scratch, time.Now(), func(context.Context) error { return nil })
			switch {
			case err != nil && ctx.Err() == nil:
				log.Warn("sweep; it is tried again tomorrow", "error", err)
			case swept.Deleted > 0 || swept.Expired > 0:
				log.Info("swept", "objects", swept.Deleted, "commits", swept.Expired, "bytes", swept.Bytes)
			}
		}
		select {
		case <-time.After(sweepLook):
		case <-ctx.Done():
			return
		}
	}
}
