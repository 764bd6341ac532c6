package fetch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"seine/formats/settings"
	"seine/mapper/resolve"
)

// reply is what a scripted server does with a request.
type reply struct {
	after  time.Duration // before the first byte
	pieces []string      // written one by one
	every  time.Duration // between two pieces
	repeat bool          // the last piece comes for ever
	keep   bool          // the connection stays open
	hang   bool          // nothing more is written, and the connection stays open
}

// raw answers with bytes as they stand, and closes the connection.
func raw(parts ...string) reply { return reply{pieces: []string{strings.Join(parts, "")}} }

// typed is a whole 200 answer; more are header lines.
func typed(kind, body string, more ...string) reply { return status(200, kind, body, more...) }

func html(body string, more ...string) reply { return typed("text/html", body, more...) }

func text(body string) reply { return typed("text/plain", body) }

func status(code int, kind, body string, more ...string) reply {
	head := fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\n", code, kind,
		len(body))
	for _, m := range more {
		head += m + "\r\n"
	}
	return reply{pieces: []string{head + "\r\n" + body}, keep: true}
}

func moved(location string) reply {
	return status(302, "text/html", "moved",
		"Location: "+location)
}

// seen is a request as the scripted server saw it.
type seen struct {
	at, end   time.Time
	authority string
	target    string
	head      string
	addr      string
}

func (s seen) url() string { return s.authority + s.target }

// script is a web of raw answers over net.Pipe: by authority and target as they
// stand on the wire.
type script struct {
	mu      sync.Mutex
	replies map[string]reply
	answers func(s seen) (reply, bool) // asked where replies has nothing
	names   map[string][]netip.Addr
	missing map[string]error // names that do not resolve
	refused map[string]error // ip:port that cannot be dialled
	log     []*seen
	dialled []string
}

func newScript() *script {
	return &script{replies: map[string]reply{}, names: map[string][]netip.Addr{},
		missing: map[string]error{}, refused: map[string]error{}}
}

// Lookup answers any name: with what was given, or with a loopback address.
func (s *script) Lookup(_ context.Context, host string) (resolve.Answer, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return resolve.Answer{Addrs: []netip.Addr{a}}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.missing[host]; err != nil {
		return resolve.Answer{}, err
	}
	if s.names[host] == nil {
		n := len(s.names) + 1
		s.names[host] = []netip.Addr{netip.AddrFrom4([4]byte{127, 1, byte(n >> 8), byte(n)})}
	}
	return resolve.Answer{Addrs: s.names[host]}, nil
}

func (*script) Prefetch(context.Context, []string) {}

func (s *script) Dial(_ context.Context, _, addr string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialled = append(s.dialled, addr)
	if err := s.refused[addr]; err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	client, server := net.Pipe()
	go s.serve(server, addr)
	return client, nil
}

func (s *script) serve(conn net.Conn, addr string) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		r, err := readRequest(in, addr)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.log = append(s.log, r)
		answer, ok := s.replies[r.url()]
		s.mu.Unlock()
		if !ok && s.answers != nil {
			answer, ok = s.answers(*r)
		}
		if !ok {
			answer = status(404, "text/html", "none")
		}
		err = answer.write(conn)
		s.mu.Lock()
		r.end = time.Now()
		s.mu.Unlock()
		if err != nil || !answer.keep {
			return
		}
	}
}

func readRequest(in *bufio.Reader, addr string) (*seen, error) {
	r := &seen{addr: addr}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if r.head == "" {
			r.at = time.Now()
			fields := strings.Split(line, " ")
			if len(fields) != 3 {
				return nil, fmt.Errorf("request line %q", line)
			}
			r.target = fields[1]
		}
		if host, ok := strings.CutPrefix(line, "Host: "); ok {
			r.authority = strings.TrimSpace(host)
		}
		if r.head += line; line == "\r\n" {
			return r, nil
		}
	}
}

// pause waits, unless the client goes.
func pause(conn net.Conn, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	err := conn.SetReadDeadline(time.Now().Add(d))
	if err != nil {
		return err
	}
	if _, err = conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		return conn.SetReadDeadline(time.Time{})
	}
	return io.ErrClosedPipe
}

func (a reply) write(conn net.Conn) error {
	if err := pause(conn, a.after); err != nil {
		return err
	}
	for i, p := range a.pieces {
		if i > 0 {
			if err := pause(conn, a.every); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(conn, p); err != nil {
			return err
		}
	}
	for a.repeat {
		if err := pause(conn, a.every); err != nil {
			return err
		}
		if _, err := io.WriteString(conn, a.pieces[len(a.pieces)-1]); err != nil {
			return err
		}
	}
	if a.hang {
		_, err := io.Copy(io.Discard, conn)
		return err
	}
	return nil
}

// requests are the URLs asked for, without scheme, in order.
func (s *script) requests() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.log {
		list = append(list, r.url())
	}
	return list
}

// count is how often a URL was asked for.
func (s *script) count(url string) (n int) {
	for _, u := range s.requests() {
		if u == url {
			n++
		}
	}
	return n
}

// newScriptWorld is a world whose web is a script.
func newScriptWorld(t *testing.T, s *script, set settings.Settings, list ...string) *world {
	t.Helper()
	w := newWorld(t, nil, set)
	w.env.Resolver, w.env.Dial = s, s.Dial
	w.list(urls(list...)...)
	return w
}

// trial runs a task over a script in a bubble, audits what it left and gives it
// to check.
func trial(t *testing.T, s *script, set settings.Settings, list []string,
	check func(t *testing.T, w *world, l *left)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newScriptWorld(t, s, set, list...)
		l := w.mustRun()
		w.audit(s, l)
		check(t, w, l)
	})
}

// refusedDial and others are what a dial may come to.
var (
	errRefused = syscall.ECONNREFUSED
	errFiles   = syscall.EMFILE
)

// synctestWorld gives a test a world without a list, in a bubble.
func synctestWorld(t *testing.T, s *script, do func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, settings.Settings{})
		w.env.Resolver, w.env.Dial = s, s.Dial
		do(t, w)
	})
}
