package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seine/formats/crawl"
	"seine/formats/weburl"
	"seine/mapper/webtest"
)

// file writes a file into a new folder.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBadInput: a clear error that names the next step, a documented code, and
// nothing written.
func TestBadInput(t *testing.T) {
	web := webtest.New(webtest.Spec{Seed: 5, Domains: 2, Pages: 3, Plain: true})
	seed := web.Seeds(1)[0]
	tests := []struct {
		name string
		args []string
		env  []string
		in   string
		code int
		says []string
	}{
		{name: "no crawl and no seed", args: []string{"crawl"}, code: exitNoCrawl,
			says: []string{"there is no store", "seine crawl SEED"}},
		{name: "seed without scheme", args: []string{"crawl", "example.org"}, code: exitUsage,
			says: []string{`"example.org"`, "https://example.org/"}},
		{name: "seed of another scheme", args: []string{"crawl", "mailto:a@b.test"}, code: exitUsage,
			says: []string{`scheme "mailto" is not crawled`}},
		{name: "seed with credentials is not shown", args: []string{"crawl", "ht!tp://me:secret@x/"},
			code: exitUsage, says: []string{"write a URL"}},
		{name: "seeds file that is not there", args: []string{"crawl", "--seeds", "/nonexistent/seeds"},
			code: exitUsage, says: []string{"no such file", "readable text file"}},
		{name: "seeds file that is a folder", args: []string{"crawl", "--seeds", t.TempDir()},
			code: exitUsage, says: []string{"is a directory", "nothing was injected"}},
		{name: "binary seeds file", args: []string{"crawl", "--seeds", file(t, "s.gz", "\x1f\x8b\x08\x00\xff\xfe")},
			code: exitUsage, says: []string{"line 1 is no text", "unpacked", "nothing was injected"}},
		{name: "empty seeds file", args: []string{"crawl", "--seeds", file(t, "s", "# nothing\n\n")},
			code: exitUsage, says: []string{"holds no URL"}},
		{name: "bad lines are told with their numbers", code: exitUsage,
			args: []string{"crawl", "--seeds", file(t, "s", seed+"\nfoo\n"+seed+" priority=7\n"+seed+" word\n")},
			says: []string{"line 2:", "line 3:", "priority", "line 4:", "nothing was injected"}},
		{name: "bad seed from standard input", args: []string{"crawl", "--seeds", "-"}, in: "nothing\n",
			code: exitUsage, says: []string{"line 1:"}},
		{name: "unknown setting in a file", code: exitUsage,
			args: []string{"crawl", seed, "--config", file(t, "c.yaml", "store: x\nscope: any\nspeed: 9\n")},
			says: []string{"c.yaml", "line 3", "speed", "settings --help"}},
		{name: "setting of the wrong kind", code: exitUsage,
			args: []string{"crawl", seed, "--config", file(t, "c.yaml", "top_n: many\n")}, says: []string{"line 1"}},
		{name: "settings file that is not there", args: []string{"crawl", seed, "--config", "/nonexistent/c"},
			code: exitUsage, says: []string{"--config"}},
		{name: "unknown flag", args: []string{"crawl", seed, "--speed", "9"}, code: exitUsage,
			says: []string{"--speed", "seine crawl --help"}},
		{name: "setting out of range", args: []string{"crawl", seed, "--retries", "9", "--max-body", "1"},
			code: exitUsage, says: []string{"retries: 9 is outside 0 to 3", "max_body", "settings --help"}},
		{name: "flag that is no duration", args: []string{"crawl", seed, "--delay", "soon"}, code: exitUsage,
			says: []string{"--delay"}},
		{name: "variable out of range", args: []string{"crawl", seed}, env: []string{"SEINE_SCOPE=galaxy"},
			code: exitUsage, says: []string{"scope", "galaxy"}},
		{name: "variable of the wrong kind", args: []string{"crawl", seed}, env: []string{"SEINE_DELAY=soon"},
			code: exitUsage, says: []string{"SEINE_DELAY"}},
		{name: "limit below zero", args: []string{"crawl", seed, "--rounds", "-1"}, code: exitUsage,
			says: []string{"below 0"}},
		{name: "size that is none", args: []string{"crawl", seed, "--max-bytes", "lots"}, code: exitUsage,
			says: []string{"--max-bytes", "5MiB"}},
		{name: "time that is none", args: []string{"crawl", seed, "--as-of", "tomorrow"}, code: exitUsage,
			says: []string{"--as-of", "+30d"}},
		{name: "both ways of choosing", args: []string{"crawl", seed, "--as-of", "+1d", "--due-now"}, code: exitUsage,
			says: []string{"choose one"}},
		{name: "unknown verb", args: []string{"crowl"}, code: exitUsage, says: []string{"crowl"}},
		{name: "inject without a crawl", args: []string{"inject", seed}, code: exitNoCrawl,
			says: []string{"seine crawl SEED"}},
		{name: "status without a crawl", args: []string{"status"}, code: exitNoCrawl, says: []string{"--store"}},
		{name: "explain without a URL", args: []string{"explain"}, code: exitUsage, says: []string{"accepts 1 arg"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "crawl")
			r := line{web: web, environ: test.env, in: test.in}.run(t, append(test.args, "--store", store)...)
			if r.code != test.code {
				t.Errorf("exit code %d, want %d", r.code, test.code)
			}
			for _, want := range test.says {
				if !strings.Contains(r.err, want) {
					t.Errorf("the error does not say %q:\n%s", want, r.err)
				}
			}
			if strings.Contains(r.err, "secret") {
				t.Errorf("the error shows a password: %s", r.err)
			}
			if _, err := os.Stat(store); err == nil {
				t.Error("something was written")
			}
		})
	}
}

