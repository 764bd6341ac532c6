// Package restore makes an older snapshot the newest again. What comes back is
// its manifest, which publish puts into the commit; this task only carries over
// what manners need and an older snapshot cannot know:
//
//	domains of then ─┐
//	                 ├─ by key ─▶ domains': counts of then, manners of now
//	domains of now ──┘
//
// So no server is asked sooner than its delay after the last request that was
// made, back-offs end when they end, and slots that were given away stay so. A
// group that the older snapshot does not know keeps a row without URLs.
//
// A task is a function of both snapshots and the spec; memory is that of a batch.
package restore

import (
	"context"
	"fmt"
	"strings"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/taskend"
	"seine/jobs"
	"seine/reducer/task"
)

// batchGroups is how many groups are looked up at once.
const batchGroups = 4096

// Names of the counts of a task.
const (
	countGroups = "groups" // politeness groups of the newest snapshot
	countKept   = "kept"   // of these, how many keep what manners need
)

// Run does a restore task and puts its end, a *taskend.Reduce.
func Run(ctx context.Context, e task.Env, t jobs.Task) (jobs.Result, error) {
	if t.Spec.Restore == nil {
		return jobs.Result{}, fmt.Errorf("task %s: the spec restores nothing", t.ID())
	}
	return task.Do(ctx, e, t, run)
}

func run(ctx context.Context, e task.Env, t jobs.Task) (*taskend.Reduce, error) {
	now, err := e.Snapshot(ctx, t.Spec.Base)
	if err != nil {
		return nil, err
	}
	then, err := e.Snapshot(ctx, t.Spec.Restore.Snapshot)
	if err != nil {
		return nil, err
	}
	out, err := task.CreateRun(e, t, lsm.Domains())
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	r := &restoring{env: e, job: int64(t.Spec.Job), then: then, out: out,
		end: &taskend.Reduce{Format: taskend.Format, Range: t.Range,
			Tables: map[string]lsm.Object{}, Counts: map[string]int64{}}}
	err = lsm.Domains().Scan(ctx, e.Open, now.Tables[schema.Domains], t.Range, nil,
		func(row *schema.Domain, _ []lsm.Ref) error { return r.add(ctx, row) })
	if err == nil {
		err = r.flush(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("domains: %w", err)
	}
	object, err := out.Finish(ctx)
	if object != nil {
		r.end.Tables[schema.Domains] = *object
	}
	return r.end, err
}

// restoring is a restore task at work.
type restoring struct {
	env   task.Env
	job   int64
	then  *lsm.Manifest
	out   *task.RunOutput[schema.Domain]
	end   *taskend.Reduce
	batch []schema.Domain // of now, in key order
}

func (r *restoring) add(ctx context.Context, row *schema.Domain) error {
	own := *row
	own.Domain, own.Host = strings.Clone(row.Domain), strings.Clone(row.Host)
	own.DelayWhy = strings.Clone(row.DelayWhy)
	r.batch = append(r.batch, own)
	if len(r.batch) < batchGroups {
		return nil
	}
	return r.flush(ctx)
}

// flush writes the groups of the batch whose manners have moved on.
func (r *restoring) flush(ctx context.Context) error {
	keys := make([]lsm.Key, len(r.batch))
	for i := range r.batch {
		keys[i] = lsm.Domains().Key(&r.batch[i])
	}
	next := 0
	unknown := func(to int) error {
		for ; next < to; next++ {
			row := manners(schema.Domain{Partition: r.batch[next].Partition, Domain: r.batch[next].Domain,
				Host: r.batch[next].Host}, &r.batch[next])
			if err := r.write(row, nil); err != nil {
				return err
			}
		}
		return nil
	}
	err := lsm.Domains().Lookup(ctx, r.env.Open, r.then.Tables[schema.Domains], keys,
		lsm.LookupOptions{}, func(hit lsm.Hit[schema.Domain]) error {
			if err := unknown(hit.Index); err != nil {
				return err
			}
			next++
			row := manners(hit.Row, &r.batch[hit.Index])
			if row == hit.Row {
				return nil
			}
			return r.write(row, hit.Refs)
		})
	if err != nil {
		return err
	}
	if err := unknown(len(keys)); err != nil {
		return err
	}
	r.end.Counts[countGroups] += int64(len(keys))
	r.batch = r.batch[:0]
	return nil
}

func (r *restoring) write(row schema.Domain, refs []lsm.Ref) error {
	row.Round = r.job
	if err := r.out.Write(&row); err != nil {
		return err
	}
	r.end.Counts[countKept]++
	return r.out.Supersede(refs...)
}

// manners gives a group of then what is known of its manners now.
func manners(then schema.Domain, now *schema.Domain) schema.Domain {
	row := then
	row.Delay, row.DelayWhy, row.CrawlDelay = now.Delay, now.DelayWhy, now.CrawlDelay
	row.LastAccessed, row.NextSlot = now.LastAccessed, now.NextSlot
	row.BackoffUntil, row.Backoffs, row.ErrorCount = now.BackoffUntil, now.Backoffs, now.ErrorCount
	return row
}
