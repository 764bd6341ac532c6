package webtest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// answer is what a path answers with, before framing.
type answer struct {
	status   int
	kind     string // Content-Type
	body     []byte
	location string
	etag     string
	header   []string // further lines
	delay    time.Duration
	gzip     bool
	frame    frame
}

// PageKind is what a numbered page of a host is.
type PageKind string

// Kinds of pages.
const (
	Plain     PageKind = "plain"
	Changing  PageKind = "changing"  // its text changes every day
	Moved     PageKind = "moved"     // redirects to the page of the next number
	Loop      PageKind = "loop"      // redirects to itself
	Missing   PageKind = "missing"   // 404
	Forbidden PageKind = "forbidden" // 403
	Broken    PageKind = "broken"    // 500, always
	Copy      PageKind = "copy"      // the same body as page 0
	NoIndex   PageKind = "noindex"   // meta robots noindex
	NoFollow  PageKind = "nofollow"  // meta robots nofollow: its links are not followed
	Chunked   PageKind = "chunked"   // odd but acceptable framing
	Picture   PageKind = "picture"   // an image
)

// Kind is what page n of a host is. Page 0, the home page, is plain.
func (w *Web) Kind(h *Host, n int) PageKind {
	if n == 0 || w.spec.Plain {
		return Plain
	}
	table := []struct {
		kind PageKind
		upto float64
	}{{Changing, 0.08}, {Moved, 0.13}, {Loop, 0.14}, {Missing, 0.17}, {Forbidden, 0.18},
		{Broken, 0.20}, {Copy, 0.23}, {NoIndex, 0.25}, {NoFollow, 0.27}, {Chunked, 0.35},
		{Picture, 0.37}}
	p := w.unit("kind", h.Name, strconv.Itoa(n))
	for _, row := range table {
		if p < row.upto {
			return row.kind
		}
	}
	return Plain
}

// Path is the path of page n: page 0 is the home page, others lie in sections.
func Path(n int) string {
	if n == 0 {
		return "/"
	}
	return fmt.Sprintf("/s%d/p%d.html", n%7, n)
}

// number reads a page's number back from its path.
func number(path string) (int, bool) {
	if path == "/" {
		return 0, true
	}
	_, name, _ := strings.Cut(path[1:], "/p")
	digits, ok := strings.CutSuffix(name, ".html")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && Path(n) == path
}

// branches is how many children a page has: pages form a tree, so all are
// reachable over pages that can be followed.
const branches = 8

// links are the URLs that page n of h links to, as written.
func (w *Web) links(h *Host, n int) []string {
	var hrefs []string
	for c := n*branches + 1; c <= n*branches+branches && c < h.Pages; c++ {
		hrefs = append(hrefs, Path(c))
	}
	hrefs = append(hrefs, "/", "/private/"+strconv.Itoa(n%5)+".html", "/x"+strconv.Itoa(n%3)+".secret")
	for i := range w.spec.Links {
		u := w.unit("link", h.Name, strconv.Itoa(n), strconv.Itoa(i))
		if i%3 != 0 {
			hrefs = append(hrefs, dress(Path(int(u*float64(h.Pages))), i))
			continue
		}
		// Zipf over hosts: rank r with density 1/r.
		r := int(expUnit(u, float64(len(w.hosts)))) - 1
		to := w.hosts[max(0, min(r, len(w.hosts)-1))]
		hrefs = append(hrefs, to.URL("/"))
	}
	if !w.spec.Plain {
		hrefs = append(hrefs, "mailto:x@"+h.Name, "javascript:void(0)",
			fmt.Sprintf("/trap%s", strings.Repeat("/a/b", 1+n%9)))
	}
	return hrefs
}

// dress writes a link in another way that has the same normal form.
func dress(path string, i int) string {
	switch i % 5 {
	case 1:
		return path + "#part"
	case 2:
		return path + "?utm_source=feed"
	case 4:
		return " " + path + "\n"
	}
	return path
}

// page is the answer of page n at time now.
func (w *Web) page(h *Host, n int, now time.Time) answer {
	kind := w.Kind(h, n)
	switch kind {
	case Moved:
		return answer{status: 301, location: Path((n + 1) % h.Pages)}
	case Loop:
		return answer{status: 302, location: Path(n)}
	case Missing:
		return answer{status: 404, kind: "text/html", body: []byte("<h1>not found</h1>")}
	case Forbidden:
		return answer{status: 403, kind: "text/html", body: []byte("<h1>forbidden</h1>")}
	case Broken:
		return answer{status: 500, kind: "text/html", body: []byte("<h1>error</h1>")}
	case Picture:
		return answer{status: 200, kind: "image/png", body: []byte("\x89PNG\r\n\x1a\n picture " + h.Name)}
	case Copy:
		return answer{status: 200, kind: "text/html; charset=utf-8", body: w.html(h, 0, Plain, 0)}
	}
	version := 0
	if kind == Changing {
		version = int(now.Sub(w.spec.Epoch) / (24 * time.Hour))
	}
	a := answer{status: 200, kind: "text/html; charset=utf-8", body: w.html(h, n, kind, version),
		etag: fmt.Sprintf(`"%s-%d-%d"`, h.Name, n, version), gzip: n%2 == 0}
	if kind == Chunked {
		a.frame, a.gzip = frame(1+w.hash("frame", h.Name, strconv.Itoa(n))%uint64(frames-1)), false
	}
	return a
}

func (w *Web) html(h *Host, n int, kind PageKind, version int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!doctype html><html lang=en><head><meta charset=utf-8><title>%s page %d</title>\n",
		h.Name, n)
	if kind == NoIndex || kind == NoFollow {
		fmt.Fprintf(&b, "<meta name=robots content=%s>\n", kind)
	}
	fmt.Fprintf(&b, "</head><body><h1>Page %d of %s, version %d</h1>\n<ul>\n", n, h.Name, version)
	for _, href := range w.links(h, n) {
		fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a>\n", href, strings.Trim(href, "/ \n"))
	}
	b.WriteString("</ul>\n")
	for i := 0; b.Len() < w.spec.PageBytes; i++ {
		word := w.hash("word", h.Name, strconv.Itoa(n), strconv.Itoa(version), strconv.Itoa(i))
		fmt.Fprintf(&b, "<p>%s.</p>\n", sentence(word))
	}
	b.WriteString("</body></html>\n")
	return b.Bytes()
}

var syllables = [...]string{"ra", "mo", "ti", "se", "lu", "ka", "ne", "vo", "pi", "dor", "han", "el",
	"is", "ure", "ant", "go"}

func sentence(h uint64) string {
	var b strings.Builder
	for i := range 16 {
		b.WriteString(syllables[h>>(4*i)&15])
		if h>>(4*i)&16 != 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func gzipped(body []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, 1)
	z.Write(body)
	z.Close()
	return b.Bytes()
}
