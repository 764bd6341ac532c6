package fold_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/jobs"
	"seine/reducer/twin"
)

// TestSheets: of three sites that are alike, one without a sheet, two are scored, paced
// and looked at again as their sheets say; each one's pages are counted by the day.
func TestSheets(t *testing.T) {
	c := newCrawl(t, settings.Settings{Scope: "any"}, 1)
	var err error
	c.env, err = twin.WithSheets(c.ctx, c.env, "for,boost,delay,interval_first,crawl_delay_cap\n"+
		"b.test,0.25,7s,2d,\nprefix:http://b.test/x/,-1,,5d,\nc.test,-0.125,,,3s\n")
	c.must(err)
	c.inject("http://a.test/", "http://b.test/", "http://b.test/x/", "http://c.test/")
	c.now += hourMS
	day := c.now - c.now%(24*hourMS)
	r := c.fetchRound(func(spec jobs.Spec, list []schema.List) (m met) {
		for i := range list {
			f := answered(spec, &list[i], schema.OK, 200, 1000)
			f.Change = schema.ChangeNew
			m.fetches, m.pages = append(m.fetches, f), append(m.pages, pageOf(&f, f.Change, uint64(i+1)))
			m.discover(linkTo(&list[i], list[i].URL+"n/"+strconv.Itoa(i)+"/deep", "a", 4))
			authority := "http://" + list[i].Host
			m.robots = append(m.robots, schema.Robots{Partition: list[i].Partition, Domain: list[i].Domain,
				Authority: authority, Status: "parsed", CrawlDelay: 5000, Round: int64(spec.Job)})
		}
		return m
	})
	c.reduce(r)
	tables := c.tables()
	priority := map[string]float32{}
	for _, row := range tables.URLs {
		if strings.Contains(row.URL, "/x/") {
			if row.Depth > 0 && row.Priority != 0 {
				t.Errorf("%s has the priority %v, want 0", row.URL, row.Priority)
			}
			continue
		}
		priority[row.Domain+strconv.Itoa(int(row.Depth))] = row.Priority
	}
	for _, kind := range []string{"0", "4"} {
		a, b, c := priority["a.test"+kind], priority["b.test"+kind], priority["c.test"+kind]
		if kind == "4" && (b-a < 0.249 || a-c < 0.124) || a < c {
			t.Errorf("depth %s: priorities are a %.3f, b %.3f, c %.3f", kind, a, b, c)
		}
	}
	for url, want := range map[string]time.Duration{"http://a.test/": 24 * time.Hour,
		"http://b.test/": 48 * time.Hour, "http://b.test/x/": 120 * time.Hour} {
		if got := tables.URLs[urlKey(url)].Interval; got != want.Milliseconds() {
			t.Errorf("%s is looked at again after %v, want %v", url, time.Duration(got)*time.Millisecond, want)
		}
	}
	for domain, want := range map[string]schema.Domain{
		"a.test": {Delay: 5000, DelayWhy: "crawl_delay", Asked: 1},
		"b.test": {Delay: 7000, DelayWhy: "sheet", Asked: 2},
		"c.test": {Delay: 3000, DelayWhy: "crawl_delay", Asked: 1}} {
		row := tables.Domains[lsm.Key{Partition: urlKey("http://" + domain + "/").Partition, Domain: domain}]
		if row.Delay != want.Delay || row.DelayWhy != want.DelayWhy || row.Asked != want.Asked ||
			row.AskedDay != day || row.CrawlDelay != 5000 {
			t.Errorf("%+v", row)
		}
	}
}
