package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"seine/formats/weburl"
)

const normalizeLong = `Prints the normal form of URLs, by which a crawl keys and asks for them, with their
registered domain and partition. URLs are arguments, or lines of standard input.
The rules are in formats/weburl/NORMALIZE.md. The Public Suffix List is that of
this program, unless --store names a crawl, which has its own.`

const normalizeExample = `  seine normalize 'HTTP://Example.org:80/a/../b?utm_source=x#f'
  seine normalize - < urls.txt`

func newNormalize(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "normalize URL...", Short: "Print the normal form of URLs",
		Long: normalizeLong, Example: normalizeExample,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return a.normalize(c, args) },
	}
}

func (a *app) normalize(c *cobra.Command, args []string) error {
	suffixes, err := weburl.ParseSuffixes(weburl.EmbeddedSuffixes())
	if err != nil {
		return err
	}
	if a.store != "" {
		crawl, done, err := a.open(c.Context())
		if err != nil {
			return err
		}
		defer done()
		suffixes = crawl.Suffixes
	}
	bad := 0
	one := func(raw string) error {
		ok, err := a.normalizeOne(raw, suffixes)
		if !ok {
			bad++
		}
		return err
	}
	for _, raw := range args {
		if raw != "-" {
			if err := one(raw); err != nil {
				return err
			}
			continue
		}
		lines := bufio.NewScanner(a.in)
		lines.Buffer(nil, seedLineBytes)
		for lines.Scan() {
			if text := strings.TrimSpace(lines.Text()); text != "" {
				if err := one(text); err != nil {
					return err
				}
			}
		}
		if err := lines.Err(); err != nil {
			return usagef("read standard input: %w", err)
		}
	}
	if bad > 0 {
		return usagef("%d of these are no URLs that are crawled", bad)
	}
	return nil
}

func (a *app) normalizeOne(raw string, suffixes *weburl.Suffixes) (bool, error) {
	u, err := weburl.Normalize(raw, weburl.Options{})
	if err != nil {
		if a.json {
			return false, a.printJSON(map[string]any{"raw": raw, "error": err.Error()})
		}
		_, perr := fmt.Fprintf(a.err, "%s: %v\n", oneLine(weburl.Redact(raw)), err)
		return false, perr
	}
	domain := suffixes.Domain(u.Host)
	if a.json {
		return true, a.printJSON(map[string]any{"raw": raw, "url": u.URL, "host": u.Host, "domain": domain,
			"partition": weburl.Partition(domain), "url_id": fmt.Sprintf("%x", weburl.ID(u.URL))})
	}
	_, err = fmt.Fprintf(a.out, "%s\t%s\t%d\n", u.URL, domain, weburl.Partition(domain))
	return true, err
}

// readAtMost reads up to a bound in bytes.
func readAtMost(in io.Reader, most int64) ([]byte, error) {
	var b bytes.Buffer
	_, err := io.Copy(&b, io.LimitReader(in, most))
	return b.Bytes(), err
}
