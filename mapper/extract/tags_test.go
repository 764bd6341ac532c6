package extract

import "testing"

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		name, html string
		want       []string
	}{
		{"script, relative", `<script src="bower_components/jq.js"></script>`,
			[]string{"script http://h.test/dir/bower_components/jq.js"}},
		{"og:url only", `<meta property="og:site_name" content="Shop.com">
			<meta property="og:url" content="/x"><meta property="og:image" content="/i.png">`,
			[]string{"og http://h.test/x"}},
		{"area", `<map><area href=a></map>`, []string{"area http://h.test/dir/a"}},
		{"frames", `<frameset><frame src=f1><frame src=f2></frameset>`,
			[]string{"frame http://h.test/dir/f1", "frame http://h.test/dir/f2"}},
		{"iframe", `<iframe src=f>fallback <a href=no></iframe><a href=y>`,
			[]string{"iframe http://h.test/dir/f", "a http://h.test/dir/y"}},
		{"forms", `<form action=f method=post><button formaction=b></button>
			<input type=submit formaction=i></form><form></form>`,
			[]string{"form http://h.test/dir/f", "form http://h.test/dir/b", "form http://h.test/dir/i"}},
		{"pictures", `<img src=a srcset="b 1x, c 2x,d"><input type=IMAGE src=e><input src=no>
			<picture><source srcset="f"></picture><body background=g><td background=h>`,
			[]string{"img http://h.test/dir/a", "img http://h.test/dir/b", "img http://h.test/dir/c",
				"img http://h.test/dir/d", "img http://h.test/dir/e", "img http://h.test/dir/f",
				"img http://h.test/dir/g", "img http://h.test/dir/h"}},
		{"media", `<video src=a poster=b><source src=c><track src=d></video><audio src=e></audio>`,
			[]string{"media http://h.test/dir/a", "img http://h.test/dir/b", "media http://h.test/dir/c",
				"media http://h.test/dir/d", "media http://h.test/dir/e"}},
		{"embeds", `<embed src=a><object data=b></object>`,
			[]string{"embed http://h.test/dir/a", "embed http://h.test/dir/b"}},
		{"svg", `<svg><a xlink:href=a><image href=b /><use href="#local"/>
			<use xlink:href="sprite.svg#i"/></a></svg>`,
			[]string{"a http://h.test/dir/a", "img http://h.test/dir/b",
				"img http://h.test/dir/sprite.svg"}},
		{"a without href", `<a name=x><a>`, nil},
		{"upper case", `<A HREF=x><IMG SRC=y>`,
			[]string{"a http://h.test/dir/x", "img http://h.test/dir/y"}},
		{"first of two hrefs", `<a href=1 href=2>`, []string{"a http://h.test/dir/1"}},
		{"attribute without quotes", `<a href=x/y/>z</a>`, []string{"a http://h.test/dir/x/y/"}},
		{"slashes between", `<a/href="x"/class="y">`, []string{"a http://h.test/dir/x"}},
		{"unclosed tag at the end", `<a href=x>1</a><a href="y`, []string{"a http://h.test/dir/x"}},
		{"noscript", `<noscript><a href=x><img src=y></noscript>`,
			[]string{"a http://h.test/dir/x", "img http://h.test/dir/y"}},
		{"broken tag in noscript", `<noscript><img src=y </noscript><a href=x>`,
			[]string{"a http://h.test/dir/x"}},
		{"noframes", `<frameset><frame src=f></frameset><noframes><a href=x></noframes>`,
			[]string{"frame http://h.test/dir/f", "a http://h.test/dir/x"}},
		{"template", `<template><a href=no><template></template><a href=no></template><a href=x>`,
			[]string{"a http://h.test/dir/x"}},
		{"shadow root", `<template shadowrootmode=open><a href=x></template>`,
			[]string{"a http://h.test/dir/x"}},
		{"srcdoc", `<iframe src=no srcdoc="<base href=/b/><link rel=canonical href=/c>
			<a href='x'>&amp;amp;</a>"></iframe>`, []string{"a http://h.test/dir/x"}},
		{"comment", `<!-- <a href=no> --><a href=x>`, []string{"a http://h.test/dir/x"}},
		{"script and style", `<script>"<a href=no>"</script><style><a href=no></style>`, nil},
		{"textarea and title", `<title><a href=no></title><textarea><a href=no></textarea>`, nil},
		{"plaintext", `<a href=x><plaintext><a href=no>`, []string{"a http://h.test/dir/x"}},
		{"CDATA is a comment in HTML", `<![CDATA[<a href=no>]]><a href=x>`,
			[]string{"a http://h.test/dir/x"}},
		{"CDATA is text in SVG", `<svg><![CDATA[<a href=no>]]></svg><a href=x>`,
			[]string{"a http://h.test/dir/x"}},
		{"unclosed svg", `<svg><title>x<div><a href=x></div><title>t</title>`,
			[]string{"a http://h.test/dir/x"}},
	} {
		t.Run(c.name, func(t *testing.T) { wantLinks(t, extractHTML(c.html), c.want...) })
	}
}

