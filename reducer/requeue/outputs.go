package requeue

import (
	"context"
	"fmt"
	"strings"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/taskend"
	"seine/jobs"
	"seine/reducer/task"
)

// outputs are what a task writes. Run tables come in key order; the frontier
// does not.
type outputs struct {
	urls    *task.RunOutput[schema.URL]
	domains *task.RunOutput[schema.Domain]
	queues  *task.Queues
}

func newOutputs(e task.Env, t jobs.Task) (*outputs, error) {
	o := &outputs{queues: task.NewQueues(e, t)}
	var err error
	if o.urls, err = task.CreateRun(e, t, lsm.URLs()); err != nil {
		return nil, err
	}
	if o.domains, err = task.CreateRun(e, t, lsm.Domains()); err != nil {
		o.abort()
		return nil, err
	}
	return o, nil
}

func (o *outputs) abort() {
	o.queues.Close()
	if o.urls != nil {
		o.urls.Abort()
	}
	if o.domains != nil {
		o.domains.Abort()
	}
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
	return o.queues.Finish(ctx, end)
}

// groupTally is how many URLs of a politeness group are pending again that had
// failed, and how many are not kept back any more.
type groupTally struct {
	key             lsm.Key
	revived, unheld int64
}

// tally counts a URL that waits again, by what it was. URLs come in key order, so
// a group is complete when the next one begins.
func (r *requeueing) tally(ctx context.Context, was *schema.URL) error {
	failed, full := was.CrawlStatus == schema.Failed, was.Reason == schema.DomainFull
	if !failed && !full {
		return nil
	}
	key := r.groupOf(lsm.URLs().Key(was))
	if r.group.key != key {
		if err := r.leave(ctx); err != nil {
			return err
		}
		key.Domain, key.Host = strings.Clone(key.Domain), strings.Clone(key.Host)
		r.group.key = key
	}
	if failed {
		r.group.revived++
	}
	if full {
		r.group.unheld++
	}
	return nil
}

// leave writes the group at hand.
func (r *requeueing) leave(ctx context.Context) error {
	group := r.group
	r.group = groupTally{}
	if group.revived == 0 && group.unheld == 0 {
		return nil
	}
	err := lsm.Domains().Lookup(ctx, r.env.Open, r.manifest.Tables[schema.Domains],
		[]lsm.Key{group.key}, lsm.LookupOptions{Stats: r.env.Stats}, func(hit lsm.Hit[schema.Domain]) error {
			row := hit.Row
			row.Pending, row.Failed = row.Pending+group.revived, row.Failed-group.revived
			row.Held -= group.unheld
			row.Round = int64(r.task.Spec.Job)
			if err := r.out.domains.Supersede(hit.Refs...); err != nil {
				return err
			}
			return r.out.domains.Write(&row)
		})
	if err != nil {
		return fmt.Errorf("look up domain %s: %w", group.key.Domain, err)
	}
	return nil
}
