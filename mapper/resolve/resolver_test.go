package resolve

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
)

// script is an Exchanger that answers from a table of zones by what the test says. An entry's key
// is "server name type", and "name type" for any server.
type script struct {
	mu      sync.Mutex
	answers map[string]func(reply *dns.Msg) error
	asked   []string // "server name type", "/tcp", "/plain" without EDNS
	latency time.Duration
}

func (s *script) Exchange(ctx context.Context, query *dns.Msg, server string,
	tcp bool) (*dns.Msg, error) {
	q := query.Question[0]
	key := strings.TrimSuffix(strings.ToLower(q.Name), ".") + " " + dns.TypeToString[q.Qtype]
	server = strings.TrimSuffix(server, ":53")
	note := server + " " + key
	if tcp {
		note += "/tcp"
	}
	if query.IsEdns0() == nil {
		note += "/plain"
	}
	s.mu.Lock()
	s.asked = append(s.asked, note)
	answer := s.answers[server+" "+key]
	if answer == nil {
		answer = s.answers[key]
	}
	s.mu.Unlock()
	if err := sleep(ctx, s.latency); err != nil {
		return nil, err
	}
	reply := new(dns.Msg).SetReply(query)
	reply.Truncated = false
	if answer == nil {
		reply.Rcode = dns.RcodeNameError
		return reply, nil
	}
	if err := answer(reply); err == errSilent {
		<-ctx.Done()
		return nil, ctx.Err()
	} else if err != nil {
		return nil, err
	}
	if tcp {
		reply.Truncated = false
	}
	return reply, nil
}

var errSilent = errors.New("silent")

func (s *script) count(part string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.asked {
		if strings.Contains(a, part) {
			n++
		}
	}
	return n
}

// records answers with resource records in zone-file form.
func records(lines ...string) func(*dns.Msg) error {
	return func(reply *dns.Msg) error {
		for _, l := range lines {
			rr, err := dns.NewRR(l)
			if err != nil {
				return err
			}
			if rr.Header().Rrtype == dns.TypeSOA {
				reply.Ns = append(reply.Ns, rr)
			} else {
				reply.Answer = append(reply.Answer, rr)
			}
		}
		return nil
	}
}

func silent(*dns.Msg) error { return errSilent }

func code(rcode int) func(*dns.Msg) error {
	return func(reply *dns.Msg) error { reply.Rcode = rcode; return nil }
}

// with runs f in a bubble with a resolver over the script.
func with(t *testing.T, s *script, settings Settings, f func(t *testing.T, r *Resolver)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		settings.Exchange = s
		if settings.Servers == nil {
			settings.Servers = []string{"10.0.0.1"}
		}
		r, err := New(settings)
		if err != nil {
			t.Fatal(err)
		}
		f(t, r)
	})
}

// show is an answer on one line: "addresses ttl" or the class of its error.
func show(a Answer, err error) string {
	for _, class := range []error{ErrNotFound, ErrTimeout, ErrServFail, context.Canceled,
		context.DeadlineExceeded} {
		if errors.Is(err, class) {
			return fmt.Sprint(class, " ", a.TTL)
		}
	}
	if err != nil {
		return err.Error()
	}
	return strings.Trim(fmt.Sprint(a.Addrs, " ", a.TTL), "[]")
}

// lookup is a host, what servers say, and what comes of it (see show).
type lookup struct {
	name    string
	host    string
	answers map[string]func(*dns.Msg) error
	want    string
}

const notFound, servFail = "no such host ", "dns server failure "

func runLookups(t *testing.T, lookups []lookup) {
	t.Helper()
	for _, c := range lookups {
		t.Run(c.name, func(t *testing.T) {
			with(t, &script{answers: c.answers}, Settings{}, func(t *testing.T, r *Resolver) {
				if got := show(r.Lookup(t.Context(), c.host)); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			})
		})
	}
}

