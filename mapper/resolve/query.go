package resolve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

const (
	// grace is how long IPv6 addresses are waited for once IPv4 ones are there.
	grace = 500 * time.Millisecond
	// pause is the first wait before a server is asked again; it doubles.
	pause = 250 * time.Millisecond
	// maxAliases bounds a chain of CNAMEs over all its messages. Real ones have two or three.
	maxAliases = 10
)

// pool is a group of servers that are as good as each other.
type pool struct {
	servers   []string
	preferred atomic.Uint32 // the one that answered last is asked first
}

func newPool(servers []string) (*pool, error) {
	if len(servers) == 0 {
		return nil, nil
	}
	p := &pool{}
	for _, s := range servers {
		addr, err := serverAddress(s)
		if err != nil {
			return nil, err
		}
		p.servers = append(p.servers, addr)
	}
	return p, nil
}

// family is what one record type came to.
type family struct {
	addrs []netip.Addr
	ttl   time.Duration
	err   error
}

// both asks for IPv4 and IPv6 at the same time. One with addresses is enough; "no such host" takes
// both to say so.
func (r *Resolver) both(ctx context.Context, name string) ([]netip.Addr, time.Duration, error) {
	ctx6, cancel := context.WithCancel(ctx)
	defer cancel()
	six := make(chan family, 1)
	go func() { six <- r.family(ctx6, name, dns.TypeAAAA) }()
	v4 := r.family(ctx, name, dns.TypeA)
	if len(v4.addrs) > 0 {
		stop := time.AfterFunc(grace, cancel)
		defer stop.Stop()
	}
	v6 := <-six
	switch {
	case len(v4.addrs)+len(v6.addrs) == 0:
		return nil, known(v4.ttl, v6.ttl), worse(v4.err, v6.err)
	case len(v6.addrs) == 0 && errors.Is(v6.err, ErrNotFound):
		return v4.addrs, v4.ttl, nil
	case len(v4.addrs) == 0 && errors.Is(v4.err, ErrNotFound):
		return v6.addrs, v6.ttl, nil
	case v4.err != nil || v6.err != nil: // half an answer is kept for the shortest time
		return append(v4.addrs, v6.addrs...), 0, nil
	}
	return append(v4.addrs, v6.addrs...), min(v4.ttl, v6.ttl), nil
}

// known is the lesser of two TTLs of which zero means that none was given.
func known(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// worse is the error that says more: not knowing outweighs "no such host".
func worse(a, b error) error {
	if a == nil || errors.Is(a, ErrNotFound) && b != nil {
		return b
	}
	return a
}

// family asks for one record type and follows aliases, over several messages if need be.
func (r *Resolver) family(ctx context.Context, name string, kind uint16) family {
	chain := chain{name: dns.Fqdn(name), kind: kind, ttl: r.settings.TTLMax}
	for {
		msg, err := r.ask(ctx, chain.name, kind)
		if err != nil {
			return family{err: err}
		}
		addrs, more, err := chain.follow(msg)
		if err != nil {
			return family{err: err, ttl: chain.ttl}
		}
		if !more {
			return family{addrs: addrs, ttl: chain.ttl}
		}
	}
}

// ask gets a sound answer from some server: first the named or the system's, then the fallback.
// Another server is tried at once, the same one after a pause.
func (r *Resolver) ask(ctx context.Context, name string, kind uint16) (*dns.Msg, error) {
	var last error
	for _, p := range r.pools {
		first, n := int(p.preferred.Load()), len(p.servers)
		for try := range max(r.settings.Tries, n) {
			if round := try / n; round > 0 && try%n == 0 {
				if err := sleep(ctx, pause<<min(round-1, 6)); err != nil {
					return nil, err
				}
			}
			at := (first + try) % n
			msg, err := r.try(ctx, p.servers[at], name, kind)
			if err == nil {
				p.preferred.Store(uint32(at))
				return msg, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			last = err
		}
	}
	return nil, last
}

// try asks one server once: by UDP, by TCP if that was cut, and without EDNS if the server chokes
// on it.
func (r *Resolver) try(ctx context.Context, server, name string, kind uint16) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, r.settings.Timeout)
	defer cancel()
	query := new(dns.Msg).SetQuestion(name, kind)
	query.SetEdns0(udpSize, false)
	tcp := false
	for range 3 {
		msg, err := r.settings.Exchange.Exchange(ctx, query, server, tcp)
		switch {
		case err != nil:
			return nil, classify(ctx, server, err)
		case !answers(msg, query):
			return nil, fmt.Errorf("%s answers another question: %w", server, ErrServFail)
		case msg.Truncated && !tcp:
			tcp = true
		case (msg.Rcode == dns.RcodeFormatError || msg.Rcode == dns.RcodeNotImplemented) &&
			query.IsEdns0() != nil:
			query.Extra = nil
		case msg.Rcode == dns.RcodeSuccess || msg.Rcode == dns.RcodeNameError:
			return msg, nil
		default:
			return nil, fmt.Errorf("%s says %s: %w", server, rcode(msg.Rcode), ErrServFail)
		}
	}
	return nil, fmt.Errorf("%s gives no whole answer: %w", server, ErrServFail)
}

func rcode(code int) string {
	if s, ok := dns.RcodeToString[code]; ok {
		return s
	}
	return fmt.Sprintf("RCODE%d", code)
}

// classify tells a server that is silent from one that fails.
func classify(ctx context.Context, server string, err error) error {
	var netErr net.Error
	if ctx.Err() != nil || errors.As(err, &netErr) && netErr.Timeout() {
		return fmt.Errorf("%s is silent: %w", server, ErrTimeout)
	}
	return fmt.Errorf("ask %s: %w (%v)", server, ErrServFail, err)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
