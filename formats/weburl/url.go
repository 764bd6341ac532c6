package weburl

import "strings"

// MaxInput is the longest text, in bytes, that is parsed at all, and the longest URL that comes
// out of it. It bounds the work on one attribute value; the limit of a crawl is far below.
const MaxInput = 64 << 10

// URL is an absolute http or https URL as a browser would hold it, without credentials and
// fragment. The zero value is no URL; only Parse and Resolve make one.
type URL struct {
	href    string // scheme://host[:port]/path[?query]
	host    int    // where the host starts in href
	hostEnd int    // where it ends: at ":" or "/"
	path    int    // where the path starts
	query   int    // where "?" is, or len(href)
	plain   bool   // path and query hold only bytes that no rule touches; see class
}

// Parse parses an absolute URL. Leading and trailing spaces and controls are dropped, and so
// are tabs and line breaks anywhere, as browsers do.
func Parse(raw string) (URL, error) {
	if u, ok := parsePlain(raw); ok {
		return u, nil
	}
	return parse(nil, raw, nil)
}

// Resolve resolves a reference found on base, such as the value of an href attribute or of a
// Location header: relative or absolute, with whatever browsers forgive. The query of a
// reference is taken as UTF-8; bytes that are no UTF-8 are kept as they are, as escapes.
func (base URL) Resolve(ref string) (URL, error) {
	return base.ResolveQuery(ref, nil)
}

// ResolveQuery is Resolve for a page whose charset is not UTF-8: browsers write what is not
// ASCII in a query in the charset of the page. encodeQuery is given each such run of text and
// returns its bytes in that charset; a character the charset lacks it returns as "&#NNNN;".
// nil means UTF-8. Paths and hosts are UTF-8 whatever the page is.
func (base URL) ResolveQuery(ref string, encodeQuery func(s string) []byte) (URL, error) {
	if u, ok := base.resolvePlain(ref); ok {
		return u, nil
	}
	return parse(&base, ref, encodeQuery)
}

// String returns the whole URL, without credentials and fragment.
func (u URL) String() string { return u.href }

// Scheme returns "http" or "https".
func (u URL) Scheme() string {
	if u.href == "" {
		return ""
	}
	return u.href[:u.host-len("://")]
}

// Host returns the host in lower-case ASCII, IPv6 addresses in brackets, without the port.
func (u URL) Host() string { return u.href[u.host:u.hostEnd] }

// Port returns the decimal port, or "" for the default of the scheme.
func (u URL) Port() string {
	if u.path == u.hostEnd {
		return ""
	}
	return u.href[u.hostEnd+1 : u.path]
}

// Path returns the path, escaped, without the query; it starts with "/".
func (u URL) Path() string { return u.href[u.path:u.query] }

// Query returns the query, escaped, without "?".
func (u URL) Query() string {
	if !u.HasQuery() {
		return ""
	}
	return u.href[u.query+1:]
}

// HasQuery reports whether there is a "?", be the query empty or not.
func (u URL) HasQuery() bool { return u.query < len(u.href) }

// directory returns where the last segment of the path starts in href.
func (u URL) directory() int {
	return u.path + strings.LastIndexByte(u.href[u.path:u.query], '/') + 1
}
