package httpmsg

import "strings"

// Header holds the fields of a message in the order they came, names as they were written. Values
// have no CR, LF or NUL and no white space at their ends; their bytes are otherwise untouched, so
// they need not be UTF-8.
type Header [][2]string

// Get returns the first value of the named field, or "". Names compare without case.
func (h Header) Get(name string) string {
	for _, f := range h {
		if strings.EqualFold(f[0], name) {
			return f[1]
		}
	}
	return ""
}

// Values returns the values of all fields of that name, in order.
func (h Header) Values(name string) []string {
	var vs []string
	for _, f := range h {
		if strings.EqualFold(f[0], name) {
			vs = append(vs, f[1])
		}
	}
	return vs
}

// Has reports whether a field of that name came.
func (h Header) Has(name string) bool {
	for _, f := range h {
		if strings.EqualFold(f[0], name) {
			return true
		}
	}
	return false
}

// Tokens returns the comma-separated elements of all fields of that name, in order, lower-case and
// trimmed, without empty ones and without what follows a semicolon.
func (h Header) Tokens(name string) []string {
	var ts []string
	for _, f := range h {
		if !strings.EqualFold(f[0], name) {
			continue
		}
		for e := range strings.SplitSeq(f[1], ",") {
			e, _, _ = strings.Cut(e, ";")
			if e = strings.ToLower(trim(e)); e != "" {
				ts = append(ts, e)
			}
		}
	}
	return ts
}

// trim cuts what may surround a value: blanks, control characters of white space, and NULs.
func trim(s string) string { return strings.Trim(s, " \t\r\n\v\f\x00") }

// clean makes a value one line: NULs vanish, line ends become blanks.
func clean(s string) string {
	if strings.ContainsAny(s, "\x00\r\n") {
		s = strings.NewReplacer("\x00", "", "\r", " ", "\n", " ").Replace(s)
	}
	return trim(s)
}
