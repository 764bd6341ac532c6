package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
	"seine/formats/schema"
)

const seedsLong = `Lists the seeds of a crawl as they were last injected: URL, priority, tag, and what else
was said of them. To change one, inject it again.`

func newSeeds(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "seeds", Short: "List the seeds of a crawl", Long: seedsLong, Example: "  seine seeds list",
	}
	var tag string
	list := &cobra.Command{
		Use: "list", Short: "List seeds, by URL", Example: "  seine seeds list\n  seine seeds list --tag news --json",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.listSeeds(c.Context(), tag) },
	}
	list.Flags().StringVar(&tag, "tag", "", "only those with this tag")
	addSnapshot(a, list)
	c.AddCommand(list)
	return c
}

// seeds are the seeds of the snapshot as they were last injected, by URL.
func (l *looking) seeds(ctx context.Context) ([]schema.Seed, error) {
	newest := map[string]schema.Seed{}
	for _, part := range l.head.Parts { // the oldest first
		for _, o := range part.Tables[schema.Seeds] {
			err := readRows(ctx, l, o, nil, func(row *schema.Seed) error {
				own := node.Own(*row)
				own.Metadata = maps.Clone(row.Metadata)
				newest[own.URL] = own
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w; `seine check` says what else is damaged", o.Key, err)
			}
		}
	}
	rows := slices.Collect(maps.Values(newest))
	slices.SortFunc(rows, func(a, b schema.Seed) int {
		return cmp.Or(strings.Compare(a.Domain, b.Domain), strings.Compare(a.URL, b.URL))
	})
	return rows, nil
}

func (a *app) listSeeds(ctx context.Context, tag string) error {
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	rows, err := l.seeds(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if tag != "" && row.Tag != tag {
			continue
		}
		if a.json {
			err = a.printJSON(object(factsOf(row)))
		} else {
			_, err = fmt.Fprintln(a.out, oneLine(seedLine(row)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// seedLine is a seed as a line of a seeds file, with its day behind.
func seedLine(row schema.Seed) string {
	line := row.URL
	if row.Priority > 0 {
		line += fmt.Sprintf(" priority=%.4g", row.Priority)
	}
	if row.Tag != "" {
		line += " tag=" + row.Tag
	}
	for _, key := range slices.Sorted(maps.Keys(row.Metadata)) {
		line += " " + key + "=" + row.Metadata[key]
	}
	return line + "  # " + time.UnixMilli(row.InjectedAt).UTC().Format("2006-01-02 15:04Z")
}
