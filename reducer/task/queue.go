package task

import (
	"context"
	"fmt"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/jobs"
)

// QueueOutput is a task's object of the frontier, of kind schema.Waiting or
// schema.Ready, its rows in that kind's order.
type QueueOutput struct {
	env     Env
	key     layout.Key
	scratch *scratchFile
	rows    *lsm.QueueWriter
	count   int64
	done    bool
}

// CreateQueue opens the output of t for a kind of frontier run on scratch.
func CreateQueue(e Env, t jobs.Task, kind string) (*QueueOutput, error) {
	s, err := newScratch(e.Scratch, kind)
	if err != nil {
		return nil, err
	}
	key := OutputKey(t, kind+".parquet")
	w := lsm.NewQueueWriter(kind, s, key, t.Range,
		rowfile.Options{Codec: e.Codec, Partitioned: true})
	return &QueueOutput{env: e, key: key, scratch: s, rows: w}, nil
}

// Write adds a row in the order of the kind.
func (o *QueueOutput) Write(row *schema.FrontierRow) error {
	if err := o.rows.Write(row); err != nil {
		return fmt.Errorf("write %s: %w", o.key, err)
	}
	o.count++
	return nil
}

// Rows is the number of rows written.
func (o *QueueOutput) Rows() int64 { return o.count }

// Finish stores the object and describes it; nil when it has no rows.
func (o *QueueOutput) Finish(ctx context.Context) (*lsm.QueueObject, error) {
	if o.count == 0 {
		o.Abort()
		return nil, nil
	}
	object, err := o.rows.Finish()
	o.done = true
	if err != nil {
		o.scratch.close()
		return nil, fmt.Errorf("finish %s: %w", o.key, err)
	}
	if err := o.scratch.put(ctx, o.env.Store, o.key); err != nil {
		return nil, err
	}
	return &object, nil
}

// Abort drops what was written. After Finish or Abort it does nothing.
func (o *QueueOutput) Abort() {
	if o.done {
		return
	}
	o.done = true
	o.rows.Abort()
	o.scratch.close()
}

// CompareQueue is the order of a kind of frontier run.
func CompareQueue(kind string) func(a, b *schema.FrontierRow) int {
	if kind == schema.Ready {
		return lsm.CompareReady
	}
	return lsm.CompareWaiting
}

// FrontierKey is the key that the URL of a frontier row has in urls.
func FrontierKey(row *schema.FrontierRow) lsm.Key {
	return lsm.Key{Partition: uint16(row.Partition), Domain: row.Domain, Host: row.Host, URL: row.URL}
}
