package warc

import (
	"bytes"
	"strings"
	"time"
)

// dateLayout is the profile of ISO 8601 that WARC 1.1 allows, to the microsecond.
const dateLayout = "2006-01-02T15:04:05.000000Z"

func stamp(t time.Time) string { return t.UTC().Format(dateLayout) }

// writeField writes one named field on one line. Line ends and other control characters in a value
// become blanks, so that no value can begin another field or end the header.
func writeField(b *bytes.Buffer, name, value string) {
	b.WriteString(name)
	b.WriteString(": ")
	b.WriteString(oneLine(value))
	b.WriteString("\r\n")
}

func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Trim(s, " ")
}

const upperHex = "0123456789ABCDEF"

// targetURI %-encodes what a URI on a header line cannot hold.
func targetURI(uri string) string {
	plain := true
	for i := range len(uri) {
		plain = plain && uri[i] > ' ' && uri[i] < 0x7f && uri[i] != '<' && uri[i] != '>'
	}
	if plain {
		return uri
	}
	var b strings.Builder
	for i := range len(uri) {
		c := uri[i]
		if c > ' ' && c < 0x7f && c != '<' && c != '>' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(upperHex[c>>4])
		b.WriteByte(upperHex[c&15])
	}
	return b.String()
}

// validName reports whether a field can be called that (RFC 2616's token, as WARC refers to it).
func validName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("()<>@,;:\\\"/[]?={}", c) >= 0 {
			return false
		}
	}
	return s != ""
}

func bracketed(id string) string {
	if id = targetURI(strings.Trim(id, "<>")); id == "" {
		return ""
	}
	return "<" + id + ">"
}
