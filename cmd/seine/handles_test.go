package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"seine/formats/layout"
	"seine/formats/schema"
	"seine/mapper/webtest"
)

// aCrawl is a store whose crawl knows its seeds and nothing else: a web of plain
// hosts.
func aCrawl(t *testing.T, more ...string) (web *webtest.Web, store string) {
	t.Helper()
	web = webtest.New(webtest.Spec{Seed: 5, Domains: 3, Pages: 5, MaxHost: 8, Plain: true})
	store = filepath.Join(t.TempDir(), "crawl")
	args := append([]string{"--rounds", "1", "--top-n", "1"}, more...)
	line{web: web}.run(t, crawlArgs(store, web.Seeds(3), args...)...).must(t, exitWaiting)
	return web, store
}

func TestSettingsVerbs(t *testing.T) {
	_, store := aCrawl(t)
	for _, test := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"set", []string{"set", "delay=2s", "max-body=1MiB"}, exitOK,
			[]string{"version 2", "delay: 2s, was 10ms", "max_body: 1048576"}},
		{"the same again", []string{"set", "delay=2s"}, exitOK, []string{"version 2 says so already"}},
		{"rules may hold commas", []string{"set", `rules=-regexp:a{1,2}$`, "rules=+domain:b.test"}, exitOK,
			[]string{"version 3", `rules: -regexp:a{1,2}$, +domain:b.test`}},
		{"unset", []string{"unset", "max_body"}, exitOK, []string{"max_body: the default again"}},
		{"from a file", []string{"set", "--config", file(t, "n.yaml", "delay: 3s\n"), "retries=1"}, exitOK,
			[]string{"delay: 3s, was 2s", "retries: 1"}},
		{"show says where values come from", []string{"show"}, exitOK, []string{"version 5", " by ",
			"version 5, settings set", "n.yaml", "version 1, --scope", "default"}},
		{"show an older one", []string{"show", "--version", "1"}, exitOK, []string{"delay                10ms"}},
		{"diff", []string{"diff", "1", "2"}, exitOK, []string{"delay: 2s, was 10ms"}},
		{"diff to the newest", []string{"diff", "4"}, exitOK, []string{"delay: 3s, was 2s"}},
		{"diff of one", []string{"diff", "2", "2"}, exitOK, []string{"say the same"}},
		{"history", []string{"history"}, exitOK, []string{"version 2", "max_body: the default again"}},
		{"nothing", []string{"set"}, exitUsage, []string{"KEY=VALUE"}},
		{"no value", []string{"set", "delay"}, exitUsage, []string{`"delay" is no KEY=VALUE`}},
		{"unknown key", []string{"set", "speed=9"}, exitUsage, []string{"speed is no setting"}},
		{"unset an unknown key", []string{"unset", "speed"}, exitUsage, []string{"speed is no setting"}},
		{"unset what verbs put", []string{"unset", "blocks"}, exitUsage, []string{"blocks is no setting"}},
		{"out of range", []string{"set", "delay=2d"}, exitUsage, []string{"delay", "outside"}},
		{"contradiction", []string{"set", "interval_min=9d", "interval_max=1h"}, exitUsage,
			[]string{"interval_min", "is above interval_max"}},
		{"caps that contradict", []string{"set", "bandwidth=100KiB", "domain_bandwidth=1MiB"}, exitUsage,
			[]string{"domain_bandwidth", "above bandwidth"}},
		{"a cap below the minimum rate", []string{"set", "bandwidth=100"}, exitUsage,
			[]string{"below min_rate"}},
		{"zero for a default", []string{"set", "retries=0"}, exitUsage, []string{"retries: 0 stands for the default, 3"}},
		{"zero for a span", []string{"set", "retention=0"}, exitUsage, []string{"retention: 0 stands for the default, 720h"}},
		{"zero where it says something", []string{"set", "keep_links=0", "pages_day=0"}, exitOK, []string{"says so already"}},
		{"retention within the grace", []string{"set", "retention=1h"}, exitUsage, []string{"retention", "outside 24h"}},
		{"retention that prune is too seldom for", []string{"set", "prune_every=9d", "keep_links=2d"}, exitUsage,
			[]string{"prune_every", "above keep_links"}},
		{"a rule of no kind", []string{"set", "rules=-site:b.test"}, exitUsage, []string{"site"}},
		{"a file that is not there", []string{"set", "--config", "/nonexistent"}, exitUsage, []string{"readable"}},
		{"a version that is not there", []string{"diff", "1", "99"}, exitNoCrawl, []string{"no version 99"}},
		{"no version", []string{"diff", "one"}, exitUsage, []string{`"one" is no version`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := line{}.run(t, append(append([]string{"settings"}, test.args...), "--store", store)...).
				must(t, test.code)
			for _, want := range test.says {
				if !strings.Contains(r.out+r.err, want) {
					t.Errorf("it does not say %q:\n%s%s", want, r.out, r.err)
				}
			}
		})
	}
}