func TestPublicSeedsNeedAContact(t *testing.T) {
	store := filepath.Join(t.TempDir(), "crawl")
	r := line{}.run(t, "crawl", "--store", store, "https://example.org/").must(t, exitUsage)
	if !strings.Contains(r.err, "  --contact you@example.org") {
		t.Errorf("the line to type is not there:\n%s", r.err)
	}
	if _, err := os.Stat(store); err == nil {
		t.Error("a store was made")
	}
}

func TestFoldersOfOthersAreLeftAlone(t *testing.T) {
	web := webtest.New(webtest.Spec{Seed: 5, Domains: 2, Pages: 3, Plain: true})
	store := filepath.Dir(file(t, "thesis.txt", "years of work"))
	for _, args := range [][]string{crawlArgs(store, web.Seeds(1)), {"demo", "--store", store}} {
		r := line{web: web}.run(t, args...)
		if r.code == exitOK || !strings.Contains(r.err, "--store") {
			t.Errorf("%s: exit code %d\n%s", args[0], r.code, r.err)
		}
	}
	entries, err := os.ReadDir(store)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v)", entries, err)
	}
	line{}.run(t, "status", "--store", store).must(t, exitNoCrawl)
}

func TestStoreOfANewerSeine(t *testing.T) {
	web := webtest.New(webtest.Spec{Seed: 5, Domains: 2, Pages: 3, Plain: true})
	c := crawl.New(weburl.EmbeddedSuffixes(), 1)
	c.Format++
	b, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Dir(file(t, "crawl", string(b)))
	for _, args := range [][]string{crawlArgs(store, web.Seeds(1)), {"status", "--store", store}} {
		r := line{web: web}.run(t, args...).must(t, exitFailed)
		if !strings.Contains(r.err, "newer seine") {
			t.Errorf("%s: %s", args[0], r.err)
		}
	}
}

func TestSettingsOfALaterRun(t *testing.T) {
	web := webtest.New(webtest.Spec{Seed: 5, Domains: 2, Pages: 3, Plain: true})
	store := filepath.Join(t.TempDir(), "crawl")
	config := file(t, "c.yaml", "top_n: 77\nretries: 2\nrules: ['-regexp:\\.a,b$']\n")
	line{web: web, environ: []string{"SEINE_RETRIES=1"}}.run(t, crawlArgs(store, web.Seeds(1), "--config", config,
		"--rules", "-regexp:x{1,2}$", "--rules", "-prefix:a.test/b")...).must(t, exitOK)
	show := line{}.run(t, "settings", "show", "--store", store).must(t, exitOK).out
	for _, want := range []string{"* top_n                77", "* retries              1",
		`* rules                -regexp:x{1,2}$, -prefix:a.test/b`, "  max_depth            20"} {
		if !strings.Contains(show, want) {
			t.Errorf("settings do not show %q:\n%s", want, show)
		}
	}
	r := line{web: web}.run(t, crawlArgs(store, nil, "--delay", "20ms")...).must(t, exitOK)
	if !strings.Contains(r.err, "settings: version 2") {
		t.Errorf("a new version is not told:\n%s", r.err)
	}
	history := line{}.run(t, "settings", "history", "--store", store).must(t, exitOK).out
	if !strings.Contains(history, "delay: 20ms, was 10ms") || strings.Contains(history, "top_n: the default") {
		t.Errorf("history:\n%s", history)
	}
	line{}.run(t, "settings", "show", "--store", store, "--version", "9").must(t, exitNoCrawl)
}
