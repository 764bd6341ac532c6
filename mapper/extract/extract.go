package extract

import "strings"

// Input is one response body and what its headers say about it.
type Input struct {
	// URL is the page's own address, in normal form. Links are resolved against it.
	URL string
	// ContentType is the Content-Type header as received; empty when there was none.
	ContentType string
	// Header returns the values of a response header; http.Header.Values fits. Nil means no
	// headers. Read are X-Robots-Tag, Link, Refresh and Content-Language.
	Header func(name string) []string
	// Token is the crawler's product token, which names it in X-Robots-Tag and in meta elements;
	// empty means DefaultToken.
	Token string
	// Body is the payload, freed of content codings. It is read, never changed or kept.
	Body []byte
	// Truncated says that Body is only the beginning of what the server has.
	Truncated bool
}

// DefaultToken is the product token when Input.Token is empty.
const DefaultToken = "seine"

// Page is what one body says.
type Page struct {
	// MIMEDeclared is the essence (type/subtype, lower case) of the Content-Type header, empty
	// when it is missing or malformed. MIMEDetected is what the bytes are, never empty.
	MIMEDeclared, MIMEDetected string
	// Charset is the WHATWG name, in lower case, of the encoding that text was read in; empty for
	// binary bodies.
	Charset string
	// Language is the declared language as a lower-case BCP 47 tag, empty when none is declared.
	Language string
	Title    string
	Text     string
	// HasText is false when Text is empty; ContentHash and SimHash then mean nothing.
	HasText bool
	// ContentHash is the hash of the text (see ContentHash), SimHash its near-duplicate sketch
	// (see SimHash).
	ContentHash uint64
	SimHash     uint64
	// Canonical is the first canonical link, resolved but not normalised, else that of the Link
	// header; empty when there is none.
	Canonical string
	// NoIndex and NoFollow join X-Robots-Tag and the meta elements for robots and for Token; the
	// strictest wins.
	NoIndex, NoFollow bool
	// Refresh is where the first refresh (meta element, else header) leads, resolved; empty when
	// there is none or when it only reloads the page.
	Refresh string
	// Links are the distinct links in the order in which they first appear.
	Links []Link
	// LinksDropped counts the links that found no place under Limits.Links or Limits.AttrBytes.
	LinksDropped int
	// ParseErrors names what was wrong with the body, each of the Fault constants at most once.
	ParseErrors []string
}

// The faults that Page.ParseErrors may name.
const (
	FaultCharset   = "unknown_charset" // header or meta names an encoding that does not exist
	FaultEncoding  = "invalid_bytes"   // bytes that the encoding does not have became U+FFFD
	FaultNUL       = "nul"             // NUL characters in text were dropped
	FaultAttr      = "attr_too_long"   // an attribute over Limits.AttrBytes was passed over
	FaultLinks     = "too_many_links"  // links over Limits.Links were dropped
	FaultTextCut   = "text_cut"        // the text was cut at Limits.Text
	FaultURL       = "bad_url"         // Input.URL itself does not parse: no link was resolved
	FaultTruncated = "truncated"       // the body ends early (Input.Truncated)
)

// Link is one outgoing reference.
type Link struct {
	// Href is the reference as written, white space around it trimmed; never cut, since one over
	// Limits.AttrBytes is dropped whole.
	Href string
	// URL is Href resolved as browsers do, without its fragment; empty when it does not resolve.
	// Not normalised: that is for whoever stores it.
	URL string
	// Anchor is the link's text (images inside count by their alt), white space collapsed, cut at
	// Limits.Anchor bytes.
	Anchor string
	// Rel holds the rel tokens in lower case, repeats removed, one space between two.
	Rel string
	// Kind is one of the Kind constants.
	Kind string
}

// HasRel reports whether the link carries a rel token, given in lower case.
func (l Link) HasRel(token string) bool {
	for t := range strings.FieldsSeq(l.Rel) {
		if t == token {
			return true
		}
	}
	return false
}

// The kinds of link. KindRedirect and KindSitemap entries come from those who follow redirects and
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
	KindImg       = "img"
	KindScript    = "script"
	KindCSS       = "css"
	KindMedia     = "media"
	KindEmbed     = "embed"
	KindForm      = "form" // recorded, never followed
	KindOG        = "og"   // og:url
	KindFeed      = "feed" // an item of a feed, or <link rel=alternate> to a feed
	KindLink      = "link" // any other <link> between documents: next, alternate, author …
)

// Limits bound what is kept of one body. A field that is zero or less means its default.
type Limits struct {
	Links     int // distinct links; 10,000
	Anchor    int // bytes of one anchor; 256
	Title     int // bytes; 1,024
	Text      int // bytes; 1 MiB
	AttrBytes int // bytes of one href, src, content …; 16 KiB, and longer ones are passed over
	// Sitemap limits.
	SitemapURLs  int // entries; 50,000, as sitemaps.org has it
	SitemapBytes int // bytes after decompression; 50 MiB, as sitemaps.org has it
}

func orDefault(v *int, d int) {
	if *v <= 0 {
		*v = d
	}
}

// withDefaults fills the fields that are not set.
func (l Limits) withDefaults() Limits {
	orDefault(&l.Links, 10_000)
	orDefault(&l.Anchor, 256)
	orDefault(&l.Title, 1024)
	orDefault(&l.Text, 1<<20)
	orDefault(&l.AttrBytes, 16<<10)
	orDefault(&l.SitemapURLs, 50_000)
	orDefault(&l.SitemapBytes, 50<<20)
	return l
}

// Extract reads one body. It never fails.
func Extract(in Input, l Limits) Page {
	return Page{}
}
