package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"seine/formats/settings"
)

const settingsExample = `  seine settings show
  seine settings history
  seine crawl --delay 2s                     # changes one: a new version`

func newSettings(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "settings", Short: "Show a crawl's settings", Long: settingsLong(), Example: settingsExample,
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.showSettings(c.Context(), 0) },
	}
	var version uint64
	show := &cobra.Command{
		Use: "show", Short: "Print all settings; * marks what is not the default",
		Example: "  seine settings show\n  seine settings show --version 1",
		Args:    arguments(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return a.showSettings(c.Context(), version) },
	}
	show.Flags().Uint64Var(&version, "version", 0, "this version (default: the newest)")
	history := &cobra.Command{
		Use: "history", Short: "Print what each version changed", Example: "  seine settings history",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.settingsHistory(c.Context()) },
	}
	c.AddCommand(show, history)
	return c
}

func settingsLong() string {
	var b strings.Builder
	b.WriteString("Settings are kept with the crawl as versions; a round names the one it used. They are\n" +
		"set by flags of `seine crawl`, SEINE_NAME variables, or YAML (seine.yaml, --config):\n\n")
	defaults := defaultTexts()
	for _, k := range settings.Keys() {
		text := settingMeans[k.Name]
		if d := defaults[k.Name]; d != "" {
			text += " (" + d + ")"
		}
		fmt.Fprintf(&b, "  %-20s %-8s %s\n", k.Name, k.Kind, text)
	}
	return strings.TrimRight(b.String(), "\n")
}

// values are the settings that a version sets, by name.
func values(s settings.Settings) (map[string]any, error) {
	b, err := s.Encode()
	if err != nil {
		return nil, err
	}
	m := map[string]any{}
	err = json.Unmarshal(b, &m)
	return m, err
}

func (a *app) showSettings(ctx context.Context, version uint64) error {
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	newest, err := c.NewestSettings(ctx)
	if err != nil {
		return err
	}
	if version > newest {
		return absentf("there is no version %d of the settings; the newest is %d", version, newest)
	}
	if version == 0 {
		version = newest
	}
	stored, err := c.StoredSettings(ctx, version)
	if err != nil {
		return err
	}
	filled := stored.Fill()
	filled.Version = version
	if a.json {
		return a.printJSON(filled)
	}
	set, err := values(stored)
	if err != nil {
		return err
	}
	all, err := values(filled)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "version %d\n", version)
	for _, k := range settings.Keys() {
		mark := " "
		if _, ok := set[k.Name]; ok {
			mark = "*"
		}
		if v, ok := all[k.Name]; ok {
			fmt.Fprintf(a.out, "%s %-20s %s\n", mark, k.Name, valueText(v))
		}
	}
	return nil
}

func valueText(v any) string {
	switch v := v.(type) {
	case []any:
		var parts []string
		for _, x := range v {
			parts = append(parts, fmt.Sprint(x))
		}
		return strings.Join(parts, ", ")
	case float64:
		return fmt.Sprintf("%.15g", v)
	}
	return fmt.Sprint(v)
}

func (a *app) settingsHistory(ctx context.Context) error {
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	newest, err := c.NewestSettings(ctx)
	if err != nil {
		return err
	}
	before := map[string]any{}
	for v := uint64(1); v <= newest; v++ {
		s, err := c.StoredSettings(ctx, v)
		if err != nil {
			return err
		}
		now, err := values(s)
		if err != nil {
			return err
		}
		delete(now, "version")
		if a.json {
			if err := a.printJSON(map[string]any{"version": v, "settings": now}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(a.out, "version %d\n", v)
		for _, line := range changes(before, now) {
			fmt.Fprintln(a.out, "  "+line)
		}
		before = now
	}
	if newest == 0 {
		fmt.Fprintln(a.out, "no settings were put: all are defaults")
	}
	return nil
}

func changes(before, now map[string]any) (lines []string) {
	for name, v := range now {
		old, had := before[name]
		switch {
		case !had:
			lines = append(lines, fmt.Sprintf("%s: %s", name, valueText(v)))
		case valueText(old) != valueText(v):
			lines = append(lines, fmt.Sprintf("%s: %s, was %s", name, valueText(v), valueText(old)))
		}
	}
	for name := range before {
		if _, has := now[name]; !has {
			lines = append(lines, name+": the default again")
		}
	}
	slices.Sort(lines)
	return lines
}
