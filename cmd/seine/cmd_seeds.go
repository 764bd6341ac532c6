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

	"seine/cmd/internal/ui"
	"seine/coordinator/api"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/reducer/task"
)

const seedsLong = `Lists the seeds of a crawl as they were last injected: URL, priority, tag, interval, depth
and scope in force, and what else was said of them. To change one, inject it again.`

const removeLong = `Removes seeds. A URL that was one stays known, but counts as any other page from then on:
without the seed's priority and, if no other seed has its tag, without its interval,
depth and scope.

What was found from it stays known too. Nothing of it is deleted: what other seeds or
rules let in goes on being crawled; the rest ends as out_of_scope when its turn comes,
and waits for nothing. With the scope "any" all of it goes on: block what must stop.

It says how many were removed. If a URL is no seed, or no seed has the tag, it names
what it did not find, removes nothing and ends with exit code 3.`

func newSeeds(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "seeds", Short: "List and remove the seeds of a crawl", Long: seedsLong,
		Example: "  seine seeds list\n  seine seeds remove https://example.org/",
	}
	var tag string
	list := &cobra.Command{
		Use: "list", Short: "List seeds, by URL", Example: "  seine seeds list\n  seine seeds list --tag news --json",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.listSeeds(c.Context(), tag) },
	}
	list.Flags().StringVar(&tag, "tag", "", "only those with this tag")
	addSnapshot(a, list)
	c.AddCommand(list, newSeedsRemove(a))
	return c
}

func newSeedsRemove(a *app) *cobra.Command {
	var tag string
	c := &cobra.Command{
		Use: "remove URL...", Short: "Remove seeds; what was found from them stays known", Long: removeLong,
		Example: "  seine seeds remove https://example.org/\n  seine seeds remove --tag news",
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 0) == (tag == "") {
				return usagef("name URLs or a --tag: one of both; `seine seeds list` shows them")
			}
			return a.removeSeeds(c.Context(), args, tag)
		},
	}
	c.Flags().StringVar(&tag, "tag", "", "all with this tag")
	return c
}

// seeds are the seeds of the snapshot as they were last injected, by URL.
func (l *looking) seeds(ctx context.Context) ([]schema.Seed, error) {
	newest := map[string]schema.Seed{}
	for _, part := range l.head.Parts { // the oldest first
		for _, o := range part.Tables[schema.Seeds] {
			err := readRows(ctx, l, o, nil, func(row *schema.Seed) error {
				own := task.Own(*row)
				if newest[own.URL] = own; own.Removed {
					delete(newest, own.URL)
				}
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
	set, err := stored(ctx, l.Crawl, 0)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if tag != "" && row.Tag != tag {
			continue
		}
		terms := set.Terms[seedOrigin(row.URL, row.Tag)]
		row.Interval, row.Depth, row.Scope = terms.Interval.D().Milliseconds(), int32(terms.Depth), terms.Scope
		if a.json {
			err = a.printJSON(object(factsOf(row)))
		} else {
			_, err = fmt.Fprintln(a.out, oneLine(seedLine(row, terms)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// seedLine is a seed as a line of a seeds file, with its day behind.
func seedLine(row schema.Seed, terms settings.Terms) string {
	line := row.URL
	if row.Priority > 0 {
		line += fmt.Sprintf(" priority=%.4g", row.Priority)
	}
	if row.Tag != "" {
		line += " tag=" + row.Tag
	}
	if text := terms.String(); text != "" {
		line += " " + text
	}
	for _, key := range slices.Sorted(maps.Keys(row.Metadata)) {
		line += " " + key + "=" + row.Metadata[key]
	}
	return line + "  # " + time.UnixMilli(row.InjectedAt).UTC().Format("2006-01-02 15:04Z")
}

// removeSeeds takes seeds out of a crawl: those named, or those of a tag.
func (a *app) removeSeeds(ctx context.Context, urls []string, tag string) error {
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	head, err := c.Head(ctx)
	if err != nil {
		return err
	}
	all, err := (&looking{Crawl: c, head: head}).seeds(ctx)
	if err != nil {
		return err
	}
	gone, err := chosenSeeds(all, urls, tag)
	if err != nil {
		return err
	}
	file, err := newSeedFile()
	if err != nil {
		return err
	}
	defer file.close()
	left := map[string]bool{} // what other seeds go on under
	for _, row := range all {
		if !gone[row.URL] {
			left[seedOrigin(row.URL, row.Tag)] = true
			continue
		}
		if err := file.write(jobs.Seed{URL: row.URL, Raw: row.Raw, Tag: row.Tag, Removed: true}); err != nil {
			return err
		}
	}
	if err := file.out.Flush(); err != nil {
		return fmt.Errorf("scratch file for seeds: %w; TMPDIR names another folder", err)
	}
	return a.submitting(ctx, c, func(ctx context.Context, conn api.Conn) error {
		job, err := a.injectAs(ctx, conn, c, file, jobs.Inject{Removes: true}, ui.New(a.err))
		if err != nil {
			return err
		}
		err = a.changeTerms(ctx, c, func(terms map[string]settings.Terms) {
			for _, row := range all {
				if origin := seedOrigin(row.URL, row.Tag); gone[row.URL] && !left[origin] {
					delete(terms, origin)
				}
			}
		})
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(map[string]any{"removed": len(gone), "job": job.Job, "commit": job.Commit})
		}
		_, err = fmt.Fprintf(a.out, "%d seeds removed; snapshot %d\nwhat was found from them stays known: what other "+
			"seeds or rules let in goes on, the rest ends as out_of_scope when its turn comes\n", len(gone), job.Commit)
		return err
	})
}

// chosenSeeds are the seeds that are named, by URL or by tag. The error names the URLs that are
// no seeds; they are chosen all or none.
func chosenSeeds(all []schema.Seed, urls []string, tag string) (map[string]bool, error) {
	known, chosen := map[string]bool{}, map[string]bool{}
	var unknown []string
	for _, row := range all {
		known[row.URL] = true
		if tag != "" && row.Tag == tag {
			chosen[row.URL] = true
		}
	}
	for _, text := range urls {
		normal, err := weburl.Normalize(text, weburl.Options{})
		if err != nil {
			return nil, usagef("seed %q: %w", weburl.Redact(text), err)
		}
		if known[normal.URL] {
			chosen[normal.URL] = true
		} else if !slices.Contains(unknown, normal.URL) {
			unknown = append(unknown, normal.URL)
		}
	}
	if n := len(unknown); n > 0 {
		listed := strings.Join(unknown[:min(n, 10)], " ")
		if n > 10 {
			listed += fmt.Sprintf(" and %d more", n-10)
		}
		return nil, absentf("%d of the URLs named are seeds, %d are not: %s; nothing was removed; "+
			"name seeds only: `seine seeds list` shows them", len(chosen), n, listed)
	}
	if len(chosen) == 0 {
		return nil, absentf("no seed has the tag %s; `seine seeds list` shows them", tag)
	}
	return chosen, nil
}
