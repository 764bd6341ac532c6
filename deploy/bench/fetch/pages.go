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
func page(n int, words []string) []byte {
	w := newWriter(uint64(n), words)
	links := pageTargets(w.random)
	w.head()
	for i := range anchors {
		fmt.Fprintf(w, "<div class=\"card card--wide\" data-id=\"%d\"><p class=\"text\">", i)
		w.text(9)
		fmt.Fprintf(w, "<a class=\"link link--more\" href=\"%s\"><span>", links[i%targets])
		w.text(2)
		w.WriteString("&amp; <b>more</b></span></a></p></div>\n")
		if i%10 == 0 {
			fmt.Fprintf(w, "<img class=\"lazy\" loading=\"lazy\" src=\"/images/%d.jpg\" "+
				"alt=\"picture\">\n", i)
		}
	}
	w.WriteString("</body></html>\n")
	return []byte(w.String())
}

// head writes the head, with scripts and styles in it.
func (w *writer) head() {
	w.WriteString("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>")
	w.text(6)
	w.WriteString("</title>\n<meta name=\"robots\" content=\"index, follow\">" +
		"<meta name=\"description\" content=\"")
	w.text(20)
	w.WriteString("\">")
	for i := range 12 {
		fmt.Fprintf(w, "\n<link rel=\"stylesheet\" href=\"/static/css/part-%d.css?v=3\">", i)
		fmt.Fprintf(w, "\n<script defer src=\"/static/js/chunk-%d.js\"></script>", i)
	}
	w.WriteString("\n<script>")
	for i := range 180 {
		fmt.Fprintf(w, "window.q=window.q||[];q.push({\"name\":\"%s\",value:%d});", w.words[i],
			w.random.IntN(1000))
	}
	w.WriteString("</script>\n<style>")
	for i := range 170 {
		fmt.Fprintf(w, ".card-%d>a{margin:0 %dpx;color:#%03x}", i, w.random.IntN(9),
			w.random.IntN(4096))
	}
	w.WriteString("</style></head><body>\n")
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
			l = fmt.Sprintf("https://www.site-%d.example/news/%d.html", zipf.Uint64(),
				random.IntN(1000))
		}
		if !seen[l] {
			seen[l] = true
			links = append(links, l)
		}
	}
	return links
}

const syllables = "ka lo mi ren sta vo the in qua der per son tal ing um ba cre du est fi go her"

// vocabulary is 6,000 words, the frequent ones first and short, as languages
// have them.
func vocabulary() []string {
	random := rand.New(rand.NewPCG(7, 7))
	parts := strings.Fields(syllables)
	seen := map[string]bool{}
	var list []string
	for len(list) < 6000 {
		var w string
		for range 1 + random.IntN(3+len(list)/1500) {
			w += parts[random.IntN(len(parts))]
		}
		if !seen[w] || len(list) < 20 {
			seen[w] = true
			list = append(list, w)
		}
	}
	return list
}

// writer writes a page's text: words by Zipf's law.
type writer struct {
	strings.Builder
	random *rand.Rand
	zipf   *rand.Zipf
	words  []string
}

func newWriter(seed uint64, words []string) *writer {
	random := rand.New(rand.NewPCG(seed, 1))
	return &writer{random: random, words: words,
		zipf: rand.NewZipf(random, 1.1, 2.7, uint64(len(words)-1))}
}

func (w *writer) text(n int) {
	for range n {
		w.WriteString(w.words[w.zipf.Uint64()])
		w.WriteByte(' ')
	}
}

// packed are the pages as they are sent.
func packed() ([][]byte, error) {
	out, words := make([][]byte, bodies), vocabulary()
	for n := range out {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(page(n, words)); err != nil {
			return nil, fmt.Errorf("pack page %d: %w", n, err)
		}
		if err := w.Close(); err != nil {
			return nil, fmt.Errorf("pack page %d: %w", n, err)
		}
		out[n] = b.Bytes()
	}
	return out, nil
}
