// Package peer is how the coordinators of one group reach each other: one TCP
// port a coordinator, for Raft's messages and for requests that a follower
// passes on to the leader. The first byte of a connection says which. With
// certificates both sides prove that they belong to the group (mutual TLS);
// without, whoever reaches the port is believed.
//
// A Port is made by Listen and works while Run runs. All methods may be called
// concurrently; Run once.
package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Kind is what a connection is for: its first byte.
type Kind byte

// The kinds of connections.
const (
	Raft     Kind = 'R'
	Requests Kind = 'Q'
)

// helloTime bounds how long a connection may take to prove who it is and to say
// what it is for.
const helloTime = 5 * time.Second

// Port is a coordinator's end towards the others.
type Port struct {
	listener  net.Listener
	advertise string
	identity  *Identity // nil: plain
	doors     map[Kind]*door
}

// Listen opens the port. advertise is the address by which the others reach it;
// empty: the one that is listened on. A nil identity speaks plain TCP.
func Listen(address, advertise string, id *Identity) (*Port, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for the other coordinators on %s: %w", address, err)
	}
	if advertise == "" {
		advertise = l.Addr().String()
	}
	p := &Port{listener: l, advertise: advertise, identity: id, doors: map[Kind]*door{}}
	for _, k := range []Kind{Raft, Requests} {
		p.doors[k] = &door{address: name(advertise), came: make(chan net.Conn),
			closed: make(chan struct{})}
	}
	return p, nil
}

// Address is how the others reach this port.
func (p *Port) Address() string { return p.advertise }

// Listener hands out the connections of one kind that come while Run runs.
// Closing it closes only this kind.
func (p *Port) Listener(k Kind) net.Listener { return p.doors[k] }

// Run takes connections until ctx ends, then closes the port and waits for what
// it started. Connections that were handed out belong to those who took them.
func (p *Port) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		<-ctx.Done()
		_ = p.listener.Close() // what came is handed out or dropped
		for _, d := range p.doors {
			_ = d.Close()
		}
	})
	defer cancel() // before the wait
	for {
		conn, err := p.listener.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("listen for the other coordinators: %w", err)
		case err != nil: // no file is left, or the other side went away
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		all.Go(func() { p.receive(ctx, conn) })
	}
}

// receive finds out what a connection is for and hands it out.
func (p *Port) receive(ctx context.Context, conn net.Conn) {
	if p.identity != nil {
		conn = tls.Server(conn, p.identity.mutual())
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	var first [1]byte
	err := conn.SetDeadline(time.Now().Add(helloTime))
	if err == nil {
		_, err = conn.Read(first[:]) // shakes hands, too
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	d := p.doors[Kind(first[0])]
	if !stop() || err != nil || d == nil {
		_ = conn.Close() // no coordinator of this group, or one that went away
		return
	}
	select {
	case d.came <- conn:
	case <-d.closed:
		_ = conn.Close()
	}
}

// Dial connects with the port of another coordinator.
func (p *Port) Dial(ctx context.Context, k Kind, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	var conn net.Conn
	var err error
	if p.identity != nil {
		conn, err = (&tls.Dialer{Config: p.identity.mutual()}).DialContext(ctx, "tcp", address)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, fmt.Errorf("reach the coordinator at %s: %w", address, err)
	}
	if _, err := conn.Write([]byte{byte(k)}); err != nil {
		return nil, errors.Join(fmt.Errorf("reach the coordinator at %s: %w", address, err), conn.Close())
	}
	return conn, nil
}

// door is the listener of one kind of connections.
type door struct {
	address name
	came    chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	select {
	case conn := <-d.came:
		return conn, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (d *door) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

// Addr implements net.Listener.
func (d *door) Addr() net.Addr { return d.address }

// name is an address as text: of a machine by its name, too.
type name string

// Network implements net.Addr.
func (name) Network() string { return "tcp" }

// String implements net.Addr.
func (n name) String() string { return string(n) }
