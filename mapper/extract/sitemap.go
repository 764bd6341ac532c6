package extract

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// SitemapURL is one entry of a sitemap.
type SitemapURL struct {
	// Loc is the entry's address, resolved against the sitemap's own; entries that do not resolve
	// are left out.
	Loc string
	// LastMod, ChangeFreq and Priority are as written, trimmed; empty when absent.
	LastMod, ChangeFreq, Priority string
}

// SitemapResult is what a sitemap says.
type SitemapResult struct {
	// Format is one of the Format constants; FormatNone when the body is no sitemap at all.
	Format   string
	URLs     []SitemapURL
	Sitemaps []string // of a sitemapindex, resolved
	Feed     bool     // it was RSS or Atom
	// Truncated says that entries over a limit, or those behind a broken tail, are missing.
	Truncated bool
}

// The formats of a sitemap.
const (
	FormatNone  = ""
	FormatURLs  = "urlset"
	FormatIndex = "sitemapindex"
	FormatFeed  = "feed"
	FormatText  = "text"
)

const (
	// maxLoc is the longest entry looked at, in bytes; longer ones are dropped, never cut.
	maxLoc = 16 << 10
	// maxGzipLayers is how often a body may be compressed: as a file, and once more on the way.
	maxGzipLayers = 2
)

// Sitemap reads a sitemap in any form that sitemaps.org allows: urlset, sitemapindex, RSS, Atom, or
// a list of URLs, one a line. The bytes decide which; contentType (the header) gives at most a
// charset. A gzipped body is unpacked, be it declared or not, up to Limits.SitemapBytes. url is the
// sitemap's address. Whether an entry may be taken at its word (cross-host entries, scope) is for
// the caller.
func Sitemap(body []byte, contentType, url string, l Limits) SitemapResult {
	l = l.withDefaults()
	s := sitemapReader{lim: l, resolver: newResolver(url, nil)}
	body, s.result.Truncated = unpack(body, l.SitemapBytes)
	text := decode(body, contentType, typeXML, true).text
	if t := bytes.TrimLeft(text, asciiSpace); len(t) == 0 || t[0] != '<' {
		s.lines(text)
		return s.result
	}
	switch root, _ := rootElement(text); root {
	case "urlset":
		s.result.Format = FormatURLs
		s.entries(text)
	case "sitemapindex":
		s.result.Format = FormatIndex
		s.entries(text)
	case "rss", "feed", "rdf":
		s.result.Format, s.result.Feed = FormatFeed, true
		s.feed(text)
	}
	return s.result
}

// unpack undoes gzip, as far as limit and the data go.
func unpack(body []byte, limit int) (plain []byte, truncated bool) {
	for range maxGzipLayers {
		if !bytes.HasPrefix(body, []byte("\x1f\x8b")) {
			break
		}
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, true
		}
		var out bytes.Buffer
		_, err = io.Copy(&out, io.LimitReader(z, int64(limit)+1))
		// Junk behind the end is common and harmless, but cannot be told from a cut.
		truncated = truncated || err != nil
		body = out.Bytes()
	}
	if len(body) > limit {
		return body[:limit], true
	}
	return body, truncated
}

type sitemapReader struct {
	lim      Limits
	resolver resolver
	result   SitemapResult
	entry    SitemapURL
	open     bool // an entry was begun
	index    bool // it is one of a sitemapindex
}

// add takes an entry, or says that there are too many.
func (s *sitemapReader) add(e SitemapURL, index bool) {
	loc, _ := s.resolver.resolve(e.Loc, false)
	if loc == "" {
		return
	}
	if len(s.result.URLs)+len(s.result.Sitemaps) >= s.lim.SitemapURLs {
		s.result.Truncated = true
		return
	}
	if index {
		s.result.Sitemaps = append(s.result.Sitemaps, loc)
		return
	}
	e.Loc = loc
	s.result.URLs = append(s.result.URLs, e)
}

// lines reads a list. Only absolute addresses count, so that no prose becomes one.
func (s *sitemapReader) lines(text []byte) {
	for line := range bytes.FieldsFuncSeq(text, isLineEnd) {
		loc := trimInvisible(string(line[:min(len(line), maxLoc+1)]))
		if len(loc) <= maxLoc && isWebURL(loc) {
			s.result.Format = FormatText
			s.add(SitemapURL{Loc: loc}, false)
		}
	}
}

// trimInvisible takes off white space, no-break and zero-width included.
func trimInvisible(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || invisible(r) })
}

func isLineEnd(r rune) bool { return r == '\n' || r == '\r' }

// entries reads urlset and sitemapindex. Elements of other namespaces (image:loc, video:loc) are
// told by a prefix other than the root's.
func (s *sitemapReader) entries(text []byte) {
	r := newXMLReader(text)
	var root, prefix, leaf string
	var buf []byte
	ended := false
	for {
		tt := r.next()
		ours := r.prefix == prefix
		switch {
		case tt == html.ErrorToken:
			s.endEntry()
			s.result.Truncated = s.result.Truncated || !ended
			return
		case tt == html.TextToken:
			if leaf != "" && len(buf) <= maxLoc {
				buf = append(buf, r.text()...)
			}
		case root == "" && tt == html.StartTagToken:
			root, prefix = r.name, r.prefix
		case tt == html.StartTagToken:
			leaf, buf = "", buf[:0]
			if ours {
				leaf = s.start(r.name)
			}
		case tt == html.EndTagToken && ours:
			if leaf == r.name {
				s.leaf(leaf, trimInvisible(string(buf)))
			}
			leaf = ""
			if r.name == "url" || r.name == "sitemap" {
				s.endEntry()
			}
			ended = ended || r.name == root
		default:
			leaf = ""
		}
	}
}

// start handles a start tag and returns its name if its text is wanted.
func (s *sitemapReader) start(name string) string {
	switch name {
	case "url", "sitemap":
		s.endEntry()
		s.open, s.index = true, name == "sitemap"
	case "loc":
		if s.entry.Loc != "" { // no <url> around it: an entry by itself
			index := s.index
			s.endEntry()
			s.index = index
		}
		return name
	case "lastmod", "changefreq", "priority":
		return name
	}
	return ""
}

// leaf takes the text of an element of an entry.
func (s *sitemapReader) leaf(name, text string) {
	if name == "loc" {
		if s.entry.Loc == "" && len(text) <= maxLoc {
			s.entry.Loc, s.open = text, true
		}
		return
	}
	if len(text) > 64 {
		return
	}
	switch name {
	case "lastmod":
		s.entry.LastMod = text
	case "changefreq":
		s.entry.ChangeFreq = strings.ToLower(text)
	case "priority":
		s.entry.Priority = text
	}
}

// endEntry keeps the open entry, even one that the end of the body cut short behind its loc.
func (s *sitemapReader) endEntry() {
	if s.open && s.entry.Loc != "" {
		s.add(s.entry, s.index)
	}
	s.entry, s.open, s.index = SitemapURL{}, false, s.result.Format == FormatIndex
}

func (s *sitemapReader) feed(text []byte) {
	f := feedReader{xmlReader: newXMLReader(text), lim: s.lim}
	f.onItem = func(i feedItem) {
		if t := i.target(); t != "" {
			s.add(SitemapURL{Loc: t, LastMod: i.date}, false)
		}
	}
	f.run()
	s.result.Truncated = s.result.Truncated || !f.ended
}
