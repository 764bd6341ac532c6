package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
	"seine/cmd/internal/ui"
	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/formats/schema"
	"seine/jobs"
)

const roundLong = `Rounds one by one. Where a process works on the crawl, it is asked; otherwise the
verb does the work in this process.`

func newRound(a *app) *cobra.Command {
	c := &cobra.Command{Use: "round", Short: "Submit, list, watch and mend rounds", Long: roundLong,
		Example: "  seine round submit --top-n 1000\n  seine round list\n  seine round rerun 7 --failed"}
	c.AddCommand(a.roundSubmit(), a.roundList(), a.roundShow(), a.roundWatch(), a.roundCancel(), a.roundRerun(),
		a.roundCommit())
	return c
}

type roundFlags struct {
	topN     int64
	duration time.Duration
	maxBytes string
	maxDepth int
	dueNow   bool
	asOf     string
	onFailed string
	dryRun   bool
	repeat   string
	every    time.Duration
}

func (a *app) roundSubmit() *cobra.Command {
	var f roundFlags
	c := &cobra.Command{
		Use: "submit", Short: "Run one round",
		Example: "  seine round submit --top-n 1000 --duration 5m\n  seine round submit --dry-run\n" +
			"  seine --coordinator https://c1:7700 round submit --repeat forever --every 1h",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.submitRound(c.Context(), f) },
	}
	c.Flags().Int64Var(&f.topN, "top-n", 0, "URLs at most (default: the setting top_n)")
	c.Flags().DurationVar(&f.duration, "duration", 0, "of fetching (default: the setting round_duration)")
	c.Flags().StringVar(&f.maxBytes, "max-bytes", "", "decoded bytes at most")
	c.Flags().IntVar(&f.maxDepth, "max-depth", 0, "hops from a seed at most")
	c.Flags().BoolVar(&f.dueNow, "due-now", false, "take what waits, due or not")
	c.Flags().StringVar(&f.asOf, "as-of", "", "choose as if it were that time")
	c.Flags().StringVar(&f.onFailed, "on-failed", "", "what to do without a failed part: commit or block")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what a round would be, and run none")
	c.Flags().StringVar(&f.repeat, "repeat", "",
		"let the coordinators run one round after another: a number, until-idle or forever")
	c.Flags().DurationVar(&f.every, "every", 0, "from the beginning of a round of --repeat to the next")
	return c
}

// spec makes the round that is asked for.
func (f roundFlags) spec(ctx context.Context, c *node.Crawl) (*jobs.Round, error) {
	version, err := c.NewestSettings(ctx)
	if err != nil {
		return nil, err
	}
	set, err := c.Settings(ctx, version)
	if err != nil {
		return nil, err
	}
	if f.topN < 0 || f.duration < 0 || f.maxDepth < 0 || f.duration > 0 && f.duration < time.Second {
		return nil, usagef("a limit is out of range: --top-n and --max-depth are above 0, --duration at least 1s")
	}
	r := &jobs.Round{TopN: set.TopN, Duration: set.RoundDuration.D().Milliseconds(), OnFailed: set.OnFailed,
		MaxDepth: f.maxDepth, DueNow: f.dueNow}
	if f.topN > 0 {
		r.TopN = f.topN
	}
	if f.duration > 0 {
		r.Duration = f.duration.Milliseconds()
	}
	if f.maxBytes != "" {
		if r.MaxBytes, err = parseBytes(f.maxBytes); err != nil {
			return nil, usagef("--max-bytes: %w", err)
		}
	}
	if f.asOf != "" {
		if r.AsOf, err = parseTime(f.asOf, time.Now()); err != nil {
			return nil, usagef("--as-of: %w", err)
		}
	}
	switch f.onFailed {
	case "":
	case "commit", "block":
		r.OnFailed = f.onFailed
	default:
		return nil, usagef("--on-failed %q: say commit or block", f.onFailed)
	}
	return r, nil
}

func (a *app) submitRound(ctx context.Context, f roundFlags) error {
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	spec, err := f.spec(ctx, c)
	if err != nil {
		return err
	}
	if f.dryRun && f.repeat == "" {
		return a.dryRun(ctx, c, spec)
	}
	loop, err := f.loop()
	if err != nil {
		return err
	}
	if loop != nil {
		loop.Round = *spec
		return a.submitLoop(ctx, c, loop)
	}
	return a.submitting(ctx, c, func(ctx context.Context, conn api.Conn) error {
		id := requestID("round")
		_, err := conn.Submit(ctx, state.Submission{RequestID: id, Kind: jobs.KindRound, Round: spec})
		if err != nil {
			return orCause(ctx, err)
		}
		return a.untilOver(ctx, conn, state.JobRef{RequestID: id}, func(job api.Job) error {
			return a.printRound(summaryOf(job))
		})
	})
}

