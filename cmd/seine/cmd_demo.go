package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
	"seine/cmd/internal/ui"
	"seine/coordinator/api"
	"seine/formats/layout"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/mapper/webtest"
)

const demoLong = `Crawls a small web that is built into this program: some hundred hosts with robots
rules, redirects, errors, traps and duplicates, in memory, without a packet on any
network, in about ten seconds. The crawl stays in ./seine-demo (or --store), with
lines to look at it with. Run again, it goes on with the same crawl.`

const demoExample = `  seine demo
  seine demo --store /tmp/demo`

// demoMark is the file by which a demo knows its own store.
const demoMark = ".seine/demo"

// demoWeb is the built-in web. Slow and silent hosts are met with short
// time-outs, so that the whole fits half a minute.
func demoWeb() *webtest.Web {
	return webtest.New(webtest.Spec{Seed: 27, Domains: 75, Pages: 14, Sigma: 0.8, MaxHost: 90, Links: 5})
}

func demoSettings() settings.Settings {
	return settings.Settings{
		Contact: "https://example.org/demo", Scope: "any",
		Delay:            settings.Duration(20 * time.Millisecond),
		AllowNetwork:     []string{"127.0.0.0/8"},
		FirstByteTimeout: settings.Duration(1500 * time.Millisecond),
		ConnectTimeout:   settings.Duration(1500 * time.Millisecond),
		ExchangeTimeout:  settings.Duration(3 * time.Second),
		RoundDuration:    settings.Duration(5 * time.Second),
		MaxDepth:         12,
	}
}

func newDemo(a *app) *cobra.Command {
	var rounds int
	c := &cobra.Command{
		Use:     "demo",
		Short:   "Crawl a small built-in web, without a network",
		Long:    demoLong,
		Example: demoExample,
		Args:    arguments(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return a.demo(c.Context(), rounds) },
	}
	c.Flags().IntVar(&rounds, "rounds", 0, "stop after so many rounds")
	return c
}

func (a *app) demo(ctx context.Context, rounds int) error {
	if a.store == "" {
		a.store = filepath.Join(".", "seine-demo")
	}
	if err := demoStore(a.store); err != nil {
		return err
	}
	c, done, err := a.openCrawl(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	if err := a.free(c.Store); err != nil {
		return err
	}
	_, _, err = c.ChangeSettings(ctx, func(settings.Settings) (settings.Change, error) {
		return settings.Change{Settings: demoSettings(), By: a.user(), At: time.Now().UnixMilli()}, nil
	})
	if err != nil {
		return err
	}
	web := demoWeb()
	seeds, err := a.readSeeds(web.Seeds(8), nil)
	if err != nil {
		return err
	}
	defer seeds.close()
	a.web = node.Synthetic(web)
	ctx, drain, stop := a.interruptible(ctx)
	defer stop()
	limits := limits{rounds: rounds, time: 22 * time.Second, demo: true}
	r := &crawler{app: a, crawl: c, limits: limits, settings: demoSettings().Fill(),
		bars: ui.New(a.err), began: time.Now()}
	err = a.attached(ctx, c, drain, func(ctx context.Context, conn api.Conn) error {
		r.conn = conn
		return r.run(ctx, seeds)
	})
	r.bars.Clear()
	var coded exitError
	if errors.Is(err, node.ErrDrained) || err != nil && !(errors.As(err, &coded) && coded.code == exitWaiting) {
		return err
	}
	return a.demoLines(ctx, c)
}

// demoStore marks a new folder as a demo's, and refuses one that is not.
func demoStore(root string) error {
	mark := filepath.Join(root, filepath.FromSlash(demoMark))
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return usagef("%s cannot hold the demo: %w; --store names another folder", root, err)
	}
	if len(entries) > 0 {
		return usagef("%s was not made by `seine demo` and is left as it is; --store names an empty "+
			"or new folder", root)
	}
	if err := os.MkdirAll(filepath.Dir(mark), 0o755); err != nil {
		return fmt.Errorf("make the demo's store: %w", err)
	}
	if err := os.WriteFile(mark, []byte("made by seine demo\n"), 0o644); err != nil {
		return fmt.Errorf("make the demo's store: %w", err)
	}
	return nil
}

// demoLines prints commands that can be pasted as they stand.
func (a *app) demoLines(ctx context.Context, c *node.Crawl) error {
	picked, err := demoPicks(ctx, c)
	if err != nil {
		return err
	}
	store, seine := "--store "+c.Store.Root, "  "+a.called+" "
	lines := []string{
		"", "Look at it:",
		seine + "status " + store,
		seine + "query " + store + ` "SELECT reason, count(*) AS urls FROM fetches WHERE kind = 'page' ` +
			`GROUP BY 1 ORDER BY 2 DESC"`,
		seine + "inspect " + store + " pages --limit 5",
	}
	if picked.fetched != "" {
		lines = append(lines, seine+"url "+store+" "+picked.fetched,
			seine+"page "+store+" --text "+picked.fetched)
	}
	if picked.refused != "" {
		lines = append(lines, seine+"explain "+store+" "+picked.refused)
	}
	lines = append(lines, seine+"check "+store)
	for _, line := range lines {
		if _, err := fmt.Fprintln(a.out, line); err != nil {
			return err
		}
	}
	return nil
}

type demoPick struct{ fetched, refused string }

// demoPicks finds a page that was fetched and a URL that robots.txt forbids.
func demoPicks(ctx context.Context, c *node.Crawl) (demoPick, error) {
	var p demoPick
	head, err := c.Head(ctx)
	if err != nil {
		return p, err
	}
	errEnough := errors.New("enough")
	err = node.ScanURLs(ctx, c, head, layout.All, []string{"reason", "crawl_status", "html_blob_path"},
		func(row *schema.URL) error {
			switch {
			case row.Reason == schema.OK && row.BlobPath != "" && p.fetched == "":
				p.fetched = row.URL
			case row.Reason == schema.RobotsDenied && p.refused == "":
				p.refused = row.URL
			}
			if p.fetched != "" && p.refused != "" {
				return errEnough
			}
			return nil
		})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return p, err
}
