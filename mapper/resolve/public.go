package resolve

import (
	"encoding/binary"
	"net/netip"
)

// reserved4 are the IPv4 networks that are not the public one: IANA's special-purpose registry
// (RFC 6890 and after), multicast and class E.
var reserved4 = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
)

// reserved6 are those inside 2000::/3, the only IPv6 space that is given out: protocol assignments
// (Teredo, ORCHID, benchmarking) and documentation. 6to4 is judged by what it embeds.
var reserved6 = prefixes("2001::/23", "2001:db8::/32", "3fff::/20")

var (
	global6 = netip.MustParsePrefix("2000::/3")
	sixTo4  = netip.MustParsePrefix("2002::/16")
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}

// Public tells whether addr may be dialled: it is on the public network, or inside one of the
// allowed networks. Loopback, private, link-local, shared (CGNAT), documentation, multicast and
// unique local addresses are not public; nor is an IPv6 address that carries such an IPv4 address
// (mapped, NAT64, 6to4). What is not known to be public is refused.
func Public(addr netip.Addr, allow []netip.Prefix) bool {
	if !addr.IsValid() || addr.Zone() != "" {
		return false
	}
	addr = addr.Unmap()
	inner, embeds := embedded(addr)
	if within(addr, allow) || embeds && within(inner, allow) {
		return true
	}
	switch {
	case addr.Is4():
		return !within(addr, reserved4)
	case embeds:
		return !within(inner, reserved4)
	}
	return global6.Contains(addr) && !within(addr, reserved6)
}

// embedded is the IPv4 address that packets to addr end up at.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	at := 0
	switch {
	case nat64.Contains(addr):
		at = 12
	case sixTo4.Contains(addr):
		at = 2
	default:
		return netip.Addr{}, false
	}
	var v4 [4]byte
	binary.BigEndian.PutUint32(v4[:], binary.BigEndian.Uint32(b[at:]))
	return netip.AddrFrom4(v4), true
}

func within(addr netip.Addr, networks []netip.Prefix) bool {
	for _, n := range networks {
		if n.Masked().Contains(addr) || n.Addr().Is4In6() && n.Bits() >= 96 &&
			netip.PrefixFrom(n.Addr().Unmap(), n.Bits()-96).Masked().Contains(addr) {
			return true
		}
	}
	return false
}