func TestLinkElement(t *testing.T) {
	for _, c := range []struct{ attrs, want string }{
		{`rel=canonical`, "canonical"}, {`rel="Alternate CANONICAL"`, "canonical"},
		{`rel=stylesheet`, "css"}, {`rel="alternate stylesheet"`, "css"},
		{`rel="shortcut icon"`, "img"}, {`rel=apple-touch-icon`, "img"},
		{`rel=preload as=script`, "script"}, {`rel=preload as=style`, "css"},
		{`rel=preload as=image`, "img"}, {`rel=preload as=font`, "embed"}, {`rel=prefetch`, "embed"},
		{`rel=modulepreload`, "script"}, {`rel=manifest`, "embed"}, {`rel=sitemap`, "sitemap"},
		{`rel=alternate type="application/rss+xml"`, "data"},
		{`rel=alternate type="application/atom+xml; charset=utf-8"`, "data"},
		{`rel=alternate type="text/html" hreflang=fr`, "link"}, {`rel=pingback`, "data"},
		{`rel=shortlink`, "data"}, {`rel=search type="application/opensearchdescription+xml"`, "data"},
		{`rel="https://api.w.org/"`, "data"}, {`rel=prev type="application/xhtml+xml"`, "link"},
		{`rel=alternate hreflang=de`, "link"}, {`rel=next`, "link"}, {`rel=author`, "link"},
		{`rel=dns-prefetch`, ""}, {`rel=preconnect`, ""}, {`rel=""`, ""}, {`itemprop=url`, ""},
	} {
		t.Run(c.attrs, func(t *testing.T) {
			p := extractHTML(`<link href=x ` + c.attrs + `>`)
			if c.want == "" {
				wantLinks(t, p)
				return
			}
			wantLinks(t, p, c.want+" http://h.test/dir/x")
		})
	}
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ name, html, want string }{
		{"none", `<link rel=next href=/n>`, ""},
		{"relative to base", `<link rel=canonical href=c><base href=/b/>`, "http://h.test/b/c"},
		{"first wins", `<link rel=canonical href=/1><link rel=canonical href=/2>`, "http://h.test/1"},
		{"empty is none", `<link rel=canonical href=""><link rel=canonical href=/2>`, "http://h.test/2"},
		{"no web address", `<link rel=canonical href="javascript:x">`, ""},
		{"not normalised", `<link rel=canonical href="/a?b=2&amp;a=1&amp;utm_source=x">`,
			"http://h.test/a?b=2&a=1&utm_source=x"},
		{"in a script", `<script>'<link rel=canonical href=/s>'</script>`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := extractHTML(c.html).Canonical; got != c.want {
				t.Errorf("canonical %q, want %q", got, c.want)
			}
		})
	}
}

func TestMetaRobots(t *testing.T) {
	for _, c := range []struct {
		html              string
		noIndex, noFollow bool
	}{
		{`<meta name="robots" content="NoFollow, noindex">`, true, true},
		{`<meta name="ROBOTS" content="none">`, true, true},
		{`<meta name=robots content="noindex nofollow">`, true, true},
		{`<meta name=robots content="index,follow">`, false, false},
		{`<meta name=robots content="noindexing, x-nofollow">`, false, false},
		{`<meta name=Seine content=nofollow>`, false, true},
		{`<meta name=otherbot content=none>`, false, false},
		{`<meta name=robots content=noindex><meta name=seine content=index>`, true, false},
		{`<meta name=robots content=noindex><meta name=robots content=nofollow>`, true, true},
		{`<!-- <meta name=robots content=none> -->`, false, false},
		{`<meta name=robots>`, false, false},
		{`<noscript><meta name=robots content=noindex></noscript>`, true, false},
		{`<iframe srcdoc="<meta name=robots content=none>"></iframe>`, false, false},
	} {
		t.Run(c.html, func(t *testing.T) {
			p := extractHTML(c.html)
			if p.NoIndex != c.noIndex || p.NoFollow != c.noFollow {
				t.Errorf("noindex %v nofollow %v", p.NoIndex, p.NoFollow)
			}
		})
	}
}

