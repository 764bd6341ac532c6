package http1

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
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
		w, err := x.open(ctx, overall)
		if err != nil {
			return err
		}
		x.conn = &conn{wire: w, stream: w, pool: key, peer: peer}
		if x.req.Scheme == "https" {
			if err := x.handshake(ctx); err != nil {
				_ = w.Close()
				return err
			}
		}
	}
	if addr := x.conn.RemoteAddr(); addr != nil {
		x.resp.RemoteAddr = addr.String()
	}
	x.resp.TLSVersion, x.resp.CipherSuite = x.conn.secure.version, x.conn.secure.suite
	return nil
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

func (x *exchange) handshake(ctx context.Context) error {
	w := x.conn.wire
	began := time.Now()
	w.until(began.Add(x.client.set.ConnectTimeout), errConnect)
	config := x.client.tls.Clone()
	config.ServerName = serverName(x.req)
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
	x.conn.secure = session{version: state.Version, suite: state.CipherSuite}
	return nil
}

// isAlert reports whether the peer refused: such an error looks like the network's.
func isAlert(err error) bool {
	var alert tls.AlertError
	var op *net.OpError
	return errors.As(err, &alert) || errors.As(err, &op) && op.Op == "remote error"
}
