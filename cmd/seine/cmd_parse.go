package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"seine/mapper/extract"
)

const parseLong = `Parses a body as a crawl does and prints what it says: title, charset, language,
hashes, robots directives, links with their kinds, and the text.`

const parseExample = `  seine parse page.html --base https://example.org/a/
  curl -s https://example.org/ | seine parse - --base https://example.org/
  seine page https://example.org/ | seine parse - --base https://example.org/ --json`

// parseBytesLimit bounds what is parsed, as the largest setting of max_body does.
const parseBytesLimit = 1 << 30

func newParse(a *app) *cobra.Command {
	var base, kind string
	var text bool
	c := &cobra.Command{
		Use: "parse FILE|-", Short: "Parse a body, without crawling", Long: parseLong, Example: parseExample,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return a.parse(args[0], base, kind, text) },
	}
	c.Flags().StringVar(&base, "base", "http://localhost/", "the page's URL, against which links resolve")
	c.Flags().StringVar(&kind, "type", "", "its Content-Type, where it matters")
	c.Flags().BoolVar(&text, "text", false, "print the text, too")
	return c
}

func (a *app) parse(name, base, kind string, text bool) error {
	u, err := normalURL(base)
	if err != nil {
		return err
	}
	body, err := a.readInput(name, parseBytesLimit)
	if err != nil {
		return err
	}
	page := extract.Extract(extract.Input{URL: u.URL, ContentType: kind, Body: body}, extract.Limits{})
	if a.json {
		return a.printJSON(page)
	}
	facts := []fact{{name: "type", text: page.MIMEDetected}, {name: "charset", text: page.Charset},
		{name: "language", text: page.Language}, {name: "title", text: page.Title},
		{name: "canonical", text: page.Canonical}, {name: "refresh", text: page.Refresh}}
	if page.HasText {
		facts = append(facts, fact{name: "content_hash", text: fmt.Sprintf("%016x", page.ContentHash)},
			fact{name: "simhash", text: fmt.Sprintf("%016x", page.SimHash)})
	}
	facts = append(facts, fact{name: "noindex", text: fmt.Sprint(page.NoIndex)},
		fact{name: "nofollow", text: fmt.Sprint(page.NoFollow)},
		fact{name: "links", text: fmt.Sprint(len(page.Links))})
	var said []fact
	for _, f := range facts {
		if f.text != "" {
			said = append(said, f)
		}
	}
	printFacts(a.out, u.URL, said)
	for _, fault := range page.ParseErrors {
		fmt.Fprintf(a.out, "  fault: %s\n", fault)
	}
	for _, l := range page.Links {
		target := l.URL
		if target == "" {
			target = "(" + l.Refused + ") " + l.Href
		}
		fmt.Fprintf(a.out, "%-10s %s  %s\n", l.Kind, oneLine(target), oneLine(l.Anchor))
	}
	if text {
		fmt.Fprintln(a.out, page.Text)
	}
	return nil
}
