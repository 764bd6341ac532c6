package task

import (
	"context"
	"fmt"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/taskend"
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

// FrontierBytes is about what a frontier row takes in memory, for a Sorter.
func FrontierBytes(r *schema.FrontierRow) int {
	return 144 + len(r.Domain) + len(r.Host) + len(r.URL)
}

// QueueRow queues a URL as its row says. It shares the row's strings.
func QueueRow(row *schema.URL) schema.FrontierRow {
	return schema.FrontierRow{Partition: row.Partition, Domain: row.Domain, Host: row.Host,
		URL: row.URL, Priority: row.Priority, Depth: row.Depth, Due: row.NextCrawl,
		Rank: row.QueuedRank, Ticket: row.Queued, Why: row.Why}
}

// Queues are the frontier rows that a task adds, in any order.
type Queues struct {
	env            Env
	task           jobs.Task
	waiting, ready *Sorter[schema.FrontierRow]
}

// NewQueues has no rows. Close it.
func NewQueues(e Env, t jobs.Task) *Queues {
	bound := e.Memory() / 8
	return &Queues{env: e, task: t,
		waiting: NewSorter(e, schema.Waiting, bound, FrontierBytes, lsm.CompareWaiting),
		ready:   NewSorter(e, schema.Ready, bound, FrontierBytes, lsm.CompareReady)}
}

// Add keeps a row: ready if it is due at the job's now.
func (q *Queues) Add(row schema.FrontierRow) error {
	if row.Due <= q.task.Spec.Now {
		return q.ready.Add(row)
	}
	return q.waiting.Add(row)
}

// Finish stores both objects and enters them into the end.
func (q *Queues) Finish(ctx context.Context, end *taskend.Reduce) (err error) {
	if end.Waiting, err = q.finish(ctx, schema.Waiting, q.waiting); err != nil {
		return err
	}
	end.Ready, err = q.finish(ctx, schema.Ready, q.ready)
	return err
}

func (q *Queues) finish(ctx context.Context, kind string,
	rows *Sorter[schema.FrontierRow]) (*lsm.QueueObject, error) {
	out, err := CreateQueue(q.env, q.task, kind)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	if err := rows.Each(out.Write); err != nil {
		return nil, err
	}
	return out.Finish(ctx)
}

// Close drops what is left.
func (q *Queues) Close() {
	q.waiting.Close()
	q.ready.Close()
}
