package extract

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sitemapURL = "http://h.test/maps/sitemap.xml"

func zip(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func locs(s SitemapResult) []string {
	var out []string
	for _, u := range s.URLs {
		out = append(out, u.Loc)
	}
	return out
}

func TestSitemapURLSet(t *testing.T) {
	got := Sitemap([]byte(`<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="i">
<url><image:image><image:loc>http://h.test/no.png</image:loc></image:image>
 <loc>http://h.test/1?a=1&amp;b=2</loc><lastmod> 2024-01-02 </lastmod>
 <changefreq>Daily</changefreq><priority>0.8</priority></url>
<url><loc>http://h.test/2</loc></url></urlset>`), "text/xml", sitemapURL, Limits{})
	want := SitemapResult{Format: FormatURLs, URLs: []SitemapURL{
		{Loc: "http://h.test/1?a=1&b=2", LastMod: "2024-01-02", ChangeFreq: "daily", Priority: "0.8"},
		{Loc: "http://h.test/2"},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("sitemap (-want +got):\n%s", d)
	}
}

func TestSitemapIndex(t *testing.T) {
	got := Sitemap([]byte(`<sitemapindex><sitemap><loc>/a.xml.gz</loc><lastmod>x</lastmod></sitemap>
		<sitemap><loc>http://o.test/b.xml</loc></sitemap></sitemapindex>`), "", sitemapURL, Limits{})
	want := SitemapResult{Format: FormatIndex,
		Sitemaps: []string{"http://h.test/a.xml.gz", "http://o.test/b.xml"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("sitemap (-want +got):\n%s", d)
	}
}

func TestSitemapLoc(t *testing.T) {
	for _, c := range []struct{ name, loc, want string }{
		{"white space around", "\n\t http://h.test/x \r\n", "http://h.test/x"},
		{"no-break space", "\u00a0http://h.test/x&#160;", "http://h.test/x"},
		{"zero-width space", "\u200bhttp://h.test/x\ufeff", "http://h.test/x"},
		{"CDATA", "<![CDATA[http://h.test/?a=1&b=2]]>", "http://h.test/?a=1&b=2"},
		{"CDATA in white space", " <![CDATA[ http://h.test/x ]]> ", "http://h.test/x"},
		{"text in pieces", "http://h.test/<!-- c -->a&amp;<![CDATA[b]]>c", "http://h.test/a&bc"},
		{"numeric reference", "http://h.test/&#x61;&#98;", "http://h.test/ab"},
		{"bare ampersand", "http://h.test/?a&copy=1&lt=2", "http://h.test/?a&copy=1&lt=2"},
		{"not ASCII", "http://h.test/é", "http://h.test/%C3%A9"},
		{"relative", "/x", "http://h.test/x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := "<urlset><url><loc>" + c.loc + "</loc></url></urlset>"
			s := Sitemap([]byte(body), "", sitemapURL, Limits{})
			if d := cmp.Diff([]string{c.want}, locs(s)); d != "" || s.Truncated {
				t.Errorf("truncated %v, (-want +got):\n%s", s.Truncated, d)
			}
		})
	}
	for name, loc := range map[string]string{
		"empty": " ", "mail": "mailto:a@b", "long": "http://h.test/" + strings.Repeat("x", 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			body := "<urlset><url><loc>" + loc + "</loc></url></urlset>"
			s := Sitemap([]byte(body), "", sitemapURL, Limits{})
			if s.URLs != nil {
				t.Errorf("got %.80q", s.URLs)
			}
		})
	}
}

func TestSitemapForms(t *testing.T) {
	const one = "<urlset><url><loc>http://h.test/1</loc></url></urlset>"
	latin := "<?xml version='1.0' encoding='ISO-8859-1'?>" +
		"<urlset><url><loc>http://h.test/\xe9</loc></url></urlset>"
	list := "http://h.test/1\r\n\r\n  https://h.test/2 \nprose\n/rel\nftp://h.test/\nHTTP://h.test/3"
	for _, c := range []struct {
		name, contentType, body, format string
		want                            []string
	}{
		{"prefix", "", "<s:urlset><s:url><s:loc>http://h.test/1</s:loc></s:url></s:urlset>", FormatURLs,
			[]string{"http://h.test/1"}},
		{"upper case", "", strings.ToUpper("<urlset><url><loc>") + "http://h.test/1</LOC></URL></URLSET>",
			FormatURLs, []string{"http://h.test/1"}},
		{"declared as html", "text/html", one, FormatURLs, []string{"http://h.test/1"}},
		{"BOM", "", "\xef\xbb\xbf" + one, FormatURLs, []string{"http://h.test/1"}},
		{"comments and space in front", "", "\n<!-- x -->\n<?xml-stylesheet?>" + one, FormatURLs,
			[]string{"http://h.test/1"}},
		{"latin-1", "", latin, FormatURLs, []string{"http://h.test/%C3%A9"}},
		{"charset of the header", "text/xml; charset=utf-8", strings.Replace(latin, "\xe9", "é", 1),
			FormatURLs, []string{"http://h.test/%C3%A9"}},
		{"utf-16", "", in(t, "utf-16le", "\ufeff"+one), FormatURLs, []string{"http://h.test/1"}},
		{"gzip undeclared", "application/x-gzip", zip(t, one), FormatURLs, []string{"http://h.test/1"}},
		{"gzip as xml", "text/xml", zip(t, one), FormatURLs, []string{"http://h.test/1"}},
		{"gzip twice", "", zip(t, zip(t, one)), FormatURLs, []string{"http://h.test/1"}},
		{"list", "text/plain", list, FormatText,
			[]string{"http://h.test/1", "https://h.test/2", "http://h.test/3"}},
		{"list, gzipped", "application/x-gzip", zip(t, list), FormatText,
			[]string{"http://h.test/1", "https://h.test/2", "http://h.test/3"}},
		{"list with BOM", "text/plain", "\xef\xbb\xbfhttp://h.test/1", FormatText,
			[]string{"http://h.test/1"}},
		{"rss", "", "<rss><channel><link>http://h.test/</link><item><link>http://h.test/1</link></item>" +
			"</channel></rss>", FormatFeed, []string{"http://h.test/1"}},
		{"atom", "", "<feed><entry><link href='/1'/><updated>d</updated></entry></feed>", FormatFeed,
			[]string{"http://h.test/1"}},
		{"loc without url", "", "<urlset><loc>http://h.test/1</loc><loc>http://h.test/2</loc></urlset>",
			FormatURLs, []string{"http://h.test/1", "http://h.test/2"}},
		{"html", "text/html", "<!doctype html><a href=x>", FormatNone, nil},
		{"html behind .gz", "application/x-gzip", "<html>404", FormatNone, nil},
		{"prose", "text/plain", "nothing here", FormatNone, nil},
		{"empty", "", "", FormatNone, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Sitemap([]byte(c.body), c.contentType, sitemapURL, Limits{})
			if s.Format != c.format || s.Feed != (c.format == FormatFeed) {
				t.Errorf("format %q feed %v, want %q", s.Format, s.Feed, c.format)
			}
			if d := cmp.Diff(c.want, locs(s)); d != "" || s.Truncated {
				t.Errorf("truncated %v, (-want +got):\n%s", s.Truncated, d)
			}
		})
	}
}

