package main

import (
	"net"
	"sync"
	"testing"
	"time"
)

// wires are the network of a cluster: each process reaches each other one by a proxy of its own, so
// that any two can be cut off from each other. Who does not say who it is ("") has a proxy, too.
type wires struct {
	t   *testing.T
	mu  sync.Mutex
	all map[ends]*wire
}

// ends are the two processes that a wire joins, and where it leads.
type ends struct{ from, to, address string }

func newWires(t *testing.T) *wires {
	w := &wires{t: t, all: map[ends]*wire{}}
	t.Cleanup(w.close)
	return w
}

// trouble is what is wrong with a wire.
type trouble int

const (
	clear  trouble = iota
	cut            // connections are reset, as of a process that is gone
	silent         // nothing passes, and nobody says so
	slow           // each piece takes slowBy longer
)

func (t trouble) String() string { return []string{"clear", "cut", "silent", "slow"}[t] }

const slowBy = 150 * time.Millisecond

// wire gives the address by which one reaches another, and carries what goes there.
func (w *wires) wire(from, to, address string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := ends{from, to, address}
	if one := w.all[key]; one != nil {
		return one.listener.Addr().String()
	}
	one := newWire(w.t, func() (net.Conn, error) { return net.Dial("tcp", address) })
	w.all[key] = one
	return one.listener.Addr().String()
}

// set troubles the wires that a choice picks.
func (w *wires) set(what trouble, chosen func(from, to string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e, one := range w.all {
		if chosen(e.from, e.to) {
			one.set(what)
		}
	}
}

// linesOf is the choice of the wires of two processes, either way.
func linesOf(a, b string) func(from, to string) bool {
	return func(from, to string) bool { return from == a && to == b || from == b && to == a }
}

func (w *wires) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.all {
		one.close()
	}
}

// wire is a listener whose connections lead elsewhere.
type wire struct {
	listener net.Listener
	dial     func() (net.Conn, error)
	wait     sync.WaitGroup

	mu      sync.Mutex
	trouble trouble
	changed chan struct{} // closed when trouble changes
	conns   map[net.Conn]struct{}
	closed  bool
}

func newWire(t *testing.T, dial func() (net.Conn, error)) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, dial: dial, changed: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	w.wait.Go(w.accept)
	return w
}

func (w *wire) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		if !w.keep(near) {
			continue
		}
		far, err := w.dial()
		if err != nil || !w.keep(far) {
			w.drop(near)
			continue
		}
		w.wait.Go(func() { w.carry(near, far) })
		w.wait.Go(func() { w.carry(far, near) })
	}
}

// keep takes a connection into the books, or resets it when the wire is cut.
func (w *wire) keep(conn net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.trouble == cut {
		reset(conn)
		return false
	}
	w.conns[conn] = struct{}{}
	return true
}

func (w *wire) drop(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, conn)
	_ = conn.Close() // closed already, or nothing is lost
}

// reset ends a connection as a kernel does whose process is gone.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // an error says that it has ended
	}
	_ = conn.Close()
}

func (w *wire) carry(from, to net.Conn) {
	defer w.drop(to)
	defer w.drop(from)
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 && w.pass() {
			if _, err := to.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass waits until what has come may go on; false: the wire has been closed.
func (w *wire) pass() bool {
	for {
		w.mu.Lock()
		trouble, changed, closed := w.trouble, w.changed, w.closed
		w.mu.Unlock()
		switch {
		case closed:
			return false
		case trouble == silent:
			<-changed
			continue
		case trouble == slow:
			time.Sleep(slowBy)
		}
		return true
	}
}

func (w *wire) set(what trouble) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble = what
	close(w.changed)
	w.changed = make(chan struct{})
	if what != cut {
		return
	}
	for conn := range w.conns {
		reset(conn)
	}
	w.conns = map[net.Conn]struct{}{}
}

func (w *wire) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	_ = w.listener.Close()
	w.set(cut)
	w.wait.Wait()
}
