package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
	"seine/cmd/internal/ui"
	"seine/coordinator/api"
	"seine/formats/settings"
)

const crawlLong = `Creates a crawl, or goes on with it: brings the seeds in, then runs rounds until
nothing is due, or a limit is reached. At the end it says which, what waits, and
until when. URLs that were deferred to their domain's next slot are part of the
work at hand, and the crawl sleeps for them; retries, back-offs and recrawls are
waited for only by --wait.

The first Ctrl-C seals what was fetched and stops, the second stops at once. The
same command goes on, also after a crash: nothing that was fetched is asked for
again.

Every setting is a flag (SEINE_NAME and seine.yaml say the same, in this order).
What is set is kept with the crawl, so a later run need not repeat it; what
changes on a later run becomes a new version of the settings.`

const crawlExample = `  seine crawl --contact me@example.org https://example.org/
  seine crawl --seeds seeds.txt --scope host --rounds 3
  seine crawl                            # goes on
  seine crawl --wait 1h --max-time 8h    # sleeps for retries due within the hour
  seine crawl --due-now                  # looks at all known pages again
  seine crawl --rules=-prefix:example.org/archive/ --delay 2s`

// limits end a crawl before everything is done.
type limits struct {
	rounds          int
	pages           int64
	size            string
	bytes           int64
	time, roundTime time.Duration
	wait            time.Duration
	dueNow          bool
	asOfText        string
	asOf            int64 // ms
	demo            bool  // nobody typed the limits
}

func newCrawl(a *app) *cobra.Command {
	var l limits
	var seeds []string
	c := &cobra.Command{
		Use:     "crawl [SEED...]",
		Short:   "Create or continue a crawl: seeds in, rounds until nothing is due",
		Long:    crawlLong,
		Example: crawlExample,
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&seeds, "seeds", nil,
		"`FILE` of seeds, one \"URL key=value ...\" a line; - is standard input")
	flags.IntVar(&l.rounds, "rounds", 0, "stop after so many rounds")
	flags.Int64Var(&l.pages, "max-pages", 0, "stop after so many URLs were fetched")
	flags.StringVar(&l.size, "max-bytes", "", "stop after so many decoded bytes: 500MiB, 20GiB")
	flags.DurationVar(&l.time, "max-time", 0, "stop after so long")
	flags.DurationVar(&l.roundTime, "round-time", 0,
		"fetching time of this run's rounds (default: the setting round-duration)")
	flags.DurationVar(&l.wait, "wait", 0, "sleep for whatever is due within so long")
	flags.BoolVar(&l.dueNow, "due-now", false, "take all that waits, due or not, once")
	flags.StringVar(&l.asOfText, "as-of", "",
		"choose as if it were that time: 2026-12-31, 2026-12-31T08:00:00Z, +30d")
	set := addSettings(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := l.check(time.Now()); err != nil {
			return err
		}
		return a.crawl(c.Context(), args, seeds, set, l)
	}
	return c
}

// check brings the limits into the form that rounds need.
func (l *limits) check(now time.Time) (err error) {
	if l.rounds < 0 || l.pages < 0 || l.time < 0 || l.roundTime < 0 || l.wait < 0 {
		return usagef("a limit is below 0; leave it out for none")
	}
	if l.roundTime != 0 && l.roundTime < time.Second {
		return usagef("--round-time %v: a round takes at least 1s", l.roundTime)
	}
	if l.size != "" {
		if l.bytes, err = parseBytes(l.size); err != nil {
			return usagef("--max-bytes: %w", err)
		}
	}
	if l.asOfText != "" {
		if l.asOf, err = parseTime(l.asOfText, now); err != nil {
			return usagef("--as-of: %w", err)
		}
		if l.dueNow {
			return usagef("--due-now takes everything, --as-of what is due by then: choose one")
		}
	}
	return nil
}

// parseBytes reads a size as settings do: 500, 64KiB, 5MiB.
func parseBytes(text string) (int64, error) {
	var s settings.Settings
	if err := s.Set("max_body", text); err != nil {
		return 0, errors.Unwrap(err)
	}
	if s.MaxBody <= 0 {
		return 0, fmt.Errorf("%q is no size above 0", text)
	}
	return s.MaxBody, nil
}

