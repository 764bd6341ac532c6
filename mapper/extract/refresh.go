package extract

import "strings"

// refreshURL reads the content of a meta refresh or of a Refresh header as browsers do (WHATWG
// "shared declarative refresh steps"): seconds, then perhaps a URL, with or without "url=", quoted
// or not. ok is false when the value is no refresh; an empty url reloads the page.
func refreshURL(s string) (url string, ok bool) {
	s = strings.TrimLeft(s, asciiSpace)
	rest := strings.TrimLeft(s, "0123456789")
	if len(rest) == len(s) && !strings.HasPrefix(s, ".") {
		return "", false
	}
	rest = strings.TrimLeft(rest, "0123456789.")
	if rest == "" {
		return "", true
	}
	if strings.IndexByte(";,"+asciiSpace, rest[0]) < 0 {
		return "", false
	}
	rest = strings.TrimLeft(rest, asciiSpace)
	if rest != "" && (rest[0] == ';' || rest[0] == ',') {
		rest = strings.TrimLeft(rest[1:], asciiSpace)
	}
	return refreshTarget(rest), true
}

// refreshTarget takes off "url=" and quotes.
func refreshTarget(s string) string {
	if len(s) >= 3 && strings.EqualFold(s[:3], "url") {
		after := strings.TrimLeft(s[3:], asciiSpace)
		if !strings.HasPrefix(after, "=") {
			return strings.Trim(s, asciiSpace) // a relative URL that begins with "url"
		}
		s = strings.TrimLeft(after[1:], asciiSpace)
	}
	if s != "" && (s[0] == '\'' || s[0] == '"') {
		s, _, _ = strings.Cut(s[1:], s[:1])
	}
	return strings.Trim(s, asciiSpace)
}
