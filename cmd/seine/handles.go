package main

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"seine/cmd/internal/node"
	"seine/coordinator/api"
	"seine/formats/settings"
)

// user names who typed the command, for what is kept of it: user@machine.
func (a *app) user() string {
	name := a.env("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		return name
	}
	return name + "@" + host
}

// putVersion puts the settings that change makes of the newest version and tells
// the process that works on the crawl. It needs none: the next one reads them.
func (a *app) putVersion(ctx context.Context, c *node.Crawl,
	change func(*settings.Settings) (from map[string]string, err error)) (before, after settings.Settings,
	err error) {
	version, _, err := c.ChangeSettings(ctx, func(newest settings.Settings) (settings.Change, error) {
		before = newest
		s := newest
		s.Blocks = slices.Clone(newest.Blocks)
		from, err := change(&s)
		if err == nil {
			if err = s.Fill().ValidateAfter(newest.Fill()); err != nil {
				err = usagef("%w; `seine settings --help` lists them, with their defaults", err)
			}
		}
		return settings.Change{Settings: s, From: from, By: a.user(), At: nowMS()}, err
	})
	if err != nil {
		return before, after, err
	}
	if after, err = c.StoredSettings(ctx, version); err != nil {
		return before, after, err
	}
	return before, after, a.heed(ctx, c, version)
}

// heedTime is how long a coordinator has to hear of a new version: after that
// the person is told that it will find the version by itself.
const heedTime = 5 * time.Second

// heed tells the running coordinator, if there is one, of a version.
func (a *app) heed(ctx context.Context, c *node.Crawl, version uint64) error {
	conn, running, err := a.connect(c.Store.Root)
	if err != nil || !running {
		return err
	}
	telling, cancel := context.WithTimeout(ctx, heedTime)
	defer cancel()
	if err := conn.Heed(telling, api.Settings{Version: version}); err != nil {
		if a.coordinator != "" {
			return fmt.Errorf("version %d is kept, but the coordinator was not told: %w", version, err)
		}
		// It may be ending just now; while a round fetches it looks every second.
		fmt.Fprintf(a.err, "version %d is kept; the process that has the store was not told: %v\n", version,
			err)
	}
	return nil
}

func findBlock(blocks []settings.Block, what string) (settings.Block, bool) {
	i := slices.IndexFunc(blocks, func(b settings.Block) bool { return b.What == what })
	if i < 0 {
		return settings.Block{}, false
	}
	return blocks[i], true
}

// blockText says what is blocked, until when, why, by whom.
func blockText(b settings.Block, now time.Time) string {
	var until string
	switch {
	case b.Until == 0:
	case b.Holds(now.UnixMilli()):
		until = " until " + clock(b.Until, now)
	default:
		until = " (expired at " + clock(b.Until, now) + ")"
	}
	return fmt.Sprintf("%s%s since %s by %s: %s", b.What, until, clock(b.At, now), b.By, oneLine(b.Reason))
}

// pauseText says what is paused, since when, by whom, why.
func pauseText(p *settings.Pause, now time.Time) string {
	what := "paused"
	if p.Round != 0 {
		what = fmt.Sprintf("round %d is paused", p.Round)
	}
	text := fmt.Sprintf("%s since %s by %s", what, clock(p.At, now), p.By)
	if reason := strings.TrimSpace(p.Reason); reason != "" {
		text += ": " + oneLine(reason)
	}
	return text
}
