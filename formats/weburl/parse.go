package weburl

import (
	"fmt"
	"strconv"
	"strings"
)

// parse is the standard's basic URL parser for http and https, its states turned into one
// function a component. base is nil where only an absolute URL will do.
func parse(base *URL, raw string, encode func(string) []byte) (URL, error) {
	if base != nil && base.href == "" {
		base = nil
	}
	if len(raw) > MaxInput {
		// A data: URL of megabytes is a scheme first; more than its start is not looked at.
		scheme, _ := splitScheme(strip(raw[:256]))
		if scheme != "" && scheme != "http" && scheme != "https" {
			return URL{}, &schemeError{scheme}
		}
		return URL{}, fmt.Errorf("%w: %d bytes", ErrTooLong, len(raw))
	}
	s := strip(raw)
	scheme, rest := splitScheme(s)
	switch {
	case scheme == "" && base == nil:
		return URL{}, fmt.Errorf("%w: no scheme in %q", ErrSyntax, Redact(s))
	case scheme == "":
		return relative(*base, s, encode)
	case scheme != "http" && scheme != "https":
		return URL{}, &schemeError{scheme}
	case base != nil && base.Scheme() == scheme && !startsAuthority(rest):
		return relative(*base, rest, encode)
	}
	return absolute(scheme, strings.TrimLeft(rest, `/\`), encode)
}

// strip drops controls and spaces at the edges, and tabs and line breaks anywhere.
func strip(s string) string {
	for s != "" && s[0] <= ' ' {
		s = s[1:]
	}
	for s != "" && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	if !strings.ContainsAny(s, "\t\n\r") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if c := s[i]; c != '\t' && c != '\n' && c != '\r' {
			b = append(b, c)
		}
	}
	return string(b)
}

// splitScheme returns the scheme in lower case and what follows its colon; "" and s without one.
func splitScheme(s string) (scheme, rest string) {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		switch {
		case letter:
		case i > 0 && c == ':':
			return strings.ToLower(s[:i]), s[i+1:]
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return "", s
		}
	}
	return "", s
}

// shown is the start of a text for an error message.
func shown(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }

func startsAuthority(s string) bool { return len(s) > 1 && isSlash(s[0]) && isSlash(s[1]) }

// relative resolves a reference that has no scheme, or base's own without an authority.
func relative(base URL, s string, encode func(string) []byte) (URL, error) {
	if startsAuthority(s) {
		return absolute(base.Scheme(), strings.TrimLeft(s, `/\`), encode)
	}
	keep := base.directory()
	switch {
	case s == "" || s[0] == '#':
		return base, nil
	case s[0] == '?':
		keep = base.query
	case isSlash(s[0]):
		keep = base.path
	}
	b := make([]byte, 0, keep+len(s)+16)
	b = append(b, base.href[:keep]...)
	return finish(base, b, s, encode)
}

// absolute parses what follows "scheme://".
func absolute(scheme, s string, encode func(string) []byte) (URL, error) {
	end := strings.IndexAny(s, `/\?#`)
	if end < 0 {
		end = len(s)
	}
	authority := s[:end]
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	}
	name, port, err := splitPort(scheme, authority)
	if err != nil {
		return URL{}, err
	}
	host, err := parseHost(name)
	if err != nil {
		return URL{}, err
	}
	b := make([]byte, 0, len(scheme)+len(host)+len(s)-end+32)
	b = append(b, scheme...)
	b = append(b, "://"...)
	u := URL{host: len(b)}
	b = append(b, host...)
	u.hostEnd = len(b)
	if port != "" {
		b = append(b, ':')
		b = append(b, port...)
	}
	u.path = len(b)
	return finish(u, b, s[end:], encode)
}

// splitPort cuts the port off an authority; the default port of the scheme is none.
func splitPort(scheme, authority string) (host, port string, err error) {
	colon := -1
	brackets := false
	for i := range len(authority) {
		switch authority[i] {
		case '[':
			brackets = true
		case ']':
			brackets = false
		case ':':
			if !brackets && colon < 0 {
				colon = i
			}
		}
	}
	if colon < 0 || colon == len(authority)-1 {
		return strings.TrimSuffix(authority, ":"), "", nil
	}
	host, digits := authority[:colon], authority[colon+1:]
	number := 0
	for i := range len(digits) {
		c := digits[i]
		if c < '0' || c > '9' {
			return "", "", fmt.Errorf("%w: port %q", ErrSyntax, shown(digits))
		}
		if number = number*10 + int(c-'0'); number > 65535 {
			return "", "", fmt.Errorf("%w: port %q is above 65535", ErrSyntax, shown(digits))
		}
	}
	if scheme == "http" && number == 80 || scheme == "https" && number == 443 {
		return host, "", nil
	}
	return host, strconv.Itoa(number), nil
}

// finish appends "path?query#fragment" to b, which ends with the authority, with a directory of
// the base, or with the base's whole path where tail starts with "?". u tells where b's parts are.
func finish(u URL, b []byte, tail string, encode func(string) []byte) (URL, error) {
	tail, _, _ = strings.Cut(tail, "#")
	path, query, hasQuery := strings.Cut(tail, "?")
	if path != "" || len(b) == u.path {
		b = appendPath(b, u.path, path)
	}
	u.query = len(b)
	if hasQuery {
		b = append(b, '?')
		b = appendQuery(b, query, encode)
	}
	if len(b) > MaxInput {
		return URL{}, fmt.Errorf("%w: %d bytes", ErrTooLong, len(b))
	}
	u.href = string(b)
	at, end, ok := scanTail(u.href[u.path:])
	u.plain = ok && u.path+end == len(u.href) && u.path+at == u.query
	return u, nil
}

// appendPath appends the segments of path to b, whose path starts at floor and is empty or ends
// in "/"; dot segments are resolved on the way.
func appendPath(b []byte, floor int, path string) []byte {
	if len(b) == floor {
		b = append(b, '/')
		if path != "" && isSlash(path[0]) {
			path = path[1:]
		}
	}
	for {
		i := strings.IndexAny(path, `/\`)
		segment := path
		if i >= 0 {
			segment = path[:i]
		}
		switch dots(segment) {
		case 2:
			if len(b) > floor+1 {
				b = b[:len(b)-1]
				b = b[:lastSlash(b)+1]
			}
		case 0:
			b = appendPathSegment(b, segment)
			if i >= 0 {
				b = append(b, '/')
			}
		}
		if i < 0 {
			return b
		}
		path = path[i+1:]
	}
}

// dots returns 1 for ".", 2 for "..", in each way to write them, and 0 for any other segment.
func dots(segment string) int {
	n := 0
	for segment != "" {
		switch {
		case segment[0] == '.':
			segment = segment[1:]
		case len(segment) >= 3 && escapeAt(segment, 0) == '.':
			segment = segment[3:]
		default:
			return 0
		}
		if n++; n > 2 {
			return 0
		}
	}
	return n
}

func lastSlash(b []byte) int {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == '/' {
			return i
		}
	}
	return -1
}
