package node

import (
	"context"
	"crypto/tls"
	"time"

	"seine/formats/layout"
	"seine/formats/scope"
	"seine/jobs"
	"seine/jobs/worker"
	"seine/mapper/fetch"
	"seine/mapper/http1"
	"seine/mapper/polite"
	"seine/mapper/resolve"
	"seine/reducer/compact"
	"seine/reducer/fold"
	"seine/reducer/generate"
	"seine/reducer/inject"
	"seine/reducer/requeue"
)

// Web is how a worker reaches the web. The zero value is the network.
type Web struct {
	Resolver fetch.Resolver // nil: DNS by the settings
	Dial     http1.Dialer
	TLS      *tls.Config
}

// Runners are the runners of all stages on a crawl. scratch outlives the
// process.
func Runners(ctx context.Context, c *Crawl, scratch string, web Web) (map[jobs.Stage]worker.Runner, error) {
	version, err := c.NewestSettings(ctx)
	if err != nil {
		return nil, err
	}
	set, err := c.Settings(ctx, version)
	if err != nil {
		return nil, err
	}
	env := c.Env(scratch)
	asking := fetch.Env{Store: c.Store, Open: c.Store.Open, Scratch: scratch, Snapshot: env.Snapshot,
		Settings: c.Settings, Suffixes: c.Suffixes, Resolver: web.Resolver, Dial: web.Dial, TLS: web.TLS,
		Addresses:   polite.NewAddresses(set.AddressConnections, int(set.AddressRate)),
		Connections: set.Connections, Software: Software}
	asking.Scope = func(ctx context.Context, spec jobs.Spec) (*scope.Scope, error) {
		base, err := env.Snapshot(ctx, spec.Base)
		if err != nil {
			return nil, err
		}
		set, err := c.Settings(ctx, spec.Settings)
		if err != nil {
			return nil, err
		}
		return env.Scope(ctx, base, set, layout.All, 0)
	}
	if c.Store.Root != "" { // small chunks cost a directory nothing, and save work at a kill
		asking.SealBytes, asking.SealEvery = 64<<20, 5*time.Second
	}
	if asking.Resolver == nil {
		networks, err := set.Networks()
		if err != nil {
			return nil, err
		}
		asking.Resolver, err = resolve.New(resolve.Settings{Servers: set.DNS, AllowNetworks: networks})
		if err != nil {
			return nil, err
		}
	}
	function := func(run func(context.Context, jobs.Task) (jobs.Result, error)) worker.Runner {
		return func(ctx context.Context, t jobs.Task, _ *worker.Lease, _ *worker.Progress) (jobs.Result, error) {
			return run(ctx, t)
		}
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
		jobs.StageCompact: function(func(ctx context.Context, t jobs.Task) (jobs.Result, error) {
			return compact.Run(ctx, env, t)
		}),
		jobs.StageFetch: func(ctx context.Context, t jobs.Task, l *worker.Lease, p *worker.Progress) (jobs.Result, error) {
			return fetch.Run(ctx, asking, t, l, p)
		},
	}, nil
}