func TestAnswers(t *testing.T) {
	runLookups(t, []lookup{
		{"IPv4", "h.test", map[string]func(*dns.Msg) error{
			"h.test A": records("h.test. 300 A 1.2.3.4", "h.test. 200 A 1.2.3.5")},
			"1.2.3.4 1.2.3.5] 3m20s"},
		{"both families", "H.TEST.", map[string]func(*dns.Msg) error{
			"h.test A":    records("h.test. 300 A 1.2.3.4"),
			"h.test AAAA": records("h.test. 100 AAAA 2a00::1")}, "1.2.3.4 2a00::1] 1m40s"},
		{"IPv6 alone", "h.test", map[string]func(*dns.Msg) error{
			"h.test AAAA": records("h.test. 300 AAAA 2a00::1"), "h.test A": records()},
			"2a00::1] 5m0s"},
		{"repeats", "h.test", map[string]func(*dns.Msg) error{
			"h.test A": records("h.test. 300 A 1.2.3.4", "H.test. 300 A 1.2.3.4")},
			"1.2.3.4] 5m0s"},
		{"short TTL", "h.test", map[string]func(*dns.Msg) error{
			"h.test A": records("h.test. 1 A 1.2.3.4")}, "1.2.3.4] 1m0s"},
		{"long TTL", "h.test", map[string]func(*dns.Msg) error{
			"h.test A": records("h.test. 999999 A 1.2.3.4")}, "1.2.3.4] 24h0m0s"},
		{"TTL with the top bit", "h.test", map[string]func(*dns.Msg) error{
			"h.test A": records("h.test. 4294967295 A 1.2.3.4")}, "1.2.3.4] 1m0s"},
	})
}

func TestAliases(t *testing.T) {
	chainOf := func(n int) (lines []string) {
		for i := range n {
			lines = append(lines, fmt.Sprintf("c%d.test. 300 CNAME c%d.test.", i, i+1))
		}
		return append(lines, fmt.Sprintf("c%d.test. 300 A 1.2.3.4", n))
	}
	runLookups(t, []lookup{
		{"alias in one message", "c0.test", map[string]func(*dns.Msg) error{
			"c0.test A": records(chainOf(3)...)}, "1.2.3.4] 5m0s"},
		{"alias's TTL counts", "a.test", map[string]func(*dns.Msg) error{
			"a.test A": records("a.test. 90 CNAME b.test.", "b.test. 300 A 1.2.3.4")},
			"1.2.3.4] 1m30s"},
		{"alias over messages", "a.test", map[string]func(*dns.Msg) error{
			"a.test A": records("a.test. 300 CNAME b.test."),
			"b.test A": records("b.test. 300 A 1.2.3.4")},
			"1.2.3.4] 5m0s"},
		{"alias to nothing", "a.test", map[string]func(*dns.Msg) error{
			"a.test A": records("a.test. 300 CNAME gone.test.")}, notFound + "1h0m0s"},
		{"ten aliases", "c0.test", map[string]func(*dns.Msg) error{
			"c0.test A": records(chainOf(10)...)}, "1.2.3.4] 5m0s"},
		{"eleven aliases", "c0.test", map[string]func(*dns.Msg) error{
			"c0.test A": records(chainOf(11)...)}, servFail + "30s"},
		{"loop in one message", "a.test", map[string]func(*dns.Msg) error{
			"a.test A": records("a.test. 300 CNAME b.test.", "b.test. 300 CNAME a.test.")},
			servFail + "30s"},
		{"loop over messages", "a.test", map[string]func(*dns.Msg) error{
			"a.test A": records("a.test. 300 CNAME b.test."),
			"b.test A": records("b.test. 300 CNAME a.test.")},
			servFail + "30s"},
		{"alias to itself", "a.test", map[string]func(*dns.Msg) error{
			"a.test A": records("a.test. 300 CNAME a.test.")}, servFail + "30s"},
	})
}

func TestHostileAnswers(t *testing.T) {
	many := make([]string, 400)
	for i := range many {
		many[i] = fmt.Sprintf("h.test. 300 A 1.2.%d.%d", i/250, i%250)
	}
	runLookups(t, []lookup{
		{"records of others", "h.test", map[string]func(*dns.Msg) error{
			"h.test A": records("bank.test. 300 A 6.6.6.6")}, notFound + "1h0m0s"},
		{"IPv6 record for IPv4", "h.test", map[string]func(*dns.Msg) error{
			"h.test A": records("h.test. 300 AAAA 2a00::6")}, notFound + "1h0m0s"},
		{"huge", "h.test", map[string]func(*dns.Msg) error{"h.test A": records(many...)},
			strings.Trim(fmt.Sprint(firstAddrs(many)), "[]") + "] 5m0s"},
	})
}

