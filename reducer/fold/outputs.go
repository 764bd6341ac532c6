package fold

import (
	"context"
	"errors"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/jobs"
	"seine/reducer/task"
)

// outputs are what the merge by key writes; the frontier and dead letters come
// in another order than that of keys.
type outputs struct {
	urls           *task.RunOutput[schema.URL]
	domains        *task.RunOutput[schema.Domain]
	hosts          *task.RunOutput[schema.Host]
	waiting, ready *task.Sorter[schema.FrontierRow]
	letters        *task.Sorter[schema.DeadLetter]
}

func newOutputs(e task.Env, t jobs.Task) (*outputs, error) {
	bound := e.Memory() / 8
	o := &outputs{
		waiting: task.NewSorter(e, schema.Waiting, bound, task.FrontierBytes, lsm.CompareWaiting),
		ready:   task.NewSorter(e, schema.Ready, bound, task.FrontierBytes, lsm.CompareReady),
		letters: task.NewSorter(e, schema.DeadLetters, bound/4, letterBytes, compareLetters)}
	var urlsErr, domainsErr, hostsErr error
	o.urls, urlsErr = task.CreateRun(e, t, lsm.URLs())
	o.domains, domainsErr = task.CreateRun(e, t, lsm.Domains())
	o.hosts, hostsErr = task.CreateRun(e, t, lsm.Hosts())
	if err := errors.Join(urlsErr, domainsErr, hostsErr); err != nil {
		o.abort()
		return nil, err
	}
	return o, nil
}

func (o *outputs) abort() {
	o.waiting.Close()
	o.ready.Close()
	o.letters.Close()
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

// finish stores all outputs and enters them into the task's end.
func (o *outputs) finish(ctx context.Context, f *folding) error {
	if err := task.FinishRun(ctx, f.end, schema.URLs, o.urls); err != nil {
		return err
	}
	if err := task.FinishRun(ctx, f.end, schema.Domains, o.domains); err != nil {
		return err
	}
	if err := task.FinishRun(ctx, f.end, schema.Hosts, o.hosts); err != nil {
		return err
	}
	letters, err := task.Create[schema.DeadLetter](f.env, f.task, schema.DeadLetters, false)
	if err != nil {
		return err
	}
	defer letters.Abort()
	if err := o.letters.Each(func(row *schema.DeadLetter) error {
		return letters.Write(*row)
	}); err != nil {
		return err
	}
	object, err := letters.Finish(ctx)
	if err != nil {
		return err
	}
	f.keep(schema.DeadLetters, object)
	if f.end.Waiting, err = f.finishQueue(ctx, schema.Waiting, o.waiting); err != nil {
		return err
	}
	f.end.Ready, err = f.finishQueue(ctx, schema.Ready, o.ready)
	return err
}

// finishQueue merges a kind's new rows with those given back and absorbed.
func (f *folding) finishQueue(ctx context.Context, kind string,
	fresh *task.Sorter[schema.FrontierRow]) (*lsm.QueueObject, error) {
	var o opened
	defer o.close()
	sequences, err := f.queues(ctx, &o, kind)
	if err != nil {
		return nil, err
	}
	sorted, err := fresh.Open()
	if err != nil {
		return nil, err
	}
	out, err := task.CreateQueue(f.env, f.task, kind)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	sequences = append(sequences, sorted.Next)
	if err := mergeRows(sequences, task.CompareQueue(kind), out.Write); err != nil {
		return nil, err
	}
	return out.Finish(ctx)
}
