package extract

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// feedItem is an item of RSS or an entry of Atom.
type feedItem struct {
	link, guid, title, date string
	enclosures              []string
}

// target is where an item leads: its link, else its permanent id.
func (i feedItem) target() string {
	if i.link != "" {
		return i.link
	}
	return i.guid
}

// feedReader reads RSS 0.9 to 2.0 and Atom alike.
type feedReader struct {
	*xmlReader
	lim     Limits
	title   string // of the feed
	base    string // xml:base of the root element
	lang    string
	item    feedItem
	inItem  bool
	quoted  int    // inside Atom's <source>, which describes another feed
	leaf    string // the element whose text is gathered
	leafBuf []byte
	perma   bool // the guid is a URL
	started bool
	ended   bool // the root element was closed
	root    string

	onItem func(feedItem)
	onLink func(href, rel string) // of the feed itself
	onText func([]byte)           // what a reader sees
	onEdge func()                 // a block boundary in it
}

// run reads the feed to its end, or until full says so.
func (f *feedReader) run() {
	for {
		switch f.next() {
		case html.ErrorToken:
			f.endItem()
			return
		case html.StartTagToken:
			f.start(false)
		case html.SelfClosingTagToken:
			f.start(true)
		case html.EndTagToken:
			f.end()
		case html.TextToken:
			b := f.text()
			if f.leaf != "" && len(f.leafBuf)+len(b) <= f.lim.AttrBytes {
				f.leafBuf = append(f.leafBuf, b...)
			}
			if f.onText != nil && f.quoted == 0 && !isFeedPlumbing(f.leaf) {
				f.onText(b)
			}
		}
	}
}

// isFeedPlumbing reports the elements whose text is for machines.
func isFeedPlumbing(name string) bool {
	switch name {
	case "link", "guid", "id", "pubdate", "updated", "published", "date", "lastbuilddate", "url",
		"generator", "docs", "ttl", "width", "height", "language", "comments", "icon", "logo", "uri",
		"email", "commentrss", "modified", "issued", "created", "updateperiod", "updatefrequency":
		return true
	}
	return false
}

func (f *feedReader) start(selfClosing bool) {
	if f.onEdge != nil {
		f.onEdge()
	}
	if !f.started {
		f.started, f.root = true, f.name
		attrs := f.attrs(f.lim.AttrBytes)
		f.base, f.lang = attrValue(attrs, "xml:base"), attrValue(attrs, "xml:lang")
	}
	f.leaf, f.leafBuf = "", f.leafBuf[:0]
	switch f.name {
	case "item", "entry":
		f.endItem()
		f.inItem = !selfClosing
		return
	case "source":
		if f.inItem && !selfClosing {
			f.quoted++
		}
		return
	case "link":
		f.linkElement(selfClosing)
		return
	case "enclosure":
		if u := attrValue(f.attrs(f.lim.AttrBytes), "url"); u != "" && f.inItem {
			f.item.enclosures = append(f.item.enclosures[:min(len(f.item.enclosures), 15)], u)
		}
		return
	case "guid":
		perma := attrValue(f.attrs(f.lim.AttrBytes), "ispermalink")
		f.perma = !strings.EqualFold(perma, "false")
	}
	if !selfClosing {
		f.leaf = f.name
	}
}

// linkElement is Atom's with its attributes, or RSS's with its text.
func (f *feedReader) linkElement(selfClosing bool) {
	attrs := f.attrs(f.lim.AttrBytes)
	href := attrValue(attrs, "href")
	if href == "" {
		if !selfClosing {
			f.leaf = "link"
		}
		return
	}
	if f.quoted > 0 {
		return
	}
	rel := relTokens([]byte(attrValue(attrs, "rel")))
	switch {
	case !f.inItem:
		f.feedLink(href, rel)
	case rel == "" || rel == "alternate":
		if f.item.link == "" {
			f.item.link = href
		}
	case rel == "enclosure" && len(f.item.enclosures) < 16:
		f.item.enclosures = append(f.item.enclosures, href)
	}
}

