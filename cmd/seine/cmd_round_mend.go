package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
	"seine/cmd/internal/ui"
	"seine/coordinator/api"
	"seine/coordinator/client"
	"seine/coordinator/state"
	"seine/formats/schema"
	"seine/jobs"
)

func (a *app) roundShow() *cobra.Command {
	return &cobra.Command{
		Use: "show N", Short: "Show a round, open or ended", Example: "  seine round show 7",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return a.showRound(c.Context(), args[0]) },
	}
}

func (a *app) showRound(ctx context.Context, arg string) error {
	n, err := jobNumber(arg)
	if err != nil {
		return err
	}
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	var found *schema.RoundRow
	err = endedJobs(ctx, l.Crawl, l.head, func(row schema.RoundRow) bool {
		if row.Round == int64(n) {
			found = &row
		}
		return found == nil && row.Round >= int64(n)
	})
	if err != nil {
		return err
	}
	if found != nil {
		return a.tellRound(*found)
	}
	conn, running, err := a.connect(l.Store.Local)
	if err != nil {
		return err
	}
	if !running {
		return absentf("there is no ended round %d, and no process works on the crawl; `seine round list` "+
			"shows what there is", n)
	}
	job, err := conn.Watch(ctx, state.JobRef{Job: n}, 0)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(job)
	}
	for _, line := range ui.Lines(job, time.Now()) {
		fmt.Fprintln(a.out, line)
	}
	return nil
}

func (a *app) tellRound(row schema.RoundRow) error {
	if a.json {
		return a.listRow(row)
	}
	s := rowSummary(row)
	counts := maps.Clone(row.Counts)
	maps.DeleteFunc(counts, func(name string, _ int64) bool { return strings.Contains(name, "store_") })
	_, err := fmt.Fprintf(a.out, "%s  %s, %s; counts: %s\n%s  spec: %s\n", roundText(s), row.Kind,
		row.Outcome, ui.Reasons(counts, 0), costTable(s.Cost), row.Spec)
	return err
}

func (a *app) roundWatch() *cobra.Command {
	return &cobra.Command{
		Use: "watch [N]", Short: "Watch a round of the running process until it is over",
		Example: "  seine round watch\n  seine round watch 7",
		Args:    arguments(cobra.MaximumNArgs(1)),
		RunE:    func(c *cobra.Command, args []string) error { return a.watchRound(c.Context(), args) },
	}
}

func (a *app) watchRound(ctx context.Context, args []string) error {
	var ref state.JobRef
	var err error
	if len(args) == 1 {
		if ref.Job, err = jobNumber(args[0]); err != nil {
			return err
		}
	}
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	conn, running, err := a.connect(c.Store.Local)
	if err != nil {
		return err
	}
	if !running {
		return exitError{exitInUse, errors.New("no process works on the crawl: there is nothing to watch; " +
			"`seine status` says where it stands")}
	}
	if len(args) == 0 {
		st, err := conn.Status(ctx)
		if err != nil {
			return err
		}
		if len(st.Open) == 0 {
			_, err := fmt.Fprintln(a.out, "no round is open")
			return err
		}
		ref.Job = st.Open[0].Job
	}
	return a.untilOver(ctx, conn, ref, func(job api.Job) error { return a.printRound(summaryOf(job)) })
}

// mend runs an order on an open round and waits for the round's end.
func (a *app) mend(ctx context.Context, arg string,
	order func(ctx context.Context, conn api.Conn, job uint64) error) error {
	n, err := jobNumber(arg)
	if err != nil {
		return err
	}
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := isOpen(ctx, c, n); err != nil {
		return err
	}
	return a.submitting(ctx, c, func(ctx context.Context, conn api.Conn) error {
		if err := order(ctx, conn, n); err != nil {
			return orCause(ctx, err)
		}
		return a.untilOver(ctx, conn, state.JobRef{Job: n}, func(job api.Job) error {
			return a.printRound(summaryOf(job))
		})
	})
}

// isOpen refuses the number of a job that has ended.
func isOpen(ctx context.Context, c *node.Crawl, n uint64) error {
	head, err := c.Head(ctx)
	if err != nil {
		return err
	}
	if n <= head.Job {
		return absentf("round %d has ended; `seine round show %d` says how", n, n)
	}
	return nil
}

func (a *app) roundCancel() *cobra.Command {
	var discard bool
	c := &cobra.Command{
		Use: "cancel N|LOOP", Short: "Stop fetching at once and commit what there is, or end a loop",
		Example: "  seine round cancel 7\n  seine round cancel 7 --discard",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := jobNumber(args[0]); err != nil && strings.HasPrefix(args[0], "loop-") {
				return a.cancelLoop(c.Context(), args[0])
			}
			return a.mend(c.Context(), args[0], func(ctx context.Context, conn api.Conn, job uint64) error {
				return conn.Cancel(ctx, state.Cancel{JobRef: state.JobRef{Job: job}, Discard: discard})
			})
		},
	}
	c.Flags().BoolVar(&discard, "discard", false, "drop the round: its URLs wait as before")
	return c
}

func (a *app) roundRerun() *cobra.Command {
	var failed bool
	var partitions []string
	c := &cobra.Command{
		Use: "rerun N", Short: "Try the failed parts of a blocked round again",
		Example: "  seine round rerun 7 --failed\n  seine round rerun 7 --partition 17,18",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if failed == (len(partitions) > 0) {
				return usagef("say either --failed or --partition P")
			}
			list, err := partitionsOf(partitions)
			if err != nil {
				return err
			}
			return a.mend(c.Context(), args[0], func(ctx context.Context, conn api.Conn, job uint64) error {
				err := conn.Rerun(ctx, state.Rerun{Job: job, Partitions: list})
				if errors.Is(err, state.ErrPhase) && a.taking(ctx, conn) {
					return nil // taken over just now: everything is tried again anyway
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&failed, "failed", false, "all that failed")
	c.Flags().StringArrayVar(&partitions, "partition", nil, "the failed parts that hold these partitions")
	return c
}

// taking says whether the round at hand runs, as one does that was just taken over.
func (a *app) taking(ctx context.Context, conn api.Conn) bool {
	st, err := conn.Status(ctx)
	return err == nil && len(st.Open) > 0 && st.Open[0].Phase == state.Running
}

// taken says whether a round fetches in a coordinator of this process, which has then just taken it
// over: a round that another process works on is not blocked because this verb says so.
func (a *app) taken(ctx context.Context, conn api.Conn, job uint64) bool {
	if _, remote := conn.(*client.Client); remote {
		return false
	}
	st, err := conn.Status(ctx)
	return err == nil && len(st.Open) > 0 && st.Open[0].Job == job &&
		st.Open[0].Phase == state.Running && st.Open[0].Stage == jobs.StageFetch
}

func (a *app) roundCommit() *cobra.Command {
	return &cobra.Command{
		Use: "commit N", Short: "Let a blocked round end without its failed parts",
		Long: "Lets a blocked round end without its failed parts: what they fetched counts, the rest waits\n" +
			"again. Where no process works on the crawl, this one takes the round up for that.",
		Example: "  seine round commit 7",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.mend(c.Context(), args[0], func(ctx context.Context, conn api.Conn, job uint64) error {
				err := conn.Commit(ctx, state.CommitPartial{Job: job})
				if errors.Is(err, state.ErrPhase) && a.taken(ctx, conn, job) {
					// It was blocked in a process that is gone, and runs again since this one took it
					// over: what ends it without asking more is a hard stop.
					return conn.Cancel(ctx, state.Cancel{JobRef: state.JobRef{Job: job}})
				}
				return err
			})
		},
	}
}
