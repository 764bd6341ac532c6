package fetch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/schema"
	"seine/formats/settings"
)

const linkPage = "http://h.test/dir/page"

var linkCases = []struct {
	name, url, body string
	want            []string
}{
	{"base is resolved against the page", "http://h.test/forum/index.php/mv/msg/7627/",
		`<base href="/forum/"><a href="index.php/fa/1/">x</a>`,
		[]string{"a accepted http://h.test/forum/index.php/fa/1/"}},
	{"the first base wins, comments are none", linkPage,
		`<!-- <base href="/no/"> --><base href="/b/"><base href="/c/"><a href="x">x</a>`,
		[]string{"a accepted http://h.test/b/x"}},
	{"a base without href is none", linkPage, `<base target="_top"><base href="/b/"><a href=x>x</a>`,
		[]string{"a accepted http://h.test/b/x"}},
	{"a base of another scheme is none", linkPage, `<base href="javascript:1"><a href=x>x</a>`,
		[]string{"a accepted http://h.test/dir/x"}},
	{"script sources are relative to the page", "http://h.test/static/index.html",
		`<script src="bower_components/jq.js"></script>`,
		[]string{"script embed http://h.test/static/bower_components/jq.js"}},
	{"only og:url is a link", linkPage,
		`<meta property="og:site_name" content="Shop.com"><meta property="og:url" content="/x">`,
		[]string{"og accepted http://h.test/x"}},
	{"escapes are not escaped again", linkPage, `<a href="/Detail/NjAxOA%3d%3d">x</a>`,
		[]string{"a accepted http://h.test/Detail/NjAxOA%3D%3D"}},
	{"queries are sorted", linkPage, `<a href="/p?b=2&amp;a=1">x</a><a href="/p?a=1&amp;b=2">y</a>`,
		[]string{"a accepted http://h.test/p?a=1&b=2", "a accepted http://h.test/p?a=1&b=2"}},
	{"a path in a query stays", linkPage, `<a href="/index.php?/topic/1-x/&amp;a">x</a>`,
		[]string{"a accepted http://h.test/index.php?/topic/1-x/&a"}},
	{"percent signs alone", linkPage, `<a href="/100%">1</a><a href="/a%%b">2</a><a href="/%zz">3</a>`,
		[]string{"a accepted http://h.test/%25zz", "a accepted http://h.test/100%25",
			"a accepted http://h.test/a%25%25b"}},
	{"bars and spaces in a query", linkPage, `<a href="?q=top||1|60">x</a><a href="?q=a b">y</a>`,
		[]string{"a accepted http://h.test/dir/page?q=a%20b",
			"a accepted http://h.test/dir/page?q=top%7C%7C1%7C60"}},
	{"white space around and in an href", linkPage,
		"<a href=\" \n/pa\tge\t \">x</a><a href='/page'>y</a>",
		[]string{"a accepted http://h.test/page"}},
	{"an address in brackets", linkPage,
		`<a href="http://[::1]:80/x">x</a><a href="http://[::1]:8080/x">y</a>`,
		[]string{"a accepted http://[::1]/x", "a accepted http://[::1]:8080/x"}},
	{"an encoded host", linkPage, `<a href="http://ex%61mple.test/">x</a>`,
		[]string{"a accepted http://example.test/"}},
	{"an underscore in a host", linkPage, `<a href="http://a_b.test/">x</a>`,
		[]string{"a accepted http://a_b.test/"}},
	{"slashes without end", linkPage, `<a href="///c.test/x">x</a><a href="\\c.test\y">y</a>`,
		[]string{"a accepted http://c.test/x", "a accepted http://c.test/y"}},
	{"schemes without slashes", linkPage,
		`<a href="http:x">1</a><a href="http:/y">2</a><a href="https:/evil.test">3</a>`,
		[]string{"a accepted http://h.test/dir/x", "a accepted http://h.test/y",
			"a accepted https://evil.test/"}},
	{"dots, encoded too", linkPage, `<a href="/a/%2e%2e/b">1</a><a href="/a/./b/../c">2</a>`,
		[]string{"a accepted http://h.test/a/c", "a accepted http://h.test/b"}},
	{"case, ports, dots and users of an authority", linkPage,
		`<a href="HTTP://H.TEST:80/X">1</a><a href="http://h.test./y">2</a>` +
			`<a href="http://u:p@h.test/z">3</a>`,
		[]string{"a accepted http://h.test/X", "a accepted http://h.test/y",
			"a accepted http://h.test/z"}},
	{"numbers are addresses", linkPage,
		`<a href="http://2130706433/">1</a><a href="http://0x7f.1/">2</a>`,
		[]string{"a accepted http://127.0.0.1/"}},
	{"what is no page", linkPage, `<a href="javascript:x">1</a><a href="mailto:a@b.test">2</a>` +
		`<a href="tel:1">3</a><a href="data:text/html,x">4</a><a href="file:///etc/passwd">5</a>`,
		[]string{"a scheme", "a scheme", "a scheme", "a scheme", "a scheme"}},
	{"what is no URL", linkPage,
		`<a href="http://">1</a><a href="http://h.test:99999/">2</a><a href="http://[::1/">3</a>`,
		[]string{"a invalid", "a invalid", "a invalid"}},
	{"frames, areas and refreshes are followed", linkPage,
		`<meta http-equiv=refresh content="3; url=r">` +
			`<map><area href=ar></map><iframe src=if></iframe>` +
			`<form action=fo></form><link rel=canonical href=/c>`,
		[]string{"area accepted http://h.test/dir/ar", "canonical accepted http://h.test/c",
			"form embed http://h.test/dir/fo", "iframe accepted http://h.test/dir/if",
			"refresh accepted http://h.test/dir/r"}},
	{"a link element is followed to documents, not to data", linkPage,
		`<link rel=next href=n><link rel=alternate hreflang=de href=/de/>` +
			`<link rel=alternate type="application/rss+xml" href=/rss><link rel=pingback href=/ping>`,
		[]string{"data embed http://h.test/ping", "data embed http://h.test/rss",
			"link accepted http://h.test/de/", "link accepted http://h.test/dir/n"}},
	{"a refresh goes by the base", linkPage,
		`<base href="/b/"><meta http-equiv="Refresh" content="0;URL='next.html'">`,
		[]string{"refresh accepted http://h.test/b/next.html"}},
	{"nofollow of a link", linkPage, `<a href=/x rel="NoFollow ugc">x</a>`,
		[]string{"a nofollow http://h.test/x"}},
	{"nofollow of the page", linkPage,
		`<meta name="robots" content="NoFollow, noindex"><a href=/x>x</a>`,
		[]string{"a nofollow http://h.test/x"}},
	{"tracking parameters go", linkPage,
		`<a href="/x?utm_source=y&amp;q=1&amp;PHPSESSID=0123456789abcdef0123456789abcdef">x</a>`,
		[]string{"a accepted http://h.test/x?q=1"}},
}

