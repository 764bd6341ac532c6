package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"seine/formats/schema"
)

// TestLooking asks one finished crawl with every verb that looks.
func TestLooking(t *testing.T) {
	web := aWeb(t)
	store := filepath.Join(t.TempDir(), "crawl")
	line{web: web}.run(t, crawlArgs(store, web.Seeds(5))...).must(t, exitOK)
	found := map[string]schema.URL{} // by reason
	for _, row := range known(t, store) {
		if row.Reason == schema.OK && row.BlobPath == "" {
			t.Errorf("%s has no place for its body", row.URL)
		}
		if old, ok := found[row.Reason]; !ok || row.URL < old.URL {
			found[row.Reason] = row
		}
	}
	page, denied := found[schema.OK], found[schema.RobotsDenied]
	tests := []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"status", []string{"status"}, exitOK, []string{"no process works on it", "URLs known", "wait for another look",
			"selected", "next: nothing is due"}},
		{"url", []string{"url", page.URL}, exitOK, []string{"crawl_status", "COMPLETED", "a 2xx answer", "last exchanges",
			"HTTP 200"}},
		{"url by another spelling", []string{"url", strings.Replace(page.URL, "http://", "HTTP://", 1) + "#top"}, exitOK,
			[]string{"COMPLETED"}},
		{"url that is not known", []string{"url", "http://nowhere.test/"}, exitNoCrawl, nil},
		{"page", []string{"page", page.URL}, exitOK, []string{"<html"}},
		{"page with header", []string{"page", "--headers", page.URL}, exitOK, []string{"HTTP/1.1 200"}},
		{"page as text", []string{"page", "--text", page.URL}, exitOK, []string{"Page"}},
		{"page of a round that has none", []string{"page", "--version", "999", page.URL}, exitNoCrawl, nil},
		{"page that was never stored", []string{"page", denied.URL}, exitNoCrawl, nil},
		{"host", []string{"host", page.Host}, exitOK, []string{"politeness group", "robots.txt of"}},
		{"domain", []string{"domain", page.Host}, exitOK, []string{"delay_ms", "host "}},
		{"robots", []string{"robots", denied.URL}, exitOK, []string{"forbidden by line", "Disallow"}},
		{"robots never asked for", []string{"robots", "http://nowhere.test/"}, exitNoCrawl, nil},
		{"explain a page", []string{"explain", page.URL}, exitOK, []string{"let in by", "= fetched: ok"}},
		{"explain a refusal", []string{"explain", denied.URL}, exitOK, []string{"! robots.txt", "forbidden by line",
			"= not fetched (robots_denied)"}},
		{"explain what was never seen", []string{"explain", "http://nowhere.test/x"}, exitOK, []string{"never discovered",
			"seine inject"}},
		{"explain what is no URL", []string{"explain", "tel:1"}, exitOK, []string{`scheme "tel" is not crawled`}},
		{"round list", []string{"round", "list"}, exitOK, []string{"inject", "seeds", "selected"}},
		{"round show", []string{"round", "show", "2"}, exitOK, []string{"round 2: selected", "spec:"}},
		{"round that is over", []string{"round", "cancel", "2"}, exitNoCrawl, nil},
		{"round that never was", []string{"round", "show", "99"}, exitNoCrawl, nil},
		{"watch nothing", []string{"round", "watch"}, exitInUse, nil},
		{"round that is no number", []string{"round", "show", "two"}, exitUsage, nil},
		{"rerun what", []string{"round", "rerun", "99"}, exitUsage, nil},
		{"dry run", []string{"round", "submit", "--dry-run"}, exitOK, []string{"at most 0 of 0 due URLs"}},
		{"settings", []string{"settings"}, exitOK, []string{"* scope                any"}},
		{"an older snapshot", []string{"url", "--snapshot", "1", web.Seeds(1)[0]}, exitOK, []string{"PENDING"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := line{}.run(t, append(test.args, "--store", store)...).must(t, test.code)
			for _, want := range test.says {
				if !strings.Contains(r.out, want) {
					t.Errorf("it does not say %q:\n%s", want, r.out)
				}
			}
			if test.code != exitOK && r.err == "" {
				t.Error("an error without a word")
			}
			if test.code != exitOK || strings.Contains(strings.Join(test.args, " "), "page") {
				return
			}
			j := line{}.run(t, append(test.args, "--store", store, "--json")...).must(t, exitOK)
			dec := json.NewDecoder(strings.NewReader(j.out))
			for dec.More() {
				var v map[string]any
				if err := dec.Decode(&v); err != nil {
					t.Fatalf("--json prints %q: %v", j.out, err)
				}
			}
		})
	}
}

