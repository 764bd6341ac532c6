package publish

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/taskend"
	"seine/jobs"
	"seine/reducer/task"
)

// Job is a job that has come to its commit.
type Job struct {
	Spec jobs.Spec
	// Ends are the results of its stages, by task index.
	Ends map[jobs.Stage][]jobs.Result
	// Epoch is that of the leader that publishes; the spec's may be older.
	Epoch uint64
	// Outcome is the word for the rounds row, such as "committed".
	Outcome string
	// Discard makes a commit that changes nothing but the rounds row.
	Discard bool
	// Ended is when, ms since 1970 UTC.
	Ended int64
	// Cost, unless nil, gives counts of what planning and publishing the job took so
	// far. It is asked when the rounds row is about to be put: PutsAfter more puts
	// follow.
	Cost func() map[string]int64
}

// PutsAfter is how many puts follow the call of Job.Cost: the rounds row, the
// commit and LATEST.
const PutsAfter = 3

// RunID is the id of the run that a job writes.
func RunID(spec jobs.Spec) string {
	if spec.Kind == jobs.KindCompact {
		return fmt.Sprintf("c%08d", spec.Job)
	}
	return fmt.Sprintf("r%08d", spec.Job)
}

// Edit merges the ends of a job's tasks into its edit of head, and sums their
// counts: those of the last stage under their names, those of the stages before
// as STAGE_NAME. Its rounds row is put on the way.
func Edit(ctx context.Context, e task.Env, head *lsm.Manifest, j Job) (lsm.Edit,
	map[string]int64, error) {
	edit := lsm.Edit{Settings: j.Spec.Settings, Part: &lsm.Part{Round: j.Spec.Job, Now: j.Spec.Now,
		Tables: map[string][]lsm.Object{}}}
	counts := map[string]int64{}
	if !j.Discard {
		var err error
		if head, err = restored(ctx, e, head, j.Spec, &edit); err != nil {
			return lsm.Edit{}, nil, fmt.Errorf("edit of job %d: %w", j.Spec.Job, err)
		}
		if err := merge(ctx, e, head, j, &edit, counts); err != nil {
			return lsm.Edit{}, nil, fmt.Errorf("edit of job %d: %w", j.Spec.Job, err)
		}
	}
	if j.Cost != nil {
		maps.Copy(counts, j.Cost())
	}
	rounds, err := putRound(ctx, e, j, counts)
	if err != nil {
		return lsm.Edit{}, nil, fmt.Errorf("edit of job %d: %w", j.Spec.Job, err)
	}
	edit.Part.Tables[schema.Rounds] = []lsm.Object{*rounds}
	return edit, counts, nil
}

// restored is what an edit of the job is applied to: head, or for a restore the
// snapshot that comes back. Of head it keeps robots: what robots.txt forbids
// today is not asked for because of what it said then.
func restored(ctx context.Context, e task.Env, head *lsm.Manifest, spec jobs.Spec,
	edit *lsm.Edit) (*lsm.Manifest, error) {
	if spec.Restore == nil {
		return head, nil
	}
	m, err := e.Snapshot(ctx, spec.Restore.Snapshot)
	if err != nil {
		return nil, err
	}
	back := *m
	back.Tables = maps.Clone(m.Tables)
	delete(back.Tables, schema.RobotsT)
	if runs := head.Tables[schema.RobotsT]; len(runs) > 0 {
		back.Tables[schema.RobotsT] = runs
	}
	edit.Restore = &back
	return &back, nil
}

func merge(ctx context.Context, e task.Env, head *lsm.Manifest, j Job, edit *lsm.Edit,
	counts map[string]int64) error {
	stages, err := jobs.Stages(j.Spec.Kind)
	if err != nil {
		return err
	}
	last := stages[len(stages)-1]
	for _, stage := range stages {
		for _, result := range j.Ends[stage] {
			for name, n := range result.Counts {
				if stage != last {
					name = string(stage) + "_" + name
				}
				counts[name] += n
			}
		}
	}
	generated, err := ends(ctx, e, j, jobs.StageGenerate, j.Spec.Kind == jobs.KindRound,
		taskend.DecodeGenerate)
	if err != nil {
		return err
	}
	reduced, err := ends(ctx, e, j, last, true, taskend.DecodeReduce)
	if err != nil {
		return err
	}
	for i, end := range reduced {
		if end.Range != j.Spec.Ranges[i] {
			return fmt.Errorf("task %d of %s ended with range %s, the spec has %s", i, last, end.Range,
				j.Spec.Ranges[i])
		}
	}
	addRuns(edit, j.Spec, head, reduced)
	addFrontier(edit, j.Spec, reduced)
	addPart(edit, generated, reduced)
	for _, end := range reduced {
		edit.ReplaceParts = append(edit.ReplaceParts, end.Parts...)
		edit.AddRoom = append(edit.AddRoom, end.Room...)
	}
	if j.Spec.Requeue != nil {
		edit.RemoveRoom = j.Spec.Requeue.Room
	}
	if j.Spec.Prune != nil {
		edit.Pruned = j.Spec.Now
	}
	return consume(edit, head, generated, reduced)
}

