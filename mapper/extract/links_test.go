package extract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBase(t *testing.T) {
	for _, c := range []struct{ name, page, html, want string }{
		{"base is resolved against the page", "http://h.test/forum/index.php/mv/msg/7627/",
			`<base href="/forum/"><a href="index.php/fa/1/">`, "http://h.test/forum/index.php/fa/1/"},
		{"relative base", pageURL, `<base href="sub/"><a href=x>`, "http://h.test/dir/sub/x"},
		{"other host", pageURL, `<base href="//o.test/a/b"><a href=x>`, "http://o.test/a/x"},
		{"first one counts", pageURL, `<base href="/1/"><base href="/2/"><a href=x>`,
			"http://h.test/1/x"},
		{"one without href is none", pageURL, `<base target=_top><base href="/2/"><a href=x>`,
			"http://h.test/2/x"},
		{"first with href counts even if useless", pageURL,
			`<base href="mailto:x"><base href="/2/"><a href=x>`, "http://h.test/dir/x"},
		{"in a comment", pageURL, `<!-- <base href="/c/"> --><a href=x>`, "http://h.test/dir/x"},
		{"in a script", pageURL, `<script>"<base href='/c/'>"</script><a href=x>`, "http://h.test/dir/x"},
		{"in a template", pageURL, `<template><base href="/c/"></template><a href=x>`,
			"http://h.test/dir/x"},
		{"behind the links", pageURL, `<a href=x><base href="/b/">`, "http://h.test/b/x"},
		{"white space", pageURL, "<base href=' \n/b/ '><a href=x>", "http://h.test/b/x"},
		{"empty base is the page", pageURL, `<base href=""><a href=x>`, "http://h.test/dir/x"},
		{"empty link means base", pageURL, `<base href="/b/c"><a href="">`, "http://h.test/b/c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Extract(Input{URL: c.page, ContentType: "text/html", Body: []byte(c.html)}, Limits{})
			wantLinks(t, p, "a "+c.want)
		})
	}
}

func TestResolution(t *testing.T) {
	for _, c := range []struct{ href, want string }{
		{"x", "a http://h.test/dir/x"},
		{"", "a http://h.test/dir/page.html"},
		{"#top", "a http://h.test/dir/page.html"},
		{"x#frag", "a http://h.test/dir/x"},
		{" \n/page\t ", "a http://h.test/page"},
		{"/a\n\tb", "a http://h.test/ab"},
		{"///c.test/x", "a http://c.test/x"},
		{"http:x", "a http://h.test/dir/x"},
		{"https:/evil.test", "a https://evil.test/"},
		{`\\c.test\x`, "a http://c.test/x"},
		{"/a/%2e%2e/b", "a http://h.test/b"},
		{"index.php?/topic/1-x/&amp;a", "a http://h.test/dir/index.php?/topic/1-x/&a"},
		{"?a=1&copy=2", "a http://h.test/dir/page.html?a=1&copy=2"},
		{"?a=1&copy;", "a http://h.test/dir/page.html?a=1%C2%A9"},
		{"/%zz", "a http://h.test/%25zz"},
		{"javascript:void(0)", "a !scheme javascript:void(0)"},
		{"mailto:a@b.test", "a !scheme mailto:a@b.test"},
		{"http://h.test:99999/", "a !invalid http://h.test:99999/"},
	} {
		t.Run(c.href, func(t *testing.T) {
			wantLinks(t, extractHTML(`<a href="`+c.href+`">`), c.want)
		})
	}
}

func TestRepeats(t *testing.T) {
	p := extractHTML(`
		<a href="/x" rel="NOFOLLOW external"><img src=i.png></a>
		<a href="http://h.test/x#part">second</a>
		<a href="/y"></a><a href="/y">first of y</a> <a href="../y">another</a>
		<a href="javascript:go()">1</a><a href="javascript:go()">2</a>
		<link rel=canonical href="/x">`)
	want := []Link{
		// Followable once is followable, and the first anchor that says anything counts.
		{Href: "/x", URL: "http://h.test/x", Anchor: "second", Rel: "", Kind: KindA},
		{Href: "i.png", URL: "http://h.test/dir/i.png", Kind: KindImg},
		{Href: "/y", URL: "http://h.test/y", Anchor: "first of y", Kind: KindA},
		{Href: "javascript:go()", Anchor: "1", Kind: KindA, Refused: RefusedScheme},
		{Href: "/x", URL: "http://h.test/x", Rel: "canonical", Kind: KindCanonical},
	}
	if d := cmp.Diff(want, p.Links); d != "" {
		t.Errorf("links (-want +got):\n%s", d)
	}
}