// TestBlockWithoutACrawl: a block that is put while nothing runs holds in the
// rounds that come; lifted, it brings back what it kept away.
func TestBlockWithoutACrawl(t *testing.T) {
	web, store := aCrawl(t)
	domain := domainOf(t, waiting(t, store))
	asked := func() (n int) {
		for _, r := range web.Log.Requests() {
			if r.Domain == domain {
				n++
			}
		}
		return n
	}
	before := asked()
	line{}.run(t, "block", domain, "--reason", "they asked", "--store", store).must(t, exitOK)
	r := line{}.run(t, "blocks", "--store", store).must(t, exitOK)
	for _, want := range []string{"domain:" + domain, " by ", "they asked"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("blocks does not say %q: %s", want, r.out)
		}
	}
	line{web: web}.run(t, crawlArgs(store, nil)...).must(t, exitOK)
	if n := asked(); n != before {
		t.Errorf("%d requests to what is blocked", n-before)
	}
	blocked := ""
	for u, row := range known(t, store) {
		if row.Domain == domain && row.Reason == schema.Blocked {
			blocked = u
			if row.CrawlStatus != schema.Failed || row.Queued != 0 {
				t.Errorf("%s is %s and waits for ticket %d", u, row.CrawlStatus, row.Queued)
			}
		}
	}
	if blocked == "" {
		t.Fatal("no URL ended as blocked")
	}
	r = line{}.run(t, "explain", blocked, "--store", store).must(t, exitOK)
	if !strings.Contains(r.out, "! block") || !strings.Contains(r.out, "they asked") {
		t.Errorf("explain says\n%s", r.out)
	}
	r = line{}.run(t, "unblock", domain, "--store", store).must(t, exitOK)
	if !strings.Contains(r.out, "due again") || strings.HasPrefix(r.out, "0 ") {
		t.Errorf("unblock says %s", r.out)
	}
	line{web: web}.run(t, crawlArgs(store, nil)...).must(t, exitOK)
	fetched := 0
	for u, row := range known(t, store) {
		if row.Reason == schema.Blocked {
			t.Errorf("after unblock %s is blocked still", u)
		}
		if row.Domain == domain && row.CrawlStatus == schema.Completed {
			fetched++
		}
	}
	if fetched == 0 || asked() == before {
		t.Errorf("after unblock %d pages of %s were fetched", fetched, domain)
	}
	line{}.run(t, "check", "--store", store).must(t, exitOK)
}

func TestBadHandles(t *testing.T) {
	_, store := aCrawl(t)
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"block", "a.test"}, exitUsage, "--reason"},
		{[]string{"block", "a.test", "--reason", " "}, exitUsage, "--reason"},
		{[]string{"block", "--reason", "x"}, exitUsage, "requires at least 1 arg"},
		{[]string{"block", "", "--reason", "x"}, exitUsage, "block"},
		{[]string{"block", "a b", "--reason", "x"}, exitUsage, "name a DOMAIN"},
		{[]string{"block", "host:a.test/x", "--reason", "x"}, exitUsage, "is not a host name"},
		{[]string{"block", "a.test", "--reason", "x", "--until", "2001-01-01"}, exitUsage, "is past"},
		{[]string{"block", "a.test", "--reason", "x", "--until", "soon"}, exitUsage, "is no time"},
		{[]string{"unblock", "host:"}, exitUsage, "nothing after the colon"},
		{[]string{"blocks"}, exitOK, "nothing is blocked"},
		{[]string{"pause", "two"}, exitUsage, ""},
		{[]string{"pause", "99"}, exitNoCrawl, "no round is open"},
		{[]string{"resume"}, exitNoCrawl, "nothing is paused"},
		{[]string{"pause", "--reason", "tea"}, exitOK, "paused since"},
		{[]string{"pause"}, exitOK, "says so already"},
		{[]string{"status"}, exitOK, "paused since"},
		{[]string{"status", "--json"}, exitOK, `"paused":{"reason":"tea"`},
		{[]string{"resume"}, exitOK, "resumed"},
	} {
		r := line{}.run(t, append(test.args, "--store", store)...)
		if r.code != test.code || !strings.Contains(r.out+r.err, test.says) {
			t.Errorf("%q: code %d, want %d and %q:\n%s%s", test.args, r.code, test.code, test.says, r.out, r.err)
		}
	}
	empty := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{{"block", "a.test", "--reason", "x"}, {"unblock", "a.test"}, {"blocks"},
		{"pause"}, {"resume"}, {"settings", "set", "delay=1s"}} {
		line{}.run(t, append(args, "--store", empty)...).must(t, exitNoCrawl)
	}
}

