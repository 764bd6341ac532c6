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
	env     task.Env
	task    jobs.Task
	urls    *task.RunOutput[schema.URL]
	domains *task.RunOutput[schema.Domain]
	hosts   *task.RunOutput[schema.Host]
	seeds   *task.Sorter[schema.Seed]
	queues  *task.Queues
}

func newOutputs(e task.Env, t jobs.Task) (*outputs, error) {
	o := &outputs{env: e, task: t, queues: task.NewQueues(e, t),
		seeds: task.NewSorter(e, "seeds", e.Memory()/8, seedBytes, compareSeeds)}
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
	o.queues.Close()
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
		cmp.Compare(a.Interval, b.Interval), cmp.Compare(a.Depth, b.Depth), strings.Compare(a.Scope, b.Scope),
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

// finish stores all outputs and enters them into the end.
func (o *outputs) finish(ctx context.Context, end *taskend.Reduce) error {
	end.Tables = map[string]lsm.Object{}
	if err := task.FinishRun(ctx, end, schema.URLs, o.urls); err != nil {
		return err
	}
	if err := task.FinishRun(ctx, end, schema.Domains, o.domains); err != nil {
		return err
	}
	if err := task.FinishRun(ctx, end, schema.Hosts, o.hosts); err != nil {
		return err
	}
	if err := o.queues.Finish(ctx, end); err != nil {
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
