package node

import (
	"context"
	"errors"
	"fmt"

	"seine/coordinator/state"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/settings"
	"seine/jobs"
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

// restorable refuses a snapshot of which an object is gone.
func (c *Crawl) restorable(ctx context.Context, head *lsm.Manifest, n uint64) error {
	if n == 0 || n >= head.N {
		return fmt.Errorf("%w: snapshot %d is not before the newest, %d", state.ErrRefused, n, head.N)
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
