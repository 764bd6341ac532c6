package inject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/sheet"
	"seine/formats/taskend"
	"seine/jobs"
	"seine/reducer/task"
)

// Names of the counts of a task.
const (
	countSeeds   = "seeds"   // lines of the upload
	countNew     = "new"     // URLs nobody knew
	countUpdated = "updated" // known URLs that changed
	countSame    = "same"    // known URLs that did not
	countQueued  = "queued"  // URLs with a new place in the frontier
)

// batchSeeds is how many seeds are looked up at once.
const batchSeeds = 16_384

// Run does an inject task and puts its end, a *taskend.Reduce.
func Run(ctx context.Context, e task.Env, t jobs.Task) (jobs.Result, error) {
	if t.Spec.Inject == nil {
		return jobs.Result{}, fmt.Errorf("task %s: the spec injects nothing", t.ID())
	}
	return task.Do(ctx, e, t, run)
}

func run(ctx context.Context, e task.Env, t jobs.Task) (*taskend.Reduce, error) {
	lines := task.NewSorter(e, "seeds", e.Memory()/4, (*line).bytes, compareLines)
	defer lines.Close()
	if err := readLines(ctx, e, t.Spec.Inject.Upload, t.Range, lines); err != nil {
		return nil, err
	}
	s, err := e.Settings(ctx, t.Spec.Settings)
	if err != nil {
		return nil, fmt.Errorf("settings %d: %w", t.Spec.Settings, err)
	}
	m, err := e.Snapshot(ctx, t.Spec.Base)
	if err != nil {
		return nil, err
	}
	sheets, err := e.Sheets(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("settings %d: %w", t.Spec.Settings, err)
	}
	out, err := newOutputs(e, t)
	if err != nil {
		return nil, err
	}
	defer out.abort()
	i := &injection{env: e, task: t, settings: s, sheets: sheets, manifest: m, out: out,
		end: &taskend.Reduce{Format: taskend.Format, Range: t.Range, Counts: map[string]int64{}}}
	if err := i.all(ctx, lines); err != nil {
		return nil, err
	}
	return i.end, out.finish(ctx, i.end)
}

// injection is an inject task at work.
type injection struct {
	env      task.Env
	task     jobs.Task
	settings settings.Settings
	sheets   *sheet.Table
	manifest *lsm.Manifest
	out      *outputs
	end      *taskend.Reduce
	tallies  []tally // of the groups and hosts met, in key order
}

// all takes the seeds in key order, a batch at a time.
func (i *injection) all(ctx context.Context, lines *task.Sorter[line]) error {
	sorted, err := lines.Open()
	if err != nil {
		return err
	}
	bound := int(max(64, min(batchSeeds, i.env.Memory()/4/4096)))
	var batch []line
	for {
		row, err := sorted.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if row != nil {
			if err := i.seed(row); err != nil {
				return err
			}
			i.end.Counts[countSeeds]++
		}
		// Of several lines with one URL the last counts.
		if n := len(batch); row != nil && n > 0 && batch[n-1].key() == row.key() {
			batch[n-1] = ownLine(row)
			continue
		}
		if len(batch) == bound || row == nil && len(batch) > 0 {
			if err := i.batch(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
		if row == nil {
			return i.settle(ctx, true)
		}
		batch = append(batch, ownLine(row))
	}
}

func ownLine(l *line) line {
	o := *l
	o.Domain, o.Host, o.URL = strings.Clone(l.Domain), strings.Clone(l.Host), strings.Clone(l.URL)
	o.Tag, o.Scope, o.Raw, o.Metadata = strings.Clone(l.Tag), "", "", nil
	return o
}

// seed writes a line into seeds.
func (i *injection) seed(l *line) error {
	return i.out.seeds.Add(schema.Seed{Domain: strings.Clone(l.Domain),
		Host: strings.Clone(l.Host), URL: strings.Clone(l.URL), Raw: strings.Clone(l.Raw),
		InjectedAt: i.task.Spec.Now, Priority: l.Priority, Tag: strings.Clone(l.Tag),
		Interval: l.Interval, Depth: l.Depth, Scope: strings.Clone(l.Scope), Removed: l.Removed,
		Metadata: cloneMap(l.Metadata), Round: int64(i.task.Spec.Job)})
}

func cloneMap(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	c := make(map[string]string, len(m))
	for k, v := range m {
		c[strings.Clone(k)] = strings.Clone(v)
	}
	return c
}

// batch decides distinct seeds in key order.
func (i *injection) batch(ctx context.Context, batch []line) error {
	keys := make([]lsm.Key, len(batch))
	for n := range batch {
		keys[n] = batch[n].key()
	}
	next := 0
	news := func(to int) error {
		for ; next < to; next++ {
			if batch[next].Removed {
				continue // nobody knew it
			}
			c := i.fresh(&batch[next])
			if err := i.write(c, nil); err != nil {
				return err
			}
		}
		return nil
	}
	err := lsm.URLs().Lookup(ctx, i.env.Open, i.manifest.Tables[schema.URLs], keys,
		lsm.LookupOptions{Stats: i.env.Stats}, func(hit lsm.Hit[schema.URL]) error {
			if err := news(hit.Index); err != nil {
				return err
			}
			next++
			c, changed := i.update(hit.Row, &batch[hit.Index])
			if !changed {
				i.end.Counts[countSame]++
				return nil
			}
			return i.write(c, slices.Clone(hit.Refs))
		})
	if err != nil {
		return fmt.Errorf("look up seeds: %w", err)
	}
	if err := news(len(batch)); err != nil {
		return err
	}
	return i.settle(ctx, false)
}

// write writes a URL that is new or changed.
func (i *injection) write(c change, refs []lsm.Ref) error {
	if err := i.out.urls.Write(&c.row); err != nil {
		return err
	}
	if err := i.out.urls.Supersede(refs...); err != nil {
		return err
	}
	i.end.Counts[countUpdated]++
	if c.isNew {
		i.end.Counts[countUpdated]--
		i.end.Counts[countNew]++
		i.end.Known++
	}
	if c.queued {
		i.end.Counts[countQueued]++
		if c.ticket {
			i.end.Tickets++
		}
		if err := i.out.queues.Add(task.QueueRow(&c.row)); err != nil {
			return err
		}
	}
	i.tally(&c)
	return nil
}
