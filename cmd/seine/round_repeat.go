package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"seine/cmd/internal/node"
	"seine/coordinator/state"
)

// loop is what --repeat and --every ask for; nil if they ask for nothing.
func (f roundFlags) loop() (*state.Loop, error) {
	if f.repeat == "" {
		if f.every != 0 {
			return nil, usagef("--every is the time between the rounds of --repeat")
		}
		return nil, nil
	}
	if f.every < 0 || f.dryRun {
		return nil, usagef("--repeat goes with an --every above 0, and not with --dry-run")
	}
	l := &state.Loop{RequestID: requestID("loop"), Every: f.every.Milliseconds()}
	switch f.repeat {
	case "forever":
	case "until-idle":
		l.UntilIdle = true
	default:
		n, err := strconv.ParseInt(f.repeat, 10, 64)
		if err != nil || n < 1 {
			return nil, usagef("--repeat %q: say a number of rounds, until-idle or forever", f.repeat)
		}
		l.Times = n
	}
	return l, nil
}

// submitLoop hands a loop to the coordinators, which run it from then on.
func (a *app) submitLoop(ctx context.Context, c *node.Crawl, l *state.Loop) error {
	conn, running, err := a.connect(c.Store.Root)
	if err != nil {
		return err
	}
	if !running {
		return exitError{exitInUse, errors.New("--repeat is run by coordinators, and none works on the crawl: " +
			"start them with `seined coordinator`, or use `seine crawl`, which repeats by itself")}
	}
	if err := conn.Repeat(ctx, *l); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(l)
	}
	_, err = fmt.Fprintf(a.out, "%s: the coordinators submit its rounds; `seine round list` shows it, "+
		"`seine round cancel %s` ends it\n", l.RequestID, l.RequestID)
	return err
}

// cancelLoop ends a loop; its open round goes on to its end.
func (a *app) cancelLoop(ctx context.Context, id string) error {
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	conn, running, err := a.connect(c.Store.Root)
	if err != nil {
		return err
	}
	if !running {
		return absentf("%q is no number of a round, and nobody runs loops on the crawl; `seine round list` shows "+
			"its rounds", id)
	}
	if err := conn.EndLoop(ctx, state.EndLoop{RequestID: id}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s has ended; a round of it that is open goes on to its end\n", id)
	return err
}

// printLoops tells of loops that run.
func printLoops(w io.Writer, loops []state.Looping, now time.Time) {
	for _, l := range loops {
		kind := "for ever"
		switch {
		case l.UntilIdle:
			kind = "until nothing is due"
		case l.Times > 0:
			kind = fmt.Sprintf("%d times", l.Times)
		}
		next := "its round runs or waits"
		if l.Current == "" {
			next = "next round from " + clock(l.Next, now)
		}
		fmt.Fprintf(w, "  loop %s: %s, %d rounds so far, %s\n", l.RequestID, kind, l.Begun, next)
	}
}
