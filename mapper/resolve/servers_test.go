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

// exchange is a lookup of h.test: what is asked of whom when servers fail, how long it takes and
// what comes of it. Only IPv4 questions are listed; IPv6 ones run beside them.
type exchange struct {
	name     string
	settings Settings
	zones    zones
	want     string
	took     time.Duration
	asked    []string
}

var good = records("h.test. 300 A 1.2.3.4")

const found = "1.2.3.4] 5m0s"

// mute makes what the keys name silent, in both families.
func mute(z zones, keys ...string) zones {
	for _, key := range keys {
		z[key+" A"], z[key+" AAAA"] = silent, silent
	}
	return z
}

func runExchanges(t *testing.T, exchanges []exchange) {
	t.Helper()
	for _, c := range exchanges {
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

func TestServersThatFail(t *testing.T) {
	runExchanges(t, []exchange{
		{"silent, then the next", Settings{Servers: []string{"10.0.0.1", "10.0.0.2"}},
			mute(zones{"10.0.0.2 h.test A": good}, "10.0.0.1 h.test"), found,
			5 * time.Second,
			[]string{"10.0.0.1 h.test A", "10.0.0.2 h.test A"}},
		{"silent twice", Settings{Servers: []string{"10.0.0.1"}}, mute(zones{}, "h.test"),
			"dns timeout 30s", 10*time.Second + pause, []string{"10.0.0.1 h.test A",
				"10.0.0.1 h.test A"}},
		{"fallback", Settings{Servers: []string{"10.0.0.1"}, Fallback: []string{"10.0.0.2"}},
			mute(zones{"10.0.0.2 h.test A": good}, "10.0.0.1 h.test"), found,
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
	})
}

func TestServersThatAnswerOddly(t *testing.T) {
	runExchanges(t, []exchange{
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
		}()}, found, 0, []string{"10.0.0.1 h.test A", "10.0.0.1 h.test A/plain"}},
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
	})
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
