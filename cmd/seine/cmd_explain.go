package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

const explainLong = `Says why a URL was, or was not, fetched: each decision in the order in which a crawl
takes it, by the newest settings. URLs that were never seen are explained, too.`

const explainExample = `  seine explain https://example.org/private/
  seine explain --json https://example.org/ | jq '.steps[] | select(.stops)'`

// step is one decision.
type step struct {
	Name string `json:"step"`
	Text string `json:"text"`
	// Stops: because of this the URL is not fetched, or not now.
	Stops bool `json:"stops,omitempty"`
}

func newExplain(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "explain URL", Short: "Say why a URL was or was not fetched",
		Long: explainLong, Example: explainExample,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return a.explain(c.Context(), args[0]) },
	}
	addSnapshot(a, c)
	return c
}

func (a *app) explain(ctx context.Context, raw string) error {
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	e, err := newExplanation(ctx, l, raw)
	if err != nil {
		return err
	}
	if err := e.decide(ctx); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"snapshot": l.head.N, "url": e.url.URL, "known": e.known,
			"steps": e.steps, "answer": e.answer()})
	}
	for _, s := range e.steps {
		mark := " "
		if s.Stops {
			mark = "!"
		}
		fmt.Fprintf(a.out, "%s %-12s %s\n", mark, s.Name, oneLine(s.Text))
	}
	_, err = fmt.Fprintf(a.out, "= %s\n", oneLine(e.answer()))
	return err
}
