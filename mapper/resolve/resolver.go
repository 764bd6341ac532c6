package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// The ways in which a lookup comes to nothing. A caller's own context ends with its own error.
var (
	// ErrNotFound: the name does not exist, has no address, or is no name.
	ErrNotFound = errors.New("no such host")
	// ErrTimeout: no server answered in time.
	ErrTimeout = errors.New("dns timeout")
	// ErrServFail: servers answered with failures, refusals or nonsense; or could not be asked.
	ErrServFail = errors.New("dns server failure")
)

// Settings of a Resolver. The zero value asks the system's servers, then public ones.
type Settings struct {
	Servers  []string // "host:port" or "address"; empty: those of /etc/resolv.conf
	Fallback []string // asked when those fail; nil: public servers, but none if Servers is set

	Timeout     time.Duration // of one try; 0: 5 s
	Tries       int           // a name and group of servers; 0: 2, or the number of servers if more
	TTLMin      time.Duration // 0: 60 s
	TTLMax      time.Duration // 0: 24 h
	NegativeTTL time.Duration // of "no such host", shortened by the zone's own word; 0: 1 h
	FailureTTL  time.Duration // of time-outs and failures; 0: 30 s

	CacheEntries  int // names kept; 0: 100,000 (some 30 MB)
	Parallel      int // lookups of one Prefetch at a time; 0: 16
	AllowNetworks []netip.Prefix
	Exchange      Exchanger // nil: the network
}

// publicServers are asked last, unless servers are named: three operators, so that the trouble of
// one is not everyone's.
var publicServers = []string{"1.1.1.1:53", "8.8.8.8:53", "9.9.9.9:53"}

// Answer is the result of a lookup.
type Answer struct {
	Addrs     []netip.Addr  // IPv4 first, each in the order received; never empty without an error
	TTL       time.Duration // left of it
	FromCache bool
	Took      time.Duration // zero from the cache
}

// Resolver looks names up.
type Resolver struct {
	settings Settings
	pools    []*pool

	mu      sync.Mutex
	cache   *cache
	flights map[string]*flight
}

// flight is a lookup under way; others who want the name wait for it.
type flight struct {
	done   chan struct{}
	result result
	gone   bool // its caller went away: who still wants the name asks again
}

// result is what is kept of a lookup.
type result struct {
	addrs   []netip.Addr
	err     error // wraps one of the sentinels
	expires time.Time
}

// New makes a Resolver. It reads /etc/resolv.conf if no servers are named; an error means that a
// server's address is none, or that there is no server at all.
func New(s Settings) (*Resolver, error) {
	s.Timeout = cmp.Or(s.Timeout, 5*time.Second)
	s.Tries = cmp.Or(s.Tries, 2)
	s.TTLMin = cmp.Or(s.TTLMin, time.Minute)
	s.TTLMax = cmp.Or(s.TTLMax, 24*time.Hour)
	s.NegativeTTL = cmp.Or(s.NegativeTTL, time.Hour)
	s.FailureTTL = cmp.Or(s.FailureTTL, 30*time.Second)
	s.CacheEntries = cmp.Or(s.CacheEntries, 100_000)
	s.Parallel = cmp.Or(s.Parallel, 16)
	if s.Exchange == nil {
		s.Exchange = network{}
	}
	first := s.Servers
	if len(first) == 0 {
		first = systemServers()
		if s.Fallback == nil {
			s.Fallback = publicServers
		}
	}
	r := &Resolver{settings: s, cache: newCache(s.CacheEntries), flights: make(map[string]*flight)}
	for _, servers := range [][]string{first, s.Fallback} {
		p, err := newPool(servers)
		if err != nil {
			return nil, err
		}
		if p != nil {
			r.pools = append(r.pools, p)
		}
	}
	if len(r.pools) == 0 {
		return nil, errors.New("resolve: no DNS server: name one, or list one in /etc/resolv.conf")
	}
	return r, nil
}

