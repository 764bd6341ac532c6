package weburl

import (
	"slices"
	"strings"
)

// normalQuery applies rules 10 to 12 to a query whose escapes are normal: parameters that only
// follow people are dropped, the rest is sorted by name, stably. A query that is normal already
// comes back itself.
func normalQuery(query string, o Options) string {
	if query == "" {
		return ""
	}
	changed := false
	count := 0
	last := ""
	for rest, more := query, true; more; {
		var piece string
		piece, rest, more = strings.Cut(rest, "&")
		name, value, _ := strings.Cut(piece, "=")
		if piece == "" || isDropped(name, value, o) {
			changed = true
			continue
		}
		count++
		changed = changed || name < last
		last = name
	}
	if !changed {
		return query
	}
	return sortQuery(query, count, o)
}

// sortQuery drops and sorts; count is how many parameters stay.
func sortQuery(query string, count int, o Options) string {
	pieces := make([]string, 0, count)
	size := 0
	for piece := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(piece, "=")
		if piece != "" && !isDropped(name, value, o) {
			pieces = append(pieces, piece)
			size += len(piece) + len("&")
		}
	}
	slices.SortStableFunc(pieces, func(a, b string) int {
		nameA, _, _ := strings.Cut(a, "=")
		nameB, _, _ := strings.Cut(b, "=")
		return strings.Compare(nameA, nameB)
	})
	return strings.Join(pieces, "&")
}

// isDropped tells whether a parameter leaves the query. The options come before the rules, and
// KeepParams before DropParams.
func isDropped(name, value string, o Options) bool {
	if len(o.KeepParams) > 0 && isListed(name, o.KeepParams) {
		return false
	}
	if len(o.DropParams) > 0 && isListed(name, o.DropParams) {
		return true
	}
	var buffer [longestParam]byte
	lower := lowerParam(name, &buffer)
	if params[string(lower)] == dropAlways {
		return true
	}
	for _, prefix := range paramPrefixes {
		if len(lower) > len(prefix) && string(lower[:len(prefix)]) == prefix {
			return true
		}
	}
	return isSession(lower, value)
}

func isListed(name string, list []string) bool {
	for _, entry := range list {
		prefix, open := strings.CutSuffix(entry, "*")
		if open && len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) ||
			strings.EqualFold(name, entry) {
			return true
		}
	}
	return false
}

// lowerParam returns the start of name, in lower case, cut one byte after the longest name of
// the rules: a longer one can match none but prefixes.
func lowerParam(name string, buffer *[longestParam]byte) []byte {
	n := min(len(name), len(buffer))
	for i := range n {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		buffer[i] = c
	}
	return buffer[:n]
}

// isSessionParam is isSession for a parameter of a path segment.
func isSessionParam(name, value string) bool {
	var buffer [longestParam]byte
	return isSession(lowerParam(name, &buffer), value)
}

func isSession(lower []byte, value string) bool {
	switch params[string(lower)] {
	case dropSession:
		return value != ""
	case dropSessionLike:
		return looksLikeSession(value)
	}
	return false
}

// looksLikeSession tells a session id from a number or a word: a UUID, or at least 16 letters
// and digits and nothing else, with at least one letter and three digits.
func looksLikeSession(value string) bool {
	letters, digits, hyphens := 0, 0, 0
	for i := range len(value) {
		c := value[i]
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letters++
		case c == '-' && (i == 8 || i == 13 || i == 18 || i == 23):
			hyphens++
		default:
			return false
		}
	}
	if hyphens > 0 {
		return hyphens == 4 && len(value) == 36
	}
	return len(value) >= 16 && letters >= 1 && digits >= 3
}
