package resolve

import (
	"net/netip"
	"testing"
)

func TestPublic(t *testing.T) {
	for addr, want := range map[string]bool{
		"1.1.1.1": true, "93.184.216.34": true, "172.15.255.255": true, "172.32.0.0": true,
		"100.63.255.255": true, "100.128.0.0": true, "198.17.255.255": true,
		"223.255.255.255": true,
		"11.0.0.0":        true, "192.0.1.1": true,
		"0.0.0.0": false, "0.1.2.3": false, "10.1.2.3": false, "127.0.0.1": false,
		"127.255.0.1": false,
		"100.64.0.1":  false, "169.254.169.254": false,
		"172.16.0.1": false, "172.31.255.255": false,
		"192.0.0.8": false, "192.0.2.1": false, "192.88.99.1": false, "192.168.1.1": false,
		"198.18.0.1": false, "198.19.255.255": false, "198.51.100.1": false, "203.0.113.1": false,
		"224.0.0.1": false, "239.255.255.250": false, "240.0.0.1": false, "255.255.255.255": false,

		"2606:4700:4700::1111": true, "2a00:1450::1": true, "2001:200::1": true,
		"2001:4860::8888": true,
		"::":              false, "::1": false, "fe80::1": false, "fec0::1": false,
		"fc00::1": false,
		"fd12::1": false,
		"ff02::1": false, "2001:db8::1": false, "3fff::1": false, "2001::1": false,
		"2001:2::1":  false,
		"2001:20::1": false, "100::1": false, "5f00::1": false, "4000::1": false,
		"::1.1.1.1":    false,
		"fe80::1%eth0": false, "2606:4700::1%eth0": false,

		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:1.1.1.1": true,
		"64:ff9b::10.0.0.1": false, "64:ff9b::169.254.169.254": false, "64:ff9b::1.1.1.1": true,
		"64:ff9b:1::1.1.1.1": false,
		"2002:7f00:1::":      false, "2002:c0a8:101::1": false, "2002:101:101::1": true,
	} {
		if got := Public(netip.MustParseAddr(addr), nil); got != want {
			t.Errorf("Public(%s) = %v, want %v", addr, got, want)
		}
	}
	if Public(netip.Addr{}, nil) {
		t.Error("no address is public")
	}
}

func TestPublicAllowsNamedNetworks(t *testing.T) {
	allow := func(nets ...string) []netip.Prefix { return prefixes(nets...) }
	for _, c := range []struct {
		name, addr string
		allow      []netip.Prefix
		want       bool
	}{
		{"inside", "127.0.1.2", allow("127.0.0.0/8"), true},
		{"outside", "10.0.0.1", allow("127.0.0.0/8"), false},
		{"second", "10.0.0.1", allow("127.0.0.0/8", "10.0.0.0/24"), true},
		{"mapped address", "::ffff:127.0.0.1", allow("127.0.0.0/8"), true},
		{"mapped network", "127.0.0.1", allow("::ffff:127.0.0.0/104"), true},
		{"host bits set", "127.9.9.9", allow("127.0.0.1/8"), true},
		{"embedded", "64:ff9b::10.0.0.1", allow("10.0.0.0/8"), true},
		{"IPv6", "fd00::1", allow("fd00::/8"), true},
		{"IPv6 loopback is its own", "::1", allow("127.0.0.0/8"), false},
		{"zone", "fe80::1%eth0", allow("fe80::/10"), false},
		{"public stays public", "1.1.1.1", allow("127.0.0.0/8"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Public(netip.MustParseAddr(c.addr), c.allow); got != c.want {
				t.Errorf("Public(%s) = %v, want %v", c.addr, got, c.want)
			}
		})
	}
}
