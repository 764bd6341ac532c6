package scope

import "strings"

// shape is what the limits look at in a path and its query.
type shape struct {
	segments  int  // segments of the path; a slash at the end starts none
	params    int  // parameters of the query
	repeats   int  // how often the most repeated thing stands; 1 is once
	sameNames bool // a name stands twice or more in the query
	dated     bool // a date or a page of a calendar is among the parameters
}

// mostPieces bounds what is compared: the pieces beyond it have reached every limit.
const mostPieces = 128

// measure takes a normal form's path and query. wanted is how many repeats are a trap: counting
// stops to be exact above it.
func measure(path string, wanted int) shape {
	path, query, _ := strings.Cut(path, "?")
	var buffer [mostPieces]string
	var s shape

	trimmed := strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/")
	if trimmed != "" {
		s.segments = strings.Count(trimmed, "/") + 1
	}
	s.repeats = max(1, repeatedRuns(split(trimmed, buffer[:0]), wanted))
	if query == "" {
		return s
	}
	s.params = strings.Count(query, "&") + 1
	s.repeats = max(s.repeats, repeatedEscapes(query), s.readParams(query))
	if strings.IndexByte(query, '/') >= 0 || strings.Contains(query, "%2F") {
		s.repeats = max(s.repeats, repeatedRuns(split(query, buffer[:0]), wanted))
	}
	return s
}

// split cuts at slashes, written plainly or as escapes, and keeps the first pieces.
func split(s string, pieces []string) []string {
	for s != "" && len(pieces) < cap(pieces) {
		i := strings.IndexByte(s, '/')
		width := 1
		if j := strings.Index(s, "%2F"); j >= 0 && (i < 0 || j < i) {
			i, width = j, len("%2F")
		}
		if i < 0 {
			return append(pieces, s)
		}
		pieces = append(pieces, s[:i])
		s = s[i+width:]
	}
	return pieces
}

// repeatedRuns returns how often a run of pieces stands in a row at most: 3 for
// page/2/page/2/page/2, 2 for a/b/a/b. A piece that comes back again and again with others
// between (a/x/a/y/a/z/a/w) counts as one repeat less than it stands there. A single number of
// one or two digits counts one less too, for dates are written 2011/11/11.
func repeatedRuns(pieces []string, wanted int) int {
	most := 1
	for width := 1; width*2 <= len(pieces); width++ {
		same := 0 // how many pieces up to here equal the one a width before
		for i := width; i < len(pieces); i++ {
			if pieces[i] != pieces[i-width] {
				same = 0
				continue
			}
			same++
			count := same/width + 1
			if width == 1 && isShortNumber(pieces[i]) {
				count--
			}
			most = max(most, count)
		}
		if most >= wanted {
			return most
		}
	}
	return max(most, scattered(pieces))
}

// scattered counts the piece that stands most often with others between, less one. Numbers and
// empty pieces do not count: they mean little by themselves.
func scattered(pieces []string) int {
	most := 0
	for i, piece := range pieces {
		if piece == "" || isNumber(piece) {
			continue
		}
		count := 0
		for _, other := range pieces[i:] {
			if other == piece {
				count++
			}
		}
		most = max(most, count-1)
	}
	return most
}

func isShortNumber(s string) bool { return len(s) <= 2 && isNumber(s) }

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// growing are the escapes that pile up when a site escapes its own links again and again: slash,
// backslash, question mark, ampersand, hash, semicolon and percent itself.
var growing = [...]string{"%2F", "%5C", "%3F", "%26", "%23", "%3B", "%25"}

// repeatedEscapes returns how often such an escape stands in a row: 3 for %2F%2F%2F, and for
// %252525 as well, which is a percent escaped three times.
func repeatedEscapes(query string) int {
	most := 1
	for i := 0; ; {
		j := strings.IndexByte(query[i:], '%')
		if j < 0 {
			return most
		}
		i += j
		end := i
		for _, escape := range growing {
			count := 0
			for strings.HasPrefix(query[end:], escape) {
				end += len(escape)
				count++
			}
			if escape == "%25" && count == 1 {
				for strings.HasPrefix(query[end:], "25") {
					end += len("25")
					count++
				}
			}
			most = max(most, count)
			if count > 0 {
				break
			}
		}
		i = max(end, i+1)
	}
}

// readParams looks at the parameters of a normal query, which are sorted by name, and returns
// how often the most frequent one stands with one value.
func (s *shape) readParams(query string) int {
	most := 1
	lastName := ""
	var values [16]string // of the current name
	n := 0
	for rest, more := query, true; more; {
		var piece string
		piece, rest, more = strings.Cut(rest, "&")
		name, value, _ := strings.Cut(piece, "=")
		s.dated = s.dated || isCalendar(name)
		if name != lastName {
			lastName, n = name, 0
		} else if n > 0 {
			s.sameNames = true
		}
		if n < len(values) {
			values[n] = value
			n++
		}
		count := 0
		for _, v := range values[:n] {
			if v == value {
				count++
			}
		}
		most = max(most, count)
	}
	return most
}

// isCalendar knows the parameters by which calendars go on for ever.
func isCalendar(name string) bool {
	switch name {
	case "year", "month", "week", "day", "date", "cal", "calendar", "ical", "tribe-bar-date":
		return true
	}
	return false
}
