package compact

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/taskend"
	"seine/jobs"
	"seine/reducer/task"
)

// Run does a compact task and puts its end, a *taskend.Reduce.
func Run(ctx context.Context, e task.Env, t jobs.Task) (jobs.Result, error) {
	if t.Spec.Compact == nil {
		return jobs.Result{}, fmt.Errorf("task %s: the spec merges nothing", t.ID())
	}
	return task.Do(ctx, e, t, run)
}

func run(ctx context.Context, e task.Env, t jobs.Task) (*taskend.Reduce, error) {
	m, err := e.Snapshot(ctx, t.Spec.Base)
	if err != nil {
		return nil, err
	}
	end := &taskend.Reduce{Format: taskend.Format, Range: t.Range, Tables: map[string]lsm.Object{},
		Counts: map[string]int64{}}
	merges := t.Spec.Compact.Merges
	for _, table := range slices.Sorted(maps.Keys(merges)) {
		merge, err := plan(m, table, merges[table])
		if err != nil {
			return nil, err
		}
		merge.Range, merge.Stats = t.Range, e.RowStats()
		object, err := mergeTable(ctx, e, t, table, merge)
		if err != nil {
			return nil, err
		}
		end.Counts["runs"] += int64(len(merge.Runs))
		if object != nil {
			end.Tables[table] = *object
			end.Counts["rows"] += object.Rows
		}
	}
	return end, nil
}

// plan finds the runs that are merged, and those on either side, in a manifest.
func plan(m *lsm.Manifest, table string, ids []string) (lsm.Merge, error) {
	runs := m.Tables[table]
	at := slices.IndexFunc(runs, func(r lsm.Run) bool { return len(ids) > 0 && r.ID == ids[0] })
	if at < 0 || at+len(ids) > len(runs) {
		return lsm.Merge{}, fmt.Errorf("merge runs %v of %s: snapshot %d does not have them", ids,
			table, m.N)
	}
	for i, id := range ids {
		if runs[at+i].ID != id {
			return lsm.Merge{}, fmt.Errorf("merge runs %v of %s: in snapshot %d they are not adjacent",
				ids, table, m.N)
		}
	}
	return lsm.Merge{Older: runs[:at], Runs: runs[at : at+len(ids)], Younger: runs[at+len(ids):]}, nil
}

func mergeTable(ctx context.Context, e task.Env, t jobs.Task, table string,
	m lsm.Merge) (*lsm.Object, error) {
	switch table {
	case schema.URLs:
		return merge(ctx, e, t, lsm.URLs(), m)
	case schema.Domains:
		return merge(ctx, e, t, lsm.Domains(), m)
	case schema.Hosts:
		return merge(ctx, e, t, lsm.Hosts(), m)
	case schema.RobotsT:
		return merge(ctx, e, t, lsm.RobotsTable(), m)
	}
	return nil, fmt.Errorf("merge runs of %s: no such table of runs", table)
}
