package twin

import (
	"context"
	"fmt"
	"io"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/taskend"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/reducer/publish"
	"seine/reducer/task"
)

// Env is the world of tasks on a store, with the same settings for every
// version, that keeps its files in scratch.
func Env(store objstore.Store, scratch string, s settings.Settings,
	suffixes *weburl.Suffixes) task.Env {
	return task.Env{Store: store, Scratch: scratch, Codec: rowfile.Snappy, Suffixes: suffixes,
		Open: func(ctx context.Context, key layout.Key, size int64) (io.ReaderAt, error) {
			return objstore.Open(ctx, store, key, size), nil
		},
		Settings: func(context.Context, uint64) (settings.Settings, error) { return s.Fill(), nil }}
}

// Save commits the world to an empty store as snapshot 1: the tables as one run
// with an object a range, the frontier run by run.
func (w *World) Save(ctx context.Context, e task.Env, ranges []layout.Range) (*lsm.Manifest, error) {
	edit := lsm.Edit{AddRuns: map[string]lsm.Run{}, KnownDelta: int64(len(w.URLs)),
		Part: &lsm.Part{Tables: map[string][]lsm.Object{}}}
	for _, url := range w.URLs {
		if url.Queued != 0 {
			edit.WaitingDelta++
		}
	}
	for i, r := range ranges {
		t := jobs.Task{Stage: "save", Index: i, Range: r}
		if err := w.saveTables(ctx, e, t, &edit); err != nil {
			return nil, err
		}
	}
	for i := range w.Runs {
		run, err := w.Runs[i].save(ctx, e, ranges)
		if err != nil {
			return nil, err
		}
		if len(run.Objects) > 0 {
			edit.AddFrontier = append(edit.AddFrontier, run)
		}
	}
	c, err := publish.NewCommit(lsm.Empty(), jobs.Spec{Kind: "save"}, 0, edit)
	if err != nil {
		return nil, err
	}
	if _, err := publish.Commit(ctx, e.Store, c); err != nil {
		return nil, err
	}
	return c.Whole, nil
}

func (w *World) saveTables(ctx context.Context, e task.Env, t jobs.Task, edit *lsm.Edit) error {
	if err := saveRun(ctx, e, t, lsm.URLs(), w.URLs, edit); err != nil {
		return err
	}
	if err := saveRun(ctx, e, t, lsm.Domains(), w.Domains, edit); err != nil {
		return err
	}
	if err := saveRun(ctx, e, t, lsm.Hosts(), w.Hosts, edit); err != nil {
		return err
	}
	if err := saveRun(ctx, e, t, lsm.RobotsTable(), w.Robots, edit); err != nil {
		return err
	}
	out, err := task.Create[schema.Seed](e, t, schema.Seeds, false)
	if err != nil {
		return err
	}
	defer out.Abort()
	sortSeeds(w.Seeds)
	for _, seed := range w.Seeds {
		if t.Range.Holds(weburl.Partition(seed.Domain)) {
			if err := out.Write(seed); err != nil {
				return err
			}
		}
	}
	object, err := out.Finish(ctx)
	if object != nil {
		edit.Part.Tables[schema.Seeds] = append(edit.Part.Tables[schema.Seeds], *object)
	}
	return err
}

func saveRun[R any](ctx context.Context, e task.Env, t jobs.Task, table lsm.Table[R],
	rows map[lsm.Key]R, edit *lsm.Edit) error {
	out, err := task.CreateRun(e, t, table)
	if err != nil {
		return err
	}
	defer out.Abort()
	for _, row := range sortedRows(rows) {
		if !t.Range.Holds(table.Key(&row).Partition) {
			continue
		}
		if err := out.Write(&row); err != nil {
			return err
		}
	}
	object, err := out.Finish(ctx)
	if err != nil || object == nil {
		return err
	}
	run := edit.AddRuns[table.Name]
	run.ID = "r00000000"
	run.Objects = append(run.Objects, *object)
	edit.AddRuns[table.Name] = run
	return nil
}

