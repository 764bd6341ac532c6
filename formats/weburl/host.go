package weburl

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// names maps a name to ASCII as browsers do: UTS 46, non-transitional, every hyphen allowed,
// joiners and bidi checked, no limit of DNS applied.
var names = idna.New(
	idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false),
	idna.CheckHyphens(false), idna.CheckJoiners(true), idna.BidiRule(),
	idna.VerifyDNSLength(false),
)

// forbiddenInHost holds the standard's forbidden domain code points, controls aside.
const forbiddenInHost = " #/:<>?@[\\]^|%\x7f"

// parseHost returns a host in the form that the standard serialises: lower-case ASCII, IPv4 in
// four decimal parts, IPv6 compressed and in brackets. One trailing dot is kept.
func parseHost(raw string) (string, error) {
	if strings.HasPrefix(raw, "[") {
		return parseIPv6(raw)
	}
	name := raw
	if strings.IndexByte(name, '%') >= 0 {
		name = unescape(name)
	}
	name, err := asciiName(name)
	if err != nil {
		return "", fmt.Errorf("%w: %q: %v", ErrHost, shown(raw), err)
	}
	if name == "" {
		return "", fmt.Errorf("%w: it is empty", ErrHost)
	}
	for i := range len(name) {
		if name[i] < ' ' || strings.IndexByte(forbiddenInHost, name[i]) >= 0 {
			return "", fmt.Errorf("%w: %q has %q", ErrHost, shown(raw), name[i])
		}
	}
	if name[0] == '.' || strings.Contains(name, "..") {
		return "", fmt.Errorf("%w: %q has an empty label", ErrHost, shown(raw))
	}
	if endsInNumber(name) {
		return parseIPv4(name)
	}
	return name, nil
}

func unescape(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if code := escapeAt(s, i); code >= 0 {
			b = append(b, byte(code))
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

// asciiName lower-cases a name and brings it to ASCII.
func asciiName(name string) (string, error) {
	ascii := true
	for i := range len(name) {
		ascii = ascii && name[i] < 0x80
	}
	if ascii {
		name = strings.ToLower(name)
		if !strings.Contains(name, "xn--") {
			return name, nil
		}
	}
	mapped, err := names.ToASCII(name)
	if err != nil {
		return "", err
	}
	// A name that maps to something else again would be two keys.
	if again, err := names.ToASCII(mapped); err != nil || again != mapped {
		return "", fmt.Errorf("maps to %q, which maps to another name", shown(mapped))
	}
	return mapped, nil
}

// endsInNumber tells whether a name must be an IPv4 address: its last label is a number.
func endsInNumber(name string) bool {
	name = strings.TrimSuffix(name, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "" {
		return false
	}
	digits := true
	for i := range len(last) {
		digits = digits && last[i] >= '0' && last[i] <= '9'
	}
	if digits {
		return true
	}
	_, ok := parseNumber(last)
	return ok
}

// parseNumber reads a part of an IPv4 address: decimal, octal with 0, hexadecimal with 0x.
// Numbers beyond 32 bits come back as 1<<32.
func parseNumber(s string) (uint64, bool) {
	base := uint64(10)
	switch {
	case strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X"):
		s, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	case s == "":
		return 0, false
	}
	n := uint64(0)
	for i := range len(s) {
		d := hexDigit(s[i])
		if d < 0 || uint64(d) >= base {
			return 0, false
		}
		n = min(n*base+uint64(d), 1<<32)
	}
	return n, true
}

func parseIPv4(name string) (string, error) {
	parts := strings.Split(strings.TrimSuffix(name, "."), ".")
	bad := func() (string, error) {
		return "", fmt.Errorf("%w: %q is no IPv4 address", ErrHost, shown(name))
	}
	if len(parts) > 4 {
		return bad()
	}
	address := uint64(0)
	for i, part := range parts {
		n, ok := parseNumber(part)
		last := i == len(parts)-1
		// The last part fills all the bytes that the others leave.
		if !ok || !last && n > 255 || last && n >= 1<<(8*(5-len(parts))) {
			return bad()
		}
		if last {
			address += n
		} else {
			address += n << (8 * (3 - i))
		}
	}
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(address))
	return netip.AddrFrom4(b).String(), nil
}

func parseIPv6(raw string) (string, error) {
	inner, ok := strings.CutSuffix(raw[1:], "]")
	address, err := netip.ParseAddr(inner)
	if !ok || err != nil || !address.Is6() || address.Zone() != "" {
		return "", fmt.Errorf("%w: %q is no IPv6 address", ErrHost, shown(raw))
	}
	return formatIPv6(address.As16()), nil
}

// formatIPv6 writes an address as the standard does: the first longest run of two or more zero
// pieces is "::", and addresses that hold an IPv4 one are hexadecimal as well.
func formatIPv6(b [16]byte) string {
	var pieces [8]uint16
	for i := range pieces {
		pieces[i] = binary.BigEndian.Uint16(b[2*i:])
	}
	start, length := 0, 1
	for i := 0; i < len(pieces); i++ {
		end := i
		for end < len(pieces) && pieces[end] == 0 {
			end++
		}
		if end-i > length {
			start, length = i, end-i
		}
		i = max(i, end)
	}
	out := []byte{'['}
	for i := 0; i < len(pieces); i++ {
		if length > 1 && i == start {
			out = append(out, "::"...)
			i += length - 1
			continue
		}
		if i > 0 && out[len(out)-1] != ':' {
			out = append(out, ':')
		}
		out = strconv.AppendUint(out, uint64(pieces[i]), 16)
	}
	return string(append(out, ']'))
}
