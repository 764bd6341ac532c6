package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
)

const takeoverLong = `Takes the crawl of a bucket over for this machine, when the machine or the coordinators that
had it are lost, or shall have it no more. Whoever still works on it ends within half a
minute; what was sealed is kept. It waits a minute, until nothing is lent to others any
more; then the verbs work here as if the crawl had never been elsewhere.

A group of coordinators takes a crawl over by itself: seined coordinator --recover. In a
folder there is nothing to take over: its lock shows who has it.`

func newTakeover(a *app) *cobra.Command {
	return &cobra.Command{Use: "takeover", Short: "Take a bucket's crawl over from another machine",
		Long: takeoverLong, Example: "  seine takeover --store s3://bucket/crawl",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.takeover(c.Context()) }}
}

func (a *app) takeover(ctx context.Context) error {
	if a.coordinator != "" {
		return usagef("coordinators have their crawl: `seine takeover` is for a store that is named by --store")
	}
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	if c.Store.Root != "" {
		return usagef("%s is a folder: whoever works on it has its lock, and nobody else has to be ended",
			c.Store.URL)
	}
	if err := a.free(c.Store); err != nil {
		return err
	}
	epoch, err := node.TakeOver(ctx, c, func(d time.Duration) {
		fmt.Fprintf(a.err, "waiting %v, until nothing is lent to others any more\n", d)
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"epoch": epoch})
	}
	_, err = fmt.Fprintf(a.out, "this machine has the crawl now, in epoch %d\n", epoch)
	return err
}
