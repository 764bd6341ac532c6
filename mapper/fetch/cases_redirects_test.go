package fetch

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/schema"
	"seine/formats/settings"
	"seine/mapper/resolve"
)

// TestRedirects has section C of the field's cases: a Location, and the row that
// it leaves.
func TestRedirects(t *testing.T) {
	const from = "http://h.test/start/p"
	for _, c := range []struct {
		name, location string
		reason         schema.Reason
		to             string // redirect_url
		link           string // what the row of links says
	}{
		{"a path", "/x", schema.Redirected, "http://h.test/x", "redirect accepted http://h.test/x"},
		{"a space", "/a b", schema.Redirected, "http://h.test/a%20b",
			"redirect accepted http://h.test/a%20b"},
		{"percent signs alone", "/a%%b", schema.Redirected, "http://h.test/a%25%25b",
			"redirect accepted http://h.test/a%25%25b"},
		{"a tab", "/a\tb", schema.Redirected, "http://h.test/ab", "redirect accepted http://h.test/ab"},
		{"backslashes", `\\other.test/x`, schema.Redirected, "http://other.test/x",
			"redirect accepted http://other.test/x"},
		{"three slashes", "///c.test/x", schema.Redirected, "http://c.test/x",
			"redirect accepted http://c.test/x"},
		{"a scheme with one slash", "http:/x", schema.Redirected, "http://h.test/x",
			"redirect accepted http://h.test/x"},
		{"a scheme alone", "http:x", schema.Redirected, "http://h.test/start/x",
			"redirect accepted http://h.test/start/x"},
		{"a query", "?q=1", schema.Redirected, "http://h.test/start/p?q=1",
			"redirect accepted http://h.test/start/p?q=1"},
		{"Latin-1 bytes", "/caf\xe9", schema.Redirected, "http://h.test/caf%E9",
			"redirect accepted http://h.test/caf%E9"},
		{"UTF-8 bytes", "/café", schema.Redirected, "http://h.test/caf%C3%A9",
			"redirect accepted http://h.test/caf%C3%A9"},
		{"another host", "https://other.test/", schema.Redirected, "https://other.test/",
			"redirect accepted https://other.test/"},
		{"a fragment", "#frag", schema.RedirectLoop, from, ""},
		{"itself", from, schema.RedirectLoop, from, ""},
		{"itself by another spelling", "HTTP://h.test:80/start/./p?utm_source=x", schema.RedirectLoop,
			from, ""},
		{"nothing", "", schema.RedirectBad, "", ""},
		{"a file", "file:///etc/passwd", schema.RedirectBad, "file:///etc/passwd", ""},
		{"a script", "javascript:alert(1)", schema.RedirectBad, "javascript:alert(1)", ""},
		{"no URL", "http://[::1/", schema.RedirectBad, "http://[::1/", ""},
		{"a port that is none", "http://h.test:99999/", schema.RedirectBad, "http://h.test:99999/", ""},
		{"too long", "/" + strings.Repeat("a", 3000), schema.Redirected, "http://h.test/" +
			strings.Repeat("a", 3000), "redirect too_long"},
		{"a line of its own", "/x\r\nWARC-Type: y", schema.Redirected, "http://h.test/x",
			"redirect accepted http://h.test/x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript()
			s.replies["h.test/start/p"] = moved(c.location)
			trial(t, s, settings.Settings{}, []string{from}, func(t *testing.T, _ *world, l *left) {
				got := l.outcome(from)
				if got.Reason != c.reason || got.RedirectTo != c.to || got.HTTPStatus != 302 ||
					got.Redirect != "302" {
					t.Errorf("row %s to %.80q (%d %s): %s", got.Reason, got.RedirectTo, got.HTTPStatus,
						got.Redirect, got.Detail)
				}
				if links := strings.Join(l.described(from), "; "); links != c.link {
					t.Errorf("links %q, want %q", links, c.link)
				}
				if len(s.requests()) != 2 {
					t.Errorf("a redirect was followed in place: %v", s.requests())
				}
			})
		})
	}
}

// TestEveryRedirectStatus: those that lead on, and those that do not.
func TestEveryRedirectStatus(t *testing.T) {
	for code, want := range map[int]schema.Reason{300: schema.Redirected, 301: schema.Redirected,
		303: schema.Redirected, 304: schema.OddStatus, 305: schema.OddStatus, 307: schema.Redirected,
		308: schema.Redirected, 399: schema.OddStatus, 201: schema.OK} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			s := newScript()
			s.replies["h.test/"] = status(code, "text/html", "x", "Location: /y")
			trial(t, s, settings.Settings{}, []string{"http://h.test/"}, func(t *testing.T, _ *world,
				l *left) {
				if got := l.outcome("http://h.test/"); got.Reason != want {
					t.Errorf("ends as %s, want %s", got.Reason, want)
				}
			})
		})
	}
}

