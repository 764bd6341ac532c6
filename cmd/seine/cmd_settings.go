package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
	"seine/formats/settings"
)

const settingsExample = `  seine settings show
  seine settings set delay=2s bandwidth=2MiB   # a new version, also while it runs
  seine settings unset delay
  seine settings diff 1 3
  seine settings history`

func newSettings(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "settings", Short: "Show and change a crawl's settings", Long: settingsLong(),
		Example: settingsExample, Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.showSettings(c.Context(), 0) },
	}
	var version uint64
	show := &cobra.Command{
		Use: "show", Short: "Print all settings and where each comes from; * marks what is not the default",
		Example: "  seine settings show\n  seine settings show --version 1",
		Args:    arguments(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return a.showSettings(c.Context(), version) },
	}
	show.Flags().Uint64Var(&version, "version", 0, "this version (default: the newest)")
	history := &cobra.Command{
		Use: "history", Short: "Print what each version changed, who put it and when",
		Example: "  seine settings history", Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.settingsHistory(c.Context()) },
	}
	c.AddCommand(show, newSettingsSet(a), newSettingsUnset(a), newSettingsDiff(a), history)
	return c
}

func settingsLong() string {
	var b strings.Builder
	b.WriteString("Settings are kept with the crawl as versions; a round names the one it used. They are\n" +
		"set by `seine settings set`, by flags of `seine crawl`, SEINE_NAME variables, or YAML\n" +
		"(seine.yaml, --config). The next round takes a change; a longer delay and the caps on\n" +
		"bandwidth, like blocks and pauses, reach what runs within seconds:\n\n")
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
	s.By, s.At, s.Origins, s.Blocks, s.Paused, s.Files, s.Terms = "", 0, nil, nil, nil, nil, nil
	b, err := s.Encode()
	if err != nil {
		return nil, err
	}
	m := map[string]any{}
	err = json.Unmarshal(b, &m)
	delete(m, "version")
	return m, err
}

// stored opens a version of the settings; 0 is the newest.
func stored(ctx context.Context, c *node.Crawl, version uint64) (settings.Settings, error) {
	newest, err := c.NewestSettings(ctx)
	if err != nil {
		return settings.Settings{}, err
	}
	if version > newest {
		return settings.Settings{}, absentf("there is no version %d of the settings; the newest is %d", version,
			newest)
	}
	if version == 0 {
		version = newest
	}
	s, err := c.StoredSettings(ctx, version)
	s.Version = version
	return s, err
}

func (a *app) showSettings(ctx context.Context, version uint64) error {
	c, done, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	s, err := stored(ctx, c, version)
	if err != nil {
		return err
	}
	filled := s.Fill()
	if a.json {
		return a.printJSON(filled)
	}
	set, err := values(s)
	if err != nil {
		return err
	}
	all, err := values(filled)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.out, versionLine(s))
	for _, k := range settings.Keys() {
		v, ok := all[k.Name]
		if !ok {
			continue
		}
		mark, origin := " ", "default"
		if _, ok := set[k.Name]; ok {
			mark, origin = "*", originText(s.Origins[k.Name])
		}
		fmt.Fprintf(a.out, "%s %-20s %-30s %s\n", mark, k.Name, valueText(v), origin)
	}
	for _, name := range s.FileNames() {
		fmt.Fprintf(a.out, "  %s: %s\n", name, s.Files[name])
	}
	now := time.Now()
	for _, b := range s.Blocks {
		fmt.Fprintln(a.out, "! "+blockText(b, now))
	}
	if s.Paused != nil {
		fmt.Fprintln(a.out, "! "+pauseText(s.Paused, now))
	}
	return nil
}

// versionLine says which version it is, and who put it.
func versionLine(s settings.Settings) string {
	if s.Version == 0 {
		return "no settings were put: all are defaults"
	}
	line := fmt.Sprintf("version %d", s.Version)
	if s.At != 0 {
		line += fmt.Sprintf("  %s by %s", time.UnixMilli(s.At).UTC().Format("2006-01-02 15:04:05Z"), s.By)
	}
	return line
}

func originText(o settings.Origin) string {
	switch {
	case o.Version == 0:
		return "set" // by a build that did not note it
	case o.From == "":
		return fmt.Sprintf("version %d", o.Version)
	}
	return fmt.Sprintf("version %d, %s", o.Version, o.From)
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
	var before settings.Settings
	for v := uint64(1); v <= newest; v++ {
		s, err := c.StoredSettings(ctx, v)
		if err != nil {
			return err
		}
		s.Version = v
		if err := a.tellVersion(before, s); err != nil {
			return err
		}
		before = s
	}
	if newest == 0 {
		fmt.Fprintln(a.out, "no settings were put: all are defaults")
	}
	return nil
}

func (a *app) tellVersion(before, s settings.Settings) error {
	if a.json {
		now, err := values(s)
		if err != nil {
			return err
		}
		return a.printJSON(map[string]any{"version": s.Version, "by": s.By, "at": s.At, "settings": now,
			"blocks": s.Blocks, "paused": s.Paused, "files": s.Files})
	}
	lines, err := changes(before, s)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.out, versionLine(s))
	for _, line := range lines {
		fmt.Fprintln(a.out, "  "+line)
	}
	return nil
}

// changes are the lines that lead from one version to another.
func changes(from, to settings.Settings) (lines []string, err error) {
	before, err := values(from)
	if err != nil {
		return nil, err
	}
	now, err := values(to)
	if err != nil {
		return nil, err
	}
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
	lines = append(lines, settings.FileChanges(from, to)...)
	lines = append(lines, termChanges(from.Terms, to.Terms)...)
	return append(lines, handleChanges(from, to)...), nil
}

// handleChanges say what was blocked, unblocked, paused or resumed.
func handleChanges(from, to settings.Settings) (lines []string) {
	now := time.UnixMilli(to.At)
	for _, b := range to.Blocks {
		if !slices.Contains(from.Blocks, b) {
			lines = append(lines, "blocked "+blockText(b, now))
		}
	}
	for _, b := range from.Blocks {
		if _, still := findBlock(to.Blocks, b.What); !still {
			lines = append(lines, "unblocked "+b.What)
		}
	}
	switch {
	case to.Paused != nil && (from.Paused == nil || *from.Paused != *to.Paused):
		lines = append(lines, pauseText(to.Paused, now))
	case to.Paused == nil && from.Paused != nil:
		lines = append(lines, "resumed")
	}
	return lines
}
