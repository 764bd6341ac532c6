package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seine/coordinator/state"
	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/settings"
	"seine/jobs"
)

// pruneEvery is how often retention is applied, in the time of jobs: what it
// frees goes a day later anyway.
const pruneEvery = 24 * time.Hour

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

// pruneNext is the prune job that is due at a snapshot: the settings' retention,
// once a day.
func (l *Ledger) pruneNext(ctx context.Context, head *lsm.Manifest) (*state.Submission, error) {
	last := head.Pruned
	if last == 0 && len(head.Parts) > 0 {
		last = head.Parts[0].Now
	}
	if head.N == 0 || head.Now-last < pruneEvery.Milliseconds() {
		return nil, nil
	}
	set, err := l.crawl.Settings(ctx, head.Settings)
	if err != nil {
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
	return EachObject(m, func(key layout.Key, _ int64) error {
		_, err := c.Store.Stat(ctx, key)
		if errors.Is(err, objstore.ErrNotExist) {
			return fmt.Errorf("%w: snapshot %d is not kept any more: %s is gone", state.ErrRefused, n, key)
		}
		return err
	})
}

// EachObject gives the keys and sizes of all objects that a snapshot names.
func EachObject(m *lsm.Manifest, emit func(key layout.Key, bytes int64) error) error {
	return EachPlace(m, func(p ObjectPlace) error { return emit(p.Key, p.Bytes) })
}

// ObjectPlace is an object that a snapshot names.
type ObjectPlace struct {
	Table string // schema.WARC for archives
	Round uint64 // the part it is of; 0: of a table of sorted runs or the frontier
	Key   layout.Key
	Rows  int64
	Bytes int64
}

// EachPlace gives all objects that a snapshot names, sidecars and lists of
// superseded rows as objects of their table without rows.
func EachPlace(m *lsm.Manifest, emit func(p ObjectPlace) error) error {
	object := func(table string, round uint64, o lsm.Object) error {
		err := emit(ObjectPlace{table, round, o.Key, o.Rows, o.Bytes})
		if err == nil && o.Sidecar != "" {
			err = emit(ObjectPlace{table, round, o.Sidecar, 0, o.SidecarBytes})
		}
		if err == nil && o.Superseded != "" {
			err = emit(ObjectPlace{table, round, o.Superseded, 0, o.SupersededBytes})
		}
		return err
	}
	for table, runs := range m.Tables {
		for _, run := range runs {
			for _, o := range run.Objects {
				if err := object(table, 0, o); err != nil {
					return err
				}
			}
		}
	}
	for _, run := range m.Frontier {
		for _, o := range run.Objects {
			if err := object(run.Kind, 0, o.Object); err != nil {
				return err
			}
		}
	}
	return eachPartObject(m, object, emit)
}

func eachPartObject(m *lsm.Manifest, object func(table string, round uint64, o lsm.Object) error,
	emit func(p ObjectPlace) error) error {
	for _, part := range m.Parts {
		for table, objects := range part.Tables {
			for _, o := range objects {
				if err := object(table, part.Round, o); err != nil {
					return err
				}
			}
		}
		for _, w := range part.WARC {
			if err := emit(ObjectPlace{"warc", part.Round, w.Key, 0, w.Bytes}); err != nil {
				return err
			}
		}
	}
	return nil
}