// TestARedirectIsADiscovery of the source's own depth and priority.
func TestARedirectIsADiscovery(t *testing.T) {
	s := newScript()
	s.replies["h.test/"] = moved("http://other.test/x")
	trial(t, s, settings.Settings{}, []string{"http://h.test/"}, func(t *testing.T, _ *world,
		l *left) {
		if len(l.events) != 1 {
			t.Fatalf("events %+v", l.events)
		}
		d := l.events[0]
		if d.URL != "http://other.test/x" || d.Depth != 1 || d.Priority != 0.5 ||
			d.SrcDomain != "h.test" ||
			d.Kind != "redirect" || d.Domain != "other.test" {
			t.Errorf("event %+v", d)
		}
	})
}

// TestAddressesThatMayNotBeDialled: nothing is dialled that is not public or
// allowed, whatever led there.
func TestAddressesThatMayNotBeDialled(t *testing.T) {
	public := addrs("93.184.216.34")
	for _, c := range []struct {
		name, url string
		names     map[string][]netip.Addr
		reason    schema.Reason
		dialled   []string
	}{
		{"metadata service", "http://169.254.169.254/latest", nil, schema.Private, nil},
		{"loopback", "http://127.0.0.1:22/", nil, schema.Private, nil},
		{"loopback as a number", "http://2130706433/", nil, schema.Private, nil},
		{"loopback in octal", "http://0177.0.0.1/", nil, schema.Private, nil},
		{"loopback of IPv6", "http://[::1]/", nil, schema.Private, nil},
		{"mapped loopback", "http://[::ffff:127.0.0.1]/", nil, schema.Private, nil},
		{"an intranet by NAT64", "http://[64:ff9b::10.0.0.1]/", nil, schema.Private, nil},
		{"an intranet by 6to4", "http://[2002:0a00:0001::1]/", nil, schema.Private, nil},
		{"the unspecified address", "http://0.0.0.0/", nil, schema.Private, nil},
		{"a name that points inside", "http://in.test/",
			map[string][]netip.Addr{"in.test": addrs("10.1.2.3")},
			schema.Private, nil},
		{"a name of both kinds", "http://mix.test/", map[string][]netip.Addr{
			"mix.test": append(addrs("10.1.2.3", "::1"), public...)}, schema.NotFound,
			[]string{"93.184.216.34:80"}},
		{"a name that points outside", "http://out.test:8080/",
			map[string][]netip.Addr{"out.test": public},
			schema.NotFound, []string{"93.184.216.34:8080"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript()
			for n, a := range c.names {
				s.names[n] = a
			}
			set := settings.Settings{AllowNetwork: []string{"192.0.2.0/24"}, Contact: "a@b.test"}
			trial(t, s, set, []string{c.url}, func(t *testing.T, _ *world, l *left) {
				if got := l.outcome(normalOf(t, c.url)); got.Reason != c.reason {
					t.Errorf("ends as %s (%s)", got.Reason, got.Detail)
				}
				if diff := cmp.Diff(c.dialled, s.dialled); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestAnAnswerThatChangesItsMind: the address checked is the address dialled,
// also when the name points elsewhere at the second look.
func TestAnAnswerThatChangesItsMind(t *testing.T) {
	s := newScript()
	s.names["re.test"] = addrs("93.184.216.34")
	s.answers = func(seen) (reply, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.names["re.test"] = addrs("127.0.0.1")
		return html("x"), true
	}
	set := settings.Settings{AllowNetwork: []string{"192.0.2.0/24"}, Contact: "a@b.test"}
	trial(t, s, set, []string{"http://re.test/"}, func(t *testing.T, _ *world, l *left) {
		if got := l.outcome("http://re.test/"); got.Reason != schema.Private {
			t.Errorf("ends as %s", got.Reason)
		}
		for _, d := range s.dialled {
			if strings.HasPrefix(d, "127.") {
				t.Errorf("dialled %s", d)
			}
		}
	})
}

// TestNamesThatDoNotResolve are told apart.
func TestNamesThatDoNotResolve(t *testing.T) {
	for reason, err := range map[schema.Reason]error{schema.DNSNotFound: resolve.ErrNotFound,
		schema.DNSTimeout: resolve.ErrTimeout, schema.DNSFailed: resolve.ErrServFail} {
		t.Run(reason, func(t *testing.T) {
			s := newScript()
			s.missing["no.test"] = err
			list := []string{"http://no.test/", "http://no.test/2", "http://yes.test/"}
			trial(t, s, settings.Settings{}, list, func(t *testing.T, _ *world, l *left) {
				for _, u := range list[:2] {
					if got := l.outcome(u); got.Reason != reason || !got.Final {
						t.Errorf("%s ends as %s", u, got.Reason)
					}
				}
				if got := l.outcome(list[2]); got.Reason != schema.NotFound {
					t.Errorf("%s ends as %s", list[2], got.Reason)
				}
			})
		})
	}
}
