package extract

import (
	"strings"
	"testing"
)

// big is large enough that a quadratic step takes long.
const big = 1 << 20

// Large bodies, made to cost: a step that is not linear in the body would run into the
// test's time limit here.
func TestHostileBodies(t *testing.T) {
	distinct := func(n int) string { // attributes, all of different names
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteByte(' ')
			for k := i; ; k /= 26 {
				b.WriteByte('a' + byte(k%26))
				if k < 26 {
					break
				}
			}
		}
		return b.String()
	}
	fill := func(s string) string { return strings.Repeat(s, big/len(s)) }
	for name, body := range map[string]string{
		"one long attribute":            `<a href="` + fill("x") + `">`,
		"one long attribute, entities":  `<a href="` + fill("&amp;") + `">`,
		"one long attribute, ampersand": `<a href="` + fill("&") + `">`,
		"attribute never closed":        `<a href="` + fill("x "),
		"wide tag, then small ones":     "<p" + distinct(big/2) + ">" + fill("<b a>")[:big/2],
		"wide tag":                      "<a" + distinct(big) + ">",
		"many wide tags":                fill("<p" + distinct(3<<10) + ">"),
		"tags of many attributes":       fill("<p" + distinct(1900) + "><b><b><b><b><b><b><b><b><b>"),
		"deep nesting":                  fill("<div>"),
		"deep nesting, no brackets":     fill("<div"),
		"only brackets":                 fill("<"),
		"only end tags":                 fill("</"),
		"comment openers":               fill("<!--"),
		"one long comment":              "<!--" + fill("x"),
		"declarations":                  fill("<!"),
		"CDATA openers":                 fill("<svg><![CDATA["),
		"NULs":                          fill("\x00"),
		"invalid UTF-8":                 fill("\xc3\x28"),
		"entities":                      fill("&notit;"),
		"ampersands":                    fill("&#"),
		"noscripts":                     fill("<noscript><a></noscript>"),
		"noscript in noscript":          fill("<noscript>"),
		"srcdocs":                       fill("<iframe srcdoc='<a href=x>'></iframe>"),
		"templates":                     fill("<template>"),
		"scripts":                       fill("<script><!--<script>"),
		"script ends":                   "<script>" + fill("</scrip "),
		"titles":                        fill("<title>x</title>"),
		"svg":                           fill("<svg><foreignObject>"),
		"anchors":                       fill("<a href=x>y"),
		"distinct links":                fill("<a href=") + ">",
		"candidates":                    `<img srcset="` + fill("a,") + `">`,
		"candidates of many pictures":   fill(`<img srcset="` + strings.Repeat("a 1x,", 3000) + `">`),
		"rel":                           fill(`<a href=x rel="` + strings.Repeat("a b ", 3000) + `">`),
		"bases":                         fill("<base href=x>"),
		"metas":                         fill(`<meta name=robots content="a,b">`),
		"meta charsets": `<meta http-equiv=content-type content="` +
			fill("charset") + `">`,
	} {
		t.Run(name, func(t *testing.T) {
			checkPage(t, Extract(Input{URL: pageURL, ContentType: "text/html", Body: []byte(body)},
				Limits{}), Limits{}.withDefaults())
		})
	}
}

func TestHostileXML(t *testing.T) {
	fill := func(s string) string { return strings.Repeat(s, big/len(s)) }
	for name, body := range map[string]string{
		"entity bomb": `<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>` +
			`<urlset><url><loc>http://h.test/&b;</loc></url>` + fill("&b;"),
		"locs":         "<urlset>" + fill("<loc>"),
		"urls":         "<urlset>" + fill("<url>"),
		"CDATA":        "<urlset><url><loc>" + fill("<![CDATA[x]]>"),
		"long loc":     "<urlset><url><loc>" + fill("x") + "</loc>",
		"ampersands":   "<urlset><url><loc>" + fill("&"),
		"items":        "<rss>" + fill("<item><link>x"),
		"descriptions": "<rss>" + fill("<description>&lt;p></description>"),
		"enclosures":   "<rss><item>" + fill("<enclosure url='x'/>"),
		"sources":      "<feed><entry>" + fill("<source>"),
		"preamble":     fill("<?xml?>") + "<urlset>",
		"lines":        fill("http://h.test/\n"),
	} {
		t.Run(name, func(t *testing.T) {
			l := Limits{}.withDefaults()
			checkSitemap(t, Sitemap([]byte(body), "", sitemapURL, l), l)
			checkPage(t, Extract(Input{URL: pageURL, ContentType: "text/xml", Body: []byte(body)}, l), l)
		})
	}
}