func (r *Run) save(ctx context.Context, e task.Env, ranges []layout.Range) (lsm.QueueRun, error) {
	run := lsm.QueueRun{ID: r.ID, Kind: r.Kind, Seq: r.Seq}
	r.Sort()
	for i, rng := range ranges {
		t := jobs.Task{Spec: jobs.Spec{Job: r.Seq}, Stage: "save", Index: i, Range: rng}
		out, err := task.CreateQueue(e, t, r.Kind)
		if err != nil {
			return run, err
		}
		for n := range r.Rows {
			if !rng.Holds(uint16(r.Rows[n].Partition)) {
				continue
			}
			if err := out.Write(&r.Rows[n]); err != nil {
				out.Abort()
				return run, err
			}
		}
		object, err := out.Finish(ctx)
		if err != nil {
			return run, err
		}
		if object == nil {
			continue
		}
		object.Cursor = make([]int64, len(object.Counts))
		for j, c := range object.Counts {
			object.Cursor[j] = min(c, int64(r.Consumed[rng.Lo+uint16(j)]))
		}
		run.Objects = append(run.Objects, *object)
	}
	return run, nil
}

// Load reads the tables of a snapshot back.
func Load(ctx context.Context, e task.Env, m *lsm.Manifest) (*World, error) {
	w := New()
	err := lsm.URLs().Scan(ctx, e.Open, m.Tables[schema.URLs], layout.All, nil,
		func(row *schema.URL, _ []lsm.Ref) error { w.PutURL(*row); return nil })
	if err != nil {
		return nil, err
	}
	err = lsm.Domains().Scan(ctx, e.Open, m.Tables[schema.Domains], layout.All, nil,
		func(row *schema.Domain, _ []lsm.Ref) error { w.PutDomain(*row); return nil })
	if err != nil {
		return nil, err
	}
	err = lsm.Hosts().Scan(ctx, e.Open, m.Tables[schema.Hosts], layout.All, nil,
		func(row *schema.Host, _ []lsm.Ref) error { w.PutHost(*row); return nil })
	if err != nil {
		return nil, err
	}
	err = lsm.RobotsTable().Scan(ctx, e.Open, m.Tables[schema.RobotsT], layout.All, nil,
		func(row *schema.Robots, _ []lsm.Ref) error { w.PutRobots(*row); return nil })
	if err != nil {
		return nil, err
	}
	for _, run := range m.Frontier {
		if err := w.loadRun(ctx, e, run); err != nil {
			return nil, err
		}
	}
	for _, part := range m.Parts {
		for _, object := range part.Tables[schema.Seeds] {
			rows, err := Rows[schema.Seed](ctx, e, &object)
			if err != nil {
				return nil, err
			}
			w.Seeds = append(w.Seeds, rows...)
		}
	}
	return w, nil
}

func (w *World) loadRun(ctx context.Context, e task.Env, run lsm.QueueRun) error {
	r := Run{ID: run.ID, Kind: run.Kind, Seq: run.Seq, Consumed: map[uint16]int{}}
	for _, o := range run.Objects {
		rows, err := Rows[schema.FrontierRow](ctx, e, &o.Object)
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, rows...)
		for j, c := range o.Cursor {
			r.Consumed[o.Range.Lo+uint16(j)] = int(c)
		}
	}
	w.Runs = append(w.Runs, r)
	return nil
}

// Rows reads a whole object; nil has none.
func Rows[R any](ctx context.Context, e task.Env, o *lsm.Object) ([]R, error) {
	if o == nil {
		return nil, nil
	}
	var rows []R
	err := task.EachRow(ctx, e, *o, nil, func(row *R) error {
		rows = append(rows, *row)
		return nil
	})
	return rows, err
}

// Ends reads the end of a generate task.
func Ends(ctx context.Context, e task.Env, result jobs.Result) (*taskend.Generate, error) {
	body, err := e.Store.Get(ctx, result.End)
	if err != nil {
		return nil, fmt.Errorf("read end: %w", err)
	}
	return taskend.DecodeGenerate(body)
}
