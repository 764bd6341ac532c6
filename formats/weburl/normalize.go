package weburl

import (
	"fmt"
	"strings"
)

// NormalizerVersion names the rules of NORMALIZE.md. A crawl pins it; any change that gives one
// URL another normal form is a new version.
const NormalizerVersion = 1

// Options changes which query parameters are dropped. The zero value is the default. Names are
// compared without case; one that ends in "*" stands for all names that start so.
type Options struct {
	KeepParams []string // never dropped, whatever the rules say
	DropParams []string // dropped besides those of the rules
	// MaxLength is the longest normal form, in bytes, that the function Normalize returns; 0
	// means MaxInput.
	MaxLength int
}

// Normal is the normal form of a URL: the key of the tables and what is asked for. All of its
// parts are parts of URL.
type Normal struct {
	URL       string // the whole: Scheme://AuthorityPath
	Scheme    string // "http" or "https"
	Host      string // lower-case ASCII without trailing dot; IPv6 in brackets
	Port      string // decimal, "" for the default of the scheme
	Authority string // Host, with ":" and Port when there is one
	Path      string // path and query: what stands in a request line and robots.txt is matched with
}

// Normalize parses raw and brings it to its normal form.
func Normalize(raw string, o Options) (Normal, error) {
	u, err := Parse(raw)
	if err != nil {
		return Normal{}, err
	}
	n := u.Normalize(o)
	limit := o.MaxLength
	if limit <= 0 {
		limit = MaxInput
	}
	if len(n.URL) > limit {
		return Normal{}, fmt.Errorf("%w: %d bytes, %d allowed", ErrTooLong, len(n.URL), limit)
	}
	return n, nil
}

// Normalize returns the normal form of u by the rules of NORMALIZE.md. It does not look at
// MaxLength: to refuse what is too long is up to the caller.
func (u URL) Normalize(o Options) Normal {
	if u.href == "" {
		return Normal{}
	}
	host := strings.TrimSuffix(u.Host(), ".")
	path, query := u.Path(), u.Query()
	if !u.plain {
		path = dropSessionSegments(normalEscapes(path, pathByte))
		query = normalEscapes(query, queryByte)
	}
	query = normalQuery(query, o)

	href := u.href
	same := host == u.Host() && path == u.Path() && query == u.Query() &&
		u.HasQuery() == (query != "")
	if !same {
		href = rebuild(u, host, path, query)
	}
	n := Normal{URL: href, Scheme: u.Scheme(), Port: u.Port()}
	n.Host = href[u.host : u.host+len(host)]
	end := u.host + len(host)
	if n.Port != "" {
		end += len(":") + len(n.Port)
	}
	n.Authority, n.Path = href[u.host:end], href[end:]
	return n
}

func rebuild(u URL, host, path, query string) string {
	b := make([]byte, 0, len(u.href)+16)
	b = append(b, u.href[:u.host]...)
	b = append(b, host...)
	b = append(b, u.href[u.hostEnd:u.path]...)
	b = append(b, path...)
	if query != "" {
		b = append(b, '?')
		b = append(b, query...)
	}
	return string(b)
}

// CutAuthority cuts a URL in normal form into "scheme://authority" and its path with the query, as
// Normal has them: by string, for those who have a table's URL and need no more of it.
func CutAuthority(url string) (authority, path string) {
	start := strings.Index(url, "://") + len("://")
	if end := strings.IndexByte(url[start:], '/'); end >= 0 {
		return url[:start+end], url[start+end:]
	}
	return url, ""
}

// SchemeTwin is a URL in normal form, or its authority, at the other of http and https; "" where it
// names a port, which says nothing of the other scheme.
func SchemeTwin(url string) string {
	authority, _ := CutAuthority(url)
	scheme, rest, _ := strings.Cut(url, "://")
	if host := authority[len(scheme)+len("://"):]; strings.LastIndexByte(host, ':') > strings.LastIndexByte(host, ']') {
		return ""
	}
	if scheme == "http" {
		return "https://" + rest
	}
	return "http://" + rest
}

// dropSessionSegments drops ";jsessionid=…" and its like from the segments of a normal path,
// up to the next ";" or "/" (rule 13). A segment that would become a dot segment is left alone.
func dropSessionSegments(path string) string {
	if strings.IndexByte(path, ';') < 0 {
		return path
	}
	segments := strings.Split(path, "/")
	changed := false
	for i, segment := range segments {
		parts := strings.Split(segment, ";")
		kept := parts[:1]
		for _, part := range parts[1:] {
			name, value, _ := strings.Cut(part, "=")
			if !isSessionParam(name, value) {
				kept = append(kept, part)
			}
		}
		if len(kept) == len(parts) || len(kept) == 1 && dots(kept[0]) > 0 {
			continue
		}
		segments[i] = strings.Join(kept, ";")
		changed = true
	}
	if !changed {
		return path
	}
	return strings.Join(segments, "/")
}
