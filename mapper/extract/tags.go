package extract

import (
	"bytes"
	"strings"

	"golang.org/x/net/html/atom"
)

// tag handles what a start tag says beyond its place in the text.
func (s *scanner) tag(name atom.Atom) {
	switch name {
	case atom.A, atom.Area:
		s.anchorTag(name)
	case atom.Img, atom.Image, atom.Input, atom.Source, atom.Video, atom.Audio,
		atom.Track, atom.Embed, atom.Object, atom.Script, atom.Bgsound:
		s.embedTag(name)
	case atom.Link:
		s.linkTag()
	case atom.Meta:
		s.metaTag()
	case atom.Frame, atom.Iframe:
		s.frameTag(name)
	case atom.Form, atom.Button:
		s.formTag(name)
	case atom.Base:
		s.baseTag()
	case atom.Html:
		s.htmlTag()
	case 0:
		if s.foreign.depth > 0 && bytes.EqualFold(rawName(s.cursor.token()), []byte("use")) {
			s.readAttrs()
			s.drawingTag()
		}
	case atom.Body, atom.Table, atom.Td, atom.Th:
		if bytes.Contains(s.cursor.token(), []byte("background")) {
			s.readAttrs()
			s.addAttr(KindImg, "background")
		}
	}
}

// addAttr adds a link from an attribute of the current tag, if it is there.
func (s *scanner) addAttr(kind, key string) int {
	if val, ok := s.attr(key); ok {
		return s.links.add(kind, val, "")
	}
	return -1
}

// setAnchor gives a link a text that is not between tags.
func (s *scanner) setAnchor(i int, val []byte) {
	if i < 0 || len(val) == 0 || s.links.raw[i].Anchor != "" {
		return
	}
	c := collapser{max: s.lim.Anchor, oneLine: true}
	c.write(val)
	s.links.raw[i].Anchor = c.String()
}

func (s *scanner) anchorTag(name atom.Atom) {
	if name == atom.A {
		s.closeAnchor() // anchors do not nest
	}
	s.readAttrs()
	href, ok := s.attr("href")
	if !ok {
		if href, ok = s.attr("xlink:href"); !ok { // SVG
			return
		}
	}
	rel, _ := s.attr("rel")
	if name == atom.Area {
		alt, _ := s.attr("alt")
		s.setAnchor(s.links.add(KindArea, href, relTokens(rel)), alt)
		return
	}
	s.anchorLink = s.links.add(KindA, href, relTokens(rel))
}

func (s *scanner) embedTag(name atom.Atom) {
	s.readAttrs()
	switch name {
	case atom.Img:
		alt, _ := s.attr("alt")
		if s.anchorLink >= 0 {
			s.anchor.space()
			s.anchor.write(alt)
			s.anchor.space()
		}
		s.setAnchor(s.addAttr(KindImg, "src"), alt)
		s.addSrcset("srcset")
	case atom.Image:
		s.drawingTag()
	case atom.Input:
		if typ, _ := s.attr("type"); strings.EqualFold(string(typ), "image") {
			s.addAttr(KindImg, "src")
		}
		s.addAttr(KindForm, "formaction")
	case atom.Source, atom.Audio, atom.Track, atom.Video, atom.Bgsound:
		s.addAttr(KindMedia, "src")
		s.addAttr(KindImg, "poster")
		s.addSrcset("srcset")
	case atom.Embed:
		s.addAttr(KindEmbed, "src")
	case atom.Object:
		s.addAttr(KindEmbed, "data")
	case atom.Script:
		if s.addAttr(KindScript, "src") < 0 && s.foreign.depth > 0 {
			s.addAttr(KindScript, "href")
		}
	}
}

// drawingTag is SVG's <image> and <use>; what begins with # is in the page itself.
func (s *scanner) drawingTag() {
	for _, key := range []string{"href", "xlink:href"} {
		if val, ok := s.attr(key); ok && !bytes.HasPrefix(trimHref(val), []byte("#")) {
			s.links.add(KindImg, val, "")
		}
	}
}

func (s *scanner) addSrcset(key string) {
	if val, ok := s.attr(key); ok {
		for _, u := range srcsetURLs(val) {
			s.links.add(KindImg, u, "")
		}
	}
}

