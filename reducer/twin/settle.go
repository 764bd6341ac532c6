package twin

import (
	"context"
	"maps"
	"slices"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/taskend"
	"seine/jobs"
	"seine/reducer/task"
)

// Settle stands for fetch and reduce where only the frontier matters: every
// listed or refused URL is done and waits for nothing, nothing is discovered,
// and what generate deferred or moved waits on.
func Settle(ctx context.Context, e task.Env, t jobs.Task) (jobs.Result, error) {
	m, err := e.Snapshot(ctx, t.Spec.Base)
	if err != nil {
		return jobs.Result{}, err
	}
	gen, err := Ends(ctx, e, jobs.Result{End: t.Inputs[jobs.StageGenerate][t.Index]})
	if err != nil {
		return jobs.Result{}, err
	}
	end := &taskend.Reduce{Format: taskend.Format, Range: t.Range,
		Tables: map[string]lsm.Object{}, Counts: map[string]int64{}}
	if err := settleURLs(ctx, e, t, m, gen, end); err != nil {
		return jobs.Result{}, err
	}
	if err := settleSlots(ctx, e, t, m, gen, end); err != nil {
		return jobs.Result{}, err
	}
	if end.Waiting, err = requeue(ctx, e, t, schema.Waiting, gen.Deferred); err != nil {
		return jobs.Result{}, err
	}
	if end.Ready, err = requeue(ctx, e, t, schema.Ready, gen.Moved); err != nil {
		return jobs.Result{}, err
	}
	return e.Finish(ctx, t, end)
}

func settleURLs(ctx context.Context, e task.Env, t jobs.Task, m *lsm.Manifest,
	gen *taskend.Generate, end *taskend.Reduce) error {
	done := map[lsm.Key]bool{}
	lists, err := Rows[schema.List](ctx, e, gen.Lists)
	if err != nil {
		return err
	}
	for _, l := range lists {
		done[Key(l.Partition, l.Domain, l.Host, l.URL)] = true
	}
	refused, err := Rows[schema.Fetch](ctx, e, gen.Refused)
	if err != nil {
		return err
	}
	for _, f := range refused {
		done[Key(partition(f.Domain), f.Domain, f.Host, f.URL)] = true
	}
	out, err := task.CreateRun(e, t, lsm.URLs())
	if err != nil {
		return err
	}
	defer out.Abort()
	keys := slices.SortedFunc(maps.Keys(done), lsm.Key.Compare)
	err = lsm.URLs().Lookup(ctx, e.Open, m.Tables[schema.URLs], keys, lsm.LookupOptions{},
		func(hit lsm.Hit[schema.URL]) error {
			next := hit.Row
			next.CrawlStatus, next.Queued, next.QueuedRank = schema.Completed, 0, 0
			next.LastCrawled, next.Round = t.Spec.Now, int64(t.Spec.Job)
			end.Tickets--
			if err := out.Supersede(hit.Refs...); err != nil {
				return err
			}
			return out.Write(&next)
		})
	if err != nil {
		return err
	}
	object, err := out.Finish(ctx)
	if object != nil {
		end.Tables[schema.URLs] = *object
	}
	return err
}

func settleSlots(ctx context.Context, e task.Env, t jobs.Task, m *lsm.Manifest,
	gen *taskend.Generate, end *taskend.Reduce) error {
	slots, err := Rows[schema.Domain](ctx, e, gen.Slots)
	if err != nil {
		return err
	}
	old := map[lsm.Key]schema.Domain{}
	err = lsm.Domains().Scan(ctx, e.Open, m.Tables[schema.Domains], t.Range, nil,
		func(row *schema.Domain, _ []lsm.Ref) error {
			old[lsm.Domains().Key(row)] = *row
			return nil
		})
	if err != nil {
		return err
	}
	out, err := task.CreateRun(e, t, lsm.Domains())
	if err != nil {
		return err
	}
	defer out.Abort()
	for _, slot := range slots {
		row := old[lsm.Domains().Key(&slot)]
		row.Partition, row.Domain, row.Host = slot.Partition, slot.Domain, slot.Host
		row.NextSlot, row.Round = slot.NextSlot, slot.Round
		if err := out.Write(&row); err != nil {
			return err
		}
	}
	object, err := out.Finish(ctx)
	if object != nil {
		end.Tables[schema.Domains] = *object
	}
	return err
}

func requeue(ctx context.Context, e task.Env, t jobs.Task, kind string,
	o *lsm.Object) (*lsm.QueueObject, error) {
	rows, err := Rows[schema.FrontierRow](ctx, e, o)
	if err != nil {
		return nil, err
	}
	out, err := task.CreateQueue(e, t, kind)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	for i := range rows {
		if err := out.Write(&rows[i]); err != nil {
			return nil, err
		}
	}
	return out.Finish(ctx)
}