func TestLinkLimit(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "<a href=/%d>", i%50)
	}
	p := Extract(Input{URL: pageURL, ContentType: "text/html", Body: []byte(b.String())},
		Limits{Links: 30})
	if len(p.Links) != 30 || p.LinksDropped != 20 {
		t.Errorf("%d links, %d dropped; want 30 and 20", len(p.Links), p.LinksDropped)
	}
	if p.Links[0].URL != "http://h.test/0" || p.Links[29].URL != "http://h.test/29" {
		t.Errorf("not the first ones: %v", brief(p.Links))
	}
}

// Spellings of one target take no room from other targets.
func TestLinkLimitCountsTargets(t *testing.T) {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "<a href='/same#%d'>", i)
	}
	b.WriteString("<a href=/other>")
	p := Extract(Input{URL: pageURL, ContentType: "text/html", Body: []byte(b.String())},
		Limits{Links: 20})
	wantLinks(t, p, "a http://h.test/same", "a http://h.test/other")
}

// A reference is whole or absent.
func TestLongHref(t *testing.T) {
	long := "/" + strings.Repeat("x", 5000)
	p := extractHTML(`<a href="` + long + `">`)
	if len(p.Links) != 1 || p.Links[0].Href != long || p.Links[0].URL != "http://h.test"+long {
		t.Errorf("5,000 bytes are not whole")
	}
	p = extractHTML(`<a href="/` + strings.Repeat("x", 20_000) + `"></a><a href=y>`)
	wantLinks(t, p, "a http://h.test/dir/y")
	if p.LinksDropped != 1 {
		t.Errorf("LinksDropped = %d, want 1", p.LinksDropped)
	}
}

func TestInlineContentIsNoLink(t *testing.T) {
	p := extractHTML(`<img src="data:image/gif;base64,R0"><iframe src="about:blank"></iframe>
		<img src=""><script src=" "></script><link rel=icon href="DATA:,">
		<a href="data:text/html,x">d</a>`)
	wantLinks(t, p, "a !scheme data:text/html,x")
	p = extractHTML(`<img src="data:image/gif;base64,` + strings.Repeat("A", 50_000) + `">`)
	if p.LinksDropped != 0 {
		t.Errorf("a long data: URL counts as %d links", p.LinksDropped)
	}
}

func TestRel(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "NoFollow": "nofollow", " ugc\n NOFOLLOW\tugc ": "ugc nofollow",
		"nofollow,noopener": "nofollow,noopener",
	} {
		p := extractHTML(`<a href=x rel="` + in + `">`)
		if got := p.Links[0].Rel; got != want {
			t.Errorf("rel %q gives %q, want %q", in, got, want)
		}
	}
	l := Link{Rel: "noopener nofollow"}
	if !l.HasRel("nofollow") || l.HasRel("no") || l.HasRel("") {
		t.Errorf("HasRel does not go by whole tokens")
	}
	p := extractHTML(`<a href=x rel="` + strings.Repeat("aa ", 3) + strings.Repeat("b", 300) + ` c">`)
	if got := p.Links[0].Rel; got != "aa c" {
		t.Errorf("long rel gives %q", got)
	}
}

func TestAnchor(t *testing.T) {
	for _, c := range []struct{ name, html, want string }{
		{"collapsed", "<a href=x>  a \n <b>b</b>c&nbsp;d </a>e", "a bc d"},
		{"blocks", "<a href=x><div>a</div><div>b</div></a>", "a b"},
		{"alt of an image", `<a href=x><img src=data:, alt="the picture">now</a>`, "the picture now"},
		{"script inside", "<a href=x>a<script>s</script>b</a>", "ab"},
		{"icon inside", "<a href=x><svg><title>t</title></svg>b</a>", "b"},
		{"noscript inside", "<a href=x>a<noscript><b>n</b></noscript>b</a>", "ab"},
		{"unclosed", "<a href=x>a <p>b", "a b"},
		{"closed by the next", "<a href=x>a<a name=y>b</a>", "a"},
		{"area", `<area href=x alt=" an  area ">`, "an area"},
		{"frame", `<iframe src=x title="a frame"></iframe>`, "a frame"},
		{"cut between characters", "<a href=x>" + strings.Repeat("é", 300) + "</a>",
			strings.Repeat("é", 128)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := extractHTML(c.html).Links[0].Anchor; got != c.want {
				t.Errorf("anchor %q, want %q", got, c.want)
			}
		})
	}
}