func TestNoAnswers(t *testing.T) {
	runLookups(t, []lookup{
		{"NXDOMAIN", "gone.test", nil, notFound + "1h0m0s"},
		{"no data, zone's word", "h.test", map[string]func(*dns.Msg) error{
			"h.test A": records("test. 900 SOA ns. m. 1 1 1 1 300"), "h.test AAAA": records()},
			notFound + "5m0s"},
		{"no data, zone's long word", "h.test", map[string]func(*dns.Msg) error{
			"h.test A": records("test. 99999 SOA ns. m. 1 1 1 1 99999")}, notFound + "1h0m0s"},
		{"address", "127.0.0.1", nil, "127.0.0.1] 24h0m0s"},
		{"address in brackets", "[2a00::1]", nil, "2a00::1] 24h0m0s"},
		{"localhost", "localhost", nil, "127.0.0.1 ::1] 24h0m0s"},
		{"below localhost", "a.LocalHost.", nil, "127.0.0.1 ::1] 24h0m0s"},
		{"no name", "", nil, notFound + "0s"},
		{"empty label", "a..test", nil, notFound + "0s"},
		{"long label", strings.Repeat("a", 64) + ".test", nil, notFound + "0s"},
		{"long name", strings.Repeat("a.", 130) + "test", nil, notFound + "0s"},
		{"odd bytes", "a b\\.test", nil, notFound + "0s"},
		{"underscore", "a_b.test", map[string]func(*dns.Msg) error{
			"a_b.test A": records("a_b.test. 300 A 1.2.3.4")}, "1.2.3.4] 5m0s"},
	})
}

func firstAddrs(lines []string) (addrs []netip.Addr) {
	for _, l := range lines[:maxAddrs] {
		addrs = append(addrs, netip.MustParseAddr(l[strings.LastIndexByte(l, ' ')+1:]))
	}
	return addrs
}

func TestCache(t *testing.T) {
	answers := map[string]func(*dns.Msg) error{
		"h.test A": records("h.test. 300 A 1.2.3.4"), "fail.test A": code(dns.RcodeServerFailure)}
	s := &script{answers: answers, latency: 20 * time.Millisecond}
	with(t, s, Settings{Tries: 1}, func(t *testing.T, r *Resolver) {
		first, err := r.Lookup(t.Context(), "h.test")
		if err != nil || first.FromCache || first.Took != 20*time.Millisecond {
			t.Errorf("first: %+v, %v", first, err)
		}
		first.Addrs[0] = netip.IPv6Unspecified() // the caller's copy is the caller's
		time.Sleep(299 * time.Second)
		again, _ := r.Lookup(t.Context(), "H.test.")
		if !again.FromCache || again.Took != 0 || again.TTL != time.Second || again.Addrs[0].Is6() {
			t.Errorf("again: %+v", again)
		}
		time.Sleep(time.Second)
		if late, _ := r.Lookup(t.Context(), "h.test"); late.FromCache {
			t.Error("used at its expiry")
		}
		if n := s.count("h.test A"); n != 4 {
			t.Errorf("%d questions, want two a family", n)
		}
		for _, c := range []struct {
			host string
			ttl  time.Duration
		}{{"gone.test", time.Hour}, {"fail.test", 30 * time.Second}} {
			_, first := r.Lookup(t.Context(), c.host)
			time.Sleep(c.ttl - time.Second)
			asked := s.count(c.host)
			a, second := r.Lookup(t.Context(), c.host)
			if first == nil || second == nil || !a.FromCache || s.count(c.host) != asked {
				t.Errorf("%s: %v, then %+v, %v", c.host, first, a, second)
			}
			time.Sleep(time.Second)
			if a, _ := r.Lookup(t.Context(), c.host); a.FromCache {
				t.Errorf("%s: remembered beyond %v", c.host, c.ttl)
			}
		}
	})
}

