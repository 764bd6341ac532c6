package extract

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// prescanBytes is how far a meta element that names an encoding is looked for. Browsers prescan
// 1,024 bytes but also obey one that their parser meets later in the head.
const prescanBytes = 16 << 10

// decoded is a body as UTF-8.
type decoded struct {
	text    []byte            // valid UTF-8, without byte order mark
	charset string            // WHATWG name
	enc     encoding.Encoding // to encode queries with; nil when that is UTF-8
	unknown bool              // a label was given that names no encoding
	damaged bool              // some bytes became U+FFFD
}

// decode finds the encoding of a body and turns the body into UTF-8. The order is: byte order
// mark, header, what the document itself says (XML declaration for XML, meta for HTML), UTF-8 if
// the whole body is that, windows-1252. See WHATWG HTML, "determining the character encoding".
// mime is the detected type.
func decode(body []byte, contentType, mime string, truncated bool) decoded {
	whole := body
	if truncated { // half a character at the end is no fault, and no proof against UTF-8
		body = trimPartialRune(body)
	}
	d := decodeWhole(body, contentType, mime)
	if len(body) < len(whole) && d.charset != "utf-8" {
		return decodeWhole(whole, contentType, mime)
	}
	return d
}

func decodeWhole(body []byte, contentType, mime string) decoded {
	if name, n := byteOrderMark(body); n > 0 {
		return decodeAs(body[n:], name)
	}
	unknown := false
	for _, label := range headerCharsets(contentType) {
		if _, name := charset.Lookup(label); name != "" {
			return decodeAs(body, name)
		}
		unknown = true
	}
	name, bad := declaredCharset(body, mime)
	if name == "" {
		name = undeclaredCharset(body)
	}
	d := decodeAs(body, name)
	d.unknown = unknown || bad
	return d
}

func byteOrderMark(b []byte) (name string, n int) {
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		return "utf-8", 3
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		return "utf-16be", 2
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		return "utf-16le", 2
	}
	return "", 0
}

// headerCharsets returns the values of the charset parameters of a Content-Type header, in order.
// Servers write them in ways that mime.ParseMediaType refuses.
func headerCharsets(contentType string) []string {
	var labels []string
	for p := range strings.FieldsFuncSeq(contentType, isParamEnd) {
		key, value, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.TrimSpace(key), "charset") {
			continue
		}
		if value = strings.Trim(value, " \t\"'"); value != "" {
			labels = append(labels, value)
		}
	}
	return labels
}

func isParamEnd(r rune) bool { return r == ';' || r == ',' }

// declaredCharset is the encoding that the document names; bad says that it names an unknown one.
// Since a declaration that can be read at all is not in UTF-16, that means UTF-8.
func declaredCharset(body []byte, mime string) (name string, bad bool) {
	label := xmlDeclaredLabel(body)
	if mime == typeHTML || mime == typeXHTML && label == "" {
		if meta := metaLabel(body); meta != "" {
			label = meta
		}
	}
	if label == "" {
		return "", false
	}
	switch _, name = charset.Lookup(label); name {
	case "utf-16le", "utf-16be":
		name = "utf-8"
	case "x-user-defined":
		name = "windows-1252"
	}
	return name, name == ""
}

// undeclaredCharset is for bodies that say nothing: UTF-8 when they are that to the last byte.
func undeclaredCharset(body []byte) string {
	if bytes.HasPrefix(body, []byte("<\x00?\x00")) {
		return "utf-16le"
	}
	if bytes.HasPrefix(body, []byte("\x00<\x00?")) {
		return "utf-16be"
	}
	if utf8.Valid(body) {
		return "utf-8"
	}
	return "windows-1252"
}

