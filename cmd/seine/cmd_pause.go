package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
	"seine/formats/settings"
)

const pauseLong = `Holds the crawl, or the open round N: within five seconds nothing starts, what was
fetched is sealed, the workers keep their tasks, and the clock of the round stands, so
that a pause costs it nothing of its time. It is kept with the crawl: a process that
starts later is paused as well. Seeds and other jobs are not held.`

func newPause(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "pause [N]", Short: "Hold the crawl, or the open round N", Long: pauseLong,
		Example: "  seine pause --reason \"maintenance of the proxy\"\n  seine pause 7",
		Args:    arguments(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.pause(c.Context(), args, reason)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for whoever looks at the status")
	return c
}

func newResume(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "resume", Short: "Let what is paused go on",
		Long:    "Ends a pause. The hard stop of a round that was held moves by the time that it stood.",
		Example: "  seine resume", Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.resume(c.Context()) },
	}
}

func (a *app) pause(ctx context.Context, args []string, reason string) error {
	p := settings.Pause{Reason: reason, By: a.user(), At: nowMS()}
	if len(args) > 0 {
		var err error
		if p.Round, err = jobNumber(args[0]); err != nil {
			return err
		}
		if err := a.pausable(ctx, p.Round); err != nil {
			return err
		}
	}
	return a.changeSettings(ctx, func(s *settings.Settings) (map[string]string, error) {
		if old := s.Paused; old != nil && old.Round == p.Round && (reason == "" || old.Reason == reason) {
			return nil, nil // since then
		}
		s.Paused = &p
		return nil, nil
	})
}

// pausable refuses a round that has ended, or that is none yet: a pause of it
// would hold nothing, or surprise somebody later.
func (a *app) pausable(ctx context.Context, round uint64) error {
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	open, err := openRound(ctx, c)
	if err != nil {
		return err
	}
	if open != round {
		text := "no round is open"
		if open != 0 {
			text = "the open round is another"
		}
		return absentf("round %d cannot be paused: %s; `seine status` shows it, `seine pause` holds the crawl",
			round, text)
	}
	return nil
}

// openRound is the number of the round whose spec is there and whose commit is
// not; 0: none.
func openRound(ctx context.Context, c *node.Crawl) (uint64, error) {
	head, err := c.Head(ctx)
	if err != nil {
		return 0, err
	}
	specs, err := node.NewLedger(c, "").OpenSpecs(ctx, head)
	for _, spec := range specs {
		if spec.Round != nil {
			return spec.Job, err
		}
	}
	return 0, err
}

func (a *app) resume(ctx context.Context) error {
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	s, err := stored(ctx, c, 0)
	if err != nil {
		return err
	}
	if s.Paused == nil {
		return absentf("nothing is paused; `seine status` shows where the crawl stands")
	}
	before, after, err := a.putVersion(ctx, c, func(s *settings.Settings) (map[string]string, error) {
		s.Paused = nil
		return nil, nil
	})
	if err != nil {
		return err
	}
	return a.tellChange(before, after)
}

// pausedLine says that the crawl is paused, and how it goes on; "" if it is not.
func pausedLine(ctx context.Context, c *node.Crawl) (string, error) {
	s, err := stored(ctx, c, 0)
	if err != nil || s.Paused == nil {
		return "", err
	}
	return pauseText(s.Paused, time.Now()) + "; `seine resume` lets it go on", nil
}
