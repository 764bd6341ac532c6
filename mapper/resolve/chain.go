package resolve

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// maxAddrs is how many addresses of one family are kept of an answer.
const maxAddrs = 16

// answers tells whether msg is an answer to query at all.
func answers(msg, query *dns.Msg) bool {
	return msg != nil && msg.Response && msg.Id == query.Id && msg.Opcode == dns.OpcodeQuery &&
		len(msg.Question) == 1 && msg.Question[0].Qtype == query.Question[0].Qtype &&
		msg.Question[0].Qclass == query.Question[0].Qclass &&
		strings.EqualFold(msg.Question[0].Name, query.Question[0].Name)
}

// chain follows a name through its aliases.
type chain struct {
	name string        // where it stands, with the root's dot
	kind uint16        // TypeA or TypeAAAA
	ttl  time.Duration // the least on the way; for an error that of the negative answer, 0 unknown
	hops int
}

// follow takes the chain as far as one message goes. It returns the addresses at its end, or more
// when the message ends in an alias whose name must be asked for. Records that are not on the chain
// are nobody's business.
func (c *chain) follow(msg *dns.Msg) (addrs []netip.Addr, more bool, err error) {
	aliases := make(map[string]*dns.CNAME)
	for _, record := range msg.Answer {
		if alias, ok := record.(*dns.CNAME); ok && alias.Hdr.Class == dns.ClassINET {
			if owner := strings.ToLower(alias.Hdr.Name); aliases[owner] == nil {
				aliases[owner] = alias
			}
		}
	}
	moved := false
	for {
		if addrs := c.collect(msg); len(addrs) > 0 {
			return addrs, false, nil
		}
		alias := aliases[strings.ToLower(c.name)]
		if alias == nil {
			break
		}
		if c.hops++; c.hops > maxAliases {
			c.ttl = 0
			return nil, false, fmt.Errorf("more than %d aliases, or a loop: %w", maxAliases,
				ErrServFail)
		}
		c.name, moved = alias.Target, true
		c.ttl = min(c.ttl, seconds(alias.Hdr.Ttl))
	}
	if moved && msg.Rcode == dns.RcodeSuccess && !negative(msg) {
		return nil, true, nil
	}
	c.ttl = negativeTTL(msg)
	if msg.Rcode == dns.RcodeNameError {
		return nil, false, fmt.Errorf("NXDOMAIN: %w", ErrNotFound)
	}
	return nil, false, fmt.Errorf("no address: %w", ErrNotFound)
}

// collect returns the addresses that the message gives for the chain's name.
func (c *chain) collect(msg *dns.Msg) []netip.Addr {
	var addrs []netip.Addr
	for _, record := range msg.Answer {
		header := record.Header()
		if header.Class != dns.ClassINET || !strings.EqualFold(header.Name, c.name) {
			continue
		}
		addr, ok := address(record, c.kind)
		if !ok || slices.Contains(addrs, addr) {
			continue
		}
		addrs = append(addrs, addr)
		c.ttl = min(c.ttl, seconds(header.Ttl))
		if len(addrs) == maxAddrs {
			break
		}
	}
	return addrs
}

func address(record dns.RR, kind uint16) (netip.Addr, bool) {
	switch rr := record.(type) {
	case *dns.A:
		addr, ok := netip.AddrFromSlice(rr.A.To4())
		return addr, ok && kind == dns.TypeA
	case *dns.AAAA:
		addr, ok := netip.AddrFromSlice(rr.AAAA.To16())
		return addr, ok && kind == dns.TypeAAAA
	}
	return netip.Addr{}, false
}

// negative tells whether the message says with its zone's word (SOA) that there is no more.
func negative(msg *dns.Msg) bool { return negativeTTL(msg) > 0 }

// negativeTTL is how long "there is none" holds: RFC 2308, 5, the lesser of the SOA's TTL and its
// minimum; 0 when the message has no SOA.
func negativeTTL(msg *dns.Msg) time.Duration {
	for _, record := range msg.Ns {
		if soa, ok := record.(*dns.SOA); ok {
			return max(time.Second, min(seconds(soa.Hdr.Ttl), seconds(soa.Minttl)))
		}
	}
	return 0
}

// seconds reads a TTL; RFC 2181, 8: one with the top bit set is zero.
func seconds(ttl uint32) time.Duration {
	if ttl>>31 != 0 {
		return 0
	}
	return time.Duration(ttl) * time.Second
}
