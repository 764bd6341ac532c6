package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"seine/formats/settings"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// ours are the verbs whose help these tests keep.
var ours = []string{"crawl", "demo", "status", "inject", "requeue", "snapshot", "prune", "df", "seeds", "migrate", "round", "url", "page", "host", "domain", "explain",
	"robots", "normalize", "parse", "settings", "block", "unblock", "blocks", "pause", "resume", "member", "takeover"}

func commands(c *cobra.Command) (all []*cobra.Command) {
	for _, sub := range c.Commands() {
		all = append(append(all, sub), commands(sub)...)
	}
	return all
}

func TestHelpIsKept(t *testing.T) {
	for _, verb := range ours {
		t.Run(verb, func(t *testing.T) {
			r := line{}.run(t, verb, "--help").must(t, exitOK)
			golden(t, filepath.Join("help", verb+".txt"), r.out)
		})
	}
	round := ""
	for _, verb := range []string{"submit", "list", "show", "watch", "cancel", "rerun", "commit"} {
		round += line{}.run(t, "round", verb, "--help").must(t, exitOK).out + "\n"
	}
	golden(t, filepath.Join("help", "round-verbs.txt"), round)
}

func TestEveryVerbHasHelpAndExamples(t *testing.T) {
	root := newRoot(&app{in: &bytes.Buffer{}, out: &bytes.Buffer{}, err: &bytes.Buffer{}})
	for _, c := range commands(root) {
		if c.Name() == "help" || c.Name() == "completion" || c.Parent().Name() == "completion" {
			continue
		}
		if c.Short == "" || c.Example == "" || !strings.Contains(c.Example, "seine "+strings.Fields(
			strings.TrimPrefix(c.CommandPath(), "seine "))[0]) {
			t.Errorf("%s: short help %q, examples %q", c.CommandPath(), c.Short, c.Example)
		}
		for text := range strings.Lines(c.Long) {
			if len([]rune(strings.TrimRight(text, "\n"))) > 100 && c.Name() != "settings" {
				t.Errorf("%s: a line of its help is longer than 100: %q", c.CommandPath(), text)
			}
		}
	}
}

func TestHelpListsExitCodes(t *testing.T) {
	out := line{}.run(t, "help").must(t, exitOK).out
	for code := range 9 {
		if !strings.Contains(out, "\n  "+string(rune('0'+code))+"  ") {
			t.Errorf("exit code %d is not in the help:\n%s", code, out)
		}
	}
}

func TestEverySettingIsAFlagWithHelp(t *testing.T) {
	crawl := newCrawl(&app{})
	for _, k := range settings.Keys() {
		f := crawl.Flags().Lookup(flagName(k.Name))
		if f == nil || settingMeans[k.Name] == "" {
			t.Errorf("setting %s has no flag or no help", k.Name)
		}
	}
	for name := range settingMeans {
		var s settings.Settings
		if err := s.Set(name, "1"); err != nil && strings.Contains(err.Error(), "is no setting") {
			t.Errorf("help for %s, which is no setting", name)
		}
	}
}
