package weburl

import "strings"

// The plain path: references that no rule of the standard changes are found in one pass over
// their bytes and joined to the base as they are. Whatever looks unusual, even if it turned out
// harmless, is left to parse; TestPlainAgrees and FuzzPlain hold the two equal.

// parsePlain parses an absolute URL that is already serialised as the standard would.
func parsePlain(raw string) (URL, bool) {
	n := schemeLength(raw)
	if n == 0 {
		return URL{}, false
	}
	return plainAbsolute(raw, n+len("://"))
}

// schemeLength returns the length of "http" or "https" when raw starts with it and "://".
func schemeLength(raw string) int {
	switch {
	case strings.HasPrefix(raw, "https://"):
		return len("https")
	case strings.HasPrefix(raw, "http://"):
		return len("http")
	}
	return 0
}

// resolvePlain resolves the plain kinds of reference.
func (base URL) resolvePlain(ref string) (URL, bool) {
	if base.href == "" {
		return URL{}, false
	}
	if ref == "" || ref[0] == '#' {
		return base, true
	}
	switch {
	case ref[0] == '/' && len(ref) > 1 && ref[1] == '/':
		scheme := base.href[:base.host-len("//")]
		return plainAbsolute(scheme+ref, base.host)
	case ref[0] == '/':
		return base.join(base.path, ref, true)
	case ref[0] == '?':
		return base.join(base.query, ref, base.plain)
	case ref[0] == '.':
		return URL{}, false
	}
	if n := schemeLength(ref); n > 0 {
		return plainAbsolute(ref, n+len("://"))
	}
	if i := strings.IndexAny(ref, ":/?#"); i >= 0 && ref[i] == ':' {
		return URL{}, false // a scheme, or what looks like one
	}
	return base.join(base.directory(), ref, base.plain)
}

// join appends a plain tail to the first keep bytes of base.
func (base URL) join(keep int, tail string, plain bool) (URL, bool) {
	query, end, ok := scanTail(tail)
	if !ok || keep+end > MaxInput {
		return URL{}, false
	}
	u := base
	u.href = base.href[:keep] + tail[:end]
	u.query = keep + query
	u.plain = plain
	return u, true
}

// scanTail finds where the query and the fragment of "path?query#fragment" start; ok says that
// nothing before the fragment needs a second look.
func scanTail(s string) (query, end int, ok bool) {
	i := 0
	for ; i < len(s); i++ {
		c := s[i]
		if class[c]&plainByte != 0 {
			continue
		}
		if c == '.' {
			if i > 0 && s[i-1] == '/' {
				return 0, 0, false // perhaps a dot segment
			}
			continue
		}
		break
	}
	query = i
	if i < len(s) && s[i] == '?' {
		for i++; i < len(s) && class[s[i]]&plainQueryByte != 0; i++ {
		}
	}
	return query, i, i == len(s) || s[i] == '#'
}

// plainAbsolute parses href, whose host starts at host, when all of it is plain.
func plainAbsolute(href string, host int) (URL, bool) {
	label, i := host, host
	for ; i < len(href) && class[href[i]]&plainHostByte != 0; i++ {
		if href[i] == '.' {
			if i == label {
				return URL{}, false // an empty label
			}
			label = i + 1
		}
	}
	if i >= len(href) || href[i] != '/' || i == label {
		return URL{}, false
	}
	// A last label that starts with a digit may make it an IPv4 address.
	if c := href[label]; c >= '0' && c <= '9' || strings.Contains(href[host:i], "xn--") {
		return URL{}, false
	}
	query, end, ok := scanTail(href[i:])
	if !ok || i+end > MaxInput {
		return URL{}, false
	}
	u := URL{href: href[:i+end], host: host, hostEnd: i, path: i, query: i + query, plain: true}
	return u, true
}
