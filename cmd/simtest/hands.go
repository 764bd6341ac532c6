package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"seine/cmd/internal/node"
	"seine/jobs"
	"seine/jobs/worker"
)

// hand is a worker: a process with a line to the coordinators, sockets and a scratch folder.
type hand struct {
	process *process
	world   *world
	line    *line
	scratch string
	cancel  context.CancelFunc
	ended   chan error
	drain   chan struct{}

	mu    sync.Mutex
	tasks int       // of fetching, that run
	since time.Time // when the first of them began
	conns map[net.Conn]struct{}
	away  time.Time // until when the store does not answer
}

func (w *world) folder(name string) string {
	path := filepath.Join(w.home, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// hire starts a worker, beside the spools of another that is dead or with none ("").
func (w *world) hire(scratch string) {
	w.lives++
	p := &process{name: fmt.Sprintf("worker-%d", w.lives)}
	if scratch == "" {
		scratch = w.folder(p.name)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	h := &hand{process: p, world: w, line: w.newLine(p), scratch: scratch, cancel: cancel,
		ended: make(chan error, 1), drain: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	c := w.crawl(w.troubled(p, h), p.name)
	web := node.Synthetic(w.web)
	web.Dial = h.dial
	runners := node.Runners(c, scratch, web, node.Limits{})
	runners[jobs.StageFetch] = h.leased(runners[jobs.StageFetch])
	s := worker.Settings{ID: p.name, Slots: 2, Drain: h.drain, Clock: w.flaw.clock(h)}
	go func() { h.ended <- worker.Run(ctx, s, h.line, runners) }()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hands = append(w.hands, h)
}

// leaseKey is under which a fetch task's context holds its lease.
type leaseKey struct{}

// leased gives the task's connections its lease.
func (h *hand) leased(run worker.Runner) worker.Runner {
	return func(ctx context.Context, t jobs.Task, l *worker.Lease, p *worker.Progress) (
		jobs.Result, error) {
		h.count(1)
		defer h.count(-1)
		h.world.say("%s has %s", h.process.name, t.AttemptRef())
		defer h.world.say("%s ends %s", h.process.name, t.AttemptRef())
		return run(context.WithValue(ctx, leaseKey{}, l), t, l, p)
	}
}

func (h *hand) count(by int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tasks == 0 {
		h.since = time.Now()
	}
	h.tasks += by
}

// busyFor is for how long the worker has been fetching; 0: it does not.
func (h *hand) busyFor() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tasks == 0 {
		return 0
	}
	return time.Since(h.since)
}

// dial reaches the web as long as the worker lives.
func (h *hand) dial(ctx context.Context, network, address string) (net.Conn, error) {
	h.process.hold()
	conn, err := h.world.web.Dial(context.WithoutCancel(ctx), network, address)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.process.gone() {
		return nil, errors.Join(errDead, conn.Close())
	}
	h.conns[conn] = struct{}{}
	lease, _ := ctx.Value(leaseKey{}).(*worker.Lease)
	return &socket{Conn: conn, process: h.process, lease: lease}, nil
}

// socket is a connection of a process that may be stopped. The lease is asked in the moment
// before a write: so a process that was stopped there must ask it again, for it is as if it had
// been stopped before the question. One that is stopped between question and write is not
// promised anything.
type socket struct {
	net.Conn
	process *process
	lease   *worker.Lease // nil: the connection is no fetch task's
}

func (s *socket) Write(p []byte) (int, error) {
	if s.process.hold() && s.lease != nil {
		if err := s.lease.Gate(); err != nil {
			return 0, err
		}
	}
	return s.Conn.Write(p)
}

func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	s.process.hold()
	return n, err
}

// leaveStore cuts the worker off from the store for a while: requests wait.
func (h *hand) leaveStore(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.away = time.Now().Add(d)
}

func (h *hand) awaitStore() {
	h.mu.Lock()
	d := time.Until(h.away)
	h.mu.Unlock()
	time.Sleep(d)
}

// kill ends the worker at once: its sockets are closed, its line and its store answer
// no more. Its scratch folder stays.
func (h *hand) kill() {
	h.process.die()
	h.mu.Lock()
	conns := h.conns
	h.conns = map[net.Conn]struct{}{}
	h.mu.Unlock()
	h.line.cut(1)
	h.cancel()
	for conn := range conns {
		_ = conn.Close() // as a kernel does for a dead process
	}
	<-h.ended
}

// retire drains the worker and waits for it.
func (h *hand) retire() {
	close(h.drain)
	if err := <-h.ended; err != nil {
		h.world.say("%s ended: %v", h.process.name, err)
	}
	h.cancel()
}

// dismiss drains all workers.
func (w *world) dismiss() {
	w.mu.Lock()
	hands := w.hands
	w.hands = nil
	w.mu.Unlock()
	for _, h := range hands {
		h.retire()
	}
}
