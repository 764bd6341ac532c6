package lsm

import (
	"context"

	"seine/formats/layout"
	"seine/formats/rowfile"
)

// Supersedes emits, by key, the rows of older runs that count no more because of
// whole rows in newer ones: what a list has to name beside what other lists name
// already. A job calls it when runs were merged, or added, after the snapshot that
// it worked on. Its cost follows the newer runs.
func (t Table[R]) Supersedes(ctx context.Context, open Opener, older, newer []Run, rng layout.Range,
	stats *Stats, emit func(Ref) error) error {
	if stats == nil {
		stats = new(Stats)
	}
	r := t.NewReader(open, older, LookupOptions{Columns: []string{}, Stats: stats})
	defer r.Close()
	var keys []Key
	ask := func() error {
		err := r.Lookup(ctx, keys, func(h Hit[R]) error {
			for _, ref := range h.Refs {
				if err := emit(ref); err != nil {
					return err
				}
			}
			return nil
		})
		keys = keys[:0]
		return err
	}
	ro := rowfile.ReadOptions{Columns: t.Always, Stats: &stats.Stats}
	var last Key
	err := t.mergeRows(ctx, open, newer, rng, ro, func(row *R, key Key, _ Ref, _ int) error {
		if t.isDelta(row) || len(keys) > 0 && key == last {
			return nil
		}
		if len(keys) == blockKeys {
			if err := ask(); err != nil {
				return err
			}
		}
		keys, last = append(keys, key), key
		return nil
	})
	if err != nil {
		return err
	}
	return ask()
}