// untilOver watches a job and tells its end.
func (a *app) untilOver(ctx context.Context, conn api.Conn, ref state.JobRef, tell func(api.Job) error) error {
	job, err := a.watch(ctx, conn, ref, ui.New(a.err))
	switch {
	case err != nil:
		return err
	case !job.Over():
		return blocked(job)
	case job.Outcome == state.Refused:
		return fmt.Errorf("it was refused: %s", job.Error)
	}
	return tell(job)
}

func (a *app) dryRun(ctx context.Context, c *node.Crawl, spec *jobs.Round) error {
	head, err := c.Head(ctx)
	if err != nil {
		return err
	}
	cut := node.Cut{Now: nextNow(head, time.Now()), AsOf: spec.AsOf, DueNow: spec.DueNow,
		Ticket: int64(head.Job)}
	w, err := c.Waits(ctx, head, cut)
	if err != nil {
		return err
	}
	tasks := jobs.RoundTasks(spec.TopN, head.Known, 1)
	if a.json {
		return a.printJSON(map[string]any{"snapshot": head.N, "due": w.Due, "top_n": spec.TopN, "tasks": tasks,
			"duration_ms": spec.Duration, "waits": w})
	}
	_, err = fmt.Fprintf(a.out, "a round on snapshot %d would take at most %d of %d due URLs, in %d tasks, fetching "+
		"for at most %v; each domain within its own budget\n", head.N, min(spec.TopN, w.Due), w.Due, tasks,
		time.Duration(spec.Duration)*time.Millisecond)
	return err
}

func (a *app) roundList() *cobra.Command {
	var n int
	c := &cobra.Command{
		Use: "list", Short: "List rounds, newest first", Example: "  seine round list --limit 50",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.listRounds(c.Context(), n) },
	}
	c.Flags().IntVar(&n, "limit", 20, "how many")
	return c
}

func (a *app) listRounds(ctx context.Context, n int) error {
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	conn, running, err := a.connect(l.Store.Local)
	if err != nil {
		return err
	}
	if running {
		if st, err := conn.Status(ctx); err == nil {
			if !a.json {
				printLoops(a.out, st.Loops, time.Now())
			}
			for _, job := range append(st.Queued, st.Open...) {
				if a.json {
					err = a.printJSON(job)
				} else {
					_, err = fmt.Fprintln(a.out, ui.Line(job, time.Now()))
				}
				if err != nil {
					return err
				}
			}
		}
	}
	printed := 0
	var failed error
	err = endedJobs(ctx, l.Crawl, l.head, func(row schema.RoundRow) bool {
		printed++
		failed = a.listRow(row)
		return printed < n && failed == nil
	})
	if err != nil {
		return err
	}
	return failed
}

func (a *app) listRow(row schema.RoundRow) error {
	s := rowSummary(row)
	if a.json {
		return a.printJSON(map[string]any{"job": row.Round, "kind": row.Kind, "outcome": row.Outcome,
			"submitted": row.Submitted, "ended": row.Ended, "counts": row.Counts, "store_requests": s.Cost})
	}
	took := ui.Span(s.took())
	line := fmt.Sprintf("%6d  %-8s %-10s %s  %s", row.Round, row.Kind, row.Outcome,
		clock(row.Ended, time.Now()), took)
	switch jobs.Kind(row.Kind) {
	case jobs.KindRound:
		line += fmt.Sprintf("  selected %d = fetched %d + refused %d + failed %d + untouched %d", s.Selected,
			s.Fetched, s.Refused, s.Failed, s.Untouched)
	case jobs.KindInject:
		line += fmt.Sprintf("  %d seeds, %d new", row.Counts["seeds"], row.Counts["new"])
	case jobs.KindRequeue:
		line += fmt.Sprintf("  %d URLs requeued, %d unknown", row.Counts["requeued"], row.Counts["unknown"])
	}
	_, err := fmt.Fprintln(a.out, line)
	return err
}

// jobNumber reads the argument N of the round verbs.
func jobNumber(arg string) (uint64, error) {
	n, err := strconv.ParseUint(arg, 10, 64)
	if err != nil || n == 0 {
		return 0, usagef("%q is no number of a round; `seine round list` shows them", arg)
	}
	return n, nil
}

func partitionsOf(texts []string) ([]uint16, error) {
	var list []uint16
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			n, err := strconv.ParseUint(strings.TrimSpace(part), 10, 16)
			if err != nil || n > 1023 {
				return nil, usagef("--partition %q: a partition is a number from 0 to 1023", part)
			}
			list = append(list, uint16(n))
		}
	}
	return list, nil
}