func (f *feedReader) feedLink(href, rel string) {
	if f.onLink != nil && href != "" {
		f.onLink(href, rel)
	}
}

func (f *feedReader) end() {
	if f.onEdge != nil {
		f.onEdge()
	}
	switch f.name {
	case "item", "entry":
		f.endItem()
	case "source":
		f.quoted = max(f.quoted-1, 0)
	case f.root:
		f.ended = true
	}
	if f.leaf == f.name && f.quoted == 0 {
		f.endLeaf(strings.TrimSpace(string(f.leafBuf)))
	}
	f.leaf = ""
}

// endLeaf takes the text of an element without children.
func (f *feedReader) endLeaf(text string) {
	switch f.leaf {
	case "title":
		c := collapser{max: f.lim.Title, oneLine: true}
		plainText([]byte(text), &c)
		if f.inItem && f.item.title == "" {
			f.item.title = c.String()
		} else if !f.inItem && f.title == "" {
			f.title = c.String()
		}
	case "link":
		if !f.inItem {
			f.feedLink(text, "")
		} else if f.item.link == "" {
			f.item.link = text
		}
	case "guid":
		if f.inItem && f.perma && isWebURL(text) {
			f.item.guid = text
		}
	case "pubdate", "updated", "modified", "date":
		if f.inItem && len(text) <= 64 {
			f.item.date = text
		}
	case "published", "issued":
		if f.inItem && f.item.date == "" && len(text) <= 64 {
			f.item.date = text
		}
	case "language":
		if f.lang == "" {
			f.lang = text
		}
	}
}

func (f *feedReader) endItem() {
	if f.inItem && f.onItem != nil {
		f.onItem(f.item)
	}
	f.item, f.inItem, f.quoted = feedItem{}, false, 0
}

func isWebURL(s string) bool {
	return len(s) > 8 && (strings.EqualFold(s[:7], "http://") || strings.EqualFold(s[:8], "https://"))
}

// feed reads a feed as a page: its items are links.
func (x *extraction) feed(src []byte) {
	c := collapser{max: x.lim.Text}
	f := feedReader{
		xmlReader: newXMLReader(src), lim: x.lim,
		onItem: x.feedItem, onEdge: c.breakLine,
		onLink: x.feedLink,
		onText: func(b []byte) { plainText(b, &c) },
	}
	f.run()
	x.setText(&c)
	x.page.Title, x.page.Language = f.title, languageTag(f.lang)
	if f.base != "" {
		x.resolver.setBase(f.base)
	}
}

// feedLink takes a link of the feed itself: its site, its next page, or its own address.
func (x *extraction) feedLink(href, rel string) {
	kind := KindData
	if rel == "" || forReaders(Link{Rel: rel}, "") {
		kind = KindLink
	}
	x.links.add(kind, []byte(href), rel)
}

func (x *extraction) feedItem(item feedItem) {
	if t := item.target(); t != "" {
		if i := x.links.add(KindFeed, []byte(t), ""); i >= 0 && x.links.raw[i].Anchor == "" {
			x.links.raw[i].Anchor = string(cutRunes([]byte(item.title), x.lim.Anchor))
		}
	}
	for _, u := range item.enclosures {
		x.links.add(KindMedia, []byte(u), "")
	}
}

// plainText writes the text of a piece of HTML, such as a feed carries in its descriptions.
func plainText(src []byte, c *collapser) {
	if bytes.IndexByte(src, '<') < 0 && bytes.IndexByte(src, '&') < 0 {
		c.write(src)
		return
	}
	for r := newCursor(src); ; {
		switch r.next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			if r.raw == 0 {
				c.write(r.text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name := r.name()
			if r.raw = 0; isRaw(name) {
				r.raw = name
			}
			if isBlock(name) {
				c.breakLine()
			}
		case html.EndTagToken:
			r.raw = 0
			if isBlock(r.name()) {
				c.breakLine()
			}
		}
	}
}
