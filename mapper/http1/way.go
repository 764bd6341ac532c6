package http1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"seine/formats/warc/httpmsg"
)

// ErrWay means that this machine's own way to the web is not there: the proxy, not the server, did
// not answer, or it wants what it was not given.
var ErrWay = errors.New("no way to the web")

// A Way is how connections leave this machine. The zero value is the network as it is.
type Way struct {
	// Sources are the addresses that connections may come from. Those of the machine count: the
	// first of a family is used for all servers of that family, and no other family is dialled.
	// Nothing rotates.
	Sources []netip.Addr
	// Proxy is the "host:port" of an HTTP proxy through which every connection goes, as a tunnel
	// (CONNECT) to the server's address; "": none. No variable of the environment names one.
	Proxy string
}

// Dialer makes the dialler of a way. An error says that none of the sources is this machine's.
func (w Way) Dialer() (Dialer, error) {
	dial := (&net.Dialer{}).DialContext
	if len(w.Sources) > 0 {
		own, err := ownSources(w.Sources)
		if err != nil {
			return nil, err
		}
		dial = own.dial
	}
	if w.Proxy != "" {
		return (&tunnel{proxy: w.Proxy, dial: dial}).open, nil
	}
	return dial, nil
}

// sources is the address of each family that connections come from.
type sources struct{ v4, v6 netip.Addr }

func ownSources(all []netip.Addr) (own sources, err error) {
	for _, a := range all {
		family := &own.v6
		if a = a.Unmap(); a.Is4() {
			family = &own.v4
		}
		if !family.IsValid() && isOwn(a) {
			*family = a
		}
	}
	if own == (sources{}) {
		return own, fmt.Errorf("none of the source addresses %v is one of this machine", all)
	}
	return own, nil
}

// isOwn says whether connections can come from an address.
func isOwn(a netip.Addr) bool {
	l, err := net.Listen("tcp", netip.AddrPortFrom(a, 0).String())
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// dial opens a connection to ip:port; a name, which only a proxy has, is dialled by the first
// family that there is an address of.
func (s sources) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	from := s.v4
	if to, err := netip.ParseAddrPort(addr); err == nil && to.Addr().Unmap().Is6() || err != nil && !from.IsValid() {
		from = s.v6
	}
	if !from.IsValid() {
		return nil, fmt.Errorf("no source address of the family of %s", addr)
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice(), Zone: from.Zone()}}
	return d.DialContext(ctx, network, addr)
}

// tunnel opens connections through a proxy.
type tunnel struct {
	proxy string
	dial  Dialer
}

// proxyHead bounds what a proxy says before the tunnel begins, bytes.
const proxyHead = 16 << 10

func (t *tunnel) open(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := t.dial(ctx, network, t.proxy)
	if err != nil {
		return nil, t.away(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	status, reason, err := connectThrough(conn, addr)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("proxy %s, asked for %s: %w", t.proxy, addr, context.Cause(ctx))
	case err != nil:
		err = t.away(err)
	case status == 407:
		err = t.away(errors.New("it wants credentials, which are never sent"))
	case status < 200 || status > 299:
		err = fmt.Errorf("proxy %s, asked for %s: %d %s", t.proxy, addr, status, oneLine(reason))
	default:
		return conn, nil
	}
	_ = conn.Close()
	return nil, err
}

func (t *tunnel) away(err error) error { return fmt.Errorf("%w: proxy %s: %w", ErrWay, t.proxy, err) }

// connectThrough asks for a tunnel and reads the answer's head, and not a byte more.
func connectThrough(conn net.Conn, addr string) (status int, reason string, err error) {
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", addr, addr); err != nil {
		return 0, "", err
	}
	var head strings.Builder
	one := make([]byte, 1)
	for !strings.HasSuffix(head.String(), "\r\n\r\n") && !strings.HasSuffix(head.String(), "\n\n") {
		if head.Len() > proxyHead {
			return 0, "", httpmsg.ErrTooLarge
		}
		n, err := conn.Read(one)
		if head.Write(one[:n]); n == 0 && err != nil {
			return 0, "", err
		}
	}
	answer, err := httpmsg.ReadHead(bufio.NewReader(strings.NewReader(head.String())), proxyHead)
	if err != nil || !strings.HasPrefix(answer.Proto, "HTTP/1.") {
		return 0, "", errors.Join(errMalformed, err)
	}
	return answer.Status, answer.Reason, nil
}