// parseTime reads a moment, or a span from now: +30d. It returns ms.
func parseTime(text string, now time.Time) (int64, error) {
	if text[0] == '+' {
		var d settings.Duration
		if err := d.UnmarshalText([]byte(text[1:])); err != nil || d <= 0 {
			return 0, fmt.Errorf("%q is no span such as +12h or +30d", text)
		}
		return now.Add(d.D()).UnixMilli(), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return t.UnixMilli(), nil
		}
	}
	return 0, fmt.Errorf("%q is no time: write 2026-12-31, 2026-12-31T08:00:00Z or +30d", text)
}

// crawl is the verb: everything that can be refused is refused before anything
// is written.
func (a *app) crawl(ctx context.Context, urls, files []string, set *settingFlags, l limits) error {
	seeds, err := a.readSeeds(urls, files)
	if err != nil {
		return err
	}
	defer seeds.close()
	c, done, fresh, err := a.openToCrawl(ctx, seeds.seeds > 0, set)
	if err != nil {
		return err
	}
	defer done()
	current, err := a.putSettings(ctx, c, set, fresh)
	if err != nil {
		return err
	}
	ctx, drain, stop := a.interruptible(ctx)
	defer stop()
	r := &crawler{app: a, crawl: c, limits: l, settings: current, bars: ui.New(a.err),
		began: time.Now()}
	err = a.attached(ctx, c, drain, func(ctx context.Context, conn api.Conn) error {
		r.conn = conn
		return r.run(ctx, seeds)
	})
	r.bars.Clear()
	if errors.Is(err, node.ErrDrained) || errors.Is(err, context.Canceled) {
		return exitError{exitStopped, errors.New("stopped; the same command goes on where it was left")}
	}
	return err
}

// openToCrawl opens the store, creating the crawl if there are seeds for it.
// With a fresh crawl the settings are checked first.
func (a *app) openToCrawl(ctx context.Context, seeds bool, set *settingFlags) (*node.Crawl, func(), bool,
	error) {
	c, done, err := a.open(ctx)
	if err == nil {
		if err := a.free(c.Store); err != nil {
			done()
			return nil, nil, false, err
		}
		return c, done, false, nil
	}
	if exitCode(err) != exitNoCrawl {
		return nil, nil, false, err
	}
	if !seeds {
		return nil, nil, false, err
	}
	s, _, err := set.over(a, settings.Settings{})
	if err != nil {
		return nil, nil, false, err
	}
	if err := contactMissing(s, a.web); err != nil {
		return nil, nil, false, err
	}
	if err := node.CheckFiles(s); err != nil {
		return nil, nil, false, err
	}
	c, done, err = a.openCrawl(ctx, true)
	return c, done, true, err
}

// putSettings makes what is said beside the crawl its newest settings.
func (a *app) putSettings(ctx context.Context, c *node.Crawl, set *settingFlags, fresh bool) (settings.Settings,
	error) {
	version, changed, err := c.ChangeSettings(ctx, func(stored settings.Settings) (settings.Change, error) {
		s, from, err := set.over(a, stored)
		if err != nil {
			return settings.Change{}, err
		}
		return settings.Change{Settings: s, From: from, By: a.user(), At: time.Now().UnixMilli()},
			contactMissing(s, a.web)
	})
	if err != nil {
		return settings.Settings{}, err
	}
	if changed && !fresh {
		fmt.Fprintf(a.err, "settings: version %d from now on; `seine settings history` shows what changed\n",
			version)
	}
	s, err := c.Settings(ctx, version)
	s.Version = version
	return s, err
}

// makeScratch is a folder for files of moments, removed by done.
func makeScratch() (dir string, done func(), err error) {
	dir, err = os.MkdirTemp("", "seine-*")
	if err != nil {
		return "", nil, fmt.Errorf("scratch folder: %w; TMPDIR names another", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}
