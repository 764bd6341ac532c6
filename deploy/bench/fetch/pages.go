package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/klauspost/compress/gzip"
)

const (
	pagesAHost = 50
	bodies     = 200 // distinct pages; hosts share them, with links of their own
	anchors    = 264
	targets    = 60 // distinct ones on a page
	outside    = 9  // of these, on other domains
	sitePages  = 500
)

// page makes the n-th page: some 80 kB with 264 anchors to 60 targets, of which
// 85 % lie on its own site, and 15 kB of text.
func page(n int) []byte {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	links := pageTargets(random)
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>")
	words(&b, random, 6)
	b.WriteString("</title>\n<meta name=\"robots\" content=\"index, follow\">" +
		"<meta name=\"description\" content=\"")
	words(&b, random, 20)
	b.WriteString("\">")
	for i := range 12 {
		fmt.Fprintf(&b, "\n<link rel=\"stylesheet\" href=\"/static/css/part-%d.css?v=3\">", i)
		fmt.Fprintf(&b, "\n<script defer src=\"/static/js/chunk-%d.js\"></script>", i)
	}
	b.WriteString("\n<script>")
	for range 240 {
		fmt.Fprintf(&b, "window.q=window.q||[];q.push({\"k\":\"%x\"});", random.Uint32())
	}
	b.WriteString("</script>\n<style>")
	for i := range 170 {
		fmt.Fprintf(&b, ".card-%d>a{margin:0 %dpx;color:#%03x}", i, random.IntN(9), random.IntN(4096))
	}
	b.WriteString("</style></head><body>\n")
	for i := range anchors {
		fmt.Fprintf(&b, "<div class=\"card card--wide\" data-id=\"%d\"><p class=\"text\">", i)
		words(&b, random, 9)
		fmt.Fprintf(&b, "<a class=\"link link--more\" href=\"%s\"><span>", links[i%targets])
		words(&b, random, 2)
		b.WriteString("&amp; <b>more</b></span></a></p></div>\n")
		if i%10 == 0 {
			fmt.Fprintf(&b, "<img class=\"lazy\" loading=\"lazy\" src=\"/images/%d.jpg\" alt=\"picture\">\n", i)
		}
	}
	b.WriteString("</body></html>\n")
	return []byte(b.String())
}

// pageTargets are the distinct references of a page: the site's menu, pages of
// the site, and others' domains, few of them often.
func pageTargets(random *rand.Rand) []string {
	zipf := rand.NewZipf(random, 1.2, 8, 1<<20)
	seen := map[string]bool{}
	var links []string
	for len(links) < targets {
		var l string
		switch n := len(links); {
		case n < 20:
			l = fmt.Sprintf("/section-%d/", n)
		case n < targets-outside:
			l = fmt.Sprintf("/articles/%d/some-title?ref=list&amp;page=2", random.IntN(sitePages))
		default:
			l = fmt.Sprintf("https://www.site-%d.example/news/%d.html", zipf.Uint64(), random.IntN(1000))
		}
		if !seen[l] {
			seen[l] = true
			links = append(links, l)
		}
	}
	return links
}

const syllables = "ka lo mi ren sta vo the in qua der per son tal ing um ba cre du est fi go her"

// words writes n words, the frequent ones short and often.
func words(b *strings.Builder, random *rand.Rand, n int) {
	parts := strings.Fields(syllables)
	for range n {
		for range 1 + random.IntN(3) {
			k := random.IntN(len(parts))
			b.WriteString(parts[min(k, random.IntN(len(parts)))])
		}
		b.WriteByte(' ')
	}
}

// packed are the pages as they are sent.
func packed() ([][]byte, error) {
	out := make([][]byte, bodies)
	for n := range out {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(page(n)); err != nil {
			return nil, fmt.Errorf("pack page %d: %w", n, err)
		}
		if err := w.Close(); err != nil {
			return nil, fmt.Errorf("pack page %d: %w", n, err)
		}
		out[n] = b.Bytes()
	}
	return out, nil
}
