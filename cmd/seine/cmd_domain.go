package main

import (
	"context"

	"github.com/spf13/cobra"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/weburl"
	"seine/reducer/task"
)

const domainLong = `Prints what is known of a registered domain: the delay in force and why, back-offs
and the next slot, its counts, and its hosts.`

const domainExample = `  seine domain example.org
  seine domain --hosts 100 example.org`

func newDomain(a *app) *cobra.Command {
	var hosts int
	c := &cobra.Command{
		Use: "domain NAME", Short: "What is known of a domain", Long: domainLong, Example: domainExample,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.showDomain(c.Context(), args[0], hosts)
		},
	}
	c.Flags().IntVar(&hosts, "hosts", 20, "how many hosts to list")
	addSnapshot(a, c)
	return c
}

func (a *app) showDomain(ctx context.Context, arg string, most int) error {
	name, err := hostName(arg)
	if err != nil {
		return err
	}
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	domain := l.Suffixes.Domain(name)
	groups, err := inDomain(ctx, l, lsm.Domains(), domain, func(d *schema.Domain) string { return d.Domain }, most)
	if err != nil {
		return err
	}
	if len(groups) == 0 {
		return l.unknown("domain " + domain)
	}
	hosts, err := inDomain(ctx, l, lsm.Hosts(), domain, func(h *schema.Host) string { return h.Domain }, most)
	if err != nil {
		return err
	}
	if a.json {
		facts := map[string]any{"snapshot": l.head.N}
		for i := range groups {
			facts["groups"] = append(list(facts["groups"]), object(factsOf(groups[i])))
		}
		for i := range hosts {
			facts["hosts"] = append(list(facts["hosts"]), object(factsOf(hosts[i])))
		}
		return a.printJSON(facts)
	}
	for i := range groups {
		printFacts(a.out, "domain "+domain, factsOf(groups[i]), "domain")
	}
	for i := range hosts {
		printFacts(a.out, "host "+hosts[i].Host, factsOf(hosts[i]), "partition", "domain", "host", "round")
	}
	return nil
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// inDomain reads the rows of a domain, at most n; only its partition is read.
func inDomain[R any](ctx context.Context, l *looking, table lsm.Table[R], domain string,
	of func(*R) string, n int) (rows []R, err error) {
	p := weburl.Partition(domain)
	err = table.Scan(ctx, l.Store.Open, l.head.Tables[table.Name], layout.Range{Lo: p, Hi: p + 1}, nil,
		func(row *R, _ []lsm.Ref) error {
			if of(row) == domain && len(rows) < n {
				rows = append(rows, task.Own(*row))
			}
			return nil
		})
	return rows, err
}
