package fetch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/schema"
	"seine/formats/settings"
)

const urlset = `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`

// TestSitemaps has section G of the field's cases: a file, and the links that it
// must leave.
func TestSitemaps(t *testing.T) {
	for _, c := range []struct {
		name, path string
		answer     reply
		want       []string // targets accepted
	}{
		{"spaces, CDATA, entities", "/sitemap.xml", typed("text/xml",
			urlset+"<url><loc>\n \u00a0http://h.test/a?x=1&amp;y=2\n</loc></url>"+
				"<url><loc><![CDATA[http://h.test/b]]></loc></url>"+
				"<url><loc>http://h.te<!-- -->st/c</loc></url></urlset>"),
			[]string{"http://h.test/a?x=1&y=2", "http://h.test/b", "http://h.test/c"}},
		{"cut short", "/sitemap.xml", typed("text/xml",
			urlset+"<url><loc>http://h.test/a</loc></url><url><loc>http://h.te"),
			[]string{"http://h.test/a"}},
		{"ISO-8859-1", "/sitemap.xml", typed("text/xml",
			"<?xml version='1.0' encoding='ISO-8859-1'?>"+
				"<urlset><url><loc>http://h.test/\xe9</loc></url></urlset>"),
			[]string{"http://h.test/%C3%A9"}},
		{"gzip that says nothing of it", "/sitemap.xml.gz", typed("application/x-gzip",
			gzipped(urlset+"<url><loc>http://h.test/a</loc></url></urlset>")),
			[]string{"http://h.test/a"}},
		{"gzip that is a page not found", "/sitemap.xml.gz", typed("text/html",
			"<h1>http://h.test/no", "Content-Encoding: gzip"), nil},
		{"a list of lines in gzip", "/sitemap.txt.gz", typed("application/octet-stream",
			gzipped("http://h.test/a\r\nhttp://h.test/b\n")),
			[]string{"http://h.test/a", "http://h.test/b"}},
		{"a feed", "/feed", typed("application/rss+xml",
			"<rss><channel><item><link>http://h.test/a</link></item></channel></rss>"),
			[]string{"http://h.test/a"}},
		{"another site's pages", "/sitemap.xml", typed("text/xml",
			urlset+"<url><loc>http://other.test/a</loc></url>"+
				"<url><loc>http://www.h.test/b</loc></url></urlset>"),
			[]string{"http://www.h.test/b"}},
		{"what is no page", "/sitemap.xml", typed("text/xml",
			urlset+"<url><loc>javascript:x</loc></url><url><loc>/rel</loc></url></urlset>"),
			[]string{"http://h.test/rel"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript()
			s.replies["h.test/robots.txt"] = text("User-agent: *\nSitemap: " + c.path)
			s.replies["h.test"+c.path] = c.answer
			trial(t, s, settings.Settings{}, []string{"http://h.test/"}, func(t *testing.T, _ *world,
				l *left) {
				var got []string
				for _, k := range l.links {
					if k.Kind == "sitemap" && k.Verdict == schema.Accepted {
						got = append(got, k.DstURL)
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s%+v", diff, l.of(kindSitemap))
				}
			})
		})
	}
}

// TestSitemapsElsewhere: which sitemaps are asked for, and when.
func TestSitemapsElsewhere(t *testing.T) {
	index := func(locs ...string) reply {
		b := "<sitemapindex>"
		for _, l := range locs {
			b += "<sitemap><loc>" + l + "</loc></sitemap>"
		}
		return typed("text/xml", b+"</sitemapindex>")
	}
	for _, c := range []struct {
		name, robots string
		replies      map[string]reply
		want         []string // requests after robots.txt, the page last
	}{
		{"another authority of the group", "Sitemap: http://www.h.test:8080/s.xml", nil,
			[]string{"www.h.test:8080/robots.txt", "www.h.test:8080/s.xml"}},
		{"two of another authority", "Sitemap: http://www.h.test/1\nSitemap: http://www.h.test/2", nil,
			[]string{"www.h.test/robots.txt", "www.h.test/1", "www.h.test/2"}},
		{"another group", "Sitemap: http://other.test/s.xml", nil, nil},
		{"forbidden by its own robots.txt", "Disallow: /s.xml\nSitemap: /s.xml", nil, nil},
		{"forbidden by another's robots.txt", "Sitemap: http://www.h.test/s.xml", map[string]reply{
			"www.h.test/robots.txt": text("User-agent: *\nDisallow: /")},
			[]string{"www.h.test/robots.txt"}},
		{"an index of itself", "Sitemap: /s.xml", map[string]reply{"h.test/s.xml": index("/s.xml",
			"http://h.test:80/s.xml")},
			[]string{"h.test/s.xml"}},
		{"a loop of indexes", "Sitemap: /1", map[string]reply{"h.test/1": index("/2"),
			"h.test/2": index("/1", "/2")},
			[]string{"h.test/1", "h.test/2"}},
		{"indexes without end", "Sitemap: /1", map[string]reply{"h.test/1": index("/2"),
			"h.test/2": index("/3"),
			"h.test/3": index("/4"), "h.test/4": index("/5")}, []string{"h.test/1", "h.test/2",
			"h.test/3"}},
		{"a redirect", "Sitemap: /1", map[string]reply{"h.test/1": moved("/2")}, []string{"h.test/1",
			"h.test/2"}},
		{"a redirect to itself", "Sitemap: /1", map[string]reply{"h.test/1": moved("/1")},
			[]string{"h.test/1"}},
		{"no URL", "Sitemap: http://\nSitemap: javascript:x\nSitemap:", nil, nil},
		{"on a host that is not there", "Sitemap: http://gone.h.test/s.xml", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript()
			s.replies["h.test/robots.txt"] = text("User-agent: *\n" + c.robots)
			s.refused["127.3.3.3:80"] = errRefused
			s.names["gone.h.test"] = addrs("127.3.3.3")
			for u, r := range c.replies {
				s.replies[u] = r
			}
			trial(t, s, settings.Settings{}, []string{"http://h.test/"}, func(t *testing.T, _ *world,
				l *left) {
				want := append(append([]string{"h.test/robots.txt"}, c.want...), "h.test/")
				if diff := cmp.Diff(want, s.requests()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestSitemapsAreBounded in number, and their entries are discoveries under the
// scope.
func TestSitemapsAreBounded(t *testing.T) {
	s := newScript()
	var lines strings.Builder
	for i := range 500 {
		fmt.Fprintf(&lines, "Sitemap: /s%d.txt\n", i)
	}
	s.replies["h.test/robots.txt"] = text(lines.String())
	many := ""
	for i := range 3000 {
		many += fmt.Sprintf("http://h.test/page/%d\n", i)
	}
	s.replies["h.test/s0.txt"] = text(many)
	trial(t, s, settings.Settings{}, []string{"http://h.test/"}, func(t *testing.T, _ *world,
		l *left) {
		if n := len(l.of(kindSitemap)); n != maxSitemaps {
			t.Errorf("%d sitemaps", n)
		}
		if len(l.events) != 3000 || l.events[0].Kind != "sitemap" || l.events[0].Depth != 1 {
			t.Errorf("%d discoveries", len(l.events))
		}
	})
}

// TestRelativeSitemapsGoByTheRedirect: the file that names them is the one that
// was read in the end.
func TestRelativeSitemapsGoByTheRedirect(t *testing.T) {
	s := newScript()
	s.replies["h.test/robots.txt"] = moved("/hop/user/robots.txt")
	s.replies["h.test/hop/user/robots.txt"] = text("Sitemap: s.xml")
	trial(t, s, settings.Settings{}, []string{"http://h.test/"}, func(t *testing.T, _ *world,
		l *left) {
		if s.count("h.test/hop/user/s.xml") != 1 {
			t.Errorf("requests %v", s.requests())
		}
	})
}

// TestSitemapsHaveTheirOwnCap: a sitemap may be longer than a page; its last entry counts.
func TestSitemapsHaveTheirOwnCap(t *testing.T) {
	var b strings.Builder
	b.WriteString("<urlset>")
	for i := range 3000 {
		fmt.Fprintf(&b, "<url><loc>http://h.test/p%04d</loc></url>", i)
	}
	b.WriteString("</urlset>")
	s := newScript()
	s.replies["h.test/robots.txt"] = text("Sitemap: /sitemap.xml")
	s.replies["h.test/sitemap.xml"] = typed("application/xml", b.String())
	s.replies["h.test/"] = html(strings.Repeat("<p>long", 20_000))
	trial(t, s, settings.Settings{MaxBody: 32 << 10}, []string{"http://h.test/"},
		func(t *testing.T, _ *world, l *left) {
			found := map[string]bool{}
			for _, d := range l.events {
				found[d.URL] = true
			}
			if len(found) != 3000 || !found["http://h.test/p2999"] {
				t.Errorf("%d entries of 3000 were found", len(found))
			}
			if p := l.pages[0]; p.Bytes != 32<<10 || p.Truncated == "" {
				t.Errorf("the page keeps %d bytes, truncated %q", p.Bytes, p.Truncated)
			}
		})
}
