package extract

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"seine/formats/weburl"
)

// checkPage proves what Extract guarantees whatever the body.
func checkPage(t *testing.T, p Page, l Limits) {
	t.Helper()
	for name, s := range map[string]string{
		"declared": p.MIMEDeclared, "detected": p.MIMEDetected, "charset": p.Charset,
		"language": p.Language, "title": p.Title, "text": p.Text, "canonical": p.Canonical,
		"refresh": p.Refresh,
	} {
		if !utf8.ValidString(s) {
			t.Errorf("%s is not UTF-8: %q", name, s)
		}
	}
	if len(p.Title) > l.Title || len(p.Text) > l.Text || len(p.Links) > l.Links {
		t.Errorf("over a limit: title %d, text %d, links %d", len(p.Title), len(p.Text), len(p.Links))
	}
	if p.MIMEDetected == "" || p.HasText != (p.Text != "") {
		t.Errorf("detected %q, HasText %v with %d bytes", p.MIMEDetected, p.HasText, len(p.Text))
	}
	if strings.TrimSpace(p.Text) != p.Text || strings.Contains(p.Text, "  ") {
		t.Errorf("text is not collapsed")
	}
	for _, u := range []string{p.Canonical, p.Refresh} {
		checkURL(t, u)
	}
	seen := map[linkKey]bool{}
	for _, k := range p.Links {
		checkLink(t, k, l)
		key := linkKey{k.Kind, k.URL}
		if k.URL != "" && seen[key] {
			t.Errorf("link twice: %v", key)
		}
		seen[key] = true
	}
}

func checkLink(t *testing.T, k Link, l Limits) {
	t.Helper()
	for _, s := range []string{k.Href, k.URL, k.Anchor, k.Rel} {
		if !utf8.ValidString(s) {
			t.Errorf("not UTF-8: %q in %q", s, k)
		}
	}
	if len(k.Href) > l.AttrBytes || len(k.Anchor) > l.Anchor || len(k.Rel) > maxRel {
		t.Errorf("over a limit: href %d, anchor %d, rel %d", len(k.Href), len(k.Anchor), len(k.Rel))
	}
	if (k.URL == "") != (k.Refused != "") || k.Kind == "" {
		t.Errorf("neither resolved nor refused: %+v", k)
	}
	checkURL(t, k.URL)
}

func checkURL(t *testing.T, u string) {
	t.Helper()
	if u == "" {
		return
	}
	if parsed, err := weburl.Parse(u); err != nil || parsed.String() != u {
		t.Errorf("URL %q parses as %q, %v", u, parsed.String(), err)
	}
}

func checkSitemap(t *testing.T, s SitemapResult, l Limits) {
	t.Helper()
	if len(s.URLs)+len(s.Sitemaps) > l.SitemapURLs {
		t.Errorf("%d + %d entries", len(s.URLs), len(s.Sitemaps))
	}
	for _, u := range s.URLs {
		if u.Loc == "" || !utf8.ValidString(u.Loc+u.LastMod+u.ChangeFreq+u.Priority) {
			t.Errorf("entry %+v", u)
		}
		checkURL(t, u.Loc)
	}
	for _, u := range s.Sitemaps {
		checkURL(t, u)
	}
}

func FuzzExtract(f *testing.F) {
	for _, seed := range []string{
		"", "<p>a<b>c", "<a href='x?q=\xe9#f' rel=nofollow>t</a><a href=//o.test/>", "%PDF-1.4",
		"<base href=/b/><link rel=canonical href=c><meta http-equiv=refresh content='0;url=x'>",
		"<title>a</title><svg><title>b<![CDATA[c]]></svg><noscript><img srcset='a 1x,b'></noscript>",
		"<iframe srcdoc='<a href=x>'></iframe><template><a href=y></template><plaintext></a>",
		"<?xml version='1.0' encoding='koi8-r'?><rss><item><link>/x</link><title>a</title></item>",
		"<feed xml:base='/a/'><entry><link href=b /><source><link href=c>", "\xff\xfe<\x00a\x00",
		"<meta charset=shift_jis><a href='?\x93\xfa'>\x93\xfa\x81", "a\x00b\n\n c",
		"<script><!--<script>",
		"<meta charset=iso-2022-jp><a href='?\x1b$BF|\x1b(B'>", "<a href='http://[::1]:80/%zz?%%'>",
	} {
		f.Add([]byte(seed), "text/html", "noindex", "</c>; rel=canonical")
		f.Add([]byte(seed), "", "otherbot: none", "")
		f.Add([]byte(seed), "application/xhtml+xml; charset=euc-kr", "", "<")
	}
	l := Limits{Links: 20, Anchor: 16, Title: 16, Text: 200, AttrBytes: 100}.withDefaults()
	f.Fuzz(func(t *testing.T, body []byte, contentType, robots, link string) {
		in := Input{URL: pageURL, ContentType: contentType, Body: body}
		in.Header = func(name string) []string {
			if name == "X-Robots-Tag" {
				return []string{robots}
			}
			return []string{link}
		}
		p := Extract(in, l)
		checkPage(t, p, l)
		if d := cmp.Diff(p, Extract(in, l)); d != "" {
			t.Errorf("a second reading differs:\n%s", d)
		}
	})
}

func FuzzSitemap(f *testing.F) {
	for _, seed := range []string{
		"", "<urlset><url><loc>http://h.test/&amp;</loc><lastmod>x</lastmod></url></urlset>",
		"<s:sitemapindex><s:sitemap><s:loc><![CDATA[/x]]>", "http://h.test/\r\nhttps://h.test/2",
		"<rss><item><guid>http://h.test/</guid>", "<feed><entry><link href=x /><updated>",
		"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", "\xfe\xff\x00<\x00u",
		"<?xml encoding='latin1'?><urlset><loc>\xe9</loc><url><loc>/</loc>",
	} {
		f.Add([]byte(seed), "text/xml")
	}
	l := Limits{SitemapURLs: 10, SitemapBytes: 1 << 16}.withDefaults()
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		s := Sitemap(body, contentType, sitemapURL, l)
		checkSitemap(t, s, l)
		if d := cmp.Diff(s, Sitemap(body, contentType, sitemapURL, l)); d != "" {
			t.Errorf("a second reading differs:\n%s", d)
		}
	})
}

// Collapsing what is collapsed changes nothing, and neither does hashing it again.
func FuzzCollapse(f *testing.F) {
	for _, seed := range []string{"", " a\u00a0\n b ", "\x00é\u200b\ufeff", "a\v\fb\u3000c"} {
		f.Add(seed, 10)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		limit = max(1, min(limit, 1<<16))
		once := collapser{max: limit}
		once.write([]byte(s))
		twice := collapser{max: limit}
		twice.write(once.buf)
		if once.String() != twice.String() || len(once.buf) > limit || !utf8.Valid(once.buf) {
			t.Errorf("%q with limit %d gives %q, then %q", s, limit, once.buf, twice.buf)
		}
		whole := collapser{max: 1 << 20}
		whole.write([]byte(s))
		text := whole.String()
		if ContentHash(text) != ContentHash(" "+text+"\n") {
			t.Errorf("white space around %q changes its hash", text)
		}
	})
}