func TestCacheIsBounded(t *testing.T) {
	s := &script{}
	with(t, s, Settings{CacheEntries: 10}, func(t *testing.T, r *Resolver) {
		for i := range 100 {
			r.Lookup(t.Context(), fmt.Sprintf("h%d.test", i))
			r.Lookup(t.Context(), "h0.test") // used all the time, it stays
		}
		if n := len(r.cache.entries); n != 10 || r.cache.recent.Len() != 10 {
			t.Errorf("%d entries", n)
		}
		if n := s.count(" h0.test A"); n != 2 {
			t.Errorf("%d questions for the name in use, want one a family", n)
		}
		for i, want := range map[int]bool{0: true, 99: true, 91: true, 90: false, 1: false} {
			if _, got := r.cache.entries[fmt.Sprintf("h%d.test", i)]; got != want {
				t.Errorf("h%d is kept: %v, want %v", i, got, want)
			}
		}
	})
}

func TestOneFlight(t *testing.T) {
	s := &script{latency: time.Second,
		answers: map[string]func(*dns.Msg) error{"h.test A": records("h.test. 300 A 1.2.3.4")}}
	with(t, s, Settings{}, func(t *testing.T, r *Resolver) {
		var wait sync.WaitGroup
		for range 50 {
			wait.Go(func() {
				if got := show(r.Lookup(t.Context(), "h.test")); got != "1.2.3.4] 5m0s" {
					t.Error(got)
				}
			})
		}
		wait.Wait()
		if n := s.count("h.test A"); n != 2 {
			t.Errorf("%d questions, want one a family", n)
		}
	})
}

// TestFlightOutlivesItsCaller: who waits for another's lookup does not suffer when that one goes.
func TestFlightOutlivesItsCaller(t *testing.T) {
	s := &script{latency: 2 * time.Second,
		answers: map[string]func(*dns.Msg) error{"h.test A": records("h.test. 300 A 1.2.3.4")}}
	with(t, s, Settings{}, func(t *testing.T, r *Resolver) {
		var wait sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wait.Go(func() {
			if _, err := r.Lookup(ctx, "h.test"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the caller who left: %v", err)
			}
		})
		synctest.Wait()
		for range 3 {
			wait.Go(func() {
				if got := show(r.Lookup(t.Context(), "h.test")); got != "1.2.3.4] 5m0s" {
					t.Error(got)
				}
			})
		}
		wait.Wait()
		if _, err := r.Lookup(ctx, "other.test"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an ended context: %v", err)
		}
	})
}

func TestPrefetch(t *testing.T) {
	s := &script{latency: time.Second}
	with(t, s, Settings{Parallel: 4}, func(t *testing.T, r *Resolver) {
		hosts := []string{"127.0.0.1", "", "localhost"}
		for i := range 40 {
			hosts = append(hosts, fmt.Sprintf("h%d.test", i))
		}
		begin := time.Now()
		r.Prefetch(t.Context(), hosts)
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("took %v, want 40 lookups of a second by 4", took)
		}
		if a, _ := r.Lookup(t.Context(), "h39.test"); !a.FromCache {
			t.Error("the last host is not in the cache")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		begin = time.Now()
		r.Prefetch(ctx, []string{"n1.test", "n2.test", "n3.test", "n4.test", "n5.test", "n6.test"})
		if took := time.Since(begin); took != 1500*time.Millisecond {
			t.Errorf("ended %v after the start, its context after 1.5s", took)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	for _, server := range []string{"", "dns.test", "1.2.3.4:", ":53", "a:b:c"} {
		if _, err := New(Settings{Servers: []string{server}}); err == nil {
			t.Errorf("server %q is taken", server)
		}
	}
}

func TestServerAddresses(t *testing.T) {
	got := []string{}
	for _, s := range []string{"1.2.3.4", "1.2.3.4:5353", "::1", "[::1]", "[::1]:5353",
		"dns.test:53"} {
		addr, err := serverAddress(s)
		if err != nil {
			t.Error(err)
		}
		got = append(got, addr)
	}
	want := []string{"1.2.3.4:53", "1.2.3.4:5353", "[::1]:53", "[::1]:53", "[::1]:5353",
		"dns.test:53"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFallbackUnlessServersAreNamed(t *testing.T) {
	named, err := New(Settings{Servers: []string{"10.0.0.1"}})
	if err != nil || len(named.pools) != 1 {
		t.Errorf("named: %v, %d pools", err, len(named.pools))
	}
	system, err := New(Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(publicServers, system.pools[len(system.pools)-1].servers); diff != "" {
		t.Error(diff)
	}
}
