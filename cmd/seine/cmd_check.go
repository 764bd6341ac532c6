package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"seine/cmd/internal/audit"
)

const checkLong = `Proves what of the rules can be proved from the store: that no commit is missing and
all apply again, that every object is there, that tables are sorted and folded
right, that the frontier and the waiting URLs are one to one, that every URL of a
list had its turn or waits, that pages, fetches and archives agree, and that counts
add up. It reads the tables, but not their archives, and takes no lock: a crawl may
go on meanwhile.

With --read-data every byte is read: all columns, all archives with their digests,
and every key's way through its Bloom filter. With --repair damaged Bloom sidecars
are rebuilt from their runs; nothing else is ever written.

The exit code is 6 if anything is wrong.`

const checkExample = `  seine check
  seine check --read-data
  seine check --repair
  seine check --json | jq '.findings[].object'`

func newCheck(a *app) *cobra.Command {
	var o audit.Options
	c := &cobra.Command{
		Use: "check", Short: "Prove what the store can prove of the rules", Long: checkLong,
		Example: checkExample, Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.check(c.Context(), o) },
	}
	c.Flags().BoolVar(&o.ReadData, "read-data", false, "read every byte, archives too")
	c.Flags().BoolVar(&o.Repair, "repair", false, "rebuild damaged Bloom sidecars")
	addSnapshot(a, c)
	return c
}

func (a *app) check(ctx context.Context, o audit.Options) error {
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	if !a.json {
		o.Progress = func(check string) { fmt.Fprintf(a.err, "checking %s\n", check) }
	}
	report, err := audit.Run(ctx, audit.Crawl{Store: l.Store, Open: l.Store.Open,
		Source: l.Env("").Source(), Suffixes: l.Suffixes}, l.head, o)
	if err != nil {
		return err
	}
	if a.json {
		e := json.NewEncoder(a.out)
		e.SetIndent("", "  ")
		err = e.Encode(report)
	} else {
		err = a.printReport(report)
	}
	if err == nil && !report.OK() {
		err = exitError{exitDamaged, fmt.Errorf("snapshot %d breaks its rules: %d findings", report.Snapshot,
			findings(report))}
	}
	return err
}

func findings(r *audit.Report) int64 {
	n := int64(0)
	for _, f := range r.Findings {
		if !f.Fixed {
			n++
		}
	}
	for _, more := range r.More {
		n += more
	}
	return n
}

func (a *app) printReport(r *audit.Report) error {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintln(&b, f)
	}
	for _, check := range slices.Sorted(maps.Keys(r.More)) {
		fmt.Fprintf(&b, "%s: and %d more\n", check, r.More[check])
	}
	var looked []string
	for _, name := range slices.Sorted(maps.Keys(r.Checked)) {
		looked = append(looked, fmt.Sprintf("%d %s", r.Checked[name], name))
	}
	verdict := "all rules hold"
	if !r.OK() {
		verdict = "rules are broken"
	}
	fmt.Fprintf(&b, "snapshot %d: %s (%s)\n", r.Snapshot, verdict, strings.Join(looked, ", "))
	_, err := a.out.Write([]byte(b.String()))
	return err
}