// TestHandlesOfARunningCrawl steers a crawl that runs in this process through
// the address in its lock, as verbs of another process do.
func TestHandlesOfARunningCrawl(t *testing.T) {
	web := webtest.New(webtest.Spec{Seed: 5, Domains: 3, Pages: 400, MaxHost: 400, Plain: true})
	store := filepath.Join(t.TempDir(), "crawl")
	line{web: web}.run(t, crawlArgs(store, web.Seeds(3), "--rounds", "2")...).must(t, exitWaiting)
	began := len(web.Log.Requests())
	done := make(chan run, 1)
	go func() {
		done <- line{web: web}.run(t, crawlArgs(store, nil, "--delay", "50ms", "--rounds", "1",
			"--round-time", "12s")...)
	}()
	until := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("not %s in 30 s", what)
			}
		}
	}
	verb := func(args ...string) run {
		t.Helper()
		return line{}.run(t, append(args, "--store", store)...).must(t, exitOK)
	}
	domains := func() (seen []string) {
		for _, r := range web.Log.Requests()[began:] {
			if !strings.HasSuffix(r.Path, "robots.txt") && !slices.Contains(seen, r.Domain) {
				seen = append(seen, r.Domain)
			}
		}
		return seen
	}
	until("asking two domains", func() bool { return len(domains()) >= 2 })
	// Quiet means that for many delays on end nothing was asked, and it was not
	// the end of the crawl: it goes on afterwards.
	count := func(domain string) (n int) {
		for _, r := range web.Log.Requests() {
			if domain == "" || r.Domain == domain {
				n++
			}
		}
		return n
	}
	quiet := func(domain string) bool {
		before := count(domain)
		time.Sleep(time.Second)
		return count(domain) == before
	}
	verb("pause", "--reason", "tea")
	until("paused", func() bool { return quiet("") })
	if r := verb("status"); !strings.Contains(r.out, "paused since") || !strings.Contains(r.out, ": paused") {
		t.Errorf("status says\n%s", r.out)
	}
	before := count("")
	verb("resume")
	until("going on", func() bool { return count("") > before })
	blocked := domains()[0]
	verb("block", blocked, "--reason", "they asked")
	until("blocked", func() bool { return quiet(blocked) })
	others := count("") - count(blocked)
	until("asking the others", func() bool { return count("")-count(blocked) > others })
	if r := <-done; r.code != exitOK && r.code != exitWaiting {
		t.Errorf("the crawl ended with %d:\n%s", r.code, r.err)
	}
	n := 0
	for _, row := range known(t, store) {
		if row.Domain == blocked && row.Reason == schema.Blocked {
			n++
		}
	}
	if n == 0 {
		t.Error("no URL ended as blocked")
	}
	verb("check")
}

// TestHandlesOfOldSettings: what an older build let pass keeps no block and no pause
// from being put; a change that is wrong itself is refused as ever.
func TestHandlesOfOldSettings(t *testing.T) {
	_, store := aCrawl(t)
	path := filepath.Join(store, layout.Settings(1))
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	body = bytes.Replace(body, []byte(`"version": 1,`), []byte(`"version": 1, "retention": "1h0m0s",`), 1)
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := must(t, store, "settings"); !strings.Contains(out, "1h0m0s  ") {
		t.Fatalf("the settings are not those of an older build:\n%s", out)
	}
	seine := func(code int, args ...string) run {
		t.Helper()
		return line{}.run(t, append(args, "--store", store)...).must(t, code)
	}
	seine(exitOK, "block", "domain:a.test", "--reason", "they asked")
	seine(exitOK, "pause")
	seine(exitOK, "resume")
	if r := seine(exitUsage, "settings", "set", "retention=2h"); !strings.Contains(r.err, "retention: 2h0m0s is outside") {
		t.Errorf("set: %s", r.err)
	}
	seine(exitOK, "settings", "set", "retention=2d")
}
