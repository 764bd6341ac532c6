package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"seine/reducer/sweep"
)

// sweptName is the file in the scratch folder whose time is the last sweep's.
const sweptName = "swept"

// SweepDaily deletes what nobody can need any more, if the last sweep from this
// machine is a day old: nothing younger than sweep.Grace ever goes, so more often
// finds nothing. Before a sweep it calls settle, which returns when no job is open or
// queued.
func (c *Crawl) SweepDaily(ctx context.Context, now time.Time,
	settle func(context.Context) error) (sweep.Report, error) {
	scratch, err := scratchOf(c, Options{})
	if err != nil {
		return sweep.Report{}, err
	}
	marker := filepath.Join(scratch, sweptName)
	info, err := os.Stat(marker)
	if err == nil && now.Sub(info.ModTime()) < sweep.Grace {
		return sweep.Report{}, nil
	}
	fresh := errors.Is(err, fs.ErrNotExist)
	if err := settle(ctx); err != nil {
		return sweep.Report{}, err
	}
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		return sweep.Report{}, fmt.Errorf("note a sweep: %w", err)
	}
	if fresh { // a crawl that was begun just now has nothing to sweep
		return sweep.Report{}, nil
	}
	return c.Sweep(ctx, sweep.Options{Now: now})
}

// Sweep deletes what nobody can need any more. Retention and Snapshots of o that
// are not set are the settings'; Epoch and Open are found. No job may be open or
// queued.
func (c *Crawl) Sweep(ctx context.Context, o sweep.Options) (sweep.Report, error) {
	scratch, err := scratchOf(c, Options{})
	if err != nil {
		return sweep.Report{}, err
	}
	head, err := c.Head(ctx)
	if err != nil {
		return sweep.Report{}, err
	}
	o.Epoch = max(head.Epoch, 1)
	o.Open, err = NewLedger(c, scratch).OpenSpecs(ctx, head)
	if err != nil {
		return sweep.Report{}, err
	}
	set, err := c.Settings(ctx, head.Settings)
	if err != nil {
		return sweep.Report{}, err
	}
	if o.Retention == 0 {
		o.Retention = set.Retention.D()
	}
	if o.Snapshots == 0 {
		o.Snapshots = set.KeepSnapshots
	}
	return sweep.Run(ctx, c.Env(scratch), o)
}
