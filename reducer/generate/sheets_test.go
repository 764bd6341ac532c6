package generate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/reducer/twin"
)

const (
	dayMS = 86_400_000
	today = twin.Now / dayMS * dayMS
)

// TestSheets: what sheets say holds at the next generate, for what was known before
// there were any: 500 due URLs of one domain, a minute of time.
func TestSheets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, csv string
		domain    schema.Domain
		set       settings.Settings
		listed    int
		day       int64  // URLs that wait for another day
		reason    string // of all, if they are refused
	}{
		{name: "nothing", csv: "other.test,delay,2s", listed: 60},
		{name: "delay", csv: "big.test,delay,2s", listed: 30},
		{name: "a shorter delay", csv: "big.test,delay,500ms", listed: 120},
		{name: "a delay that the settings have changed", csv: "other.test,delay,9s", listed: 12,
			set: settings.Settings{Delay: settings.Duration(5 * time.Second)}, domain: schema.Domain{Delay: 1000}},
		{name: "Crawl-delay", csv: "other.test,delay,2s", domain: schema.Domain{CrawlDelay: 10_000}, listed: 6},
		{name: "Crawl-delay above its cap", csv: "big.test,crawl_delay_cap,5s",
			domain: schema.Domain{CrawlDelay: 10_000}, listed: 12},
		{name: "pages a round", csv: "big.test,pages_round,7", listed: 7},
		{name: "pages a round by the settings", csv: "other.test,delay,2s",
			set: settings.Settings{PagesRound: 8}, listed: 8},
		{name: "the sheet before the settings", csv: "big.test,pages_round,9",
			set: settings.Settings{PagesRound: 8}, listed: 9},
		{name: "pages a day", csv: "big.test,pages_day,20",
			domain: schema.Domain{AskedDay: today, Asked: 5}, listed: 15, day: 485},
		{name: "pages of yesterday", csv: "big.test,pages_day,20",
			domain: schema.Domain{AskedDay: today - dayMS, Asked: 15}, listed: 20, day: 480},
		{name: "a day that is spent", csv: "big.test,pages_day,20",
			domain: schema.Domain{AskedDay: today, Asked: 25}, day: 500},
		{name: "depth", csv: "big.test,max_depth,4", reason: schema.Trap},
		{name: "more depth than the settings", csv: "big.test,max_depth,40",
			set: settings.Settings{MaxDepth: 1}, listed: 60},
		{name: "depth of a prefix", csv: "www.big.test/p,max_depth,4", reason: schema.Trap},
		{name: "agent", csv: "big.test,agent,other", reason: schema.RobotsDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := twin.New()
			for i := range 500 {
				due(w, 0.5, "big.test", fmt.Sprintf("http://www.big.test/p%03d", i))
			}
			for key, row := range w.URLs {
				row.Depth = 5
				w.URLs[key] = row
			}
			c.domain.Partition, c.domain.Domain = int32(weburl.Partition("big.test")), "big.test"
			w.PutDomain(c.domain)
			w.PutRobots(schema.Robots{Partition: c.domain.Partition, Domain: "big.test",
				Authority: "http://www.big.test", Status: "parsed", Expires: twin.Now + 1,
				Text: "User-agent: other\nDisallow: /"})
			c.set.Scope = "any"
			crawl := newCrawl(t, w, c.set)
			var err error
			if crawl.e, err = twin.WithSheets(context.Background(), crawl.e, sheet(c.csv)); err != nil {
				t.Fatal(err)
			}
			end, lists := crawl.round(50_000, time.Minute)
			if len(lists) != c.listed || end.Counts["deferred_day"] != c.day ||
				c.reason != "" && end.Counts["refused_"+c.reason] != 500 {
				t.Errorf("%d listed: %v", len(lists), end.Counts)
			}
			if c.day > 0 {
				days(t, read[waitRow](context.Background(), t, crawl.e, end.Deferred), 20)
			}
		})
	}
}

// days checks that what waits for another day comes back n a day, from tomorrow on.
func days(t *testing.T, rows []waitRow, n int) {
	t.Helper()
	on := map[int64]int{}
	for _, row := range rows {
		if row.Why != schema.WhyDay || row.Due%dayMS != 0 {
			t.Errorf("%s waits for %s until %d", row.URL, row.Why, row.Due)
		}
		on[(row.Due-today)/dayMS]++
	}
	for day, rows := range on {
		if last := int64(len(on)); day < 1 || day > last || rows > n || rows < n && day < last {
			t.Errorf("%d URLs come back after %d days, want %d on each: %v", rows, day, n, on)
		}
	}
}

// sheet is CSV of one sheet that sets one column: "name,column,value".
func sheet(text string) string {
	parts := strings.Split(text, ",")
	return "for," + parts[1] + "\n" + parts[0] + "," + parts[2] + "\n"
}
