package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

const hostLong = `Prints what is known of a host: its counts and latency, its politeness group, and
the robots.txt of its http and https authorities.`

const hostExample = `  seine host www.example.org
  seine host --json www.example.org`

func newHost(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "host NAME", Short: "What is known of a host", Long: hostLong, Example: hostExample,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return a.showHost(c.Context(), args[0]) },
	}
	addSnapshot(a, c)
	return c
}

func (a *app) showHost(ctx context.Context, arg string) error {
	host, err := hostName(arg)
	if err != nil {
		return err
	}
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	domain := l.Suffixes.Domain(host)
	row, known, err := l.host(ctx, domain, host)
	if err != nil {
		return err
	}
	if !known {
		return l.unknown("host " + host)
	}
	facts := map[string]any{"snapshot": l.head.N, "host": object(factsOf(row))}
	if !a.json {
		printFacts(a.out, "host "+host, factsOf(row), "partition", "host")
	}
	for _, byHost := range []bool{true, false} {
		group, ok, err := l.group(ctx, domain, host, byHost)
		if err != nil {
			return err
		}
		if ok {
			facts["domain"] = object(factsOf(group))
			if !a.json {
				printFacts(a.out, "politeness group", factsOf(group), "partition")
			}
			break
		}
	}
	for _, scheme := range []string{"http", "https"} {
		u, err := normalURL(scheme + "://" + host + "/")
		if err != nil {
			return err
		}
		robots, ok, err := l.robots(ctx, u)
		if err != nil {
			return err
		}
		if ok {
			facts["robots_"+scheme] = object(factsOf(robots))
			if !a.json {
				printFacts(a.out, "robots.txt of "+robots.Authority, factsOf(robots), "partition", "domain",
					"authority", "robots_txt")
			}
		}
	}
	if a.json {
		return a.printJSON(facts)
	}
	_, err = fmt.Fprintf(a.out, "`seine robots http://%s/` prints its rules\n", host)
	return err
}
