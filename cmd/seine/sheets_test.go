package main

import (
	"encoding/csv"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"seine/formats/schema"
	"seine/mapper/webtest"
)

// sheetFile writes sheets as CSV, rows of which the first are the columns.
func sheetFile(t *testing.T, rows ...[]string) string {
	t.Helper()
	var b strings.Builder
	w := csv.NewWriter(&b)
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return file(t, "sheets.csv", b.String())
}

// domainOf is the domain of a URL of the built-in web.
func domainOf(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	labels := strings.Split(u.Hostname(), ".")
	return strings.Join(labels[len(labels)-2:], ".")
}

// TestSheets crawls sites that are alike, each under a sheet that sets one thing: each
// is crawled as its sheet says.
func TestSheets(t *testing.T) {
	web := webtest.New(webtest.Spec{Seed: 21, Domains: 14, Pages: 8, MaxHost: 10, Sigma: 0.01, Links: 6, Plain: true})
	var seeds []string // one a domain
	for _, seed := range web.Seeds(60) {
		same := func(s string) bool { return domainOf(t, s) == domainOf(t, seed) }
		if !slices.ContainsFunc(seeds, same) {
			seeds = append(seeds, seed)
		}
	}
	names := []string{"follow", "max_depth", "agent", "max_body", "types", "delay", "boost", "interval_first",
		"max_outstanding"}
	values := []string{"false", "0", "other", "1KiB", "text/plain", "150ms", "1", "3d", "3"}
	rows := [][]string{append([]string{"for"}, names...)}
	domain := map[string]string{}
	for i, name := range names {
		row := make([]string, len(names)+1)
		row[0], row[i+1] = domainOf(t, seeds[i]), values[i]
		domain[name] = row[0]
		rows = append(rows, row)
	}
	free := domainOf(t, seeds[len(names)])
	store := filepath.Join(t.TempDir(), "crawl")
	line{web: web}.run(t, crawlArgs(store, seeds, "--sheets", sheetFile(t, rows...))...).must(t, exitOK)
	line{}.run(t, "check", "--read-data", "--store", store).must(t, exitOK)

	urls := map[string][]schema.URL{}
	for _, row := range known(t, store) {
		urls[row.Domain] = append(urls[row.Domain], row)
	}
	if len(urls[free]) < 6 {
		t.Fatalf("of the site without a sheet %d URLs are known: the web does not try this", len(urls[free]))
	}
	for _, row := range urls[domain["follow"]] {
		if row.Depth > 0 && row.Reason != schema.Redirected && row.Seed == "" {
			t.Errorf("%s was followed", row.URL)
		}
	}
	if n := len(urls[domain["follow"]]); n >= len(urls[free]) {
		t.Errorf("%d URLs are known of the site that is not followed", n)
	}
	for _, row := range urls[domain["max_depth"]] {
		if row.Depth > 0 && row.CrawlStatus == schema.Completed {
			t.Errorf("%s was asked for at depth %d", row.URL, row.Depth)
		}
	}
	for _, row := range urls[domain["boost"]] {
		if row.Priority != 1 {
			t.Errorf("%s has the priority %v", row.URL, row.Priority)
		}
	}
	for _, row := range urls[domain["interval_first"]] {
		if row.Reason == schema.OK && row.Interval != (72*time.Hour).Milliseconds() {
			t.Errorf("%s is looked at again after %d ms", row.URL, row.Interval)
		}
	}
	for _, row := range urls[domain["types"]] {
		if row.Reason == schema.OK {
			t.Errorf("%s was stored", row.URL)
		}
	}
	for _, row := range urls[domain["max_outstanding"]] {
		if row.CrawlStatus == schema.Pending {
			t.Errorf("%s never came back: %s", row.URL, row.Reason)
		}
	}
	var last webtest.Request
	for _, r := range web.Log.Requests() {
		if want := r.Domain == domain["agent"]; strings.HasPrefix(r.Agent, "other/") != want {
			t.Errorf("%s was asked by %q", r.Host, r.Agent)
		}
		if r.Domain == domain["delay"] {
			if gap := r.At.Sub(last.End); !last.End.IsZero() && gap < 145*time.Millisecond { // the clocks of two ends
				t.Errorf("%s was asked after %v", r.Host, gap)
			}
			last = r
		}
	}
	big := line{}.run(t, "query", "SELECT count(*) FROM pages WHERE domain = '"+domain["max_body"]+
		"' AND bytes > 1024", "--format", "csv", "--store", store).must(t, exitOK).out
	if !strings.HasSuffix(strings.TrimSpace(big), "\n0") {
		t.Errorf("pages above the cap: %s", big)
	}
}

