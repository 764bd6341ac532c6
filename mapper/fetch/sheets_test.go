package fetch

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/sheet"
)

// sheets makes a table of CSV.
func sheets(t *testing.T, csv string) *sheet.Table {
	t.Helper()
	list, err := suffixes()
	if err != nil {
		t.Fatal(err)
	}
	b := &sheet.Builder{Suffixes: list}
	if err := b.ReadCSV(strings.NewReader(csv)); err != nil {
		t.Fatal(err)
	}
	text, _, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	table, err := sheet.Open(text)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// sheeted is trial under sheets.
func sheeted(t *testing.T, s *script, csv string, list []string,
	check func(t *testing.T, w *world, l *left)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newScriptWorld(t, s, settings.Settings{Sheets: "s.csv"}, list...)
		w.env.Software, w.set.Contact = "seine/9", "me@a.test"
		table := sheets(t, csv)
		w.env.Sheets = func(context.Context, settings.Settings) (*sheet.Table, error) { return table, nil }
		l := w.mustRun()
		w.set.Delay = settings.Duration(500 * time.Millisecond) // the shortest of the sheets here
		w.audit(s, l)
		check(t, w, l)
	})
}

// gapsOf are the pauses before the requests for pages of a host, rounded.
func gapsOf(s *script, host string) (gaps []time.Duration) {
	var last *seen
	for _, r := range s.log {
		if r.authority != host {
			continue
		}
		if last != nil && r.target != "/robots.txt" {
			gaps = append(gaps, r.at.Sub(last.end).Round(100*time.Millisecond))
		}
		last = r
	}
	return gaps
}

// TestSheetDelays: each site has the delay of its sheet; of a Crawl-delay what the
// sheet heeds.
func TestSheetDelays(t *testing.T) {
	s := newScript()
	s.answers = func(r seen) (reply, bool) {
		if r.target == "/robots.txt" && r.authority != "a.test" && r.authority != "b.test" {
			return text("User-agent: *\nCrawl-delay: 10"), true
		}
		return html("x"), true
	}
	var list []string
	want := map[string]time.Duration{"a.test": time.Second, "b.test": 3 * time.Second,
		"c.test": 10 * time.Second, "d.test": 4 * time.Second, "e.test": 500 * time.Millisecond}
	for host := range want {
		list = append(list, numbered(host, 5)...)
	}
	sheeted(t, s, "for,delay,crawl_delay_cap\nb.test,3s,\nd.test,,4s\ne.test,500ms,500ms\n", list,
		func(t *testing.T, _ *world, _ *left) {
			for host, d := range want {
				gaps := gapsOf(s, host)
				for _, gap := range gaps {
					if gap != d {
						t.Errorf("%s was asked after %v, want %v", host, gaps, d)
						break
					}
				}
			}
		})
}

// TestSheetDelayInTheRound: a sheet of a newer version that asks for a longer delay
// reaches the task that runs; one that asks for a shorter one does not.
func TestSheetDelayInTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.answers = func(seen) (reply, bool) { return html("x"), true }
		tables := map[string]*sheet.Table{"1": sheets(t, "for,delay\nb.test,2s\n"),
			"2": sheets(t, "for,delay\na.test,5s\nb.test,1s\n")}
		o := operate(t, s, settings.Settings{Sheets: "1"},
			append(numbered("a.test", 20), numbered("b.test", 20)...)...)
		o.env.Sheets = func(_ context.Context, set settings.Settings) (*sheet.Table, error) {
			return tables[set.Sheets], nil
		}
		o.during(func() {
			time.Sleep(6*time.Second + 500*time.Millisecond)
			o.put(2, func(s *settings.Settings) { s.Sheets = "2" })
		})
		a, b := gapsOf(s, "a.test"), gapsOf(s, "b.test")
		if a[0] != time.Second || a[len(a)-1] != 5*time.Second || b[len(b)-1] != 2*time.Second {
			t.Errorf("a.test was asked after %v, b.test after %v", a, b)
		}
	})
}

