package extract

import (
	"bytes"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// wideTag is the size of a tag in bytes from which the tokenizer is renewed after it. Its table
	// of attribute names never shrinks and is cleared at every tag: 5 MiB that begin with one tag of
	// 500,000 attributes took twelve seconds, and take one.
	wideTag = 2 << 10
	// maxAttrs is how many attributes of one tag are looked at.
	maxAttrs = 256
)

// cursor walks the tokens of one document held in memory. It reads the plain ones itself (see
// plain.go) and leaves the rest to the tokenizer, which is set on the place where they begin.
type cursor struct {
	z     *html.Tokenizer // nil, or somewhere in src
	src   []byte
	start int       // src[start:off] is the current token
	off   int       // src[off:] is behind it
	at    int       // where z stands; it is of use only when that is off
	raw   atom.Atom // element whose raw content comes next, 0 for none
	done  bool      // the content of raw has been read
	cdata bool
	plain bool   // the current token was read without z
	buf   []byte // of text that had to be changed
}

func newCursor(src []byte) cursor { return cursor{src: src} }

// next moves to the next token.
func (c *cursor) next() html.TokenType {
	c.start = c.off
	if tt, end := c.plainToken(); end > 0 {
		c.off, c.plain = end, true
		c.done = tt == html.TextToken && c.raw != 0
		return tt
	}
	c.plain = false
	if c.z == nil || c.at != c.off {
		c.set()
	}
	tt := c.z.Next()
	n := len(c.z.Raw())
	c.off += n
	c.at = c.off
	if n > wideTag && (tt == html.StartTagToken || tt == html.SelfClosingTagToken) {
		c.z = nil
	}
	c.done = tt == html.TextToken && c.raw != 0
	return tt
}

// set puts the tokenizer on the next token. It learns that this is the content of an element from
// that element's start tag: as a context, it would take it for the last thing in the document.
func (c *cursor) set() {
	rest := bytes.NewReader(c.src[c.off:])
	if c.raw == 0 || c.done {
		c.z = html.NewTokenizer(rest)
	} else {
		c.z = html.NewTokenizer(io.MultiReader(strings.NewReader("<"+c.raw.String()+">"), rest))
		c.z.Next()
	}
	c.z.AllowCDATA(c.cdata)
}

// token is the current token as it was written.
func (c *cursor) token() []byte { return c.src[c.start:c.off] }

// text is that of the current text token, entities decoded. It is good until the next token, and
// to be asked for once.
func (c *cursor) text() []byte {
	if !c.plain {
		return c.z.Text()
	}
	b := c.token()
	if bytes.IndexByte(b, '\r') >= 0 {
		c.buf = appendLines(c.buf[:0], b)
		b = c.buf
	}
	raw := c.raw != 0
	if raw && bytes.IndexByte(b, 0) >= 0 {
		b = bytes.ReplaceAll(b, []byte{0}, []byte("\uFFFD"))
	}
	if (!raw || c.raw == atom.Title || c.raw == atom.Textarea) && bytes.IndexByte(b, '&') >= 0 {
		b = []byte(html.UnescapeString(string(b)))
	}
	return b
}

// appendLines appends b with CR and CRLF as LF.
func appendLines(dst, b []byte) []byte {
	for i, ch := range b {
		switch {
		case ch != '\r':
			dst = append(dst, ch)
		case i+1 == len(b) || b[i+1] != '\n':
			dst = append(dst, '\n')
		}
	}
	return dst
}

// allowCDATA says whether CDATA sections are text.
func (c *cursor) allowCDATA(yes bool) {
	c.cdata = yes
	if c.z != nil {
		c.z.AllowCDATA(yes)
	}
}

// notRaw makes the content of the element just opened ordinary markup.
func (c *cursor) notRaw() {
	c.raw = 0
	if c.z != nil {
		c.z.NextIsNotRawText()
	}
}

// name is the name of the current tag; 0 if it is none of HTML's. Unlike the tokenizer's TagName
// it copies nothing.
func (c *cursor) name() atom.Atom {
	var buf [16]byte
	n := rawName(c.token())
	if len(n) > len(buf) {
		return 0
	}
	return atom.Lookup(appendLower(buf[:0], n))
}

// rawName is the name in the text of a start or end tag, as written.
func rawName(tag []byte) []byte {
	n := tag[min(1, len(tag)):]
	if len(n) > 0 && n[0] == '/' {
		n = n[1:]
	}
	for i, ch := range n {
		switch ch {
		case ' ', '\t', '\n', '\f', '\r', '/', '>':
			return n[:i]
		}
	}
	return n
}

func appendLower(dst, s []byte) []byte {
	for _, ch := range s {
		if 'A' <= ch && ch <= 'Z' {
			ch += 'a' - 'A'
		}
		dst = append(dst, ch)
	}
	return dst
}

// attribute is one attribute of the current tag, its value unescaped.
type attribute struct{ key, val []byte }

// attributes reads those of the current tag into dst; values over limit bytes are left out and
// given to long.
func (c *cursor) attributes(dst []attribute, limit int, long func(attribute)) []attribute {
	n := len(dst)
	if c.plain {
		if all, ok := c.plainAttributes(dst); ok {
			return withoutLong(all[:min(len(all), n+maxAttrs)], n, limit, long)
		}
	}
	z := c.z
	if c.plain {
		z = html.NewTokenizer(bytes.NewReader(c.token()))
		z.Next()
	}
	if _, more := z.TagName(); !more {
		return dst
	}
	for range maxAttrs {
		key, val, more := z.TagAttr()
		dst = append(dst, attribute{key, val})
		if !more {
			break
		}
	}
	return withoutLong(dst, n, limit, long)
}

// withoutLong takes the long values out of all[n:].
func withoutLong(all []attribute, n, limit int, long func(attribute)) []attribute {
	kept := all[:n]
	for _, a := range all[n:] {
		if len(a.val) > limit {
			long(attribute{a.key, a.val[:min(64, len(a.val))]})
		} else {
			kept = append(kept, a)
		}
	}
	return kept
}
