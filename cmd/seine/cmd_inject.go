package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
	"seine/cmd/internal/ui"
	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/jobs"
)

const injectLong = `Brings seeds into a crawl: URLs, or files with one "URL key=value ..." a line.

  priority=0.8   0 to 1: how much it is wanted
  tag=news       all that is found from it carries the tag (column seed of urls); else its URL
  interval=6h    it and what is found from it is looked at again that often
  depth=2        hops from it that are followed, in place of max_depth; 0: itself alone
  scope=host     domain, host, prefix, any: in place of the crawl's, for what is found from it
  KEY=VALUE      kept in the table seeds

The seeds of one tag share interval, depth and scope; "default" takes them away. What is
not said stays as it was. They hold from the next round on, also for what is known; a URL
belongs to the seed that it was first found from.

A seed that is known already takes over what is said of it; --now makes it due. If a crawl
runs on the store, it is handed the seeds.`

const injectExample = `  seine inject https://example.org/ https://example.net/
  seine inject seeds.txt
  echo 'https://example.org/news priority=1 tag=news interval=1h depth=1' | seine inject -
  seine inject --now https://example.org/news`

func newInject(a *app) *cobra.Command {
	var now bool
	c := &cobra.Command{
		Use:     "inject FILE|URL...",
		Short:   "Bring seeds into a crawl",
		Long:    injectLong,
		Example: injectExample,
		Args:    arguments(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.injectVerb(c.Context(), args, now)
		},
	}
	c.Flags().BoolVar(&now, "now", false, "make seeds that are known already due")
	return c
}

func (a *app) injectVerb(ctx context.Context, args []string, now bool) error {
	var urls, files []string
	for _, arg := range args {
		if _, err := os.Stat(arg); arg == "-" || err == nil && !strings.Contains(arg, "://") {
			files = append(files, arg)
		} else {
			urls = append(urls, arg)
		}
	}
	seeds, err := a.readSeeds(urls, files)
	if err != nil {
		return err
	}
	defer seeds.close()
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	return a.submitting(ctx, c, func(ctx context.Context, conn api.Conn) error {
		job, err := a.inject(ctx, conn, c, seeds, now, ui.New(a.err))
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(map[string]any{"job": job.Job, "commit": job.Commit, "counts": job.Counts})
		}
		_, err = fmt.Fprintf(a.out, "%d seeds: %d new, %d changed, %d as before; snapshot %d\n", seeds.seeds,
			job.Counts["new"], job.Counts["updated"], job.Counts["same"], job.Commit)
		return err
	})
}

// submitting runs use with the coordinator that runs, or one in this process.
func (a *app) submitting(ctx context.Context, c *node.Crawl,
	use func(ctx context.Context, conn api.Conn) error) error {
	ctx, drain, stop := a.interruptible(ctx)
	defer stop()
	conn, running, err := a.connect(c.Store.Local)
	if err != nil {
		return err
	}
	if running {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		done := make(chan error, 1)
		go func() { done <- use(ctx, conn) }()
		select {
		case err := <-done:
			return err
		case <-drain:
			cancel(node.ErrDrained)
			<-done
			return node.ErrDrained
		}
	}
	return node.Embed(ctx, c, node.Options{Web: a.web, Drain: drain}, use)
}

// inject puts what seeds say of interval, depth and scope, uploads them, submits
// the job and waits for its end.
func (a *app) inject(ctx context.Context, conn api.Conn, c *node.Crawl, seeds *seedFile, now bool,
	bars *ui.Progress) (api.Job, error) {
	if err := a.putTerms(ctx, c, seeds); err != nil {
		return api.Job{}, err
	}
	return a.injectAs(ctx, conn, c, seeds, jobs.Inject{Now: now}, bars)
}

// injectAs uploads seeds and runs the job that takes them.
func (a *app) injectAs(ctx context.Context, conn api.Conn, c *node.Crawl, seeds *seedFile, as jobs.Inject,
	bars *ui.Progress) (api.Job, error) {
	upload, err := seeds.upload(ctx, c)
	if err != nil {
		return api.Job{}, err
	}
	as.Upload = upload
	id := requestID("inject")
	_, err = conn.Submit(ctx, state.Submission{RequestID: id, Kind: jobs.KindInject,
		Inject: &as})
	if err != nil {
		return api.Job{}, orCause(ctx, err)
	}
	job, err := a.watch(ctx, conn, state.JobRef{RequestID: id}, bars)
	switch {
	case err != nil:
		return job, err
	case !job.Over():
		return job, blocked(job)
	case job.Outcome == state.Refused:
		return job, fmt.Errorf("the seeds were refused: %s", job.Error)
	}
	return job, nil
}

// since is how long ago a moment (ms) was.
func since(ms int64, now time.Time) string { return ui.Span(now.Sub(time.UnixMilli(ms))) }
