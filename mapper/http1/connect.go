package http1

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// connect takes a kept connection or opens one.
func (x *exchange) connect(ctx context.Context) error {
	c := x.client
	peer := strings.Join([]string{x.req.Scheme, x.req.Host, x.req.ServerName, x.req.Addr}, " ")
	key := x.req.Pool
	if key == "" {
		key = peer
	}
	overall := x.start.Add(c.set.ExchangeTimeout)
	if x.conn = c.idle.take(key, peer, x.start); x.conn != nil {
		x.resp.Reused = true
		x.conn.begin(x.gate, x.req.Pace, overall)
	} else {
		x.conn = &conn{pool: key, peer: peer}
		protocol := c.alpn.of(peer)
		err := x.dial(ctx, overall, protocol)
		if refusesProtocol(err) {
			protocol = map[string]string{alpnHTTP1: alpnHTTP2, alpnHTTP2: alpnHTTP1}[protocol]
			if err = x.dial(ctx, overall, protocol); err == nil {
				c.alpn.note(peer, protocol == alpnHTTP2)
			}
		}
		if err != nil {
			return err
		}
	}
	if addr := x.conn.RemoteAddr(); addr != nil {
		x.resp.RemoteAddr = addr.String()
	}
	if addr := x.conn.LocalAddr(); addr != nil {
		x.resp.LocalAddr = addr.String()
	}
	x.resp.TLSVersion, x.resp.CipherSuite = x.conn.secure.version, x.conn.secure.suite
	return nil
}

// dial opens the connection of an exchange, offering one protocol where TLS lets it.
func (x *exchange) dial(ctx context.Context, overall time.Time, protocol string) error {
	w, err := x.open(ctx, overall)
	if err != nil {
		return err
	}
	x.conn.wire, x.conn.stream = w, w
	if x.req.Scheme != "https" {
		return nil
	}
	if err = x.handshake(ctx, protocol); err != nil {
		_ = w.Close()
	}
	return err
}

// open dials. The gate is asked first: a connection is no request, but a worker that has lost its
// lease has no business with the server at all.
func (x *exchange) open(ctx context.Context, overall time.Time) (*wire, error) {
	if err := x.gate(); err != nil {
		return nil, &Error{Phase: PhaseDial, Code: CodeGate, Err: err}
	}
	began := time.Now()
	limit := began.Add(x.client.set.ConnectTimeout)
	if overall.Before(limit) {
		limit = overall
	}
	dialling, cancel := context.WithDeadlineCause(ctx, limit, errConnect)
	defer cancel()
	nc, err := x.client.dial(dialling, "tcp", x.req.Addr)
	x.resp.Connect = time.Since(began)
	if err != nil {
		if ctx.Err() == nil && errors.Is(context.Cause(dialling), errConnect) {
			err = fmt.Errorf("%w: %w", errConnect, err)
		}
		return nil, failed(ctx, PhaseDial, err, CodeDial)
	}
	w := newWire(nc)
	w.begin(x.gate, x.req.Pace, overall)
	return w, nil
}

func (x *exchange) handshake(ctx context.Context, protocol string) error {
	w := x.conn.wire
	began := time.Now()
	w.until(began.Add(x.client.set.ConnectTimeout), errConnect)
	config := x.client.tls.Clone()
	config.ServerName, config.NextProtos = serverName(x.req), []string{protocol}
	secured := tls.Client(w, config)
	aborted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(aborted)
		_ = w.Close()
	})
	err := secured.Handshake()
	if !stop() {
		<-aborted
	}
	x.resp.TLS = time.Since(began)
	if err != nil {
		e := failed(ctx, PhaseTLS, err, CodeHandshake)
		if isAlert(err) {
			e.Code = CodeHandshake
		}
		return e
	}
	state := secured.ConnectionState()
	x.conn.stream = secured
	x.conn.secure = session{state.Version, state.CipherSuite, state.NegotiatedProtocol}
	return nil
}

// noProtocol is the alert of a server that speaks none of the protocols offered.
const noProtocol tls.AlertError = 120

// refusesProtocol reports whether a handshake failed for the protocol offered alone. Nothing was
// asked for, so another may be offered at once.
func refusesProtocol(err error) bool {
	var op *net.OpError // holds crypto/tls's own kind of alert
	return errors.As(err, &op) && op.Op == "remote error" && op.Err.Error() == noProtocol.Error()
}

// mayBeH2 reports whether the silence of a server may mean that it speaks HTTP/2 alone: some (those
// of net/http) let a client that offers HTTP/1.1 connect as if it had offered nothing, and hang up
// at its request. Then HTTP/2 is offered next time, once.
func (x *exchange) mayBeH2(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeEOF && e.Code != CodeReset || e.Phase == PhaseBody {
		return false
	}
	return x.req.Scheme == "https" && !x.resp.Reused && x.conn.secure.protocol == "" &&
		x.client.alpn.try(x.conn.peer)
}

// protocols remembers which peers speak HTTP/2 alone, and which were thought to and do not.
type protocols struct {
	mu sync.Mutex
	h2 map[string]bool
}

// protocolPeers bounds what is remembered; then it is learnt anew.
const protocolPeers = 10_000

// of is the protocol that a peer is offered first.
func (p *protocols) of(peer string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.h2[peer] {
		return alpnHTTP2
	}
	return alpnHTTP1
}

func (p *protocols) note(peer string, h2 bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.h2 == nil || len(p.h2) >= protocolPeers {
		p.h2 = map[string]bool{}
	}
	p.h2[peer] = h2
}

// try notes that a peer be offered HTTP/2; false if that was in vain before.
func (p *protocols) try(peer string) bool {
	p.mu.Lock()
	_, tried := p.h2[peer]
	p.mu.Unlock()
	if p.note(peer, !tried); tried {
		return false
	}
	return true
}

// isAlert reports whether the peer refused: such an error looks like the network's.
func isAlert(err error) bool {
	var alert tls.AlertError
	var op *net.OpError
	return errors.As(err, &alert) || errors.As(err, &op) && op.Op == "remote error"
}
