package lsm

import "strings"

// Key is the key of a row of a run table. Tables without hosts or URLs leave
// them empty; robots has its authority as URL.
type Key struct {
	Partition uint16
	Domain    string
	Host      string
	URL       string
}

// Compare orders keys by partition, domain, host, URL: -1, 0 or 1.
func (k Key) Compare(o Key) int {
	if k.Partition != o.Partition {
		if k.Partition < o.Partition {
			return -1
		}
		return 1
	}
	if c := strings.Compare(k.Domain, o.Domain); c != 0 {
		return c
	}
	if c := strings.Compare(k.Host, o.Host); c != 0 {
		return c
	}
	return strings.Compare(k.URL, o.URL)
}

// Append appends the key as bytes that compare as keys do: big-endian partition,
// domain and host each ended by 0, the URL as it is. Bytes 0 and 1 within domain
// and host become 1 1 and 1 2.
func (k Key) Append(b []byte) []byte {
	b = append(b, byte(k.Partition>>8), byte(k.Partition))
	b = append(appendEscaped(b, k.Domain), 0)
	b = append(appendEscaped(b, k.Host), 0)
	return append(b, k.URL...)
}

func appendEscaped(b []byte, s string) []byte {
	if strings.IndexByte(s, 0) < 0 && strings.IndexByte(s, 1) < 0 {
		return append(b, s...)
	}
	for i := range len(s) {
		if s[i] <= 1 {
			b = append(b, 1, s[i]+1)
		} else {
			b = append(b, s[i])
		}
	}
	return b
}

// parseKey undoes Key.Append.
func parseKey(b []byte) (Key, bool) {
	if len(b) < 2 {
		return Key{}, false
	}
	k := Key{Partition: uint16(b[0])<<8 | uint16(b[1])}
	domain, rest, ok := strings.Cut(string(b[2:]), "\x00")
	if !ok {
		return Key{}, false
	}
	host, url, ok := strings.Cut(rest, "\x00")
	k.Domain, k.Host, k.URL = unescaped(domain), unescaped(host), url
	return k, ok
}

func unescaped(s string) string {
	if strings.IndexByte(s, 1) < 0 {
		return s
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] == 1 && i+1 < len(s) {
			i++
			b = append(b, s[i]-1)
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}
