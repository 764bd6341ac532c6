package extract

import (
	"bytes"
	"slices"
	"strings"
)

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
	// types that are not read.
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
	// Refused says why URL is empty, as one of the Refused constants; else it is empty.
	Refused string
}

// Why a reference does not resolve.
const (
	RefusedScheme  = "scheme"   // mailto:, javascript: and whatever else is not http or https
	RefusedTooLong = "too_long" // over weburl.MaxInput
	RefusedInvalid = "invalid"  // no URL at all
)

// HasRel reports whether the link carries a rel token, given in lower case.
func (l Link) HasRel(token string) bool {
	for t := range strings.FieldsSeq(l.Rel) {
		if t == token {
			return true
		}
	}
	return false
}

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
	l = l.withDefaults()
	if in.Header == nil {
		in.Header = func(string) []string { return nil }
	}
	if in.Token == "" {
		in.Token = DefaultToken
	}
	p := Page{
		MIMEDeclared: essence(in.ContentType),
		MIMEDetected: DetectMIME(in.ContentType, in.Body),
	}
	x := extraction{in: in, lim: l, page: &p, links: collector{lim: l}}
	x.body()
	x.headers()
	x.finish()
	return p
}

// extraction is one call of Extract.
type extraction struct {
	in       Input
	lim      Limits
	page     *Page
	links    collector
	resolver resolver
	wishes   directives
	// As written, to be resolved when the base is known.
	canonical, refresh             string
	headerCanonical, headerRefresh string
}

// body reads what the detected type allows to read.
func (x *extraction) body() {
	p := x.page
	mime := p.MIMEDetected
	if !hasReadableText(mime) {
		x.resolver = newResolver(x.in.URL, nil)
		return
	}
	d := decode(x.in.Body, x.in.ContentType, mime, x.in.Truncated)
	p.Charset = d.charset
	x.fault(d.unknown, FaultCharset)
	x.fault(d.damaged, FaultEncoding)
	x.resolver = newResolver(x.in.URL, queryEncoder(d.enc))
	switch mime {
	case typeHTML, typeXHTML:
		x.html(d.text)
	case typeRSS, typeAtom:
		x.feed(d.text)
	case typeText:
		c := collapser{max: x.lim.Text}
		for line := range bytes.Lines(d.text) {
			c.write(line)
			c.breakLine()
		}
		x.setText(&c)
	default:
		x.xml(d.text)
	}
}

// hasReadableText reports the types that are read: HTML, feeds, plain text and XML documents.
func hasReadableText(mime string) bool {
	switch mime {
	case typeHTML, typeXHTML, typeText:
		return true
	case "image/svg+xml":
		return false
	}
	return isXML(mime)
}

func (x *extraction) html(text []byte) {
	p := x.page
	s := newScanner(text, x.lim, &x.links, p)
	s.token = x.in.Token
	s.xhtml = p.MIMEDetected == typeXHTML
	s.run()
	x.setText(&s.text)
	p.Title = s.title.String()
	if s.hasBase {
		x.resolver.setBase(s.baseHref)
	}
	x.wishes, x.canonical, x.refresh = s.wishes, s.canonical, s.refresh
	if p.Language == "" {
		p.Language = s.metaLang
	}
}

func (x *extraction) setText(c *collapser) {
	x.page.Text = c.String()
	x.fault(c.cut, FaultTextCut)
	x.fault(c.sawNUL, FaultNUL)
}

// headers adds what the response headers say; the document goes before them, except that both may
// refuse indexing and following.
func (x *extraction) headers() {
	for _, v := range x.in.Header("X-Robots-Tag") {
		x.wishes.addHeader(v, x.in.Token)
	}
	if href := canonicalHeader(x.in.Header("Link")); href != "" {
		x.headerCanonical = href
		x.links.addOwn(KindCanonical, href)
	}
	for _, v := range x.in.Header("Refresh") {
		if url, ok := refreshURL(v); ok && url != "" {
			x.headerRefresh = url
			x.links.addOwn(KindRefresh, url)
			break
		}
	}
	if langs := x.in.Header("Content-Language"); x.page.Language == "" && len(langs) == 1 {
		x.page.Language = languageTag(langs[0])
	}
}

// finish resolves and hashes.
func (x *extraction) finish() {
	p := x.page
	x.fault(!x.resolver.ok, FaultURL)
	p.Links = x.links.finish(&x.resolver)
	p.LinksDropped = x.links.dropped
	x.fault(x.links.full, FaultLinks)
	p.Canonical = x.target(x.canonical, x.headerCanonical)
	p.Refresh = x.target(x.refresh, x.headerRefresh)
	p.NoIndex, p.NoFollow = x.wishes.noIndex, x.wishes.noFollow
	x.fault(x.in.Truncated, FaultTruncated)
	if p.HasText = p.Text != ""; p.HasText {
		p.ContentHash, p.SimHash = ContentHash(p.Text), SimHash(p.Text)
	}
}

// target resolves what the document says, else what the headers say.
func (x *extraction) target(document, header string) string {
	if document != "" {
		if abs, _ := x.resolver.resolve(document, false); abs != "" {
			return abs
		}
	}
	if header == "" {
		return ""
	}
	abs, _ := x.resolver.resolve(header, true)
	return abs
}

// fault names what is wrong, once.
func (x *extraction) fault(yes bool, name string) {
	if yes && !slices.Contains(x.page.ParseErrors, name) {
		x.page.ParseErrors = append(x.page.ParseErrors, name)
	}
}