func TestPriorVersion(t *testing.T) {
	web := aWeb(t)
	store := filepath.Join(t.TempDir(), "crawl")
	line{web: web}.run(t, crawlArgs(store, web.Seeds(5))...).must(t, exitOK)
	line{web: web}.run(t, crawlArgs(store, nil, "--due-now", "--rounds", "1")...)
	for _, row := range known(t, store) {
		if row.Reason != schema.NotModified {
			continue
		}
		r := line{}.run(t, "page", row.URL, "--store", store).must(t, exitOK)
		if !strings.Contains(r.out, "<") {
			t.Errorf("%s, confirmed by a 304, has the body %q", row.URL, r.out)
		}
		return
	}
	t.Error("no page was answered 304")
}

func TestWithoutCrawling(t *testing.T) {
	robots := file(t, "robots.txt", "User-agent: *\nCrawl-delay: 3\nDisallow: /private/\nSitemap: /map.xml\n")
	html := "<html lang=en><title>A &amp; B</title><a href='../c?d#e'>see</a><a href='mailto:x@y'>mail</a>"
	tests := []struct {
		name string
		args []string
		in   string
		code int
		want string
	}{
		{"robots file", []string{"robots", robots, "/private/x", "/public"}, "", exitOK,
			"/private/x: forbidden by line 3: Disallow: /private/\n/public: allowed: no rule matches\n" +
				"Crawl-delay for seine: 3s\nsitemap: /map.xml\n"},
		{"robots from standard input", []string{"robots", "-", "/"}, "User-agent: seine\nDisallow: /", exitOK,
			"/: forbidden by line 2: Disallow: /\n"},
		{"robots of no path", []string{"robots", robots, "private"}, "", exitUsage, ""},
		{"robots of no file", []string{"robots", "/nonexistent"}, "", exitUsage, ""},
		{"normalize", []string{"normalize", "HTTP://Example.org:80/a/../b?utm_source=x#f"}, "", exitOK,
			"http://example.org/b\texample.org\t200\n"},
		{"normalize lines", []string{"normalize", "-"}, "http://a.test\n\nhttp://b.test/%7e\n", exitOK,
			"http://a.test/\ta.test\t884\nhttp://b.test/~\tb.test\t322\n"},
		{"normalize what is no URL", []string{"normalize", "nothing"}, "", exitUsage, ""},
		{"parse", []string{"parse", "-", "--base", "http://a.test/x/y"}, html, exitOK,
			"http://a.test/x/y\n  type          text/html\n  charset       utf-8\n  language      en\n" +
				"  title         A & B\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := line{in: test.in}.run(t, test.args...).must(t, test.code)
			if !strings.HasPrefix(r.out, test.want) {
				t.Errorf("got\n%s\nwant\n%s", r.out, test.want)
			}
		})
	}
	r := line{in: html}.run(t, "parse", "-", "--base", "http://a.test/x/y").must(t, exitOK)
	for _, want := range []string{"a          http://a.test/c?d  see", "(scheme) mailto:x@y"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("parse does not print %q:\n%s", want, r.out)
		}
	}
}

func TestDemo(t *testing.T) {
	store := filepath.Join(t.TempDir(), "demo")
	r := line{}.run(t, "demo", "--store", store, "--rounds", "2").must(t, exitOK)
	pasted := 0
	for text := range strings.Lines(r.out) {
		args := strings.Fields(text)
		if len(args) < 2 || args[0] != "seine" || args[1] == "query" || args[1] == "check" || args[1] == "inspect" {
			continue
		}
		line{}.run(t, args[1:]...).must(t, exitOK)
		pasted++
	}
	if pasted < 4 {
		t.Errorf("%d lines to paste:\n%s", pasted, r.out)
	}
	again := line{}.run(t, "demo", "--store", store, "--rounds", "1").must(t, exitOK)
	if !strings.Contains(again.out, "round") {
		t.Errorf("a second demo does not go on:\n%s", again.out)
	}
}

// TestTerminalNoise: nothing that a site says reaches the terminal as control
// characters.
func TestTerminalNoise(t *testing.T) {
	var b bytes.Buffer
	printFacts(&b, "", []fact{{name: "title", text: "a\x1b[2Jb\nc\u009bd"}})
	if strings.ContainsAny(b.String()[:b.Len()-1], "\x1b\n\u009b") {
		t.Errorf("printed %q", b.String())
	}
}

func TestCalledAs(t *testing.T) {
	for program, want := range map[string]string{
		"seine": "seine", "/opt/bin/seine": "/opt/bin/seine",
		"/tmp/go-build123/b001/exe/seine": "go run ./cmd/seine",
	} {
		if got := calledAs(program); got != want {
			t.Errorf("%s is called as %q, want %q", program, got, want)
		}
	}
}
