package task

import (
	"context"
	"fmt"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/jobs"
)

// OutputKey is where an attempt of a task keeps its object NAME.
func OutputKey(t jobs.Task, name string) layout.Key {
	return layout.Output(t.Spec.Job, string(t.Stage), t.Index, t.Attempt, name)
}

// Output is one Parquet object of an attempt, in whatever order its rows are
// written. It ends with Finish or Abort.
type Output[R any] struct {
	env     Env
	key     layout.Key
	rng     layout.Range
	scratch *scratchFile
	rows    *rowfile.Writer[R]
	done    bool
}

// Create opens the output NAME.parquet of t on scratch. Partitioned says that
// rows have a field Partition and come in its order, so that readers find a
// range of them by the footer.
func Create[R any](e Env, t jobs.Task, name string, partitioned bool) (*Output[R], error) {
	s, err := newScratch(e.Scratch, name)
	if err != nil {
		return nil, err
	}
	o := rowfile.Options{Codec: e.Codec, Partitioned: partitioned}
	return &Output[R]{env: e, key: OutputKey(t, name+".parquet"), rng: t.Range, scratch: s,
		rows: rowfile.NewWriter[R](s, o)}, nil
}

// Write adds rows.
func (o *Output[R]) Write(rows ...R) error {
	if err := o.rows.Write(rows...); err != nil {
		return fmt.Errorf("write %s: %w", o.key, err)
	}
	return nil
}

// Rows is the number of rows written.
func (o *Output[R]) Rows() int64 { return o.rows.Rows() }

// Finish stores the object and describes it. An output without rows leaves no
// object and is nil.
func (o *Output[R]) Finish(ctx context.Context) (*lsm.Object, error) {
	if o.rows.Rows() == 0 {
		o.Abort()
		return nil, nil
	}
	if err := o.rows.Finish(); err != nil {
		o.drop()
		return nil, fmt.Errorf("finish %s: %w", o.key, err)
	}
	o.done = true
	object := &lsm.Object{Key: o.key, Range: o.rng, Rows: o.rows.Rows(), Bytes: o.rows.Bytes()}
	if err := o.scratch.put(ctx, o.env.Store, o.key); err != nil {
		return nil, err
	}
	return object, nil
}

// Abort drops what was written. After Finish or Abort it does nothing, so it
// may be deferred.
func (o *Output[R]) Abort() {
	if o.done {
		return
	}
	o.rows.Abort()
	o.drop()
}

func (o *Output[R]) drop() {
	o.done = true
	o.scratch.close()
}
