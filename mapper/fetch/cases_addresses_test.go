package fetch

import (
	"net/netip"
	"slices"
	"syscall"
	"testing"

	"seine/formats/schema"
	"seine/formats/settings"
)

// TestNextAddress: where a connection does not come about, the host's next address is tried, in the
// same slot; a server that was reached is not asked a second time by another way.
func TestNextAddress(t *testing.T) {
	first, second := netip.MustParseAddr("127.9.0.1"), netip.MustParseAddr("127.9.0.2")
	for _, c := range []struct {
		name    string
		refused map[string]error
		page    reply
		reason  schema.Reason
		ip      string
		dialled []string
	}{
		{"the first answers", nil, html("x"), schema.OK, "127.9.0.1", []string{"127.9.0.1:80"}},
		{"the first refuses", map[string]error{"127.9.0.1:80": errRefused}, html("x"), schema.OK,
			"127.9.0.2", []string{"127.9.0.1:80", "127.9.0.2:80"}},
		{"the first has no route", map[string]error{"127.9.0.1:80": syscall.EHOSTUNREACH}, html("x"),
			schema.OK, "127.9.0.2", []string{"127.9.0.1:80", "127.9.0.2:80"}},
		{"both refuse", map[string]error{"127.9.0.1:80": errRefused, "127.9.0.2:80": errRefused},
			html("x"), schema.ConnectRefused, "127.9.0.2", []string{"127.9.0.1:80", "127.9.0.2:80"}},
		{"the first breaks", nil, raw(""), schema.Reset, "127.9.0.1", []string{"127.9.0.1:80"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript()
			s.names["h.test"] = []netip.Addr{first, second}
			s.refused, s.replies["h.test/"] = c.refused, c.page
			trial(t, s, settings.Settings{}, []string{"http://h.test/"},
				func(t *testing.T, _ *world, l *left) {
					row := l.outcome("http://h.test/")
					if row.Reason != c.reason || c.reason == schema.OK && row.IP != c.ip {
						t.Errorf("the page ends as %s by %s: %s", row.Reason, row.IP, row.Detail)
					}
					for _, addr := range s.dialled {
						if !slices.Contains(c.dialled, addr) {
							t.Errorf("%s was dialled", addr)
						}
					}
					if got := slices.Compact(slices.Sorted(slices.Values(s.dialled))); !slices.Equal(got, c.dialled) {
						t.Errorf("dialled %q, want %q", got, c.dialled)
					}
				})
		})
	}
}

// TestNextAddressKeepsRules: a private address stays closed whatever stands beside it, and without
// a contact only allowed networks are asked.
func TestNextAddressKeepsRules(t *testing.T) {
	s := newScript()
	s.names["h.test"] = []netip.Addr{netip.MustParseAddr("10.0.0.1"),
		netip.MustParseAddr("127.9.0.1"), netip.MustParseAddr("192.0.2.1")}
	s.refused = map[string]error{"127.9.0.1:80": errRefused}
	trial(t, s, settings.Settings{AllowNetwork: []string{"127.0.0.0/8"}}, []string{"http://h.test/"},
		func(t *testing.T, _ *world, l *left) {
			for _, addr := range s.dialled {
				if addr != "127.9.0.1:80" {
					t.Errorf("%s was dialled", addr)
				}
			}
		})
}
