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
	"seine/coordinator/leader"
	"seine/jobs"
	"seine/jobs/worker"
)

// hand is a worker: a process with a line to the coordinators, sockets, a clock and a
// scratch folder.
type hand struct {
	id     string
	world  *world
	line   *line
	cancel context.CancelFunc
	ended  chan error
	drain  chan struct{}

	mu    sync.Mutex
	dead  bool
	conns map[net.Conn]struct{}
	skew  time.Duration // of the wall clock
	away  time.Time     // until when the store does not answer
}

func (w *world) folder(name string) string {
	path := filepath.Join(w.home, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// hire starts a worker.
func (w *world) hire() {
	w.lives++
	id := fmt.Sprintf("worker-%d", w.lives)
	ctx, cancel := context.WithCancel(w.t.Context())
	h := &hand{id: id, world: w, cancel: cancel, ended: make(chan error, 1), drain: make(chan struct{}),
		conns: map[net.Conn]struct{}{}}
	h.line = &line{world: w, answers: w.flaw.answers}
	c := w.crawl(w.base, id, false)
	c.Store = node.OnStore(&troubled{Store: w.base, world: w, dice: w.fork(), owner: h},
		"mem:"+id, filepath.Join(w.home, id))
	web := node.Synthetic(w.web)
	web.Dial = h.dial
	runners := node.Runners(c, w.folder(id), web, node.Limits{})
	s := worker.Settings{ID: id, Slots: 2, Drain: h.drain, Clock: w.flaw.clock(h.clock)}
	go func() { h.ended <- worker.Run(ctx, s, h.line, runners) }()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hands = append(w.hands, h)
}

// clock is the worker's: its wall may have been set, its monotonic reading is right.
func (h *hand) clock() worker.Reading {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Duration(time.Now().UnixNano())
	return worker.Reading{Wall: now + h.skew, Mono: now}
}

// dial reaches the web as long as the worker lives.
func (h *hand) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := h.world.web.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dead {
		return nil, errors.Join(errDead, conn.Close())
	}
	h.conns[conn] = struct{}{}
	return conn, nil
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

var errDead = errors.New("the process is dead")

func (h *hand) gone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dead
}

// kill ends the worker at once: its sockets are closed, its line and its store answer
// no more. Its scratch folder stays, and nobody finds it again.
func (h *hand) kill() {
	h.mu.Lock()
	h.dead = true
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

// dismiss drains all workers.
func (w *world) dismiss() {
	w.mu.Lock()
	hands := w.hands
	w.hands = nil
	w.mu.Unlock()
	for _, h := range hands {
		close(h.drain)
		if err := <-h.ended; err != nil {
			w.say("%s ended: %v", h.id, err)
		}
		h.cancel()
	}
}

// line is a worker's way to the coordinators. It can be cut, for calls that are under
// way too.
type line struct {
	world   *world
	answers bool // the fence is left out: heartbeats are acknowledged by nobody
	mu      sync.Mutex
	cuts    int    // that hold now; they may overlap
	to      *group // nil: the newest
}

// turn makes the line one to the newest group.
func (l *line) turn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = nil
}

// group is whom the line leads to; it stays so when another group takes the crawl over, until that
// one is gone.
func (l *line) group() *group {
	newest := l.world.newest()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to == nil || l.world.gone(l.to) {
		l.to = newest
	}
	return l.to
}

var errCut = errors.New("the line is cut")

// cut begins a cut, or ends one.
func (l *line) cut(by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cuts += by
}

func (l *line) broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cuts > 0 {
		return errCut
	}
	return nil
}

// over makes a call over the line: cut before, nothing happens; cut meanwhile, the
// answer is lost.
func over[R any](l *line, call func(*leader.Leader) (R, error)) (none R, err error) {
	if err := l.broken(); err != nil {
		return none, err
	}
	got, err := askOf(l.group(), call)
	if err := l.broken(); err != nil {
		return none, err
	}
	return got, err
}

func (l *line) Claim(ctx context.Context, c worker.Claim) ([]jobs.Task, error) {
	return over(l, func(to *leader.Leader) ([]jobs.Task, error) { return to.Claim(ctx, c) })
}

func (l *line) Heartbeat(ctx context.Context, h worker.Heartbeat) (worker.Orders, error) {
	orders, err := over(l, func(to *leader.Leader) (worker.Orders, error) { return to.Heartbeat(ctx, h) })
	if err != nil && l.answers {
		orders = worker.Orders{Tasks: make([]worker.Order, len(h.Tasks))}
		for i := range orders.Tasks {
			orders.Tasks[i] = worker.Continue
		}
		return orders, nil
	}
	return orders, err
}

func (l *line) Complete(ctx context.Context, c worker.Completion) error {
	_, err := over(l, func(to *leader.Leader) (int, error) { return 0, to.Complete(ctx, c) })
	return err
}

func (l *line) Fail(ctx context.Context, f worker.Failure) error {
	_, err := over(l, func(to *leader.Leader) (int, error) { return 0, to.Fail(ctx, f) })
	return err
}

func (l *line) Leave(ctx context.Context, g worker.Leave) error {
	_, err := over(l, func(to *leader.Leader) (int, error) { return 0, to.Leave(ctx, g) })
	return err
}
