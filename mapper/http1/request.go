package http1

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// ours are the fields that a caller cannot set: those this package writes, those that frame a
// message, those that carry an identity.
var ours = map[string]bool{
	"host": true, "user-agent": true, "accept": true, "accept-encoding": true, "connection": true,
	"keep-alive": true, "transfer-encoding": true, "content-length": true, "te": true,
	"trailer": true, "upgrade": true, "expect": true, "proxy-connection": true,
	"cookie": true, "cookie2": true, "authorization": true, "proxy-authorization": true,
	"referer": true,
}

var errHost = errors.New("no host that fits a header line")

// encode writes the request's bytes. Only the host can make that impossible.
func (r *Request) encode(s *Settings) ([]byte, error) {
	if !validHost(r.Host) {
		return nil, fmt.Errorf("request to %q: %w", r.Host, errHost)
	}
	b := make([]byte, 0, 256+len(r.Target))
	b = append(b, "GET "...)
	b = appendTarget(b, r.Target)
	b = append(b, " HTTP/1.1\r\n"...)
	b = appendField(b, "Host", r.Host)
	b = appendField(b, "User-Agent", oneLine(cmp.Or(r.Agent, s.Agent)))
	b = appendField(b, "Accept", oneLine(s.Accept))
	b = appendField(b, "Accept-Encoding", "gzip")
	b = appendField(b, "Connection", "keep-alive")
	for _, f := range r.Header {
		if isToken(f[0]) && !ours[strings.ToLower(f[0])] && oneLine(f[1]) == f[1] {
			b = appendField(b, f[0], f[1])
		}
	}
	return append(b, "\r\n"...), nil
}

func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}

const upperHex = "0123456789ABCDEF"

// appendTarget writes a path and query that cannot leave their place in the request line. The
// fragment is cut; what is no visible ASCII is %-encoded; a path begins with a slash.
func appendTarget(b []byte, target string) []byte {
	target, _, _ = strings.Cut(target, "#")
	if !strings.HasPrefix(target, "/") {
		b = append(b, '/')
	}
	for i := range len(target) {
		c := target[i]
		if c <= ' ' || c >= 0x7f {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
			continue
		}
		b = append(b, c)
	}
	return b
}

// oneLine drops what could end a line or be taken for its end.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// validHost accepts what can be an authority without user information.
func validHost(host string) bool {
	for i := range len(host) {
		if c := host[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("/\\?#@,", c) >= 0 {
			return false
		}
	}
	return host != ""
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !alnum && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}
