package http1

import (
	"container/list"
	"io"
	"sync"
	"time"
)

// A conn is a connection and what it may be used for.
type conn struct {
	*wire
	stream io.ReadWriter // the wire, or TLS on it
	pool   string        // key in the pool
	peer   string        // scheme, host, name and address: what another request must equal
	secure session

	idleSince time.Time
}

// session is what TLS agreed on.
type session struct {
	version uint16
	suite   uint16
	// protocol is what ALPN chose; "": nothing, so HTTP/1.1.
	protocol string
}

// An idlePool keeps at most one connection a key and max in all, the oldest leaving first. Time
// passes only when it is used, so that it needs no goroutine.
type idlePool struct {
	mu      sync.Mutex
	byKey   map[string]*list.Element
	byAge   *list.List // of *conn, longest idle first
	max     int
	timeout time.Duration
}

func newIdlePool(max int, timeout time.Duration) *idlePool {
	return &idlePool{
		byKey: make(map[string]*list.Element), byAge: list.New(), max: max, timeout: timeout,
	}
}

// take removes and returns the connection kept under key if it leads to peer and still lives.
func (p *idlePool) take(key, peer string, now time.Time) *conn {
	p.mu.Lock()
	dead := p.expire(now)
	var c *conn
	if e := p.byKey[key]; e != nil {
		c = p.remove(e)
	}
	p.mu.Unlock()
	closeAll(dead)
	if c != nil && (c.peer != peer || !quiet(c.Conn)) {
		_ = c.Close()
		return nil
	}
	return c
}

// put keeps c, in place of what its key had.
func (p *idlePool) put(c *conn, now time.Time) {
	c.gate, c.idleSince = idleGate, now
	p.mu.Lock()
	dead := p.expire(now)
	if e := p.byKey[c.pool]; e != nil {
		dead = append(dead, p.remove(e))
	}
	p.byKey[c.pool] = p.byAge.PushBack(c)
	for p.byAge.Len() > p.max {
		dead = append(dead, p.remove(p.byAge.Front()))
	}
	p.mu.Unlock()
	closeAll(dead)
}

// clear empties the pool.
func (p *idlePool) clear() {
	p.mu.Lock()
	var dead []*conn
	for p.byAge.Len() > 0 {
		dead = append(dead, p.remove(p.byAge.Front()))
	}
	p.mu.Unlock()
	closeAll(dead)
}

func (p *idlePool) expire(now time.Time) (dead []*conn) {
	for e := p.byAge.Front(); e != nil; e = p.byAge.Front() {
		if now.Sub(e.Value.(*conn).idleSince) < p.timeout {
			break
		}
		dead = append(dead, p.remove(e))
	}
	return dead
}

func (p *idlePool) remove(e *list.Element) *conn {
	c := p.byAge.Remove(e).(*conn)
	delete(p.byKey, c.pool)
	return c
}

// closeAll closes the sockets without TLS's parting alert: nothing is sent outside an exchange.
func closeAll(cs []*conn) {
	for _, c := range cs {
		_ = c.Close()
	}
}