// TestLinksOfAPage has section A of the field's cases: a body, its address, and
// the rows of links that it must leave.
func TestLinksOfAPage(t *testing.T) {
	for _, c := range linkCases {
		t.Run(c.name, func(t *testing.T) {
			s := newScript()
			s.replies[strings.TrimPrefix(c.url, "http://")] = html(c.body)
			trial(t, s, settings.Settings{}, []string{c.url}, func(t *testing.T, w *world, l *left) {
				if diff := cmp.Diff(c.want, l.described(c.url)); diff != "" {
					t.Error(diff)
				}
				if got := l.outcome(c.url); got.Reason != schema.OK {
					t.Errorf("the page ends as %s: %s", got.Reason, got.Detail)
				}
			})
		})
	}
}

// TestEmbedsAreFollowedOnDemand: with embeds what pages are built of is asked for, and still no
// form and nothing that is for programs.
func TestEmbedsAreFollowedOnDemand(t *testing.T) {
	s := newScript()
	s.replies["h.test/"] = html(`<img src=i><form action=f></form><link rel=stylesheet href=c>` +
		`<link rel=pingback href=p>`)
	trial(t, s, settings.Settings{Embeds: true}, []string{"http://h.test/"},
		func(t *testing.T, _ *world, l *left) {
			want := []string{"css accepted http://h.test/c", "data embed http://h.test/p",
				"form embed http://h.test/f", "img accepted http://h.test/i"}
			if diff := cmp.Diff(want, l.described("http://h.test/")); diff != "" {
				t.Error(diff)
			}
		})
}

