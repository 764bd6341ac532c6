package robotstxt

import (
	"slices"
	"strings"
)

// How a byte is written in the canonical form of patterns and paths. RFC 9309 (2.2.2): bytes
// outside ASCII and those that a URI may not hold are percent-encoded, encoded unreserved bytes are
// decoded, hex digits are upper case. The old marks !'()*$ stand for themselves in URLs but '*' and
// '$' are the syntax of patterns, so their one form is the encoded one. Reserved bytes such as '/'
// keep the form they came in: /a%2Fb is not /a/b.
type form uint8

const (
	asFound form = iota // reserved: raw and encoded differ
	raw                 // unreserved: decoded where encoded
	encoded             // encoded where raw
)

var forms = func() (table [256]form) {
	for b := range table {
		switch c := byte(b); {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9',
			strings.IndexByte("-._~!'()", c) >= 0:
			table[b] = raw
		case strings.IndexByte("/?:@&=+,;#", c) >= 0:
			table[b] = asFound
		default: // controls, space, "<>\^`{|}[]%*$ and everything above ASCII
			table[b] = encoded
		}
	}
	return table
}()

const upperHex = "0123456789ABCDEF"

// canonicalPath is the form in which a path with its query is compared.
func canonicalPath(path string) string {
	if plain(path) {
		return path
	}
	var b strings.Builder
	b.Grow(len(path) + 16)
	writeCanonical(&b, path)
	return b.String()
}

// canonicalPattern splits a rule's value into its literal pieces in canonical form, joined by '*',
// with repeated '*' made one, and tells whether a final '$' anchors it.
func canonicalPattern(value string) (pattern string, anchored bool) {
	if strings.HasSuffix(value, "$") {
		value, anchored = value[:len(value)-1], true
	}
	if plain(value) {
		return value, anchored
	}
	var b strings.Builder
	b.Grow(len(value) + 16)
	star := false
	for {
		piece, rest, more := strings.Cut(value, "*")
		if piece != "" {
			writeCanonical(&b, piece)
			star = false
		}
		if !more {
			return b.String(), anchored
		}
		if !star {
			b.WriteByte('*')
			star = true
		}
		value = rest
	}
}

// plain tells that s is its own canonical form and has no syntax of patterns.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if forms[s[i]] == encoded {
			return false
		}
	}
	return true
}

func writeCanonical(b *strings.Builder, s string) {
	for i := 0; i < len(s); i++ {
		c, wasEncoded := s[i], false
		if c == '%' && i+2 < len(s) {
			if v, ok := unhex(s[i+1], s[i+2]); ok {
				c, wasEncoded = v, true
				i += 2
			}
		}
		f := forms[c]
		if f == raw || f == asFound && !wasEncoded {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(upperHex[c>>4])
		b.WriteByte(upperHex[c&15])
	}
}

func unhex(hi, lo byte) (byte, bool) {
	h, ok1 := nibble(hi)
	l, ok2 := nibble(lo)
	return h<<4 | l, ok1 && ok2
}

func nibble(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// openQuery decodes the encoded ':' '/' '?' '@' after the first '?': inside a query they delimit
// nothing, and RFC 9309's own table has ?baz=https://foo.bar and ?baz=https%3A%2F%2Ffoo.bar match.
// In a path they stay apart.
func openQuery(canonical string) string {
	start := strings.IndexByte(canonical, '?')
	if start < 0 || strings.IndexByte(canonical[start:], '%') < 0 {
		return canonical
	}
	return canonical[:start] + queryOpener.Replace(canonical[start:])
}

var queryOpener = strings.NewReplacer("%3A", ":", "%2F", "/", "%3F", "?", "%40", "@")

// sortedQuery is a pattern with the parameters of its query in order of their names, as weburl's
// normal form has them; one with a '*' in its query stays.
func sortedQuery(pattern string) string {
	path, query, _ := strings.Cut(pattern, "?")
	if strings.IndexByte(query, '&') < 0 || strings.IndexByte(query, '*') >= 0 {
		return pattern
	}
	params := strings.Split(query, "&")
	slices.SortStableFunc(params, func(a, b string) int {
		nameA, _, _ := strings.Cut(a, "=")
		nameB, _, _ := strings.Cut(b, "=")
		return strings.Compare(nameA, nameB)
	})
	return path + "?" + strings.Join(params, "&")
}
