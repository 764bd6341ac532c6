package resolve

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
)

type zones = map[string]func(*dns.Msg) error

// TestServers: what is asked of whom when servers fail, how long it takes and what comes of it.
// Only IPv4 questions are listed; IPv6 ones run beside them.
func TestServers(t *testing.T) {
	good := records("h.test. 300 A 1.2.3.4")
	const found = "1.2.3.4] 5m0s"
	both := func(z zones) zones { // silent servers are silent for IPv6 too
		for _, key := range []string{"h.test", "10.0.0.1 h.test", "10.0.0.2 h.test"} {
			if f := z[key+" A"]; f != nil && fmt.Sprintf("%p", f) == fmt.Sprintf("%p", silent) {
				z[key+" AAAA"] = f
			}
		}
		return z
	}
	for _, c := range []struct {
		name     string
		settings Settings
		zones    zones
		want     string
		took     time.Duration
		asked    []string
	}{
		{"silent, then the next", Settings{Servers: []string{"10.0.0.1", "10.0.0.2"}},
			both(zones{"10.0.0.1 h.test A": silent, "10.0.0.2 h.test A": good}), found,
			5 * time.Second,
			[]string{"10.0.0.1 h.test A", "10.0.0.2 h.test A"}},
		{"silent twice", Settings{Servers: []string{"10.0.0.1"}}, both(zones{"h.test A": silent}),
			"dns timeout 30s", 10*time.Second + pause, []string{"10.0.0.1 h.test A",
				"10.0.0.1 h.test A"}},
		{"fallback", Settings{Servers: []string{"10.0.0.1"}, Fallback: []string{"10.0.0.2"}},
			both(zones{"10.0.0.1 h.test A": silent, "10.0.0.2 h.test A": good}), found,
			10*time.Second + pause,
			[]string{"10.0.0.1 h.test A", "10.0.0.1 h.test A", "10.0.0.2 h.test A"}},
		{"SERVFAIL", Settings{Servers: []string{"10.0.0.1", "10.0.0.2"}},
			zones{"10.0.0.1 h.test A": code(dns.RcodeServerFailure), "10.0.0.2 h.test A": good},
			found, 0,
			[]string{"10.0.0.1 h.test A", "10.0.0.2 h.test A"}},
		{"REFUSED by all", Settings{Servers: []string{"10.0.0.1", "10.0.0.2"}},
			zones{"h.test A": code(dns.RcodeRefused)}, "dns server failure 30s", 0,
			[]string{"10.0.0.1 h.test A", "10.0.0.2 h.test A"}},
		{"NXDOMAIN is an answer", Settings{Servers: []string{"10.0.0.1", "10.0.0.2"}}, nil,
			"no such host 1h0m0s", 0, []string{"10.0.0.1 h.test A"}},
		{"connection refused", Settings{Servers: []string{"10.0.0.1"}},
			zones{"h.test A": func(*dns.Msg) error { return syscall.ECONNREFUSED }},
			"dns server failure 30s",
			pause, []string{"10.0.0.1 h.test A", "10.0.0.1 h.test A"}},
		{"cut, by TCP", Settings{}, zones{"h.test A": func(m *dns.Msg) error {
			m.Truncated = true
			return good(m)
		}}, found, 0, []string{"10.0.0.1 h.test A", "10.0.0.1 h.test A/tcp"}},
		{"EDNS refused", Settings{}, zones{"h.test A": func() func(*dns.Msg) error {
			asked := 0
			return func(m *dns.Msg) error {
				if asked++; asked == 1 {
					m.Rcode = dns.RcodeFormatError
					return nil
				}
				return good(m)
			}
		}()}, found, 0, []string{"10.0.0.1 h.test A", "10.0.0.1 h.test A"}},
		{"wrong id", Settings{Tries: 1},
			zones{"h.test A": func(m *dns.Msg) error { m.Id++; return good(m) }},
			"dns server failure 30s", 0, []string{"10.0.0.1 h.test A"}},
		{"wrong question", Settings{Tries: 1}, zones{"h.test A": func(m *dns.Msg) error {
			m.Question[0].Name = "bank.test."
			return good(m)
		}}, "dns server failure 30s", 0, []string{"10.0.0.1 h.test A"}},
		{"no question", Settings{Tries: 1}, zones{"h.test A": func(m *dns.Msg) error {
			m.Question = nil
			return good(m)
		}}, "dns server failure 30s", 0, []string{"10.0.0.1 h.test A"}},
		{"a query for an answer", Settings{Tries: 1}, zones{"h.test A": func(m *dns.Msg) error {
			m.Response = false
			return good(m)
		}}, "dns server failure 30s", 0, []string{"10.0.0.1 h.test A"}},
		{"IPv6 silent", Settings{}, zones{"h.test A": good, "h.test AAAA": silent},
			"1.2.3.4] 1m0s", grace,
			[]string{"10.0.0.1 h.test A"}},
		{"IPv4 failing, IPv6 absent", Settings{Tries: 1},
			zones{"h.test A": code(dns.RcodeServerFailure)},
			"dns server failure 30s", 0, []string{"10.0.0.1 h.test A"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &script{answers: c.zones}
			with(t, s, c.settings, func(t *testing.T, r *Resolver) {
				begin := time.Now()
				got := show(r.Lookup(t.Context(), "h.test"))
				if took := time.Since(begin); got != c.want || took != c.took {
					t.Errorf("got %s after %v, want %s after %v", got, took, c.want, c.took)
				}
				var asked []string
				for _, a := range s.asked {
					if a[len(a)-4:] != "AAAA" {
						asked = append(asked, a)
					}
				}
				if diff := cmp.Diff(c.asked, asked); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestPreferredServer: a dead first server costs its time-out once, not at every name.
func TestPreferredServer(t *testing.T) {
	s := &script{answers: zones{}}
	for i := range 5 {
		for _, kind := range []string{" A", " AAAA"} {
			s.answers[fmt.Sprintf("10.0.0.1 h%d.test%s", i, kind)] = silent
		}
	}
	with(t, s, Settings{Servers: []string{"10.0.0.1", "10.0.0.2"}}, func(t *testing.T,
		r *Resolver) {
		begin := time.Now()
		for i := range 5 {
			if _, err := r.Lookup(t.Context(), fmt.Sprintf("h%d.test", i)); !errors.Is(err,
				ErrNotFound) {
				t.Error(err)
			}
		}
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("took %v, want 5s", took)
		}
	})
}
