package extract

// The kinds of link. KindRedirect comes from those who follow redirects, KindSitemap from those who
// read sitemaps; Extract itself gives KindSitemap only for <link rel=sitemap>.
const (
	KindA         = "a"
	KindArea      = "area"
	KindFrame     = "frame"
	KindIframe    = "iframe"
	KindRefresh   = "refresh"
	KindCanonical = "canonical"
	KindRedirect  = "redirect"
	KindSitemap   = "sitemap"
	KindFeed      = "feed" // an item of a feed
	KindOG        = "og"   // og:url
	KindLink      = "link" // a <link> to a document for readers: next, a translation, contents …
	KindImg       = "img"
	KindScript    = "script"
	KindCSS       = "css"
	KindMedia     = "media"
	KindEmbed     = "embed"
	KindForm      = "form"
	KindData      = "data" // a <link> to what programs read: a feed, oEmbed, pingback, OpenSearch …
)

// Followed reports whether links of a kind lead to pages that a crawl asks for. embeds adds what
// pages are built of. Forms are never sent, and what is for programs is recorded only. This is the
// one list of what is followed; see DESIGN.md beside mapper for its reasons.
func Followed(kind string, embeds bool) bool {
	switch kind {
	case KindA, KindArea, KindFrame, KindIframe, KindRefresh, KindCanonical, KindRedirect,
		KindSitemap, KindFeed, KindOG, KindLink:
		return true
	case KindImg, KindScript, KindCSS, KindMedia, KindEmbed:
		return embeds
	}
	return false
}

// forReaders reports whether a <link> leads from document to document: by one of the relations of
// HTML that a browser may show to a reader, to what is not declared to be anything but HTML.
// Relations that give the same page again (shortlink, amphtml) are not among them.
func forReaders(l Link, mime string) bool {
	if mime != "" && mime != typeHTML && mime != typeXHTML {
		return false
	}
	for _, rel := range [...]string{"next", "prev", "previous", "alternate", "first", "last", "start",
		"home", "top", "up", "index", "contents", "toc", "chapter", "section", "subsection",
		"appendix", "glossary", "help", "author", "license", "copyright", "bookmark"} {
		if l.HasRel(rel) {
			return true
		}
	}
	return false
}
