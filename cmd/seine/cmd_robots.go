package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"seine/formats/robotstxt"
	"seine/mapper/robots"
)

const robotsLong = `Decides by robots.txt, without a request: by the one that the crawl holds for a
URL's authority, or by a file. With a file, the paths that follow are decided.
Each answer names the line that decided (RFC 9309).`

const robotsExample = `  seine robots https://example.org/private/a
  seine robots robots.txt /private/a /public/b?c=d
  seine robots --agent otherbot robots.txt /x
  curl -s https://example.org/robots.txt | seine robots - /x`

func newRobots(a *app) *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use: "robots URL|FILE [PATH...]", Short: "Decide by robots.txt, without crawling",
		Long: robotsLong, Example: robotsExample,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if strings.Contains(args[0], "://") {
				return a.robotsOf(c.Context(), args, agent)
			}
			return a.robotsIn(args, agent)
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "product token (default: the crawl's, else seine)")
	addSnapshot(a, c)
	return c
}

// robotsAnswer is the decision for one path.
type robotsAnswer struct {
	Path    string `json:"path"`
	Allowed bool   `json:"allowed"`
	Rule    string `json:"rule,omitempty"`
	Line    int    `json:"line,omitempty"`
}

func answerOf(path string, d robotstxt.Decision) robotsAnswer {
	return robotsAnswer{Path: path, Allowed: d.Allowed, Rule: d.Rule, Line: d.Line}
}

func (r robotsAnswer) text() string {
	word := "forbidden"
	if r.Allowed {
		word = "allowed"
	}
	switch {
	case r.Line > 0:
		return fmt.Sprintf("%s by line %d: %s", word, r.Line, oneLine(r.Rule))
	case r.Rule != "":
		return word + ": " + oneLine(r.Rule)
	}
	return word + ": no rule matches"
}

func (a *app) robotsOf(ctx context.Context, args []string, agent string) error {
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	set, err := l.newest(ctx)
	if err != nil {
		return err
	}
	sheets, err := l.Env("").Sheets(ctx, set)
	if err != nil {
		return err
	}
	for _, raw := range args {
		u, err := normalURL(raw)
		if err != nil {
			return err
		}
		v := sheets.For(u)
		token := cmp.Or(agent, v.Named(set.Agent))
		row, known, err := l.robots(ctx, u)
		if err != nil {
			return err
		}
		if !known {
			return absentf("robots.txt of %s://%s was not asked for yet; it is before the first page of it",
				u.Scheme, u.Authority)
		}
		answer := answerOf(u.Path, robots.RecordOf(&row).Rules(token).Decide(u.Path))
		if a.json {
			if err := a.printJSON(map[string]any{"robots": object(factsOf(row)), "decision": answer}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(a.out, "%s: %s\n", u.URL, answer.text())
		printFacts(a.out, "robots.txt of "+row.Authority, factsOf(row), "partition", "domain", "authority",
			"robots_txt")
		for n, line := range strings.Split(strings.TrimRight(row.Text, "\n"), "\n") {
			if row.Text != "" {
				fmt.Fprintf(a.out, "%4d  %s\n", n+1, oneLine(strings.TrimRight(line, "\r")))
			}
		}
	}
	return nil
}

func (a *app) robotsIn(args []string, agent string) error {
	text, err := a.readInput(args[0], robotstxt.MaxBytes+1)
	if err != nil {
		return err
	}
	if agent == "" {
		agent = "seine"
	}
	file := robotstxt.Parse(text)
	group := file.Agent(agent)
	paths := args[1:]
	if len(paths) == 0 {
		paths = []string{"/"}
	}
	var answers []robotsAnswer
	for _, path := range paths {
		if strings.Contains(path, "://") {
			u, err := normalURL(path)
			if err != nil {
				return err
			}
			path = u.Path
		}
		if !strings.HasPrefix(path, "/") {
			return usagef("%q is no path: it begins with /", path)
		}
		answers = append(answers, answerOf(path, group.Decide(path)))
	}
	delay, hasDelay := group.CrawlDelay()
	if a.json {
		facts := map[string]any{"agent": agent, "decisions": answers, "sitemaps": file.Sitemaps()}
		if hasDelay {
			facts["crawl_delay_ms"] = delay.Milliseconds()
		}
		return a.printJSON(facts)
	}
	for _, answer := range answers {
		fmt.Fprintf(a.out, "%s: %s\n", answer.Path, answer.text())
	}
	if hasDelay {
		fmt.Fprintf(a.out, "Crawl-delay for %s: %v\n", agent, delay)
	}
	for _, s := range file.Sitemaps() {
		fmt.Fprintf(a.out, "sitemap: %s\n", oneLine(s))
	}
	return nil
}

// readInput reads a file, or standard input for -, up to a bound in bytes.
func (a *app) readInput(name string, most int64) ([]byte, error) {
	in := a.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usagef("%w; name a readable file, or - for standard input", err)
		}
		defer f.Close()
		in = f
	}
	b, err := readAtMost(in, most)
	if err != nil {
		return nil, usagef("read %s: %w", name, err)
	}
	return b, nil
}
