package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"seine/formats/schema"
)

const urlLong = `Prints what is known of a URL: its row in urls, its last exchanges, and where its
newest body lies. It reads a few pages of the tables, whatever their size.`

const urlExample = `  seine url https://example.org/
  seine url --fetches 20 https://example.org/
  seine url --json https://example.org/ | jq .url.next_crawl`

func newURL(a *app) *cobra.Command {
	var fetches int
	c := &cobra.Command{
		Use: "url URL", Short: "What is known of a URL", Long: urlLong, Example: urlExample,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.showURL(c.Context(), args[0], fetches)
		},
	}
	c.Flags().IntVar(&fetches, "fetches", 5, "how many of the last exchanges")
	addSnapshot(a, c)
	return c
}

func addSnapshot(a *app, c *cobra.Command) {
	c.Flags().Uint64Var(&a.snapshot, "snapshot", 0, "look at this snapshot (default: the newest)")
}

func (a *app) showURL(ctx context.Context, raw string, n int) error {
	u, err := normalURL(raw)
	if err != nil {
		return err
	}
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	row, known, err := l.url(ctx, u)
	if err != nil {
		return err
	}
	if !known {
		return l.unknown(u.URL)
	}
	var fetches []schema.Fetch
	if n > 0 {
		if fetches, err = l.fetches(ctx, u, "", n); err != nil {
			return err
		}
	}
	if a.json {
		var list []map[string]any
		for _, f := range fetches {
			list = append(list, object(factsOf(f)))
		}
		return a.printJSON(map[string]any{"snapshot": l.head.N, "url": object(factsOf(row)), "fetches": list})
	}
	printFacts(a.out, u.URL, factsOf(row), "url", "partition")
	if policy, ok := schema.PolicyOf(row.Reason); ok {
		fmt.Fprintf(a.out, "  %s: %s\n", row.Reason, policy.Means)
	}
	if len(fetches) > 0 {
		fmt.Fprintln(a.out, "last exchanges:")
	}
	for _, f := range fetches {
		fmt.Fprintf(a.out, "  %s  %s\n", clock(f.StartedAt, time.Now()), fetchLine(f))
	}
	return nil
}
