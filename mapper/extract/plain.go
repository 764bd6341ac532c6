package extract

import (
	"bytes"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Plain tokens are those whose ends are found by looking for single bytes: text up to the next tag,
// tags, comments, the raw content of scripts and the like. What is odd in any way (a document that
// ends in a tag, declarations, a script with a comment in it) is left to the tokenizer, which
// decides what it means; TestPlainTokens and FuzzPlainTokens hold the two equal.

// plainToken finds the token at off: its type and where it ends, or 0.
func (c *cursor) plainToken() (html.TokenType, int) {
	s := c.src[c.off:]
	if c.raw != 0 && !c.done {
		n := c.plainRaw(s)
		if n < 0 {
			return 0, 0
		}
		if n > 0 {
			return html.TextToken, c.off + n
		}
	}
	if len(s) < 3 {
		return 0, 0
	}
	tt, n := html.TextToken, 0
	switch {
	case s[0] != '<':
		n = textEnd(s)
	case isLetter(s[1]):
		tt, n = tagEnd(s, 1)
	case s[1] == '/' && isLetter(s[2]):
		_, n = tagEnd(s, 2)
		tt = html.EndTagToken
	case s[1] == '!', s[1] == '?', s[1] == '/':
		tt, n = html.CommentToken, commentEnd(s)
	}
	if n == 0 {
		return 0, 0
	}
	return tt, c.off + n
}

func isLetter(c byte) bool { c |= 0x20; return c >= 'a' && c <= 'z' }

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// plainRaw is the length of the content of the element raw, -1 when that is not plain.
func (c *cursor) plainRaw(s []byte) int {
	if c.raw == atom.Plaintext {
		return -1
	}
	name := c.raw.String()
	for from := 0; ; {
		i := bytes.Index(s[from:], []byte("</"))
		if i < 0 {
			return -1
		}
		i += from
		tail := s[i+2:]
		if len(tail) > len(name) && hasFoldPrefix(tail, name) &&
			(isSpace(tail[len(name)]) || tail[len(name)] == '>' || tail[len(name)] == '/') {
			if c.raw == atom.Script && bytes.Contains(s[:i], []byte("<!--")) {
				return -1
			}
			return i
		}
		from = i + 2
	}
}

// textEnd is the length of a text that begins s and ends at a tag; 0 when it ends otherwise.
func textEnd(s []byte) int {
	for from := 0; ; {
		i := bytes.IndexByte(s[from:], '<')
		if i < 0 || from+i+1 >= len(s) {
			return 0
		}
		from += i
		if next := s[from+1]; isLetter(next) || next == '/' || next == '!' || next == '?' {
			return from
		}
		from++
	}
}

// commentEnd is the length of a comment, or of what counts as one; 0 of a declaration, and where
// the document ends first.
func commentEnd(s []byte) int {
	body, ok := bytes.CutPrefix(s, []byte("<!--"))
	switch {
	case !ok && s[1] == '!' && (s[2] == '-' || s[2] == '[' || s[2]|0x20 == 'd'):
		return 0
	case !ok:
		return bytes.IndexByte(s, '>') + 1
	case bytes.HasPrefix(body, []byte(">")):
		return len("<!-->")
	case bytes.HasPrefix(body, []byte("->")):
		return len("<!--->")
	}
	for from := 0; ; from++ {
		i := bytes.Index(body[from:], []byte("--"))
		if i < 0 {
			return 0
		}
		from += i
		for _, end := range []string{"-->", "--!>"} {
			if bytes.HasPrefix(body[from:], []byte(end)) {
				return len("<!--") + from + len(end)
			}
		}
	}
}

// span is a part of a tag.
type span struct{ start, end int }

// tagEnd is the type and the length of a start tag whose name begins at s[at]; 0 when the
// document ends in it, or when a slash before its ">" ends a value of a name that may not count.
func tagEnd(s []byte, at int) (html.TokenType, int) {
	tt, unquoted, odd := html.StartTagToken, -1, false
	at = nameEnd(s, at)
	for n := 0; ; n++ {
		var key, val span
		var more, quoted bool
		if key, val, at, more, quoted = nextAttribute(s, at); !more {
			break
		}
		if unquoted = -1; !quoted && val.end > val.start {
			unquoted = val.end
		}
		odd = n > 0 || key.end == key.start
	}
	if at < 0 {
		return 0, 0
	}
	if s[at-2] == '/' {
		switch {
		case unquoted != at-1:
			tt = html.SelfClosingTagToken
		case odd:
			return 0, 0
		}
	}
	return tt, at
}

func nameEnd(s []byte, at int) int {
	for at < len(s) && !isSpace(s[at]) && s[at] != '/' && s[at] != '>' {
		at++
	}
	return at
}

func skipSpace(s []byte, at int) int {
	for at < len(s) && isSpace(s[at]) {
		at++
	}
	return at
}

// nextAttribute reads one attribute from s[at:] as the standard's states do, from "before attribute
// name" on. Without more, end is behind the tag's ">", or -1 when s ends first. The name may be
// empty: such an attribute is none.
func nextAttribute(s []byte, at int) (key, val span, end int, more, quoted bool) {
	if at = skipSpace(s, at); at < len(s) && s[at] == '>' {
		return key, val, at + 1, false, false
	}
	key.start = at
	for at < len(s) && !isSpace(s[at]) && s[at] != '/' && s[at] != '>' &&
		(s[at] != '=' || at == key.start) {
		at++
	}
	key.end = at
	val = span{at, at}
	at = skipSpace(s, at)
	if at < len(s) && s[at] == '/' {
		at++
	} else if at < len(s) && s[at] == '=' {
		val, at, quoted = attributeValue(s, skipSpace(s, at+1))
	}
	if at >= len(s) {
		return key, val, -1, false, false
	}
	return key, val, at, true, quoted
}

// attributeValue reads what stands behind "=".
func attributeValue(s []byte, at int) (val span, end int, quoted bool) {
	if at >= len(s) || s[at] == '>' {
		return span{at, at}, at, false
	}
	if quote := s[at]; quote == '"' || quote == '\'' {
		i := bytes.IndexByte(s[at+1:], quote)
		if i < 0 {
			return val, len(s), true
		}
		return span{at + 1, at + 1 + i}, at + i + 2, true
	}
	val.start = at
	for at < len(s) && !isSpace(s[at]) && s[at] != '>' {
		at++
	}
	val.end = at
	return val, at, false
}

// plainAttributes appends those of the current tag, each name once; ok says that all were plain.
func (c *cursor) plainAttributes(dst []attribute) (all []attribute, ok bool) {
	tag := c.token()
	if bytes.IndexByte(tag, 0) >= 0 || bytes.IndexByte(tag, '\r') >= 0 || tag[1] == '/' {
		return dst, false
	}
	first := len(dst)
	for at := nameEnd(tag, 1); ; {
		key, val, end, more, _ := nextAttribute(tag, at)
		if !more {
			return dst, true
		}
		at = end
		name := tag[key.start:key.end]
		if len(name) == 0 || len(dst)-first > maxAttrs {
			continue
		}
		if hasUpper(name) {
			name = appendLower(nil, name)
		}
		if !newKey(dst[first:], name) {
			continue
		}
		value, ok := plainValue(tag[val.start:val.end])
		if !ok {
			return dst[:first], false
		}
		dst = append(dst, attribute{name, value})
	}
}

func hasUpper(b []byte) bool {
	for _, ch := range b {
		if 'A' <= ch && ch <= 'Z' {
			return true
		}
	}
	return false
}

func newKey(attrs []attribute, key []byte) bool {
	for _, a := range attrs {
		if bytes.Equal(a.key, key) {
			return false
		}
	}
	return true
}

// plainValue decodes a value in which "&" stands for itself or begins "&amp;".
func plainValue(b []byte) (value []byte, ok bool) {
	i := bytes.IndexByte(b, '&')
	if i < 0 {
		return b, true
	}
	value = append(make([]byte, 0, len(b)), b[:i]...)
	for ; i < len(b); i++ {
		value = append(value, b[i])
		if b[i] != '&' {
			continue
		}
		if bytes.HasPrefix(b[i:], []byte("&amp;")) {
			i += len("amp;")
			continue
		}
		end := i + 1
		for end < len(b) && (isLetter(b[end]) || '0' <= b[end] && b[end] <= '9') {
			end++
		}
		switch {
		case end < len(b) && b[end] == '#' && end == i+1:
			return nil, false
		case end == i+1, end < len(b) && b[end] == '=': // no name, or one that a "=" makes a parameter
		default:
			return nil, false
		}
	}
	return value, true
}
