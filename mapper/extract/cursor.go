package extract

import (
	"bytes"

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

// cursor walks the tokens of one document held in memory.
type cursor struct {
	z     *html.Tokenizer
	src   []byte
	off   int       // src[off:] is behind the current token
	stale bool      // z is to be renewed
	raw   atom.Atom // element whose raw content comes next, 0 for none
	cdata bool
}

func newCursor(src []byte) cursor {
	return cursor{z: html.NewTokenizer(bytes.NewReader(src)), src: src}
}

// next moves to the next token.
func (c *cursor) next() html.TokenType {
	if c.stale {
		c.stale = false
		c.z = html.NewTokenizerFragment(bytes.NewReader(c.src[c.off:]), c.raw.String())
		c.z.AllowCDATA(c.cdata)
	}
	tt := c.z.Next()
	n := len(c.z.Raw())
	c.off += n
	c.stale = n > wideTag && (tt == html.StartTagToken || tt == html.SelfClosingTagToken)
	return tt
}

// allowCDATA says whether CDATA sections are text.
func (c *cursor) allowCDATA(yes bool) {
	c.cdata = yes
	c.z.AllowCDATA(yes)
}

// notRaw makes the content of the element just opened ordinary markup.
func (c *cursor) notRaw() {
	c.raw = 0
	c.z.NextIsNotRawText()
}

// name is the name of the current tag; 0 if it is none of HTML's. Unlike the tokenizer's TagName
// it copies nothing.
func (c *cursor) name() atom.Atom {
	var buf [16]byte
	n := rawName(c.z.Raw())
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
	if _, more := c.z.TagName(); !more {
		return dst
	}
	for range maxAttrs {
		key, val, more := c.z.TagAttr()
		if len(val) > limit {
			long(attribute{key, val[:64]})
		} else {
			dst = append(dst, attribute{key, val})
		}
		if !more {
			break
		}
	}
	return dst
}