// TestPagesADay: a site that is known already gets a bound on its pages of a day; what
// has no room waits for tomorrow, and says so.
func TestPagesADay(t *testing.T) {
	web, store := aCrawl(t)
	domain := domainOf(t, waiting(t, store))
	pages := func() (n int) {
		for _, r := range web.Log.Requests() {
			if r.Domain == domain && r.Path != "/robots.txt" && !strings.Contains(r.Path, "sitemap") {
				n++
			}
		}
		return n
	}
	path := sheetFile(t, []string{"for", "pages_day"}, []string{"other.test", "9"}, []string{domain, "2"})
	set := line{}.run(t, "settings", "set", "sheets="+path, "--store", store).must(t, exitOK)
	if !strings.Contains(set.out, "sheets:"+path+": 2 lines") {
		t.Errorf("set says\n%s", set.out)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	began := time.Now().UTC().Day()
	line{web: web}.run(t, crawlArgs(store, nil)...).must(t, exitOK)
	// Nor does --due-now ask for more, and it ends.
	line{web: web}.run(t, crawlArgs(store, nil, "--due-now", "--top-n", "50")...).must(t, exitOK)
	if time.Now().UTC().Day() != began {
		t.Skip("midnight came in between")
	}
	if n := pages(); n != 2 {
		t.Errorf("%d pages of %s were asked for, want 2", n, domain)
	}
	kept := ""
	for u, row := range known(t, store) {
		if row.Domain == domain && row.CrawlStatus == schema.Pending {
			kept = u
		}
	}
	if kept == "" {
		t.Fatal("no URL waits for tomorrow: the web does not try this")
	}
	r := line{}.run(t, "explain", kept, "--store", store).must(t, exitOK)
	for _, want := range []string{"domain:" + domain + ", line 3 of " + path, "pages_day=2", "settings set",
		"! pages_day", "has had its 2 pages of today"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("explain does not say %q:\n%s", want, r.out)
		}
	}
	if status := (line{}).run(t, "status", "--store", store).must(t, exitOK); !strings.Contains(status.out,
		"another day") {
		t.Errorf("status says\n%s", status.out)
	}
	show := line{}.run(t, "settings", "show", "--store", store).must(t, exitOK)
	if !strings.Contains(show.out, "sheets:"+path) {
		t.Errorf("show says\n%s", show.out)
	}
	line{}.run(t, "check", "--store", store).must(t, exitOK)
}