func TestSitemapFeedDates(t *testing.T) {
	s := Sitemap([]byte(`<feed><entry><link href="/1"/><updated>2024-02-02</updated>
		<published>2024-01-01</published></entry></feed>`), "", sitemapURL, Limits{})
	want := []SitemapURL{{Loc: "http://h.test/1", LastMod: "2024-02-02"}}
	if d := cmp.Diff(want, s.URLs); d != "" {
		t.Errorf("entries (-want +got):\n%s", d)
	}
}

// What stands before the fault is kept, and it is said that something may be missing.
func TestSitemapBroken(t *testing.T) {
	const head = "<urlset><url><loc>http://h.test/1</loc></url>"
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"cut between entries", head, []string{"http://h.test/1"}},
		{"cut in a loc", head + "<url><loc>http://h.test/2", []string{"http://h.test/1"}},
		{"cut behind a loc", head + "<url><loc>http://h.test/2</loc><last",
			[]string{"http://h.test/1", "http://h.test/2"}},
		{"junk", head + "<<<&&& </x> \x00\xff", []string{"http://h.test/1"}},
		{"goes on behind junk", head + "<<& <url><loc>http://h.test/2</loc></url>",
			[]string{"http://h.test/1", "http://h.test/2"}},
		{"url not closed", head + "<url><loc>http://h.test/2</loc><url><loc>http://h.test/3</loc>",
			[]string{"http://h.test/1", "http://h.test/2", "http://h.test/3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Sitemap([]byte(c.body), "", sitemapURL, Limits{})
			if d := cmp.Diff(c.want, locs(s)); d != "" || !s.Truncated {
				t.Errorf("truncated %v, (-want +got):\n%s", s.Truncated, d)
			}
		})
	}
	t.Run("cut gzip", func(t *testing.T) {
		var b strings.Builder
		b.WriteString("<urlset>")
		for i := range 5000 {
			fmt.Fprintf(&b, "<url><loc>http://h.test/%d</loc></url>", i*7919)
		}
		z := zip(t, b.String()+"</urlset>")
		s := Sitemap([]byte(z[:len(z)/2]), "", sitemapURL, Limits{})
		if !s.Truncated || len(s.URLs) == 0 || s.URLs[0].Loc != "http://h.test/0" {
			t.Errorf("truncated %v, %d entries", s.Truncated, len(s.URLs))
		}
	})
	t.Run("gzip in name only", func(t *testing.T) {
		if s := Sitemap([]byte("\x1f\x8bxx"), "", sitemapURL, Limits{}); !s.Truncated || s.URLs != nil {
			t.Errorf("got %+v", s)
		}
	})
}

func TestSitemapLimits(t *testing.T) {
	var b strings.Builder
	b.WriteString("<urlset>")
	for i := range 50_010 {
		fmt.Fprintf(&b, "<url><loc>http://h.test/%d</loc></url>", i)
	}
	b.WriteString("</urlset>")
	s := Sitemap([]byte(b.String()), "", sitemapURL, Limits{})
	if len(s.URLs) != 50_000 || !s.Truncated {
		t.Errorf("%d entries, truncated %v", len(s.URLs), s.Truncated)
	}
	bomb := zip(t, "http://h.test/1\n"+strings.Repeat(" ", 1<<20)+"\nhttp://h.test/2\n")
	s = Sitemap([]byte(bomb), "", sitemapURL, Limits{SitemapBytes: 1 << 16})
	if d := cmp.Diff([]string{"http://h.test/1"}, locs(s)); d != "" || !s.Truncated {
		t.Errorf("truncated %v, (-want +got):\n%s", s.Truncated, d)
	}
}
