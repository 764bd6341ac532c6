package weburl

const upperHex = "0123456789ABCDEF"

// What a byte may be. The plain classes hold bytes that neither the standard nor a rule of the
// normal form touches; "." is not among plainByte because it may start a dot segment.
const (
	plainByte      = 1 << iota // in a path
	plainQueryByte             // in a query
	plainHostByte              // in a host
	unreserved                 // RFC 3986: an escape of it is decoded (rule 8)
	pathByte                   // stays as it is in a normal path
	queryByte                  // stays as it is in a normal query
	escapedInPath              // the standard's path percent-encode set, ASCII part
	escapedInQuery             // its special-query percent-encode set, ASCII part
)

var class = classes()

func classes() (t [256]uint8) {
	mark := func(bytes string, bits uint8) {
		for i := range len(bytes) {
			t[bytes[i]] |= bits
		}
	}
	const digits, lower = "0123456789", "abcdefghijklmnopqrstuvwxyz"
	const upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for c := range 256 {
		if c <= ' ' || c >= 0x7f {
			t[c] |= escapedInPath | escapedInQuery
		}
	}
	mark(digits+lower+upper+"-_~", plainByte|plainQueryByte|unreserved|pathByte|queryByte)
	mark(".", plainQueryByte|unreserved|pathByte|queryByte)
	mark("!$&()*+,=:@/", plainByte|plainQueryByte|pathByte|queryByte)
	mark("?;", plainQueryByte|queryByte)
	mark(";'", pathByte)
	mark("'", queryByte)
	mark(digits+lower+"-_.", plainHostByte)
	mark("\"#<>?`{}^", escapedInPath)
	mark("\"#<>'", escapedInQuery)
	return t
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// escapeAt returns the byte that the escape at s[i] stands for, or -1 where s[i] starts none.
func escapeAt(s string, i int) int {
	if s[i] != '%' || i+2 >= len(s) {
		return -1
	}
	high, low := hexDigit(s[i+1]), hexDigit(s[i+2])
	if high < 0 || low < 0 {
		return -1
	}
	return high<<4 | low
}

func appendEscape(b []byte, c byte) []byte {
	return append(b, '%', upperHex[c>>4], upperHex[c&15])
}

// appendPathSegment appends a segment as the standard escapes it. A "%" that starts no escape
// becomes "%25".
func appendPathSegment(b []byte, seg string) []byte {
	for i := range len(seg) {
		c := seg[i]
		if class[c]&escapedInPath != 0 || c == '%' && escapeAt(seg, i) < 0 {
			b = appendEscape(b, c)
			continue
		}
		b = append(b, c)
	}
	return b
}

// appendQuery appends a query as the standard escapes it; encode is as in ResolveQuery.
func appendQuery(b []byte, query string, encode func(string) []byte) []byte {
	for i := 0; i < len(query); i++ {
		c := query[i]
		if c >= 0x80 && encode != nil {
			end := i + 1
			for end < len(query) && query[end] >= 0x80 {
				end++
			}
			b = appendEncoded(b, encode(query[i:end]))
			i = end - 1
			continue
		}
		if class[c]&escapedInQuery != 0 {
			b = appendEscape(b, c)
			continue
		}
		b = append(b, c)
	}
	return b
}

// appendEncoded appends what an encoder gave for text that was not ASCII. The separators of a
// query, which "&#233;" has, are data there and always escaped.
func appendEncoded(b, encoded []byte) []byte {
	for _, c := range encoded {
		separator := c == '&' || c == ';' || c == '=' || c == '+' || c == '%'
		if separator || class[c]&escapedInQuery != 0 {
			b = appendEscape(b, c)
			continue
		}
		b = append(b, c)
	}
	return b
}

// normalEscapes applies rules 7 to 9 to a path or a query: keep tells which bytes stay as they
// are. A string that is normal already comes back itself.
func normalEscapes(s string, keep uint8) string {
	i := 0
	for i < len(s) && class[s[i]]&keep != 0 {
		i++
	}
	if i == len(s) {
		return s
	}
	b := make([]byte, i, len(s)+16)
	copy(b, s)
	for ; i < len(s); i++ {
		c := s[i]
		if class[c]&keep != 0 {
			b = append(b, c)
			continue
		}
		code := escapeAt(s, i)
		if code < 0 {
			b = appendEscape(b, c)
			continue
		}
		if class[code]&unreserved != 0 {
			b = append(b, byte(code))
		} else {
			b = appendEscape(b, byte(code))
		}
		i += 2
	}
	if string(b) == s {
		return s
	}
	return string(b)
}
