package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
	"seine/cmd/internal/ui"
	"seine/coordinator/api"
	"seine/formats/layout"
	"seine/formats/objstore"
	"seine/formats/objstore/dir"
	"seine/formats/settings"
	"seine/jobs"
)

const statusLong = `Says where a crawl stands: its newest snapshot, what a process that works on it does,
what waits and until when, and how the last rounds ended. It needs no running
process and disturbs none.`

const statusExample = `  seine status
  seine status --json | jq .waits`

func newStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Where a crawl stands, what waits, what next", Long: statusLong,
		Example: statusExample, Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.status(c.Context()) },
	}
}

// standing is what status tells.
type standing struct {
	Store    string          `json:"store"`
	Snapshot uint64          `json:"snapshot"`
	At       int64           `json:"at"` // ms
	Settings uint64          `json:"settings"`
	Paused   *settings.Pause `json:"paused,omitempty"`
	Blocks   int             `json:"blocks,omitempty"` // in force
	Known    int64           `json:"known"`
	Waiting  int64           `json:"waiting"`
	Waits    node.Waits      `json:"waits"`
	Process  *dir.Owner      `json:"process,omitempty"`
	Running  *api.Status     `json:"running,omitempty"`
	Open     []jobs.Spec     `json:"open,omitempty"` // jobs that a process left open
	Rounds   []roundSummary  `json:"rounds"`
	Trouble  string          `json:"trouble,omitempty"`
}

func (a *app) status(ctx context.Context) error {
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	head, err := c.Head(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	s := standing{Store: c.Store.URL, Snapshot: head.N, At: head.Now, Known: head.Known, Waiting: head.Waiting}
	set, err := stored(ctx, c, 0)
	if err != nil {
		return err
	}
	s.Settings, s.Paused = set.Version, set.Paused
	for _, b := range set.Blocks {
		if b.Holds(now.UnixMilli()) {
			s.Blocks++
		}
	}
	if s.Waits, err = c.Waits(ctx, head, node.Cut{Now: nextNow(head, now)}); err != nil {
		return err
	}
	if s.Rounds, err = lastRounds(ctx, c, head, 3, false); err != nil {
		return err
	}
	if err := a.process(ctx, c, head.Job, &s); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(s)
	}
	return a.printStanding(s, now)
}

// process finds who works on the crawl and what is open.
func (a *app) process(ctx context.Context, c *node.Crawl, last uint64, s *standing) error {
	addresses, err := a.coordinators(c.Store.Local)
	if err != nil {
		return err
	}
	owner, held, err := dir.Holder(c.Store.Local)
	if err == nil && held {
		s.Process = &owner
	}
	if addresses != "" {
		conn, err := a.dial(addresses)
		if err != nil {
			return err
		}
		asking, stop := context.WithTimeout(ctx, 10*time.Second)
		defer stop()
		st, err := conn.Status(asking)
		if err == nil {
			s.Running = &st
			return nil
		}
		s.Trouble = err.Error() // it may be ending just now: the store says the rest
	}
	for n := last + 1; ; n++ {
		b, err := c.Store.Get(ctx, layout.Spec(n))
		if err != nil {
			return notExist(err)
		}
		spec, err := jobs.DecodeSpec(b)
		if err != nil {
			return err
		}
		s.Open = append(s.Open, spec)
	}
}

func (a *app) printStanding(s standing, now time.Time) error {
	w := a.out
	fmt.Fprintf(w, "%s: snapshot %d of %s, settings %d\n", s.Store, s.Snapshot, clock(s.At, now), s.Settings)
	if s.Paused != nil {
		fmt.Fprintln(w, pauseText(s.Paused, now)+"; `seine resume` lets it go on")
	}
	if s.Blocks > 0 {
		fmt.Fprintf(w, "%d blocked; `seine blocks` lists them\n", s.Blocks)
	}
	fmt.Fprintf(w, "%d URLs known, %d wait\n", s.Known, s.Waits.Total())
	for _, line := range waitLines(s.Waits, now) {
		fmt.Fprintln(w, "  "+line)
	}
	switch {
	case s.Running != nil:
		if s.Process != nil {
			fmt.Fprintf(w, "process %d works on it since %s (API at %s)\n", s.Process.PID,
				clock(s.Process.Since.UnixMilli(), now), s.Process.Address)
		}
		for _, j := range s.Running.Open {
			fmt.Fprintln(w, "  "+ui.Line(j, now))
		}
		printLoops(w, s.Running.Loops, now)
		for _, j := range s.Running.Queued {
			fmt.Fprintf(w, "  %s: queued\n", j.Kind)
		}
		if s.Running.Trouble != "" {
			fmt.Fprintf(w, "  in trouble: %s\n", s.Running.Trouble)
		}
	case s.Process != nil:
		fmt.Fprintf(w, "process %d has the store but does not answer: %s\n", s.Process.PID, s.Trouble)
	default:
		fmt.Fprintln(w, "no process works on it")
	}
	for _, spec := range s.Open {
		fmt.Fprintf(w, "  %s %d was left open; `seine crawl` goes on with it\n", spec.Kind, spec.Job)
	}
	for _, r := range s.Rounds {
		fmt.Fprint(w, roundText(r))
	}
	if s.Running == nil {
		fmt.Fprintln(w, next(s))
	}
	return nil
}

// next is what a person may do now.
func next(s standing) string {
	if s.Waits.Due > 0 || len(s.Open) > 0 {
		return "next: `seine crawl` goes on"
	}
	if s.Waits.Total() > 0 {
		return "next: nothing is due; `seine crawl --wait D` sleeps, `seine crawl --due-now` does not wait"
	}
	return "next: nothing waits; `seine inject URL` brings seeds in"
}

// notExist forgives that there is no such object.
func notExist(err error) error {
	if errors.Is(err, objstore.ErrNotExist) {
		return nil
	}
	return err
}
