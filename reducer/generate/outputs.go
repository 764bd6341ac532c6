package generate

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/taskend"
	"seine/jobs"
	"seine/reducer/task"
)

// outputs are what a task writes: what comes in another order than it is
// written goes through sorters.
type outputs struct {
	lists    *task.Sorter[schema.List]
	deferred *task.Sorter[schema.FrontierRow]
	refused  *task.Sorter[schema.Fetch]
	moved    *task.Output[schema.FrontierRow]
	slots    *task.Output[schema.Domain]
}

func newOutputs(e task.Env, t jobs.Task) (*outputs, error) {
	moved, err := task.Create[schema.FrontierRow](e, t, "moved", true)
	if err != nil {
		return nil, err
	}
	slots, err := task.Create[schema.Domain](e, t, "slots", true)
	if err != nil {
		moved.Abort()
		return nil, err
	}
	bound := e.Memory() / 8
	return &outputs{moved: moved, slots: slots,
		lists:    task.NewSorter(e, "lists", bound, listBytes, byKey),
		deferred: task.NewSorter(e, "deferred", bound, task.FrontierBytes, lsm.CompareWaiting),
		refused:  task.NewSorter(e, "refused", bound, fetchBytes, byURL)}, nil
}

func (o *outputs) abort() {
	o.lists.Close()
	o.deferred.Close()
	o.refused.Close()
	o.moved.Abort()
	o.slots.Abort()
}

func byKey(a, b *schema.List) int {
	return cmp.Or(cmp.Compare(a.Partition, b.Partition), strings.Compare(a.Domain, b.Domain),
		strings.Compare(a.Host, b.Host), strings.Compare(a.URL, b.URL))
}

// byNumber is the order of popping; Position holds the number until the
// partition is done.
func byNumber(a, b *schema.List) int { return cmp.Compare(a.Position, b.Position) }

func byURL(a, b *schema.Fetch) int {
	return cmp.Or(strings.Compare(a.Domain, b.Domain), strings.Compare(a.Host, b.Host),
		strings.Compare(a.URL, b.URL))
}

func fetchBytes(r *schema.Fetch) int {
	return 320 + len(r.Domain) + len(r.Host) + len(r.URL) + len(r.Rule)
}

// finish writes what became of a partition's rows.
func (g *generation) finish(p *partition) error {
	stopped, err := p.stopped()
	if err != nil {
		return err
	}
	if err := p.rest(func(row *schema.FrontierRow) error {
		return g.out.moved.Write(*row)
	}); err != nil {
		return err
	}
	if err := g.keep(p); err != nil {
		return err
	}
	g.stop(stopped)
	return g.slots(p)
}

// stop notes what ended a partition; the task's is the strongest.
func (g *generation) stop(stopped string) {
	if stopped == stopPopped || g.stopped == stopEmpty {
		g.stopped = stopped
	}
}

// keep gives the kept rows their places or slots, in pop order.
func (g *generation) keep(p *partition) error {
	places := make([]int32, len(p.listing))
	for _, group := range p.groups {
		for place, n := range group.order() {
			places[n] = int32(place)
		}
	}
	return p.kept.Each(func(row *schema.List) error {
		n := row.Position
		if p.listing[n] {
			listed := ownList(row)
			listed.Position = places[n]
			g.counts[countSelected]++
			g.counts[strings.ToLower(row.Band)]++
			return g.out.lists.Add(listed)
		}
		g.counts[countDeferred]++
		later := schema.FrontierRow{Partition: row.Partition, Domain: row.Domain, Host: row.Host,
			URL: row.URL, Priority: row.Priority, Depth: row.Depth, Rank: row.Rank,
			Ticket: row.Ticket}
		group := p.groups[g.groupKey(&later)]
		if later.Due, later.Why = group.slot(g.now, later.Host); later.Why == schema.WhyDay {
			g.counts[countDay]++
		} else {
			g.counts[countSlot]++
		}
		return g.out.deferred.Add(own(&later))
	})
}

// slots writes the next slot of every group that gave some away.
func (g *generation) slots(p *partition) error {
	var groups []*group
	for _, group := range p.groups {
		if group.deferred > 0 {
			groups = append(groups, group)
		}
	}
	slices.SortFunc(groups, func(a, b *group) int { return a.key.Compare(b.key) })
	for _, group := range groups {
		if err := g.out.slots.Write(schema.Domain{Partition: int32(group.key.Partition),
			Domain: group.key.Domain, Host: group.key.Host, NextSlot: group.nextSlot,
			Round: int64(g.task.Spec.Job)}); err != nil {
			return err
		}
	}
	return nil
}

// end stores the outputs and describes them.
func (g *generation) end(ctx context.Context) (*taskend.Generate, error) {
	end := &taskend.Generate{Format: taskend.Format, Range: g.task.Range, Stopped: g.stopped,
		Counts: g.counts, Cursors: map[layout.Key][]int64{}}
	for _, queues := range [][]*queue{g.waiting, g.ready} {
		for _, q := range queues {
			end.Cursors[q.object.Key] = q.cursors(g.task.Range)
		}
	}
	var err error
	if end.Lists, err = write(ctx, g, "lists", true, g.out.lists); err != nil {
		return nil, err
	}
	if end.Deferred, err = write(ctx, g, "deferred", true, g.out.deferred); err != nil {
		return nil, err
	}
	if end.Refused, err = write(ctx, g, "refused", false, g.out.refused); err != nil {
		return nil, err
	}
	if end.Moved, err = g.out.moved.Finish(ctx); err != nil {
		return nil, err
	}
	end.Slots, err = g.out.slots.Finish(ctx)
	return end, err
}

func write[R any](ctx context.Context, g *generation, name string, partitioned bool,
	rows *task.Sorter[R]) (*lsm.Object, error) {
	out, err := task.Create[R](g.env, g.task, name, partitioned)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	if err := rows.Each(func(row *R) error { return out.Write(*row) }); err != nil {
		return nil, err
	}
	return out.Finish(ctx)
}