// ends reads the ends of a stage, of which there is one for each range.
func ends[E any](ctx context.Context, e task.Env, j Job, stage jobs.Stage, wanted bool,
	decode func([]byte) (E, error)) ([]E, error) {
	if !wanted {
		return nil, nil
	}
	results := j.Ends[stage]
	if len(results) != len(j.Spec.Ranges) {
		return nil, fmt.Errorf("%d of %d tasks of %s have ended", len(results), len(j.Spec.Ranges),
			stage)
	}
	all := make([]E, len(results))
	for i, result := range results {
		body, err := e.Store.Get(ctx, result.End)
		if err != nil {
			return nil, fmt.Errorf("end of task %d of %s: %w", i, stage, err)
		}
		if all[i], err = decode(body); err != nil {
			return nil, fmt.Errorf("%s: %w", result.End, err)
		}
	}
	return all, nil
}

// addRuns makes one run of each table of the objects that the tasks wrote. A
// compaction's takes the place, and the age, of those that it merged.
func addRuns(edit *lsm.Edit, spec jobs.Spec, head *lsm.Manifest, reduced []*taskend.Reduce) {
	objects := map[string][]lsm.Object{}
	for _, end := range reduced {
		for table, object := range end.Tables {
			objects[table] = append(objects[table], object)
		}
		edit.KnownDelta += end.Known
		edit.WaitingDelta += end.Tickets
	}
	edit.AddRuns = map[string]lsm.Run{}
	for table, list := range objects {
		run := lsm.Run{ID: RunID(spec), Seq: spec.Job, Objects: byRange(list)}
		if spec.Compact != nil {
			run.Seq = newest(head.Tables[table], spec.Compact.Merges[table])
		}
		edit.AddRuns[table] = run
	}
	if spec.Compact != nil {
		edit.RemoveRuns = spec.Compact.Merges
	}
}

func newest(runs []lsm.Run, ids []string) (seq uint64) {
	for _, r := range runs {
		if slices.Contains(ids, r.ID) {
			seq = max(seq, r.Seq)
		}
	}
	return seq
}

func byRange(objects []lsm.Object) []lsm.Object {
	slices.SortFunc(objects, func(a, b lsm.Object) int {
		return cmp.Or(cmp.Compare(a.Range.Lo, b.Range.Lo), cmp.Compare(a.Key, b.Key))
	})
	return objects
}

func addFrontier(edit *lsm.Edit, spec jobs.Spec, reduced []*taskend.Reduce) {
	waiting := lsm.QueueRun{ID: RunID(spec), Kind: schema.Waiting, Seq: spec.Job}
	ready := lsm.QueueRun{ID: RunID(spec), Kind: schema.Ready, Seq: spec.Job}
	for _, end := range reduced {
		if end.Waiting != nil {
			waiting.Objects = append(waiting.Objects, *end.Waiting)
		}
		if end.Ready != nil {
			ready.Objects = append(ready.Objects, *end.Ready)
		}
	}
	for _, run := range []lsm.QueueRun{waiting, ready} {
		if len(run.Objects) > 0 {
			edit.AddFrontier = append(edit.AddFrontier, run)
		}
	}
}

// addPart gathers the append tables: the lists from generate, the rest from the
// last stage.
func addPart(edit *lsm.Edit, generated []*taskend.Generate, reduced []*taskend.Reduce) {
	tables := edit.Part.Tables
	for _, end := range generated {
		if end.Lists != nil {
			tables[schema.Lists] = append(tables[schema.Lists], *end.Lists)
		}
	}
	for _, end := range reduced {
		for table, objects := range end.Append {
			tables[table] = append(tables[table], objects...)
		}
		edit.Part.WARC = append(edit.Part.WARC, end.WARC...)
	}
	for _, objects := range tables {
		byRange(objects)
	}
	slices.SortFunc(edit.Part.WARC, func(a, b lsm.WARCFile) int { return cmp.Compare(a.Key, b.Key) })
}

// putRound stores the job's row of rounds. Its key holds the epoch and the
// time, so that publishers of one job do not meet on it.
func putRound(ctx context.Context, e task.Env, j Job, counts map[string]int64) (*lsm.Object, error) {
	spec, err := encodeSpec(j.Spec)
	if err != nil {
		return nil, err
	}
	t := jobs.Task{Spec: j.Spec, Stage: "publish", Range: layout.All,
		Attempt: layout.Attempt{Epoch: j.Epoch}}
	out, err := task.Create[schema.RoundRow](e, t, fmt.Sprintf("rounds-%013d", j.Ended), false)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	err = out.Write(schema.RoundRow{Round: int64(j.Spec.Job), Kind: string(j.Spec.Kind), Spec: spec,
		Submitted: j.Spec.Now, Ended: j.Ended, Outcome: j.Outcome, Counts: counts})
	if err != nil {
		return nil, err
	}
	return out.Finish(ctx)
}
