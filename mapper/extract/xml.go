package extract

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// xmlReader reads XML with the HTML tokenizer, which never gives up: entries in front of a broken
// tail, and behind one, are there. It knows no DTD, so no entity can grow.
type xmlReader struct {
	cursor
	name   string // of the current tag, lower case, without prefix
	prefix string
}

func newXMLReader(src []byte) *xmlReader {
	r := &xmlReader{cursor: newCursor(src)}
	r.allowCDATA(true)
	return r
}

// next moves to the next start tag, end tag or text; comments and the like are passed over.
func (r *xmlReader) next() html.TokenType {
	for {
		switch tt := r.cursor.next(); tt {
		case html.StartTagToken, html.SelfClosingTagToken:
			r.notRaw()
			r.setName()
			return tt
		case html.EndTagToken:
			r.setName()
			return tt
		case html.TextToken, html.ErrorToken:
			return tt
		}
	}
}

func (r *xmlReader) setName() {
	n := rawName(r.token())
	if len(n) > 64 {
		n = n[:0] // no name that is asked for
	}
	var buf [64]byte
	n = appendLower(buf[:0], n)
	r.prefix = ""
	if i := bytes.IndexByte(n, ':'); i >= 0 {
		r.prefix = string(n[:i])
		n = n[i+1:]
	}
	r.name = string(n)
}

// text is the current text: CDATA as it stands, other text with references replaced.
func (r *xmlReader) text() []byte {
	raw := r.token()
	if inner, ok := bytes.CutPrefix(raw, []byte("<![CDATA[")); ok {
		return bytes.TrimSuffix(inner, []byte("]]>"))
	}
	return xmlUnescape(raw)
}

// attrs reads the attributes of the current tag.
func (r *xmlReader) attrs(limit int) []attribute {
	return r.attributes(nil, limit, func(attribute) {})
}

func attrValue(attrs []attribute, key string) string {
	for _, a := range attrs {
		if string(a.key) == key {
			return string(a.val)
		}
	}
	return ""
}

// xmlUnescape replaces the references that XML knows without a DTD. HTML's function would take
// "&copy=1" in an unescaped URL for a sign of copyright.
func xmlUnescape(b []byte) []byte {
	if bytes.IndexByte(b, '&') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for {
		i := bytes.IndexByte(b, '&')
		if i < 0 {
			return append(out, b...)
		}
		out = append(out, b[:i]...)
		b = b[i:]
		n := 1
		if end := bytes.IndexByte(b[:min(len(b), 12)], ';'); end > 0 {
			if r, ok := xmlReference(string(b[1:end])); ok {
				out = utf8.AppendRune(out, r)
				b = b[end+1:]
				continue
			}
		}
		out = append(out, b[:n]...)
		b = b[n:]
	}
}

func xmlReference(name string) (rune, bool) {
	switch name {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	case "nbsp": // HTML's, but the one that every broken feed has
		return '\u00a0', true
	}
	if len(name) < 2 || name[0] != '#' {
		return 0, false
	}
	digits, base := name[1:], 10
	if digits[0] == 'x' || digits[0] == 'X' {
		digits, base = digits[1:], 16
	}
	v, err := strconv.ParseUint(digits, base, 32)
	if err != nil || v == 0 || v > utf8.MaxRune {
		return utf8.RuneError, err == nil
	}
	return rune(v), true // AppendRune writes U+FFFD for surrogates
}

// xml reads an XML document of no known vocabulary: its character data is the text.
func (x *extraction) xml(src []byte) {
	c := collapser{max: x.lim.Text}
	for r := newXMLReader(src); ; {
		switch r.next() {
		case html.ErrorToken:
			x.setText(&c)
			return
		case html.TextToken:
			c.write(r.text())
		default:
			c.breakLine()
		}
	}
}
