package extract

import (
	"slices"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxNesting is how deep documents inside documents (srcdoc, noscript) are read.
	maxNesting = 2
	// maxNested is how many of them are read on one page.
	maxNested = 1000
)

// scanner makes the one pass over an HTML document.
type scanner struct {
	cursor
	lim    Limits
	token  string
	xhtml  bool
	page   *Page
	wishes directives
	links  *collector
	text   collapser
	title  collapser
	anchor collapser

	attrs      []attribute // of the current tag
	anchorLink int         // the open <a>, a place in links.raw, or -1
	titleSeen  bool
	dropTitle  bool // the title being read is not the first
	template   int  // open inert templates
	foreign    foreignContent
	baseHref   string
	hasBase    bool
	canonical  string
	refresh    string
	metaLang   string
	nesting    int  // 0 in the document itself
	nested     int  // documents inside it that were read
	srcdoc     bool // in an iframe's srcdoc: its head says nothing about the page
}

func newScanner(src []byte, lim Limits, links *collector, page *Page) *scanner {
	return &scanner{
		cursor: newCursor(src), lim: lim, links: links, page: page, anchorLink: -1,
		text:   collapser{max: lim.Text, buf: make([]byte, 0, min(lim.Text, len(src)/4+64))},
		title:  collapser{max: lim.Title, oneLine: true},
		anchor: collapser{max: lim.Anchor, oneLine: true},
	}
}

// run reads the document to its end.
func (s *scanner) run() {
	for {
		switch s.next() {
		case html.ErrorToken:
			s.closeAnchor()
			return
		case html.TextToken:
			s.onText()
		case html.StartTagToken:
			s.onStart(false)
		case html.SelfClosingTagToken:
			s.onStart(true)
		case html.EndTagToken:
			s.onEnd()
		}
	}
}

// readInside runs over a document that is part of this one, for its links only.
func (s *scanner) readInside(src []byte, srcdoc bool) {
	if s.nesting >= maxNesting || s.nested >= maxNested {
		return
	}
	outer, wasSrcdoc, drawing, link, anchor := s.cursor, s.srcdoc, s.foreign, s.anchorLink, s.anchor
	s.cursor, s.foreign, s.anchorLink = newCursor(src), foreignContent{}, -1
	s.anchor = collapser{max: s.lim.Anchor, oneLine: true}
	s.srcdoc = s.srcdoc || srcdoc
	s.nesting++
	s.nested++
	s.run()
	s.nesting--
	s.cursor, s.srcdoc, s.foreign, s.anchorLink, s.anchor = outer, wasSrcdoc, drawing, link, anchor
	s.template = 0 // nothing is read inside a template
}

func (s *scanner) fault(name string) {
	if !slices.Contains(s.page.ParseErrors, name) {
		s.page.ParseErrors = append(s.page.ParseErrors, name)
	}
}

// onText sends a text token where it belongs.
func (s *scanner) onText() {
	if s.template > 0 {
		return
	}
	switch s.raw {
	case atom.Title:
		if !s.dropTitle {
			s.title.write(s.cursor.text())
		}
		return
	case atom.Noscript, atom.Noframes:
		// A slice of the outer tokenizer's buffer, which stands still meanwhile.
		s.readInside(s.cursor.text(), false)
		return
	case 0, atom.Plaintext, atom.Xmp:
	default:
		return
	}
	if s.foreign.muted() {
		return
	}
	b := s.cursor.text()
	if s.nesting == 0 {
		s.text.write(b)
	}
	if s.anchorLink >= 0 {
		s.anchor.write(b)
	}
}

// onStart handles a start tag.
func (s *scanner) onStart(selfClosing bool) {
	s.raw = 0
	name := s.name()
	if s.foreign.start(name, selfClosing) {
		s.notRaw()
	} else if isRaw(name) {
		s.raw = name
		if selfClosing && s.xhtml {
			s.notRaw()
		}
	}
	s.setCDATA()
	if name == atom.Template {
		s.startTemplate(selfClosing)
		return
	}
	if s.template > 0 {
		return
	}
	if isBlock(name) {
		s.breakLine()
	} else if isCell(name) {
		s.space()
	}
	s.tag(name)
	if s.raw == atom.Title {
		s.startTitle()
	}
}

// startTitle lets the first title in; later ones are dropped like a script.
func (s *scanner) startTitle() {
	s.dropTitle = s.titleSeen || s.nesting > 0
	s.titleSeen = s.titleSeen || s.nesting == 0
}

// setCDATA keeps the tokenizer informed whether CDATA sections are text.
func (s *scanner) setCDATA() {
	if want := s.xhtml || s.foreign.rules(); s.cdata != want {
		s.allowCDATA(want)
	}
}

// startTemplate opens inert content, except a declarative shadow root, which is shown.
func (s *scanner) startTemplate(selfClosing bool) {
	if selfClosing && s.xhtml {
		return
	}
	if s.template == 0 {
		s.readAttrs()
		if _, shown := s.attr("shadowrootmode"); shown {
			return
		}
	}
	s.template++
}

// onEnd handles an end tag.
func (s *scanner) onEnd() {
	s.raw = 0
	name := s.name()
	s.foreign.end(name)
	s.setCDATA()
	switch {
	case name == atom.Template:
		s.template = max(s.template-1, 0)
	case s.template > 0:
	case name == atom.A:
		s.closeAnchor()
	case isBlock(name):
		s.breakLine()
	case isCell(name):
		s.space()
	}
}

func (s *scanner) breakLine() {
	if s.nesting == 0 {
		s.text.breakLine()
	}
	s.anchor.breakLine()
}

func (s *scanner) space() {
	if s.nesting == 0 {
		s.text.space()
	}
	s.anchor.space()
}

// closeAnchor gives the text of the open <a> to its link.
func (s *scanner) closeAnchor() {
	if i := s.anchorLink; i >= 0 && s.links.raw[i].Anchor == "" {
		s.links.raw[i].Anchor = s.anchor.String()
	}
	s.anchorLink = -1
	s.anchor.reset()
}

// readAttrs reads the attributes of the current tag.
func (s *scanner) readAttrs() {
	s.attrs = s.attributes(s.attrs[:0], s.lim.AttrBytes, func(a attribute) {
		switch string(a.key) {
		case "href", "src", "action", "data", "srcset", "xlink:href", "content", "formaction":
		default:
			return
		}
		s.fault(FaultAttr)
		if !hasFoldPrefix(a.val, "data:") && string(a.key) != "content" {
			s.links.dropped++
		}
	})
}

// attr is the value of an attribute of the current tag.
func (s *scanner) attr(key string) ([]byte, bool) {
	for _, a := range s.attrs {
		if string(a.key) == key {
			return a.val, true
		}
	}
	return nil, false
}
