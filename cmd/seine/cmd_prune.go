package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
	"seine/cmd/internal/ui"
	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/formats/settings"
	"seine/jobs"
	"seine/reducer/prune"
	"seine/reducer/sweep"
)

const pruneLong = `Takes out of the newest snapshot what retention does not keep, and deletes what no kept
snapshot names. The settings say what is kept (keep_versions, keep_fetches, keep_links;
retention and keep_snapshots for snapshots); the flags say it for this time. A crawl does
the same by itself after a commit, once a day or as prune_every says.

Of a page the newest contents are kept. Archives in which nothing is live go; one that is
less than a third live is written anew. Nothing that a kept snapshot names goes, and
nothing younger than 24 h, for readers may still hold it: what is pruned now is deleted
when the snapshots that name it have left the retention. "seine crawl" deletes once a day,
and so does, where there are coordinators, the one that leads.`

const pruneExample = `  seine prune --dry-run
  seine prune
  seine prune --fetches 90d --links 30d --versions 1
  seine prune --snapshots 3 --days 7d`

// pruneFlags are what a person keeps this time.
type pruneFlags struct {
	versions  int
	fetches   string
	links     string
	snapshots int
	days      string
	dry       bool
}

func newPrune(a *app) *cobra.Command {
	var f pruneFlags
	c := &cobra.Command{
		Use: "prune", Short: "Drop what retention does not keep", Long: pruneLong, Example: pruneExample,
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.prune(c.Context(), f) },
	}
	c.Flags().IntVar(&f.versions, "versions", 0, "contents of a page to keep (default: the settings')")
	c.Flags().StringVar(&f.fetches, "fetches", "", "age at which lists, fetches and dead letters go")
	c.Flags().StringVar(&f.links, "links", "", "age at which links go")
	c.Flags().IntVar(&f.snapshots, "snapshots", 0, "snapshots to keep whatever their age")
	c.Flags().StringVar(&f.days, "days", "", "age up to which all snapshots are kept")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "print the plan, change nothing")
	return c
}

// over puts the flags over the settings.
func (f pruneFlags) over(s settings.Settings) (settings.Settings, error) {
	for _, flag := range []struct {
		name, text string
		into       *settings.Duration
	}{{"fetches", f.fetches, &s.KeepFetches}, {"links", f.links, &s.KeepLinks}, {"days", f.days, &s.Retention}} {
		if flag.text == "" {
			continue
		}
		if err := flag.into.UnmarshalText([]byte(flag.text)); err != nil || *flag.into <= 0 {
			return s, usagef("--%s %q is no span such as 30d or 12h", flag.name, flag.text)
		}
	}
	if f.versions < 0 || f.snapshots < 0 {
		return s, usagef("--versions and --snapshots are numbers from 1")
	}
	if f.versions > 0 {
		s.KeepVersions = f.versions
	}
	if f.snapshots > 0 {
		s.KeepSnapshots = f.snapshots
	}
	return s, nil
}

func (a *app) prune(ctx context.Context, f pruneFlags) error {
	if _, err := f.over(settings.Settings{}); err != nil {
		return err
	}
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	set, err := l.newest(ctx)
	if err != nil {
		return err
	}
	if set, err = f.over(set); err != nil {
		return err
	}
	now := max(l.head.Now, time.Now().UnixMilli())
	what := node.PruneBy(set, now)
	keep := sweep.Options{Now: time.Now(), Retention: set.Retention.D(), Snapshots: set.KeepSnapshots,
		DryRun: f.dry}
	if f.dry {
		counts, err := prune.Plan(ctx, l.Env(""), l.head, what)
		if err != nil {
			return err
		}
		keep.Snapshots = max(keep.Snapshots-1, 1) // the job's own will be one of them
		swept, err := l.Sweep(ctx, keep)
		if err != nil {
			return err
		}
		return a.tellPrune("would be ", 0, counts, &swept)
	}
	_, other, err := a.connect(l.Store.Local)
	if err != nil {
		return err
	}
	return a.submitting(ctx, l.Crawl, func(ctx context.Context, conn api.Conn) error {
		return a.submitPrune(ctx, conn, l.Crawl, what, keep, other)
	})
}

// submitPrune runs the job, and sweeps unless another process works on the crawl.
func (a *app) submitPrune(ctx context.Context, conn api.Conn, c *node.Crawl, what jobs.Prune,
	keep sweep.Options, other bool) error {
	job, err := a.runJob(ctx, conn, state.Submission{RequestID: requestID("prune"), Kind: jobs.KindPrune,
		Prune: &what})
	if err != nil {
		return err
	}
	if other {
		return a.tellPrune("", job.Commit, job.Counts, nil)
	}
	swept, err := c.Sweep(ctx, keep)
	if err != nil {
		return err
	}
	return a.tellPrune("", job.Commit, job.Counts, &swept)
}

// runJob submits a job and waits for its end.
func (a *app) runJob(ctx context.Context, conn api.Conn, s state.Submission) (api.Job, error) {
	if _, err := conn.Submit(ctx, s); err != nil {
		return api.Job{}, orCause(ctx, err)
	}
	job, err := a.watch(ctx, conn, state.JobRef{RequestID: s.RequestID}, ui.New(a.err))
	switch {
	case err != nil:
		return job, err
	case !job.Over():
		return job, blocked(job)
	case job.Outcome == state.Refused:
		return job, fmt.Errorf("the %s was refused: %s", s.Kind, job.Error)
	case job.Outcome == state.Discard:
		return job, fmt.Errorf("the %s failed and was dropped: %s; nothing has changed, and it may be tried again",
			s.Kind, job.Error)
	}
	return job, nil
}

func (a *app) tellPrune(would string, commit uint64, counts map[string]int64, swept *sweep.Report) error {
	if a.json {
		return a.printJSON(map[string]any{"commit": commit, "counts": counts, "swept": swept})
	}
	for _, line := range []struct {
		n    string
		text string
	}{
		{prune.CountTables, "objects of lists, fetches, dead letters and links %sdropped"},
		{prune.CountVersions, "old versions of pages %sdropped"},
		{prune.CountArchives, "archives %sdropped"},
		{prune.CountRewritten, "archives %swritten anew"},
		{prune.CountJoined, "parts, of a job each, %sjoined"},
	} {
		if counts[line.n] > 0 {
			fmt.Fprintf(a.out, "%d "+line.text+"\n", counts[line.n], would)
		}
	}
	fmt.Fprintf(a.out, "%s %sfreed once no kept snapshot names it\n", ui.Bytes(counts[prune.CountBytes]), would)
	if swept != nil {
		_, err := fmt.Fprintf(a.out, "%d objects of no kept snapshot %sdeleted, %d commits %scut to their "+
			"heads (%s)\n", swept.Deleted, would, swept.Expired, would, ui.Bytes(swept.Bytes))
		return err
	}
	who := "the process that works on the crawl deletes what no kept snapshot names"
	if a.coordinator != "" {
		who = "the coordinator that leads deletes, once a day, what no kept snapshot names"
	}
	_, err := fmt.Fprintln(a.out, who)
	return err
}