// TestSheetRequests: who asks, with which fields, and up to which size.
func TestSheetRequests(t *testing.T) {
	s := newScript()
	s.answers = func(r seen) (reply, bool) {
		if r.target == "/robots.txt" {
			return text("User-agent: other\nDisallow: /private\n\nUser-agent: seine\nDisallow: /mine"), true
		}
		return html(strings.Repeat("x", 5000)), true
	}
	csv := "for,agent,headers,max_body\na.test,other,X-Who: me,\na.test/small/,,,2KiB\nb.test/,,Accept-Language: de,\n"
	sheeted(t, s, csv, []string{"http://a.test/private", "http://a.test/mine", "http://a.test/small/1",
		"http://b.test/mine", "http://b.test/private"}, func(t *testing.T, _ *world, l *left) {
		final := l.final(t)
		for url, reason := range map[string]schema.Reason{"http://a.test/private": schema.RobotsDenied,
			"http://a.test/mine": schema.OK, "http://a.test/small/1": schema.OK,
			"http://b.test/mine": schema.RobotsDenied, "http://b.test/private": schema.OK} {
			if final[url].Reason != reason {
				t.Errorf("%s ended as %s, want %s", url, final[url].Reason, reason)
			}
		}
		for _, r := range s.log {
			want := "User-Agent: seine/9 (+me@a.test)\r\n"
			field := "Accept-Language: de\r\n"
			if r.authority == "a.test" {
				want, field = "User-Agent: other/9 (+me@a.test)\r\n", "X-Who: me\r\n"
			}
			if !strings.Contains(r.head, want) || !strings.Contains(r.head, field) {
				t.Errorf("%s was asked for by\n%s", r.url(), r.head)
			}
		}
		for _, p := range l.pages {
			size, cut := int64(5000), ""
			if strings.Contains(p.URL, "/small/") {
				size, cut = 2<<10, "length"
			}
			if p.Bytes != size || p.Truncated != cut {
				t.Errorf("%s has %d bytes, truncated %q", p.URL, p.Bytes, p.Truncated)
			}
		}
	})
}

// TestSheetLinks: types that are stored, links that are followed, embeds.
func TestSheetLinks(t *testing.T) {
	s := newScript()
	body := `<a href="/next">x</a><img src="/i.png"><link rel=canonical href="/canon">`
	s.answers = func(r seen) (reply, bool) {
		switch {
		case r.target == "/robots.txt":
			return text("Sitemap: /sitemap.xml"), true
		case r.target == "/sitemap.xml":
			return typed("text/xml", "<urlset><url><loc>http://"+r.authority+"/listed</loc></url></urlset>"), true
		case r.target == "/plain":
			return text("plain"), true
		}
		return html(body), true
	}
	sheeted(t, s, "for,types,follow,embeds\na.test,text/html,,true\nb.test,,false,\n",
		[]string{"http://a.test/", "http://a.test/plain", "http://b.test/", "http://b.test/plain"},
		func(t *testing.T, _ *world, l *left) {
			final := l.final(t)
			if final["http://a.test/plain"].Reason != schema.TypeOut || final["http://b.test/plain"].Reason != schema.OK {
				t.Errorf("plain text ended as %s and %s", final["http://a.test/plain"].Reason,
					final["http://b.test/plain"].Reason)
			}
			verdicts := map[string]string{}
			for _, link := range l.links {
				verdicts[link.DstURL] = strings.TrimSpace(link.Verdict + " " + link.Rule)
			}
			for url, want := range map[string]string{"http://a.test/next": schema.Accepted,
				"http://a.test/i.png": schema.Accepted, "http://a.test/listed": schema.Accepted,
				"http://b.test/next": "nofollow sheet follow=false", "http://b.test/i.png": schema.LinkEmbed,
				"http://b.test/canon": schema.Accepted, "http://b.test/listed": ""} {
				if verdicts[url] != want {
					t.Errorf("%s: %q, want %q", url, verdicts[url], want)
				}
			}
			if n := s.count("b.test/sitemap.xml"); n != 0 {
				t.Errorf("%d requests for the sitemap of a site whose links are not followed", n)
			}
		})
}

// TestUnreadableSheets: a task whose sheets cannot be read asks for nothing.
func TestUnreadableSheets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		w := newScriptWorld(t, s, settings.Settings{Sheets: "s.csv"}, "http://a.test/")
		if _, err := w.run(t.Context(), foreverLease()); err == nil || len(s.log) > 0 {
			t.Errorf("%d requests: %v", len(s.log), err)
		}
	})
}
