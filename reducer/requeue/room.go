package requeue

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/reducer/task"
)

// held is a URL that its group kept back.
type held struct {
	Target
	Rank int64
}

func (h *held) bytes() int { return 104 + len(h.Domain) + len(h.Host) + len(h.URL) }

// room brings back what politeness groups with room kept back as domain_full: of
// each, as many as may be outstanding, the best first; waiting since their
// discovery counts for them, as it does in the frontier. Partitions are taken one
// by one, and of each only those URLs are gathered that belong to such a group.
func (r *requeueing) room(ctx context.Context, partitions []uint16) error {
	for _, p := range partitions {
		if !r.task.Range.Holds(p) {
			continue
		}
		if err := r.roomIn(ctx, layout.Range{Lo: p, Hi: p + 1}); err != nil {
			return fmt.Errorf("bring back what full domains of partition %d keep: %w", p, err)
		}
	}
	return r.leave(ctx)
}

func (r *requeueing) roomIn(ctx context.Context, part layout.Range) error {
	rooms, err := r.rooms(ctx, part)
	if err != nil || len(rooms) == 0 {
		return err
	}
	best := task.NewSorter(r.env, "held", r.env.Memory()/8, (*held).bytes, func(a, b *held) int {
		return cmp.Or(cmp.Compare(b.Rank, a.Rank), a.key().Compare(b.key()))
	})
	defer best.Close()
	if err := r.gatherHeld(ctx, part, rooms, best); err != nil {
		return err
	}
	chosen := NewTargets(r.env)
	defer chosen.Close()
	if err := best.Each(func(h *held) error {
		key := h.key()
		if group := r.groupOf(key); rooms[group] > 0 {
			rooms[group]--
			return chosen.Add(key)
		}
		return nil
	}); err != nil {
		return err
	}
	return r.chosen(ctx, chosen)
}

// rooms says how many URLs the groups of a partition take that are at most half
// full and keep some back.
func (r *requeueing) rooms(ctx context.Context, part layout.Range) (map[lsm.Key]int64, error) {
	rooms := map[lsm.Key]int64{}
	err := lsm.Domains().ScanStats(ctx, r.env.Open, r.manifest.Tables[schema.Domains], part,
		[]string{"pending", "held"}, r.env.RowStats(), func(row *schema.Domain, _ []lsm.Ref) error {
			if row.Held == 0 {
				return nil
			}
			v := r.sheets.Of(r.settings.GroupByHost, row.Domain, row.Host)
			most := v.Room(r.settings)
			if waits := row.Pending - row.Held; waits <= most/2 {
				rooms[lsm.Key{Partition: part.Lo, Domain: strings.Clone(row.Domain),
					Host: strings.Clone(row.Host)}] = most - waits
			}
			return nil
		})
	return rooms, err
}

// gatherHeld sorts what the groups with room keep back.
func (r *requeueing) gatherHeld(ctx context.Context, part layout.Range, rooms map[lsm.Key]int64,
	into *task.Sorter[held]) error {
	columns := []string{"reason", "priority", "discovered_at"}
	return lsm.URLs().ScanStats(ctx, r.env.Open, r.manifest.Tables[schema.URLs], part, columns,
		r.env.RowStats(), func(row *schema.URL, _ []lsm.Ref) error {
			key := lsm.URLs().Key(row)
			if row.Reason != schema.DomainFull || row.Queued != 0 || rooms[r.groupOf(key)] == 0 {
				return nil
			}
			return into.Add(held{Target{Partition: row.Partition, Domain: strings.Clone(row.Domain),
				Host: strings.Clone(row.Host), URL: strings.Clone(row.URL)},
				task.Rank(row.Priority, row.DiscoveredAt)})
		})
}

// groupOf is the key in domains of a URL's politeness group.
func (r *requeueing) groupOf(key lsm.Key) lsm.Key {
	group := lsm.Key{Partition: key.Partition, Domain: key.Domain}
	if r.settings.GroupByHost {
		group.Host = key.Host
	}
	return group
}

// chosen requeues targets that were chosen here, a batch at a time.
func (r *requeueing) chosen(ctx context.Context, targets *Targets) error {
	bound := r.bound()
	var batch []lsm.Key
	flush := func() error {
		err := r.batch(ctx, batch)
		batch = batch[:0]
		return err
	}
	err := targets.sorted.Each(ctx, func(key lsm.Key) error {
		if batch = append(batch, key); len(batch) < bound {
			return nil
		}
		return flush()
	})
	if err != nil || len(batch) == 0 {
		return err
	}
	return flush()
}