// TestItemsOfAFeedAreFollowed: a feed that was fetched is a page whose items are links.
func TestItemsOfAFeedAreFollowed(t *testing.T) {
	s := newScript()
	s.replies["h.test/feed"] = typed("application/rss+xml",
		`<?xml version="1.0"?><rss version="2.0"><channel><link>http://h.test/</link>`+
			`<item><link>/1</link><enclosure url="/1.mp3"/></item></channel></rss>`)
	trial(t, s, settings.Settings{}, []string{"http://h.test/feed"},
		func(t *testing.T, _ *world, l *left) {
			want := []string{"feed accepted http://h.test/1", "link accepted http://h.test/",
				"media embed http://h.test/1.mp3"}
			if diff := cmp.Diff(want, l.described("http://h.test/feed")); diff != "" {
				t.Error(diff)
			}
		})
}

// TestLongAttributes: whole or dropped, never cut, and soon.
func TestLongAttributes(t *testing.T) {
	long := "/" + strings.Repeat("a", 2100)
	s := newScript()
	s.replies["h.test/"] = html(`<a href="` + long + `">x</a><a href="/` + strings.Repeat("b",
		3<<20) +
		`">y</a><img src="data:image/png;base64,` + strings.Repeat("A", 1<<20) +
		`"><a href=/last>z</a>`)
	trial(t, s, settings.Settings{}, []string{"http://h.test/"}, func(t *testing.T, _ *world,
		l *left) {
		want := []string{"a accepted http://h.test/last", "a too_long"}
		if diff := cmp.Diff(want, l.described("http://h.test/")); diff != "" {
			t.Error(diff)
		}
	})
}

// TestPageCharsetEncodesQueries: the query goes by the page's charset, the path
// by UTF-8.
func TestPageCharsetEncodesQueries(t *testing.T) {
	s := newScript()
	s.replies["h.test/"] = typed("text/html; charset=ISO-8859-1",
		"<a href=\"/caf\xe9?q=\xe9\">x</a>")
	trial(t, s, settings.Settings{}, []string{"http://h.test/"}, func(t *testing.T, _ *world,
		l *left) {
		want := []string{"a accepted http://h.test/caf%C3%A9?q=%E9"}
		if diff := cmp.Diff(want, l.described("http://h.test/")); diff != "" {
			t.Error(diff)
		}
	})
}

// TestListedURLsAreAskedForAsTheyStand: the key stored is the key fetched.
func TestListedURLsAreAskedForAsTheyStand(t *testing.T) {
	list := []string{"http://h.test/Detail/NjAxOA%3d%3d", "http://h.test/p?b=2&a=1",
		"http://h.test/100%",
		"http://h.test/?q=top||1|60", "http://h.test/index.php?/topic/1-x/&a",
		"HTTP://H.TEST:80/X#frag",
		"http://h.test./y", "http://u:p@h.test/z", "http://h.test/a%2fb", "http://h.test/%7Ejoe"}
	want := []string{"h.test/robots.txt", "h.test/Detail/NjAxOA%3D%3D", "h.test/p?a=1&b=2",
		"h.test/100%25",
		"h.test/?q=top%7C%7C1%7C60", "h.test/index.php?/topic/1-x/&a", "h.test/X", "h.test/y",
		"h.test/z",
		"h.test/a%2Fb", "h.test/~joe"}
	s := newScript()
	trial(t, s, settings.Settings{}, list, func(t *testing.T, _ *world, l *left) {
		if diff := cmp.Diff(want, s.requests()); diff != "" {
			t.Error(diff)
		}
		for _, r := range s.log {
			if strings.Contains(r.head, "Authorization") || strings.Contains(r.head, "u:p") {
				t.Errorf("credentials in %q", r.head)
			}
		}
	})
}
