package fold

import (
	"context"
	"fmt"
	"slices"

	"seine/formats/lsm"
	"seine/formats/schema"
)

// outstanding is what the base snapshot counts of a politeness group: URLs that
// wait for their first turn, and those that are kept back (domain_full).
type outstanding struct{ waits, held int64 }

// roomy says that no group can come to its limit: were all that the crawl knows
// and all that the round discovered in one, it would be half full. Then nobody
// needs to count.
func (f *folding) roomy() bool {
	most := f.manifest.Known
	for i := range f.in.events {
		most += f.in.events[i].Rows
	}
	return most <= f.sheets.LeastRoom(f.settings)/2
}

// countGroups looks up what is outstanding in the groups of a batch that gain
// URLs.
func (f *folding) countGroups(ctx context.Context, items []item) error {
	clear(f.counted)
	if f.roomy() {
		return nil
	}
	var keys []lsm.Key
	for i := range items {
		if it := &items[i]; it.links.any && !it.known {
			if key := f.groupKey(it.key); len(keys) == 0 || keys[len(keys)-1] != key {
				keys = append(keys, key)
			}
		}
	}
	err := lsm.Domains().Lookup(ctx, f.env.Open, f.manifest.Tables[schema.Domains], keys,
		lsm.LookupOptions{Columns: []string{"pending", "held"}, Stats: f.env.Stats},
		func(hit lsm.Hit[schema.Domain]) error {
			f.counted[keys[hit.Index]] = outstanding{hit.Row.Pending - hit.Row.Held, hit.Row.Held}
			return nil
		})
	if err != nil {
		return fmt.Errorf("look up outstanding URLs: %w", err)
	}
	return nil
}

// admit says whether the group at hand takes one more URL into the frontier: not
// above its limit, and from then on not before half of that is gone, so that
// what is younger does not overtake what was kept back. It goes by the snapshot
// and what the round added, in key order: so the tasks need not agree on it.
func (f *folding) admit() bool {
	g := f.groups
	base := f.counted[g.tally.key]
	waits, most := base.waits+g.admitted, g.most
	if waits >= most || base.held > 0 && waits > most/2 {
		return false
	}
	g.admitted++
	return true
}

// room notes that a group has room for what it keeps back.
func (f *folding) room(row *schema.Domain) {
	p := uint16(row.Partition)
	v := f.sheets.Of(f.settings.GroupByHost, row.Domain, row.Host)
	if row.Held == 0 || row.Pending-row.Held > v.Room(f.settings)/2 {
		return
	}
	if !slices.Contains(f.end.Room, p) {
		f.end.Room = append(f.end.Room, p)
	}
}
