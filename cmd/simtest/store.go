package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"seine/formats/layout"
	"seine/formats/objstore"
)

// troubled is a process's way to the store: while the world is stormy a request may
// fail before anything happened, or after it did, or take its time.
type troubled struct {
	objstore.Store
	world   *world
	process *process
	hand    *hand // nil: a coordinator's

	mu   sync.Mutex
	made map[string]int // requests so far, by what they ask
}

func (w *world) troubled(p *process, h *hand) *troubled {
	return &troubled{Store: w.base, world: w, process: p, hand: h, made: map[string]int{}}
}

// meet says what becomes of a request: an error instead of it, and one after it.
func (s *troubled) meet(op string) (before, after error) {
	s.process.hold()
	if s.process.gone() {
		return errDead, errDead
	}
	if s.hand != nil {
		s.hand.awaitStore()
	}
	if !s.world.isStormy() {
		return nil, nil
	}
	s.mu.Lock()
	n := s.made[op]
	s.made[op]++
	s.mu.Unlock()
	f := s.world.plan.ofRequest(s.process.name, op, n)
	time.Sleep(f.pause)
	s.process.hold()
	away := fmt.Errorf("%s: %w", op, objstore.ErrUnavailable)
	if f.before || f.after {
		s.world.struck()
	}
	switch {
	case s.process.gone():
		return errDead, errDead
	case f.before:
		return away, nil
	case f.after:
		return nil, away
	}
	return nil, nil
}

func (s *troubled) Get(ctx context.Context, key string) ([]byte, error) {
	before, after := s.meet("get " + key)
	if before != nil {
		return nil, before
	}
	data, err := s.Store.Get(ctx, key)
	if after != nil {
		return nil, after
	}
	return data, err
}

func (s *troubled) ReadAt(ctx context.Context, key string, p []byte, off int64) (int, error) {
	before, after := s.meet(fmt.Sprint("read ", key, " at ", off))
	if before != nil {
		return 0, before
	}
	n, err := s.Store.ReadAt(ctx, key, p, off)
	if after != nil {
		return 0, after
	}
	return n, err
}

func (s *troubled) Put(ctx context.Context, key string, body objstore.Body,
	o objstore.PutOptions) error {
	before, after := s.meet("put " + key)
	if before != nil {
		return before
	}
	if s.world.flaw.unconditional {
		o.IfAbsent = false
	}
	if err := s.Store.Put(ctx, key, body, o); err != nil {
		return err
	}
	return after
}

// witness notes which keys have been put twice, with other bytes: keys are written once.
type witness struct {
	objstore.Store

	mu      sync.Mutex
	changed []string
}

func (s *witness) Put(ctx context.Context, key string, body objstore.Body,
	o objstore.PutOptions) error {
	if !o.IfAbsent && key != layout.Latest && key != objstore.ProbeKey {
		if err := s.compare(ctx, key, body); err != nil {
			return err
		}
	}
	return s.Store.Put(ctx, key, body, o)
}

func (s *witness) compare(ctx context.Context, key string, body objstore.Body) error {
	there, err := s.Store.Get(ctx, key)
	if err != nil {
		return nil // nothing is
	}
	data, err := io.ReadAll(body.Reader())
	if err != nil {
		return fmt.Errorf("put %s: read body: %w", key, err)
	}
	if !bytes.Equal(there, data) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed = append(s.changed, key)
	}
	return nil
}

func (s *witness) overwritten() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}
