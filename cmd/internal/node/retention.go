package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seine/coordinator/state"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/settings"
	"seine/jobs"
	"seine/reducer/sweep"
)

// PruneBy is what the settings keep at now, ms.
func PruneBy(s settings.Settings, now int64) jobs.Prune {
	p := jobs.Prune{Versions: s.KeepVersions}
	if s.KeepFetches > 0 {
		p.Fetches = now - s.KeepFetches.D().Milliseconds()
	}
	if s.KeepLinks > 0 {
		p.Links = now - s.KeepLinks.D().Milliseconds()
	}
	return p
}

// pruneNext is the prune job that is due at a snapshot: the settings' retention, as
// often as they say, in the time of jobs. What it frees goes a day later at the
// soonest.
func (l *Ledger) pruneNext(ctx context.Context, head *lsm.Manifest) (*state.Submission, error) {
	last := head.Pruned
	if last == 0 && len(head.Parts) > 0 {
		last = head.Parts[0].Now
	}
	if head.N == 0 {
		return nil, nil
	}
	set, err := l.crawl.Settings(ctx, head.Settings)
	if err != nil || head.Now-last < set.PruneEvery.D().Milliseconds() {
		return nil, err
	}
	what := PruneBy(set, head.Now)
	return &state.Submission{RequestID: fmt.Sprintf("prune-%d", head.N), Kind: jobs.KindPrune,
		Settings: head.Settings, Prune: &what}, nil
}

// restorable refuses a snapshot that retention does not keep, or of which an object is
// gone. What is kept for another hour no sweep takes away that is at work meanwhile,
// and later ones know of the job.
func (c *Crawl) restorable(ctx context.Context, head *lsm.Manifest, n uint64) error {
	if n == 0 || n >= head.N {
		return fmt.Errorf("%w: snapshot %d is not before the newest, %d", state.ErrRefused, n, head.N)
	}
	keep, err := c.keep(ctx, sweep.Options{Now: time.Now().Add(time.Hour)})
	if err != nil {
		return err
	}
	oldest, err := sweep.Oldest(ctx, c.Env(""), head, keep)
	if err != nil {
		return err
	}
	if n < oldest {
		return fmt.Errorf("%w: snapshot %d is not kept any more: retention (%v, and the newest %d) begins at %d; "+
			"if its objects are still there, `seine settings set retention=...` brings it back",
			state.ErrRefused, n, keep.Retention, keep.Snapshots, oldest)
	}
	m, err := c.Snapshot(ctx, n)
	if err != nil {
		return fmt.Errorf("%w: %w", state.ErrRefused, err)
	}
	for f := range m.Files() {
		_, err := c.Store.Stat(ctx, f.Key)
		if errors.Is(err, objstore.ErrNotExist) {
			return fmt.Errorf("%w: snapshot %d is not kept any more: %s is gone", state.ErrRefused, n, f.Key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keep fills the options of a sweep that are not set with the newest settings'.
func (c *Crawl) keep(ctx context.Context, o sweep.Options) (sweep.Options, error) {
	version, err := c.NewestSettings(ctx)
	if err != nil {
		return o, err
	}
	set, err := c.Settings(ctx, version)
	if err != nil {
		return o, err
	}
	if o.Retention == 0 {
		o.Retention = set.Retention.D()
	}
	if o.Snapshots == 0 {
		o.Snapshots = set.KeepSnapshots
	}
	return o, nil
}