// linkTag sorts a <link> by what its rel asks for.
func (s *scanner) linkTag() {
	s.readAttrs()
	val, _ := s.attr("rel")
	rel := relTokens(val)
	href, ok := s.attr("href")
	if rel == "" || !ok || len(trimHref(href)) == 0 {
		return
	}
	l := Link{Rel: rel}
	if l.HasRel("preload") {
		s.addSrcset("imagesrcset")
	}
	kind := s.linkKind(l)
	if kind == "" || kind == KindCanonical && s.srcdoc {
		return
	}
	if kind == KindCanonical && s.canonical == "" {
		s.canonical = string(trimHref(href))
	}
	i := s.links.add(kind, href, rel)
	title, _ := s.attr("title")
	s.setAnchor(i, title)
}

// linkKind is empty for what is a hint to the connection and not a resource.
func (s *scanner) linkKind(l Link) string {
	switch {
	case l.HasRel("canonical"):
		return KindCanonical
	case l.HasRel("stylesheet"):
		return KindCSS
	case l.HasRel("icon"), l.HasRel("apple-touch-icon"), l.HasRel("mask-icon"),
		l.HasRel("apple-touch-icon-precomposed"), l.HasRel("image_src"):
		return KindImg
	case l.HasRel("sitemap"):
		return KindSitemap
	case l.HasRel("modulepreload"):
		return KindScript
	case l.HasRel("preload"), l.HasRel("prefetch"):
		return s.preloadKind()
	case l.HasRel("manifest"):
		return KindEmbed
	case l.HasRel("dns-prefetch"), l.HasRel("preconnect"):
		return ""
	}
	if typ, _ := s.attr("type"); forReaders(l, essence(string(typ))) {
		return KindLink
	}
	return KindData
}

func (s *scanner) preloadKind() string {
	switch as, _ := s.attr("as"); strings.ToLower(string(as)) {
	case "script":
		return KindScript
	case "style":
		return KindCSS
	case "image":
		return KindImg
	case "audio", "video", "track":
		return KindMedia
	case "document":
		return KindLink
	}
	return KindEmbed
}

func (s *scanner) metaTag() {
	s.readAttrs()
	raw, ok := s.attr("content")
	if !ok || s.srcdoc {
		return
	}
	content := string(raw)
	if equiv, ok := s.attr("http-equiv"); ok {
		s.pragma(strings.ToLower(strings.Trim(string(equiv), asciiSpace)), content)
	}
	for _, key := range []string{"name", "property"} {
		val, _ := s.attr(key)
		switch name := strings.Trim(string(val), asciiSpace); {
		case name == "":
		case strings.EqualFold(name, "robots"), strings.EqualFold(name, s.token):
			s.wishes.add(content)
		case strings.EqualFold(name, "og:url"):
			s.links.add(KindOG, raw, "")
		}
	}
}

// pragma handles <meta http-equiv>.
func (s *scanner) pragma(equiv, content string) {
	switch equiv {
	case "refresh":
		url, ok := refreshURL(content)
		if !ok || url == "" {
			return
		}
		if s.links.add(KindRefresh, []byte(url), "") >= 0 && s.refresh == "" {
			s.refresh = url
		}
	case "content-language":
		if s.metaLang == "" {
			s.metaLang = languageTag(content)
		}
	}
}

func (s *scanner) frameTag(name atom.Atom) {
	s.readAttrs()
	title, _ := s.attr("title")
	if name == atom.Frame {
		s.setAnchor(s.addAttr(KindFrame, "src"), title)
		return
	}
	if doc, ok := s.attr("srcdoc"); ok { // it beats src
		s.readInside(doc, true)
		return
	}
	s.setAnchor(s.addAttr(KindIframe, "src"), title)
}

func (s *scanner) formTag(name atom.Atom) {
	s.readAttrs()
	if name == atom.Form {
		s.addAttr(KindForm, "action")
	} else {
		s.addAttr(KindForm, "formaction")
	}
}

// baseTag takes the first base element that has an href, even if that turns out to be useless.
func (s *scanner) baseTag() {
	s.readAttrs()
	if href, ok := s.attr("href"); ok && !s.hasBase && !s.srcdoc {
		s.hasBase, s.baseHref = true, string(trimHref(href))
	}
}

func (s *scanner) htmlTag() {
	if s.nesting > 0 || s.page.Language != "" {
		return
	}
	s.readAttrs()
	for _, key := range []string{"lang", "xml:lang"} {
		if val, ok := s.attr(key); ok && s.page.Language == "" {
			s.page.Language = languageTag(string(val))
		}
	}
}
