package extract

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// benchPage is a page as the web has them: about 80 kB, 264 hrefs of 60 targets, 15 kB of text, the
// rest scripts, styles and markup.
func benchPage() []byte {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title>` +
		`<link rel="canonical" href="https://www.example.test/section/page.html">` +
		`<meta name="robots" content="index, follow"><meta name="description" content="words">`)
	for i := range 12 {
		fmt.Fprintf(&b, `<link rel="stylesheet" href="/static/css/part-%d.css?v=3">`, i)
		fmt.Fprintf(&b, `<script defer src="/static/js/chunk-%d.js"></script>`, i)
	}
	b.WriteString("<script>" + strings.Repeat(`window.q=window.q||[];q.push({"k":"v",n:1});`, 250) +
		"</script><style>" + strings.Repeat(".card>a{margin:0 4px;color:#333}", 200) +
		"</style></head><body>")
	vocabulary := words(900, 3)
	at := 0
	for i := range 264 {
		fmt.Fprintf(&b, "\n<div class=\"card card--wide\" data-id=\"%d\"><p class=\"text\">", i)
		for range 9 {
			b.WriteString(vocabulary[at%len(vocabulary)] + " ")
			at += 7
		}
		fmt.Fprintf(&b, `<a class="link link--more" href="/articles/%d/some-title?ref=list&amp;page=2">`+
			"<span>read &amp; <b>see</b></span></a></p></div>", i%60)
		if i%10 == 0 {
			fmt.Fprintf(&b, `<img class="lazy" loading="lazy" src="/images/%d.jpg" alt="picture">`, i)
		}
	}
	b.WriteString("</body></html>")
	return []byte(b.String())
}

func reportPage(b *testing.B, body []byte) {
	b.SetBytes(int64(len(body)))
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/page")
}

func BenchmarkExtract(b *testing.B) {
	body := benchPage()
	in := Input{URL: "https://www.example.test/section/page.html",
		ContentType: "text/html; charset=utf-8",
		Body:        body}
	b.ReportAllocs()
	for b.Loop() {
		Extract(in, Limits{})
	}
	reportPage(b, body)
}

// BenchmarkTokenizer is what cannot be avoided: the tokenizer alone, and with every attribute read.
func BenchmarkTokenizer(b *testing.B) {
	body := benchPage()
	for _, attrs := range []bool{false, true} {
		b.Run(fmt.Sprintf("attrs=%v", attrs), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				z := html.NewTokenizer(bytes.NewReader(body))
				for tt := z.Next(); tt != html.ErrorToken; tt = z.Next() {
					if attrs && (tt == html.StartTagToken || tt == html.SelfClosingTagToken) {
						_, more := z.TagName()
						for more {
							_, _, more = z.TagAttr()
						}
					}
				}
			}
			reportPage(b, body)
		})
	}
}

func BenchmarkHashes(b *testing.B) {
	text := Extract(Input{URL: pageURL, ContentType: "text/html", Body: benchPage()}, Limits{}).Text
	for name, hash := range map[string]func(string) uint64{"content": ContentHash,
		"simhash": SimHash} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				hash(text)
			}
		})
	}
}

// The page that is measured is the page that is meant.
func TestBenchPage(t *testing.T) {
	body := benchPage()
	p := Extract(Input{URL: pageURL, ContentType: "text/html", Body: body}, Limits{})
	n := map[string]int{}
	for _, l := range p.Links {
		n[l.Kind]++
	}
	if len(body) < 70_000 || len(body) > 95_000 || n[KindA] != 60 || len(p.Text) < 12_000 {
		t.Errorf("%d bytes, %v links, %d bytes of text", len(body), n, len(p.Text))
	}
}
