package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/jobs"
)

const requeueLong = `Makes known URLs due: those named, or those of the table urls for which --where
holds. Each gets a new place in the queue and its retries anew; what a scope, a rule or
a block had refused is judged again by the rules of the round that takes it. URLs that
are not known are told, never added: ` + "`seine inject`" + ` adds.

--where is an SQL expression over the columns of urls, as in ` + "`seine query`" + `; it may ask other
tables in a subquery. A build without DuckDB knows only what ` + "`seine inspect --where`" + ` knows:
comparisons of columns with literals, joined by AND, OR, NOT. Of a crawl in a bucket these
are read as they come; for any other, objects are brought to this machine, up to --cache.

The job waits for an open round to end. --priority holds until the URL has had its turn.`

const requeueExample = `  seine requeue https://example.org/news https://example.org/blog
  seine requeue --where "reason LIKE 'dns_%' AND last_crawled IS NULL"
  seine requeue --where "reason LIKE 'dns_%' AND url IN (SELECT url FROM fetches
    WHERE reason LIKE 'dns_%' AND started_at > now() - INTERVAL 7 DAY)"
  seine requeue --where "host = 'www.example.org'" --priority 1
  seine requeue --where "http_status = 404" --due +7d
  seine requeue --where "http_status >= 500" --dry-run`

// requeueFlags are what a person says beside the URLs.
type requeueFlags struct {
	where    string
	due      string
	priority string
	cache    string
	dry      bool
}

func newRequeue(a *app) *cobra.Command {
	var f requeueFlags
	c := &cobra.Command{
		Use:     "requeue URL...|--where EXPR",
		Short:   "Make known URLs due, now or at a time",
		Long:    requeueLong,
		Example: requeueExample,
		RunE: func(c *cobra.Command, args []string) error {
			return a.requeue(c.Context(), args, f)
		},
	}
	c.Flags().StringVar(&f.where, "where", "", "the URLs for whose row in urls this holds")
	c.Flags().StringVar(&f.due, "due", "now", "when they are due: now, a time, or a span such as +12h")
	c.Flags().StringVar(&f.priority, "priority", "", "their priority for this turn, 0 to 1")
	c.Flags().StringVar(&f.cache, "cache", queryCache, "how much of a bucket may be kept on this machine")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "only count them")
	return c
}

// spec reads the flags.
func (f requeueFlags) spec(now time.Time) (jobs.Requeue, error) {
	var r jobs.Requeue
	var err error
	switch f.due {
	case "now":
	case "":
		return r, usagef("--due is empty: write now, a time such as 2026-12-31, or a span such as +12h")
	default:
		if r.Due, err = parseTime(f.due, now); err != nil {
			return r, usagef("--due: %w", err)
		}
	}
	if f.priority != "" {
		p, err := strconv.ParseFloat(f.priority, 32)
		if err != nil || !(p >= 0 && p <= 1) {
			return r, usagef("--priority %q is no number from 0 to 1", f.priority)
		}
		priority := float32(p)
		r.Priority = &priority
	}
	return r, nil
}

func (a *app) requeue(ctx context.Context, urls []string, f requeueFlags) error {
	if (len(urls) > 0) == (f.where != "") {
		return usagef("name URLs, or choose them with --where EXPR: one of both")
	}
	spec, err := f.spec(time.Now())
	if err != nil {
		return err
	}
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	chosen, err := a.targets(ctx, l, urls, f.where, f.cache)
	if err != nil {
		return err
	}
	defer chosen.rows.Close()
	for _, u := range chosen.unknown {
		fmt.Fprintf(a.err, "not known: %s\n", oneLine(u))
	}
	switch {
	case chosen.known == 0 && f.where != "":
		return absentf("no URL of snapshot %d fits --where: nothing was requeued; "+
			"`seine inspect urls --where ...` shows what does", l.head.N)
	case chosen.known == 0:
		return absentf("none of these URLs is known: nothing was requeued; `seine inject` adds URLs")
	case f.dry && a.json:
		return a.printJSON(map[string]any{"would_requeue": chosen.known, "unknown": chosen.unknown})
	case f.dry:
		_, err := fmt.Fprintf(a.out, "%d URLs would be requeued\n", chosen.known)
		return err
	}
	if spec.Targets, _, err = chosen.rows.Put(ctx); err != nil {
		return err
	}
	return a.submitting(ctx, l.Crawl, func(ctx context.Context, conn api.Conn) error {
		return a.submitRequeue(ctx, conn, spec, chosen.unknown)
	})
}

// submitRequeue submits the job, waits for its end and prints it.
func (a *app) submitRequeue(ctx context.Context, conn api.Conn, spec jobs.Requeue, unknown []string) error {
	job, err := a.runJob(ctx, conn, state.Submission{RequestID: requestID("requeue"), Kind: jobs.KindRequeue,
		Requeue: &spec})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"job": job.Job, "commit": job.Commit, "counts": job.Counts,
			"unknown": unknown})
	}
	due := "now"
	if spec.Due > 0 {
		due = time.UnixMilli(spec.Due).UTC().Format("2006-01-02 15:04:05Z")
	}
	_, err = fmt.Fprintf(a.out, "%d URLs requeued, due %s; snapshot %d\n", job.Counts["requeued"], due,
		job.Commit)
	return err
}
