package inject

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/taskend"
	"seine/jobs"
	"seine/reducer/task"
)

// outputs are what a task writes. Run tables come in key order; the frontier
// and, by domain alone, the seeds do not.
type outputs struct {
	env            task.Env
	task           jobs.Task
	urls           *task.RunOutput[schema.URL]
	domains        *task.RunOutput[schema.Domain]
	hosts          *task.RunOutput[schema.Host]
	seeds          *task.Sorter[schema.Seed]
	waiting, ready *task.Sorter[schema.FrontierRow]
}

func newOutputs(e task.Env, t jobs.Task) (*outputs, error) {
	bound := e.Memory() / 8
	o := &outputs{env: e, task: t,
		seeds:   task.NewSorter(e, "seeds", bound, seedBytes, compareSeeds),
		waiting: task.NewSorter(e, "waiting", bound, frontierBytes, lsm.CompareWaiting),
		ready:   task.NewSorter(e, "ready", bound, frontierBytes, lsm.CompareReady)}
	var err error
	if o.urls, err = task.CreateRun(e, t, lsm.URLs()); err != nil {
		return nil, err
	}
	if o.domains, err = task.CreateRun(e, t, lsm.Domains()); err != nil {
		o.abort()
		return nil, err
	}
	if o.hosts, err = task.CreateRun(e, t, lsm.Hosts()); err != nil {
		o.abort()
		return nil, err
	}
	return o, nil
}

func (o *outputs) abort() {
	o.seeds.Close()
	o.waiting.Close()
	o.ready.Close()
	if o.urls != nil {
		o.urls.Abort()
	}
	if o.domains != nil {
		o.domains.Abort()
	}
	if o.hosts != nil {
		o.hosts.Abort()
	}
}

func seedBytes(s *schema.Seed) int {
	n := 256 + len(s.Domain) + len(s.Host) + len(s.URL) + len(s.Raw) + len(s.Tag)
	for k, v := range s.Metadata {
		n += 64 + len(k) + len(v)
	}
	return n
}

// compareSeeds orders seeds; lines about one URL by their text, for the order
// of lines is not kept beyond it.
func compareSeeds(a, b *schema.Seed) int {
	return cmp.Or(strings.Compare(a.Domain, b.Domain), strings.Compare(a.Host, b.Host),
		strings.Compare(a.URL, b.URL), strings.Compare(a.Raw, b.Raw),
		cmp.Compare(a.Priority, b.Priority), strings.Compare(a.Tag, b.Tag),
		compareMetadata(a.Metadata, b.Metadata))
}

func compareMetadata(a, b map[string]string) int {
	keys := slices.Sorted(maps.Keys(a))
	if c := slices.Compare(keys, slices.Sorted(maps.Keys(b))); c != 0 {
		return c
	}
	for _, k := range keys {
		if c := strings.Compare(a[k], b[k]); c != 0 {
			return c
		}
	}
	return 0
}

func frontierBytes(r *schema.FrontierRow) int {
	return 144 + len(r.Domain) + len(r.Host) + len(r.URL)
}

// queue adds a frontier row: ready if it is due at the job's now.
func (o *outputs) queue(row schema.FrontierRow, now int64) error {
	if row.Due <= now {
		return o.ready.Add(row)
	}
	return o.waiting.Add(row)
}

// finish stores all outputs and enters them into the end.
func (o *outputs) finish(ctx context.Context, end *taskend.Reduce) error {
	end.Tables = map[string]lsm.Object{}
	if err := finishRun(ctx, end, schema.URLs, o.urls); err != nil {
		return err
	}
	if err := finishRun(ctx, end, schema.Domains, o.domains); err != nil {
		return err
	}
	if err := finishRun(ctx, end, schema.Hosts, o.hosts); err != nil {
		return err
	}
	var err error
	if end.Waiting, err = o.finishQueue(ctx, schema.Waiting, o.waiting); err != nil {
		return err
	}
	if end.Ready, err = o.finishQueue(ctx, schema.Ready, o.ready); err != nil {
		return err
	}
	seeds, err := task.Create[schema.Seed](o.env, o.task, schema.Seeds, false)
	if err != nil {
		return err
	}
	defer seeds.Abort()
	if err := o.seeds.Each(func(row *schema.Seed) error { return seeds.Write(*row) }); err != nil {
		return err
	}
	object, err := seeds.Finish(ctx)
	if object != nil {
		end.Append = map[string][]lsm.Object{schema.Seeds: {*object}}
	}
	return err
}

func finishRun[R any](ctx context.Context, end *taskend.Reduce, table string,
	out *task.RunOutput[R]) error {
	object, err := out.Finish(ctx)
	if object != nil {
		end.Tables[table] = *object
	}
	return err
}

func (o *outputs) finishQueue(ctx context.Context, kind string,
	rows *task.Sorter[schema.FrontierRow]) (*lsm.QueueObject, error) {
	out, err := task.CreateQueue(o.env, o.task, kind)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	if err := rows.Each(out.Write); err != nil {
		return nil, err
	}
	return out.Finish(ctx)
}
