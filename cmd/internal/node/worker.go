package node

import (
	"context"
	"crypto/tls"

	"seine/jobs"
	"seine/jobs/worker"
	"seine/mapper/fetch"
	"seine/mapper/http1"
	"seine/reducer/compact"
	"seine/reducer/fold"
	"seine/reducer/generate"
	"seine/reducer/inject"
	"seine/reducer/prune"
	"seine/reducer/requeue"
	"seine/reducer/restore"
)

// Web is how a worker reaches the web. The zero value is the network.
type Web struct {
	Resolver fetch.Resolver // nil: DNS by the settings
	Dial     http1.Dialer
	TLS      *tls.Config
}

// Limits of a worker, over all its tasks.
type Limits struct {
	// Connections bounds the exchanges under way; 0: by the settings.
	Connections int
	// Memory is what the process keeps within, in bytes, of which a chunk that is built takes
	// up to a quarter; 0: DefaultMemory.
	Memory int64
}

// DefaultMemory is that of a process of which nobody said how much it may take.
const DefaultMemory = 2 << 30

// Runners are the runners of all stages on a crawl. scratch outlives the
// process.
func Runners(c *Crawl, scratch string, web Web, l Limits) map[jobs.Stage]worker.Runner {
	env := c.Env(scratch)
	asking := newReach(c, scratch, web, l)
	function := func(run func(context.Context, jobs.Task) (jobs.Result, error)) worker.Runner {
		return counted(func(ctx context.Context, t jobs.Task, _ *worker.Lease, _ *worker.Progress) (jobs.Result, error) {
			return run(ctx, t)
		})
	}
	return map[jobs.Stage]worker.Runner{
		jobs.StageGenerate: function(func(ctx context.Context, t jobs.Task) (jobs.Result, error) {
			return generate.Run(ctx, env, t)
		}),
		jobs.StageReduce: function(func(ctx context.Context, t jobs.Task) (jobs.Result, error) {
			return fold.Run(ctx, env, t)
		}),
		jobs.StageInject: function(func(ctx context.Context, t jobs.Task) (jobs.Result, error) {
			return inject.Run(ctx, env, t)
		}),
		jobs.StageRequeue: function(func(ctx context.Context, t jobs.Task) (jobs.Result, error) {
			return requeue.Run(ctx, env, t)
		}),
		jobs.StageRestore: function(func(ctx context.Context, t jobs.Task) (jobs.Result, error) {
			return restore.Run(ctx, env, t)
		}),
		jobs.StagePrune: function(func(ctx context.Context, t jobs.Task) (jobs.Result, error) {
			return prune.Run(ctx, env, t)
		}),
		jobs.StageCompact: function(func(ctx context.Context, t jobs.Task) (jobs.Result, error) {
			return compact.Run(ctx, env, t)
		}),
		jobs.StageFetch: counted(func(ctx context.Context, t jobs.Task, l *worker.Lease, p *worker.Progress) (jobs.Result, error) {
			env, err := asking.env(ctx, t.Spec.Settings)
			if err != nil {
				return jobs.Result{}, err
			}
			return fetch.Run(ctx, env, t, l, p)
		}),
	}
}
