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
// finds nothing. No job may be open or queued.
func (c *Crawl) SweepDaily(ctx context.Context, now time.Time) (sweep.Report, error) {
	marker, fresh, due, err := c.swept(now)
	if err != nil || !due {
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

// SweepDue says whether SweepDaily would do something.
func (c *Crawl) SweepDue(now time.Time) (bool, error) {
	_, _, due, err := c.swept(now)
	return due, err
}

// swept is the file that tells when the last sweep was, whether there was none, and whether one
// is due.
func (c *Crawl) swept(now time.Time) (marker string, fresh, due bool, err error) {
	scratch, err := scratchOf(c, Options{})
	if err != nil {
		return "", false, false, err
	}
	marker = filepath.Join(scratch, sweptName)
	info, err := os.Stat(marker)
	fresh = errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return "", false, false, fmt.Errorf("look for the last sweep: %w", err)
	}
	return marker, fresh, fresh || now.Sub(info.ModTime()) >= sweep.Grace, nil
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
