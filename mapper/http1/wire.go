package http1

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// errIdle keeps bytes on a connection that no exchange owns.
var errIdle = errors.New("connection is idle")

func idleGate() error { return errIdle }

// A wire is the dialled connection below TLS: it asks the gate, counts bytes and keeps the times.
// One goroutine uses it at a time, save Close.
type wire struct {
	net.Conn
	gate    Gate
	in, out int64

	overall time.Time // end of the exchange
	limit   time.Time // end of the phase at hand, never after overall
	late    error     // what passing limit means

	// The minimum rate: a window of time, and the bytes it must bring. Zero window: no rate.
	window time.Duration
	need   int64
	got    int64

	pace   func(n int) time.Duration // nil: read as fast as it comes
	next   time.Time                 // before it nothing is read
	closed chan struct{}
	once   sync.Once
}

func newWire(c net.Conn) *wire { return &wire{Conn: c, closed: make(chan struct{})} }

// Close ends the connection, and a read that waits for its pace.
func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return w.Conn.Close()
}

// begin gives the wire to an exchange.
func (w *wire) begin(gate Gate, pace func(n int) time.Duration, overall time.Time) {
	w.gate, w.pace, w.next, w.overall = gate, pace, time.Time{}, overall
	w.in, w.out, w.window = 0, 0, 0
}

// until bounds reads and writes from now on. Only a closed connection refuses a deadline (a pipe
// also once its other end is closed, while bytes may still be unread): Read and Write tell that.
func (w *wire) until(limit time.Time, late error) {
	if !limit.Before(w.overall) {
		limit, late = w.overall, errTotal
	}
	w.limit, w.late, w.window = limit, late, 0
	_ = w.SetDeadline(limit)
}

// keepRate bounds reads from now on by a minimum rate in bytes a second over each window.
func (w *wire) keepRate(rate int64, window time.Duration) {
	if rate < 0 {
		w.until(w.overall, errTotal)
		return
	}
	w.need = int64(float64(rate) * window.Seconds())
	w.nextWindow(window)
}

func (w *wire) nextWindow(window time.Duration) {
	w.until(time.Now().Add(window), errTooSlow)
	w.window, w.got = window, 0
}

// rest waits until the pace allows another read. The time counts against nothing: it is ours, not
// the server's.
func (w *wire) rest() {
	wait := time.Until(w.next)
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.closed:
	}
	w.overall, w.limit = w.overall.Add(wait), w.limit.Add(wait)
	_ = w.SetDeadline(w.limit)
}

func (w *wire) Read(p []byte) (int, error) {
	for {
		w.rest()
		n, err := w.Conn.Read(p)
		w.in += int64(n)
		w.got += int64(n)
		if n > 0 && w.pace != nil {
			w.next = time.Now().Add(w.pace(n))
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if w.window == 0 || w.got < w.need || !time.Now().Before(w.overall) {
			return 0, w.late
		}
		w.nextWindow(w.window)
	}
}

func (w *wire) Write(p []byte) (int, error) {
	if err := w.gate(); err != nil {
		return 0, &gateError{err}
	}
	n, err := w.Conn.Write(p)
	w.out += int64(n)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = w.late
	}
	return n, err
}