func TestXRobotsTag(t *testing.T) {
	for _, c := range []struct {
		value             string
		noIndex, noFollow bool
	}{
		{"noindex", true, false}, {"NOINDEX, NoFollow", true, true}, {"none", true, true},
		{"otherbot: nofollow", false, false}, {"seine: nofollow", false, true},
		{"Seine : noindex", true, false}, {"*: noindex", true, false}, {"robots: noindex", true, false},
		{"otherbot: noindex, nofollow", false, false},
		{"otherbot: noindex, seine: nofollow", false, true},
		{"noindex, otherbot: nofollow", true, false},
		{"unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", true, false},
		{"max-snippet:50, nofollow", false, true}, {"", false, false}, {":::", false, false},
		{"seinette: noindex", false, false},
	} {
		t.Run(c.value, func(t *testing.T) {
			var d directives
			d.addHeader(c.value, "seine")
			if d.noIndex != c.noIndex || d.noFollow != c.noFollow {
				t.Errorf("noindex %v nofollow %v", d.noIndex, d.noFollow)
			}
		})
	}
}

func TestRefresh(t *testing.T) {
	for _, c := range []struct {
		content, url string
		ok           bool
	}{
		{"0;url=x", "x", true}, {"0; URL='x'", "x", true}, {"5", "", true}, {" 5 ", "", true},
		{"0;x", "x", true}, {"0,url=x", "x", true}, {"0 url=x", "x", true}, {"0 x", "x", true},
		{`0; url="x y" z`, "x y", true}, {"0;url = x ", "x", true}, {"0; url='x", "x", true},
		{"0.5;url=x", "x", true}, {".5;url=x", "x", true}, {"0;", "", true}, {"0;url=", "", true},
		{"0;URL", "URL", true}, {"0;urls/x", "urls/x", true}, {"0;'x'", "x", true},
		{"0;url=a?url=b;c", "a?url=b;c", true}, {"0;\n url=x", "x", true},
		{"url=x", "", false}, {"", "", false}, {"-1;url=x", "", false}, {"0x;url=x", "", false},
		{"1e3;url=x", "", false},
	} {
		t.Run(c.content, func(t *testing.T) {
			if url, ok := refreshURL(c.content); url != c.url || ok != c.ok {
				t.Errorf("got %q %v, want %q %v", url, ok, c.url, c.ok)
			}
		})
	}
}

func TestMetaRefresh(t *testing.T) {
	for _, c := range []struct{ name, html, want string }{
		{"base is used", `<base href=/b/><meta http-equiv=Refresh content="0;url=x">`,
			"http://h.test/b/x"},
		{"base behind it", `<meta http-equiv=refresh content="0;url=x"><base href=/b/>`,
			"http://h.test/b/x"},
		{"reload is none", `<meta http-equiv=refresh content=5>`, ""},
		{"first wins", `<meta http-equiv=refresh content="0;1"><meta http-equiv=refresh content="0;2">`,
			"http://h.test/dir/1"},
		{"in noscript", `<noscript><meta http-equiv=refresh content="0;x"></noscript>`,
			"http://h.test/dir/x"},
		{"script scheme", `<meta http-equiv=refresh content="0;javascript:x">`, ""},
		{"name is no http-equiv", `<meta name=refresh content="0;x">`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := extractHTML(c.html)
			if p.Refresh != c.want {
				t.Errorf("refresh %q, want %q", p.Refresh, c.want)
			}
			if c.want != "" && (p.Links[0].Kind != KindRefresh || p.Links[0].URL != c.want) {
				t.Errorf("links %v", brief(p.Links))
			}
		})
	}
}

func TestSrcset(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil}, {" , ,", nil}, {"a", []string{"a"}}, {"a 1x, b 2x", []string{"a", "b"}},
		{"a,b 2x", []string{"a,b"}}, {"a, b", []string{"a", "b"}}, {"a 1x,b", []string{"a", "b"}},
		{"data:,a 1x, b", []string{"data:,a", "b"}}, {"a (1,2) 1x, b", []string{"a", "b"}},
		{"\n a\t100w ,\n b\n", []string{"a", "b"}}, {"a,, b", []string{"a", "b"}},
	} {
		t.Run(c.in, func(t *testing.T) {
			var got []string
			for _, u := range srcsetURLs([]byte(c.in)) {
				got = append(got, string(u))
			}
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("got %q, want %q", got, c.want)
				}
			}
		})
	}
}

func TestLanguage(t *testing.T) {
	for _, c := range []struct{ html, want string }{
		{`<html lang="en-US">`, "en-us"}, {`<html lang=pt_BR>`, "pt-br"}, {`<html xml:lang=fr>`, "fr"},
		{`<html lang=" De ">`, "de"}, {`<html lang="">`, ""}, {`<html lang="english, please">`, ""},
		{`<meta http-equiv=content-language content=it>`, "it"},
		{`<meta http-equiv=content-language content="it, fr">`, ""},
		{`<html lang=es><meta http-equiv=content-language content=it>`, "es"},
		{`<html><p lang=fr>`, ""},
	} {
		t.Run(c.html, func(t *testing.T) {
			if got := extractHTML(c.html).Language; got != c.want {
				t.Errorf("language %q, want %q", got, c.want)
			}
		})
	}
}
