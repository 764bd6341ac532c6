package resolve

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// serve runs a DNS server on loopback, by UDP and TCP on one port, until the test ends.
func serve(t *testing.T, handler dns.HandlerFunc) (server string) {
	t.Helper()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server = packets.LocalAddr().String()
	stream, err := net.Listen("tcp", server)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(running.Wait) // cleanups run last first: after the shutdowns below
	servers := []*dns.Server{{PacketConn: packets, Handler: handler},
		{Listener: stream, Handler: handler}}
	for _, s := range servers {
		started := make(chan struct{})
		s.NotifyStartedFunc = func() { close(started) }
		running.Go(func() {
			if err := s.ActivateAndServe(); err != nil {
				t.Error(err)
			}
		})
		<-started
		t.Cleanup(func() {
			if err := s.Shutdown(); err != nil {
				t.Error(err)
			}
		})
	}
	return server
}

func TestLoopbackServer(t *testing.T) {
	server := serve(t, func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg).SetReply(query)
		_, tcp := w.RemoteAddr().(*net.TCPAddr)
		q := query.Question[0]
		switch {
		case strings.EqualFold(q.Name, "big.test.") && q.Qtype == dns.TypeA && !tcp:
			reply.Truncated = true
		case q.Qtype == dns.TypeA && !strings.HasPrefix(q.Name, "gone"):
			reply.Answer = []dns.RR{&dns.A{A: net.IPv4(127, 0, 1, 2),
				Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET,
					Ttl: 120}}}
		case strings.HasPrefix(q.Name, "gone"):
			reply.Rcode = dns.RcodeNameError
		}
		if q.Name == "spoofed.test." { // strays first: another id, then no DNS at all
			stray := reply.Copy()
			stray.Id++
			stray.Answer = []dns.RR{&dns.A{A: net.IPv4(6, 6, 6, 6),
				Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET,
					Ttl: 120}}}
			w.WriteMsg(stray)
			w.Write([]byte("\x00\x01junk"))
		}
		w.WriteMsg(reply)
	})
	r, err := New(Settings{Servers: []string{server}})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{
		"h.test": "127.0.1.2]", "big.test": "127.0.1.2]", "gone.test": "no such host",
		"spoofed.test": "127.0.1.2]",
	} {
		t.Run(host, func(t *testing.T) {
			if got := show(r.Lookup(t.Context(), host)); !strings.HasPrefix(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// TestCancelledExchange: a cancelled lookup does not sit out the server's silence.
func TestCancelledExchange(t *testing.T) {
	asked := make(chan struct{}, 8)
	server := serve(t, func(dns.ResponseWriter, *dns.Msg) { asked <- struct{}{} })
	r, err := New(Settings{Servers: []string{server}, Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := r.Lookup(ctx, "h.test"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(r.cache.entries) != 0 {
		t.Error("a cancelled lookup is remembered")
	}
}

// FuzzAnswer feeds any message to a lookup: it ends, with bounded results, whatever the server
// says.
func FuzzAnswer(f *testing.F) {
	for _, lines := range [][]string{
		{"h.test. 300 A 1.2.3.4", "h.test. 300 AAAA 2a00::1"},
		{"h.test. 300 CNAME i.test.", "i.test. 300 CNAME h.test."},
		{"test. 300 SOA ns. m. 1 1 1 1 300"},
	} {
		msg := new(dns.Msg).SetQuestion("h.test.", dns.TypeA)
		msg.Response = true
		if err := records(lines...)(msg); err != nil {
			f.Fatal(err)
		}
		wire, err := msg.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		var sent dns.Msg
		if sent.Unpack(wire) != nil {
			return
		}
		r, err := New(Settings{Servers: []string{"10.0.0.1"}, Tries: 1, Exchange: echo{&sent}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := r.Lookup(t.Context(), "h.test")
		if (err == nil) != (len(a.Addrs) > 0) || len(a.Addrs) > 2*maxAddrs {
			t.Errorf("%d addresses, %v", len(a.Addrs), err)
		}
		if a.TTL < 0 || a.TTL > 24*time.Hour {
			t.Errorf("TTL %v", a.TTL)
		}
	})
}

// echo answers every query with the same message, made to fit the question.
type echo struct{ msg *dns.Msg }

func (e echo) Exchange(_ context.Context, query *dns.Msg, _ string, _ bool) (*dns.Msg, error) {
	reply := e.msg.Copy()
	reply.Id, reply.Response, reply.Opcode = query.Id, true, dns.OpcodeQuery
	reply.Question = query.Question
	return reply, nil
}