// Lookup finds the addresses of a host: a name, in any case, or an address, which is its own
// answer. "localhost" is always the loopback (RFC 6761). An error wraps ErrNotFound, ErrTimeout,
// ErrServFail or ctx's own, and the Answer's TTL then says how long it is remembered.
func (r *Resolver) Lookup(ctx context.Context, host string) (Answer, error) {
	if addrs := literal(host); addrs != nil {
		return Answer{Addrs: addrs, TTL: r.settings.TTLMax}, nil
	}
	name, ok := canonicalName(host)
	if !ok {
		return Answer{}, fmt.Errorf("look up %.64q: not a name of DNS: %w", host, ErrNotFound)
	}
	start := time.Now()
	for {
		res, cached, done := r.attempt(ctx, name)
		if !done {
			continue
		}
		now := time.Now()
		answer := Answer{FromCache: cached, TTL: max(0, res.expires.Sub(now))}
		if !cached {
			answer.Took = now.Sub(start)
		}
		if res.err != nil {
			return answer, fmt.Errorf("look up %s: %w", name, res.err)
		}
		answer.Addrs = slices.Clone(res.addrs)
		return answer, nil
	}
}

// attempt answers from the cache, by another's lookup or by its own. done is false when the lookup
// it waited for was given up by its caller.
func (r *Resolver) attempt(ctx context.Context, name string) (res result, cached, done bool) {
	if err := ctx.Err(); err != nil {
		return result{err: err}, false, true
	}
	r.mu.Lock()
	if res, ok := r.cache.get(name, time.Now()); ok {
		r.mu.Unlock()
		return res, true, true
	}
	if f := r.flights[name]; f != nil {
		r.mu.Unlock()
		select {
		case <-f.done:
			return f.result, false, !f.gone
		case <-ctx.Done():
			return result{err: ctx.Err()}, false, true
		}
	}
	f := &flight{done: make(chan struct{}), gone: true}
	r.flights[name] = f
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.flights, name)
		if !f.gone {
			r.cache.put(name, f.result)
		}
		close(f.done)
	}()
	f.result = r.resolve(ctx, name)
	f.gone = f.result.err != nil && ctx.Err() != nil
	return f.result, false, true
}

// resolve asks, and dates the result.
func (r *Resolver) resolve(ctx context.Context, name string) result {
	addrs, ttl, err := r.both(ctx, name)
	s := &r.settings
	switch {
	case err == nil:
		ttl = min(max(ttl, s.TTLMin), s.TTLMax)
	case errors.Is(err, ErrNotFound):
		if ttl <= 0 || ttl > s.NegativeTTL {
			ttl = s.NegativeTTL
		}
		ttl = max(ttl, min(s.TTLMin, s.NegativeTTL))
	default:
		ttl = s.FailureTTL
	}
	return result{addrs, err, time.Now().Add(ttl)}
}

// Prefetch looks the hosts up, a few at a time, so that later lookups find them in the cache. It
// returns when all are done or ctx ends; how each ended shows in its own Lookup.
func (r *Resolver) Prefetch(ctx context.Context, hosts []string) {
	work := make(chan string)
	var workers sync.WaitGroup
	for range min(r.settings.Parallel, len(hosts)) {
		workers.Go(func() {
			for host := range work {
				r.Lookup(ctx, host) //nolint:errcheck // the cache remembers failures too
			}
		})
	}
	for _, host := range hosts {
		if ctx.Err() != nil {
			break
		}
		work <- host // workers outlive ctx: a Lookup under an ended one returns at once
	}
	close(work)
	workers.Wait()
}

// Public tells whether addr may be dialled under the resolver's settings.
func (r *Resolver) Public(addr netip.Addr) bool { return Public(addr, r.settings.AllowNetworks) }

// literal answers for addresses and for localhost.
func literal(host string) []netip.Addr {
	bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if addr, err := netip.ParseAddr(bare); err == nil {
		return []netip.Addr{addr}
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	return nil
}

// canonicalName is a host in lower case without the root's dot; ok is false for what DNS cannot
// hold (RFC 1035, 2.3.4) and for bytes that no host on the web has.
func canonicalName(host string) (name string, ok bool) {
	name = strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "" || len(name) > 253 {
		return "", false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", false
		}
	}
	return name, true
}

// serverAddress makes "address" or "host:port" the latter.
func serverAddress(server string) (string, error) {
	if addr, err := netip.ParseAddr(strings.Trim(server, "[]")); err == nil {
		return netip.AddrPortFrom(addr, 53).String(), nil
	}
	if host, port, err := net.SplitHostPort(server); err == nil && host != "" && port != "" {
		return server, nil
	}
	return "", fmt.Errorf("resolve: DNS server %q: want an address or host:port", server)
}
