package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
	"seine/cmd/internal/ui"
	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/jobs"
)

const blockLong = `Keeps requests away from a site, now: within five seconds no new request leaves for
it, what is in flight is cut off, URLs of the running round end as blocked, and so do
those that later rounds meet. Links to it are recorded with the verdict blocked and not
followed.

A name is a domain with all below it; host:NAME is that host alone; HOST/PATH is what
starts with it, at http and https. --until lets the block expire by itself, and what it
kept away is due then. It works with and without a running crawl.`

func newBlock(a *app) *cobra.Command {
	var reason, until string
	c := &cobra.Command{
		Use: "block DOMAIN|host:HOST|HOST/PATH...", Short: "Stop asking a site, at once", Long: blockLong,
		Example: "  seine block example.org --reason \"the owner asked, ticket 17\"\n" +
			"  seine block host:shop.example.org --reason load --until +12h\n" +
			"  seine block www.example.org/private/ --reason personal",
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.block(c.Context(), args, reason, until)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, kept with the block and with each refused URL")
	c.Flags().StringVar(&until, "until", "", "when it expires: 2026-12-31, 2026-12-31T08:00:00Z, +12h")
	return c
}

func newUnblock(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "unblock DOMAIN|host:HOST|HOST/PATH...", Short: "Lift a block and bring back what it kept away",
		Long: "Lifts blocks, at once, and makes the known URLs due that they kept away. For that a job\n" +
			"runs when the open round has ended; repeating the command is no harm.",
		Example: "  seine unblock example.org", Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return a.unblock(c.Context(), args) },
	}
}

func newBlocks(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "blocks", Short: "List what is blocked: since when, until when, by whom, why",
		Long:    "Lists what is blocked. `seine settings history` tells of blocks that were lifted.",
		Example: "  seine blocks\n  seine blocks --json", Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.blocks(c.Context()) },
	}
}

// parseBlocks reads what is named, each once.
func parseBlocks(args []string) (whats []string, err error) {
	for _, arg := range args {
		what, err := scope.ParseBlock(arg)
		if err != nil {
			return nil, usage(err)
		}
		if !slices.Contains(whats, what) {
			whats = append(whats, what)
		}
	}
	return whats, nil
}

func (a *app) block(ctx context.Context, args []string, reason, until string) error {
	whats, err := parseBlocks(args)
	if err != nil {
		return err
	}
	if strings.TrimSpace(reason) == "" {
		return usagef("say why with --reason TEXT: it is kept with the block, and whoever meets it later will ask")
	}
	now := time.Now()
	var end int64
	if until != "" {
		if end, err = parseTime(until, now); err != nil {
			return usagef("--until: %w", err)
		}
		if end <= now.UnixMilli() {
			return usagef("--until %s is past: the block would hold nothing back", until)
		}
	}
	return a.changeSettings(ctx, func(s *settings.Settings) (map[string]string, error) {
		for _, what := range whats {
			b := settings.Block{What: what, Reason: reason, By: a.user(), At: now.UnixMilli(), Until: end}
			old, blocked := findBlock(s.Blocks, what)
			if blocked && old.Holds(b.At) && old.Reason == reason && old.Until == end {
				continue // the same again
			}
			s.Blocks = append(slices.DeleteFunc(s.Blocks, func(b settings.Block) bool {
				return b.What == what
			}), b)
		}
		// Expired blocks say nothing any more; the versions before keep them.
		s.Blocks = slices.DeleteFunc(s.Blocks, func(b settings.Block) bool {
			return !b.Holds(now.UnixMilli())
		})
		return nil, nil
	})
}

func (a *app) unblock(ctx context.Context, args []string) error {
	whats, err := parseBlocks(args)
	if err != nil {
		return err
	}
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	before, after, err := a.putVersion(ctx, c, func(s *settings.Settings) (map[string]string, error) {
		s.Blocks = slices.DeleteFunc(s.Blocks, func(b settings.Block) bool {
			return slices.Contains(whats, b.What)
		})
		return nil, nil
	})
	if err != nil {
		return err
	}
	for _, what := range whats {
		if _, was := findBlock(before.Blocks, what); was {
			fmt.Fprintf(a.err, "unblocked %s (version %d)\n", what, after.Version)
		} else {
			fmt.Fprintf(a.err, "%s was not blocked; `seine blocks` lists what is\n", what)
		}
	}
	return a.bringBack(ctx, c, whats)
}

// bringBack requeues what blocks kept away that are gone.
func (a *app) bringBack(ctx context.Context, c *node.Crawl, whats []string) error {
	return a.submitting(ctx, c, func(ctx context.Context, conn api.Conn) error {
		id := requestID("unblock")
		_, err := conn.Submit(ctx, state.Submission{RequestID: id, Kind: jobs.KindRequeue,
			Requeue: &jobs.Requeue{Unblocked: whats}})
		if err != nil {
			return orCause(ctx, err)
		}
		job, err := a.watch(ctx, conn, state.JobRef{RequestID: id}, ui.New(a.err))
		switch {
		case err != nil:
			return err
		case !job.Over():
			return blocked(job)
		case job.Outcome == state.Refused:
			return fmt.Errorf("the job was refused: %s", job.Error)
		}
		if a.json {
			return a.printJSON(map[string]any{"unblocked": whats, "job": job.Job, "commit": job.Commit,
				"counts": job.Counts})
		}
		_, err = fmt.Fprintf(a.out, "%d URLs are due again; snapshot %d\n", job.Counts["requeued"], job.Commit)
		return err
	})
}

func (a *app) blocks(ctx context.Context) error {
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	s, err := stored(ctx, c, 0)
	if err != nil {
		return err
	}
	now := time.Now()
	holding := slices.DeleteFunc(slices.Clone(s.Blocks), func(b settings.Block) bool {
		return !b.Holds(now.UnixMilli())
	})
	if a.json {
		return a.printJSON(map[string]any{"version": s.Version, "blocks": holding})
	}
	for _, b := range holding {
		fmt.Fprintln(a.out, blockText(b, now))
	}
	if len(holding) == 0 {
		fmt.Fprintln(a.out, "nothing is blocked")
	}
	return nil
}