// trimPartialRune drops a UTF-8 sequence that was cut off at the end.
func trimPartialRune(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// decodeAs decodes from an encoding given by its WHATWG name. UTF-8 that is valid is not copied.
func decodeAs(body []byte, name string) decoded {
	if name == "utf-8" {
		d := decoded{text: body, charset: name}
		if !utf8.Valid(body) {
			d.text, d.damaged = bytes.ToValidUTF8(body, []byte("\uFFFD")), true
		}
		return d
	}
	enc, _ := charset.Lookup(name)
	text, err := enc.NewDecoder().Bytes(body)
	d := decoded{charset: name, enc: enc, damaged: err != nil}
	// The decoders write U+FFFD for what they do not know; being strict about their output costs a
	// check and spares every later step.
	d.text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	d.damaged = d.damaged || bytes.Contains(d.text, []byte("\uFFFD"))
	// WHATWG "output encoding": forms and queries of pages in these are sent as UTF-8.
	if strings.HasPrefix(name, "utf-16") || name == "replacement" {
		d.enc = nil
	}
	return d
}

// xmlDeclaredLabel is the encoding of an XML declaration at the very start, else empty.
func xmlDeclaredLabel(body []byte) string {
	if !bytes.HasPrefix(body, []byte("<?xml")) {
		return ""
	}
	decl := body[:min(len(body), 1024)]
	end := bytes.IndexByte(decl, '>')
	if end < 0 {
		return ""
	}
	_, rest, ok := bytes.Cut(decl[:end], []byte("encoding"))
	if !ok {
		return ""
	}
	rest = bytes.TrimLeft(rest, " \t\r\n")
	if len(rest) == 0 || rest[0] != '=' {
		return ""
	}
	return quotedLabel(string(rest[1:]))
}

// quotedLabel reads a value in quotes, or up to white space or a semicolon.
func quotedLabel(s string) string {
	s = strings.TrimLeft(s, asciiSpace)
	if s == "" {
		return ""
	}
	if q := s[0]; q == '"' || q == '\'' {
		end := strings.IndexByte(s[1:], q)
		if end < 0 {
			return ""
		}
		return s[1 : 1+end]
	}
	if end := strings.IndexAny(s, ";"+asciiSpace); end >= 0 {
		s = s[:end]
	}
	return s
}

// metaLabel is the encoding label of the first real meta element that has one. A tokenizer finds
// it, so that comments, scripts and their strings do not count.
func metaLabel(body []byte) string {
	head := body[:min(len(body), prescanBytes)]
	z := html.NewTokenizer(bytes.NewReader(head))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			name, hasAttr := z.TagName()
			switch {
			case string(name) == "body":
				return ""
			case string(name) == "noscript":
				z.NextIsNotRawText()
			case string(name) == "meta" && hasAttr:
				if label := metaElementLabel(z); label != "" {
					return label
				}
			}
		}
	}
}

func metaElementLabel(z *html.Tokenizer) string {
	var pragma bool
	var content, direct string
	for more := true; more; {
		var key, val []byte
		key, val, more = z.TagAttr()
		switch string(key) {
		case "http-equiv":
			pragma = strings.EqualFold(string(val), "content-type")
		case "content":
			content = contentLabel(string(val))
		case "charset":
			direct = strings.Trim(string(val), asciiSpace)
		}
	}
	switch {
	case direct != "":
		return direct
	case pragma:
		return content
	}
	return ""
}

// contentLabel finds "charset=…" in the content of a meta element (WHATWG "extracting a character
// encoding from a meta element").
func contentLabel(s string) string {
	lower := strings.ToLower(s)
	for {
		_, rest, ok := strings.Cut(lower, "charset")
		if !ok {
			return ""
		}
		if after := strings.TrimLeft(rest, asciiSpace); strings.HasPrefix(after, "=") {
			return quotedLabel(after[1:])
		}
		lower = rest
	}
}

// queryEncoder returns what weburl's ResolveQuery asks for: a text in the page's encoding, where
// characters that the encoding lacks are numeric references. Nil means UTF-8.
func queryEncoder(enc encoding.Encoding) func(string) []byte {
	if enc == nil {
		return nil
	}
	return func(s string) []byte {
		out, err := enc.NewEncoder().Bytes([]byte(s)) // writes the references itself
		if err != nil {
			return []byte(s)
		}
		return out
	}
}
