package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"seine/formats/settings"
)

func newSettingsSet(a *app) *cobra.Command {
	var config string
	c := &cobra.Command{
		Use:   "set KEY=VALUE...",
		Short: "Put a new version with these values",
		Long: "Puts a new version of the settings, whole or not at all: values that contradict each\n" +
			"other are refused. A list is separated by commas; rules=... may be repeated and is taken\n" +
			"as it stands, in order, in place of the rules before. A rule -file:PATH names a list of\n" +
			"domains (with all below them) and host:NAME lines, up to millions; it is read now and kept\n" +
			"with the crawl, so set the rules again when the file has changed. sheets=PATH names a file\n" +
			"of what is set otherwise for a domain, host or prefix, up to a million: CSV, YAML or\n" +
			"Parquet with a column for and some of delay, crawl_delay_cap, pages_round, pages_day,\n" +
			"max_outstanding, max_depth, interval_first, interval_min, interval_max, boost, types,\n" +
			"follow, embeds, max_body, agent, headers. A trusted site is a sheet with a boost (-1 to 1,\n" +
			"added to the priority): \"for,boost\" and below it \"example.org,0.3\". --config FILE reads\n" +
			"YAML first.",
		Example: "  seine settings set delay=5s\n" +
			"  seine settings set rules=-prefix:example.org/archive/ rules=+domain:example.org\n" +
			"  seine settings set rules=-file:unwanted.txt\n" +
			"  seine settings set sheets=sheets.csv\n" +
			"  seine settings set --config new.yaml",
		RunE: func(c *cobra.Command, args []string) error {
			return a.setSettings(c.Context(), args, config)
		},
	}
	c.Flags().StringVar(&config, "config", "", "YAML `FILE` of settings")
	return c
}

func newSettingsUnset(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "unset KEY...", Short: "Put a new version with the defaults of these",
		Example: "  seine settings unset delay bandwidth", Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.changeSettings(c.Context(), func(s *settings.Settings) (map[string]string, error) {
				for _, name := range args {
					if err := s.Unset(name); err != nil {
						return nil, usage(err)
					}
				}
				return nil, nil
			})
		},
	}
}

func newSettingsDiff(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "diff V1 [V2]", Short: "Print what leads from one version to another (default: the newest)",
		Example: "  seine settings diff 1 3", Args: arguments(cobra.RangeArgs(1, 2)),
		RunE: func(c *cobra.Command, args []string) error { return a.diffSettings(c.Context(), args) },
	}
}

func (a *app) setSettings(ctx context.Context, args []string, config string) error {
	if len(args) == 0 && config == "" {
		return usagef("nothing to set: write KEY=VALUE, such as delay=2s; `seine settings --help` lists the keys")
	}
	var text []byte
	if config != "" {
		var err error
		if text, err = os.ReadFile(config); err != nil {
			return usagef("settings: %w; --config names a readable YAML file", err)
		}
	}
	return a.changeSettings(ctx, func(s *settings.Settings) (map[string]string, error) {
		from := map[string]string{}
		parsed, err := settings.Parse(withoutStore(text), *s)
		if err != nil {
			return nil, usagef("%s: %w", config, err)
		}
		for _, name := range settings.Differing(*s, parsed) {
			from[name] = config
		}
		*s = parsed
		return from, assign(s, args, from)
	})
}

// assign reads KEY=VALUE arguments. A rule may hold commas, so that rules are one
// an argument.
func assign(s *settings.Settings, args []string, from map[string]string) error {
	var rules []string
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			return usagef("%q is no KEY=VALUE", arg)
		}
		name = strings.ReplaceAll(strings.TrimSpace(name), "-", "_")
		if name == "rules" {
			rules = append(rules, value)
			s.SetRules(rules)
		} else if err := s.Set(name, value); err != nil {
			return usage(err)
		}
		from[name] = "settings set"
	}
	return nil
}

// changeSettings puts a new version, tells whoever works on the crawl, and says
// so.
func (a *app) changeSettings(ctx context.Context,
	change func(*settings.Settings) (from map[string]string, err error)) error {
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	before, after, err := a.putVersion(ctx, c, change)
	if err != nil {
		return err
	}
	if before.Version == after.Version {
		if a.json {
			return a.printJSON(map[string]any{"version": after.Version, "changed": false})
		}
		_, err := fmt.Fprintf(a.out, "version %d says so already\n", after.Version)
		return err
	}
	return a.tellChange(before, after)
}

func (a *app) tellChange(before, after settings.Settings) error {
	lines, err := changes(before, after)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"version": after.Version, "changed": true, "changes": lines})
	}
	fmt.Fprintf(a.out, "version %d\n", after.Version)
	for _, line := range lines {
		fmt.Fprintln(a.out, "  "+line)
	}
	return nil
}

func (a *app) diffSettings(ctx context.Context, args []string) error {
	var numbers [2]uint64
	for i, arg := range args {
		n, err := strconv.ParseUint(arg, 10, 64)
		if err != nil || n == 0 {
			return usagef("%q is no version; `seine settings history` lists them", arg)
		}
		numbers[i] = n
	}
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	from, err := stored(ctx, c, numbers[0])
	if err != nil {
		return err
	}
	to, err := stored(ctx, c, numbers[1])
	if err != nil {
		return err
	}
	lines, err := changes(from, to)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"from": from.Version, "to": to.Version, "changes": lines})
	}
	for _, line := range lines {
		fmt.Fprintln(a.out, line)
	}
	if len(lines) == 0 {
		fmt.Fprintf(a.out, "versions %d and %d say the same\n", from.Version, to.Version)
	}
	return nil
}

// nowMS is the time that is noted in what a person puts.
func nowMS() int64 { return time.Now().UnixMilli() }
