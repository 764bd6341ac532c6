package requeue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/sheet"
	"seine/formats/taskend"
	"seine/jobs"
	"seine/reducer/task"
)

// Names of the counts of a task.
const (
	countTargets  = "targets"
	countRequeued = "requeued"
	countUnknown  = "unknown" // targets that urls does not have
	countRevived  = "revived" // of the requeued, those that had been refused
)

// batchTargets is how many targets are looked up at once.
const batchTargets = 16_384

// Run does a requeue task and puts its end, a *taskend.Reduce.
func Run(ctx context.Context, e task.Env, t jobs.Task) (jobs.Result, error) {
	if t.Spec.Requeue == nil {
		return jobs.Result{}, fmt.Errorf("task %s: the spec requeues nothing", t.ID())
	}
	return task.Do(ctx, e, t, run)
}

// requeueing is a requeue task at work.
type requeueing struct {
	env      task.Env
	task     jobs.Task
	settings settings.Settings
	sheets   *sheet.Table
	manifest *lsm.Manifest
	due      int64 // ms
	out      *outputs
	end      *taskend.Reduce
	group    groupTally // the politeness group at hand
}

func run(ctx context.Context, e task.Env, t jobs.Task) (*taskend.Reduce, error) {
	r := &requeueing{env: e, task: t, due: max(t.Spec.Requeue.Due, t.Spec.Now),
		end: &taskend.Reduce{Format: taskend.Format, Range: t.Range, Counts: map[string]int64{}}}
	var err error
	if r.settings, err = e.Settings(ctx, t.Spec.Settings); err != nil {
		return nil, fmt.Errorf("settings %d: %w", t.Spec.Settings, err)
	}
	if r.sheets, err = e.Sheets(ctx, r.settings); err != nil {
		return nil, fmt.Errorf("settings %d: %w", t.Spec.Settings, err)
	}
	if r.manifest, err = e.Snapshot(ctx, t.Spec.Base); err != nil {
		return nil, err
	}
	if r.out, err = newOutputs(e, t); err != nil {
		return nil, err
	}
	defer r.out.abort()
	take := r.all
	if gone := t.Spec.Requeue.Unblocked; len(gone) > 0 {
		take = func(ctx context.Context) error { return r.unblocked(ctx, gone) }
	}
	if room := t.Spec.Requeue.Room; len(room) > 0 {
		take = func(ctx context.Context) error { return r.room(ctx, room) }
	}
	if err := take(ctx); err != nil {
		return nil, err
	}
	return r.end, r.out.finish(ctx, r.end)
}

// all takes the range's targets in key order, a batch at a time.
func (r *requeueing) all(ctx context.Context) error {
	key := r.task.Spec.Requeue.Targets
	info, err := r.env.Store.Stat(ctx, key)
	if err != nil {
		return fmt.Errorf("targets %s: %w", key, err)
	}
	src, err := r.env.Open(ctx, key, info.Size)
	if err != nil {
		return fmt.Errorf("targets %s: %w", key, err)
	}
	defer task.CloseReader(src)
	file, err := rowfile.Open[Target](src, info.Size, rowfile.ReadOptions{})
	if err != nil {
		return fmt.Errorf("targets %s: %w", key, err)
	}
	bound := r.bound()
	cursor := file.Scan(file.Partitions(r.task.Range))
	var batch []lsm.Key
	for {
		row, err := cursor.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("targets %s: %w", key, err)
		}
		if row != nil {
			batch = append(batch, lsm.Key{Partition: uint16(row.Partition),
				Domain: strings.Clone(row.Domain), Host: strings.Clone(row.Host),
				URL: strings.Clone(row.URL)})
		}
		if len(batch) == bound || row == nil && len(batch) > 0 {
			if err := r.batch(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
		if row == nil {
			return r.leave(ctx)
		}
	}
}

// bound is how many targets are looked up at once within the task's memory.
func (r *requeueing) bound() int { return int(max(64, min(batchTargets, r.env.Memory()/4/4096))) }

// batch requeues distinct URLs in key order.
func (r *requeueing) batch(ctx context.Context, keys []lsm.Key) error {
	known := int64(0)
	err := lsm.URLs().Lookup(ctx, r.env.Open, r.manifest.Tables[schema.URLs], keys,
		lsm.LookupOptions{Stats: r.env.Stats}, func(hit lsm.Hit[schema.URL]) error {
			known++
			return r.url(ctx, hit.Row, slices.Clone(hit.Refs))
		})
	if err != nil {
		return fmt.Errorf("look up targets: %w", err)
	}
	r.end.Counts[countTargets] += int64(len(keys))
	r.end.Counts[countRequeued] += known
	r.end.Counts[countUnknown] += int64(len(keys)) - known
	return nil
}

// url gives a known URL its new ticket.
func (r *requeueing) url(ctx context.Context, old schema.URL, refs []lsm.Ref) error {
	row := old
	revived := refused(old.Reason) && old.Queued == 0
	if revived {
		row.CrawlStatus, row.Reason = schema.Pending, ""
		r.end.Counts[countRevived]++
	}
	row.FailCount = 0 // its retries begin anew
	row.NextCrawl, row.Why = r.due, schema.WhyRecrawl
	if row.LastCrawled == 0 {
		row.Why = schema.WhyNew
	}
	if p := r.task.Spec.Requeue.Priority; p != nil {
		row.Priority = *p
	}
	row.Queued, row.Round = int64(r.task.Spec.Job), int64(r.task.Spec.Job)
	row.QueuedRank = task.Rank(row.Priority, row.NextCrawl)
	if old.Queued == 0 {
		r.end.Tickets++
	}
	if err := r.out.urls.Write(&row); err != nil {
		return err
	}
	if err := r.out.urls.Supersede(refs...); err != nil {
		return err
	}
	queued := task.QueueRow(&row)
	queued.Domain, queued.Host = strings.Clone(row.Domain), strings.Clone(row.Host)
	queued.URL = strings.Clone(row.URL)
	if err := r.out.queues.Add(queued); err != nil {
		return err
	}
	if !revived {
		return nil
	}
	return r.tally(ctx, &old)
}

// refused says whether a URL waits for nothing because of a decision of ours.
func refused(reason schema.Reason) bool {
	switch reason {
	case schema.OutOfScope, schema.RuleOut, schema.Trap, schema.Blocked, schema.DomainFull:
		return true
	}
	return false
}