// TestSheetFormats: the same sheets as YAML and as Parquet decide as CSV does.
func TestSheetFormats(t *testing.T) {
	_, store := aCrawl(t)
	type row struct {
		For   string   `parquet:"for"`
		Delay *string  `parquet:"delay,optional"`
		Boost float64  `parquet:"boost"`
		Types []string `parquet:"types,list"`
	}
	delay, other := "7s", filepath.Join(t.TempDir(), "s.parquet")
	if err := parquet.WriteFile(other, []row{{For: "b.test", Boost: -1}, {"a.test", &delay, 0.25,
		[]string{"text/html", "text/plain"}}}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{other,
		file(t, "s.yaml", "- {for: b.test, boost: -1}\n- for: a.test\n  delay: 7s\n  boost: 0.25\n  types: [text/html, text/plain]\n"),
		file(t, "s.csv", "for,delay,boost,types\nb.test,,-1,\na.test,7s,0.25,\"text/html,text/plain\"\n")} {
		line{}.run(t, "settings", "set", "sheets="+path, "--store", store).must(t, exitOK)
		r := line{}.run(t, "explain", "http://a.test/x", "--store", store).must(t, exitOK)
		if !strings.Contains(r.out, "delay=7s boost=0.25 types=text/html,text/plain") {
			t.Errorf("%s: explain says\n%s", path, r.out)
		}
	}
	// Sheets hang on what a politeness group is: they are read again when that changes.
	line{}.run(t, "settings", "set", "group_by_host=true", "--store", store).must(t, exitOK)
	byHost := file(t, "h.csv", "for,delay\nhost:www.a.test,7s\n")
	line{}.run(t, "settings", "set", "sheets="+byHost, "--store", store).must(t, exitOK)
	r := line{}.run(t, "settings", "set", "group_by_host=false", "--store", store).must(t, exitUsage)
	if !strings.Contains(r.err, "set it for a.test") {
		t.Errorf("sheets of hosts where domains are groups: %s", r.err)
	}
}

func TestBadSheets(t *testing.T) {
	_, store := aCrawl(t)
	junk := string([]byte{0, 1, 2, 0xff, 0xfe, 0x80, '\n', 0, 0x9c})
	for _, test := range []struct{ name, path, says string }{
		{"not there", filepath.Join(t.TempDir(), "none.csv"), "not there"},
		{"a folder", t.TempDir(), "no plain file"},
		{"empty", file(t, "e.csv", ""), "no sheet"},
		{"empty YAML", file(t, "e.yaml", ""), "no sheet"},
		{"junk", file(t, "j.csv", junk), `no column "for"`},
		{"junk in YAML", file(t, "j.yaml", junk), "sheets are CSV, YAML or Parquet"},
		{"no Parquet", file(t, "j.parquet", "for,delay\na.test,1s\n"), "no Parquet file"},
		{"damaged Parquet", file(t, "d.parquet", "PAR1"+junk+"PAR1"), "Parquet"},
		{"unknown column", file(t, "u.csv", "for,speed\na.test,1\n"), `column "speed"`},
		{"cap below delay", file(t, "c.csv", "for,delay,crawl_delay_cap\na.test,5s,1s\n"), "line 2: domain:a.test: crawl_delay_cap"},
		{"round above day", file(t, "r.csv", "for,pages_round,pages_day\na.test,5,1\n"), "above pages_day"},
		{"credentials", file(t, "a.csv", "for,headers\na.test,Authorization: x\n"), "line 2: headers: header Authorization"},
		{"no type", file(t, "t.csv", "for,types\na.test,html\n"), "no MIME type"},
		{"twice", file(t, "w.csv", "for,delay\na.test,1s\na.test,1s\n"), "line 3: domain:a.test has a sheet on line 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := line{}.run(t, "settings", "set", "sheets="+test.path, "--store", store).must(t, exitUsage)
			if !strings.Contains(r.err, test.says) || !strings.Contains(r.err, test.path) {
				t.Errorf("it does not say %q: %s", test.says, r.err)
			}
			fresh := filepath.Join(t.TempDir(), "fresh")
			line{}.run(t, crawlArgs(fresh, []string{"http://a.test/"}, "--sheets", test.path)...).must(t, exitUsage)
			if _, err := os.Stat(fresh); err == nil {
				t.Error("something was written")
			}
		})
	}
	r := line{}.run(t, "settings", "set", "pages_round=9", "pages_day=2", "--store", store).must(t, exitUsage)
	if !strings.Contains(r.err, "pages_round 9 is above pages_day 2") {
		t.Errorf("settings that contradict each other: %s", r.err)
	}
}
