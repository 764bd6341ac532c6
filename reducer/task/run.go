package task

import (
	"context"
	"fmt"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/taskend"
	"seine/jobs"
)

// RunOutput is a task's object of a run table: rows that ascend by key, their
// sidecar, and the list of the older rows that they replace.
type RunOutput[R any] struct {
	env     Env
	task    jobs.Task
	name    string
	table   lsm.Table[R]
	key     layout.Key
	sidecar layout.Key
	data    *scratchFile
	side    *scratchFile
	rows    *lsm.RunWriter[R]
	old     *superseded
	count   int64
	done    bool
}

// CreateRun opens the output of t for a run table on scratch.
func CreateRun[R any](e Env, t jobs.Task, table lsm.Table[R]) (*RunOutput[R], error) {
	data, err := newScratch(e.Scratch, table.Name)
	if err != nil {
		return nil, err
	}
	side, err := newScratch(e.Scratch, table.Name+"-sidecar")
	if err != nil {
		data.close()
		return nil, err
	}
	o := &RunOutput[R]{env: e, task: t, name: table.Name, table: table,
		key: OutputKey(t, table.Name+".parquet"), sidecar: OutputKey(t, table.Name+".sidecar"),
		data: data, side: side, old: newSuperseded(e.Scratch)}
	o.rows = table.NewWriter(data, side, o.key, o.sidecar, t.Range,
		rowfile.Options{Codec: e.Codec, Partitioned: true})
	return o, nil
}

// Write adds a row; keys ascend strictly.
func (o *RunOutput[R]) Write(row *R) error {
	if err := o.rows.Write(row); err != nil {
		return fmt.Errorf("write %s: %w", o.key, err)
	}
	o.count++
	return nil
}

// Rows is the number of rows written.
func (o *RunOutput[R]) Rows() int64 { return o.count }

// Supersede says that the row last written (or about to be written) is whole
// and replaces these older rows, as Hit.Refs and Scan give them. Views leave
// them out; lookups do not need it. Refs of one object come in ascending order
// over the whole output, as they do when keys ascend.
func (o *RunOutput[R]) Supersede(refs ...lsm.Ref) error {
	if err := o.old.add(refs); err != nil {
		return fmt.Errorf("rows that %s replaces: %w", o.key, err)
	}
	return nil
}

// Finish stores the object, its sidecar and its superseded rows, and describes
// it. An output without rows leaves nothing and is nil.
func (o *RunOutput[R]) Finish(ctx context.Context) (*lsm.Object, error) {
	if o.count == 0 {
		o.Abort()
		return nil, nil
	}
	defer o.drop()
	object, err := o.rows.Finish()
	if err != nil {
		return nil, fmt.Errorf("finish %s: %w", o.key, err)
	}
	old, err := o.putSuperseded(ctx)
	if err != nil {
		return nil, err
	}
	if old != nil {
		object.Superseded, object.SupersededRows, object.SupersededBytes = old.Key, old.Rows, old.Bytes
	}
	if err := o.side.put(ctx, o.env.Store, o.sidecar); err != nil {
		return nil, err
	}
	if err := o.data.put(ctx, o.env.Store, o.key); err != nil {
		return nil, err
	}
	return &object, nil
}

// FinishRun finishes the output of a table and enters its object into the end.
func FinishRun[R any](ctx context.Context, end *taskend.Reduce, table string,
	out *RunOutput[R]) error {
	object, err := out.Finish(ctx)
	if object != nil {
		end.Tables[table] = *object
	}
	return err
}

func (o *RunOutput[R]) putSuperseded(ctx context.Context) (*lsm.Object, error) {
	out, err := Create[supersededRow](o.env, o.task, o.name+"-superseded", false)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	if err := o.old.each(func(row supersededRow) error { return out.Write(row) }); err != nil {
		return nil, fmt.Errorf("rows that %s replaces: %w", o.key, err)
	}
	return out.Finish(ctx)
}

// Abort drops what was written. After Finish or Abort it does nothing.
func (o *RunOutput[R]) Abort() {
	if o.done {
		return
	}
	o.rows.Abort()
	o.drop()
}

func (o *RunOutput[R]) drop() {
	o.done = true
	o.data.close()
	o.side.close()
	o.old.close()
}
