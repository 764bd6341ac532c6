package objstore

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"io"
	"sync"
)

// MemoOptions bound a Memo. A zero number has a default.
type MemoOptions struct {
	MaxBytes    int64 // of all objects; 0 is 64 MiB
	ObjectBytes int64 // of one object; larger ones are not kept; 0 is 8 MiB
	// Changes names the keys that are overwritten: those are always asked for.
	Changes func(key string) bool
}

// Memo is a Store that keeps small whole objects in memory as they are got and put: commits,
// settings, specs and ends, which the tasks of a process would else read again and again. It is
// for objects that never change once written. That an object is missing is never remembered,
// and what was deleted by another process may still be had from here. The least recently used
// goes first.
type Memo struct {
	Store
	options MemoOptions

	mu    sync.Mutex
	order *list.List // of kept, most recently used first
	byKey map[string]*list.Element
	bytes int64
}

type kept struct {
	key  string
	data []byte
}

var _ Store = (*Memo)(nil)

// NewMemo returns s with a memory of small objects.
func NewMemo(s Store, o MemoOptions) *Memo {
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	if o.ObjectBytes == 0 {
		o.ObjectBytes = 8 << 20
	}
	if o.Changes == nil {
		o.Changes = func(string) bool { return false }
	}
	return &Memo{Store: s, options: o, order: list.New(), byKey: map[string]*list.Element{}}
}

// Get answers from memory what it holds. The caller owns the bytes.
func (m *Memo) Get(ctx context.Context, key string) ([]byte, error) {
	if data, ok := m.recall(key); ok {
		return data, ctx.Err()
	}
	data, err := m.Store.Get(ctx, key)
	if err == nil {
		m.keep(key, data)
	}
	return data, err
}

// Put keeps what it has put.
func (m *Memo) Put(ctx context.Context, key string, body Body, o PutOptions) error {
	m.forget(key)
	if err := m.Store.Put(ctx, key, body, o); err != nil {
		return err
	}
	if body.Size() > m.options.ObjectBytes {
		return nil
	}
	data := make([]byte, body.Size())
	if _, err := body.Reader().ReadAt(data, 0); err == nil || errors.Is(err, io.EOF) {
		m.keep(key, data)
	}
	return nil
}

// Delete forgets the objects.
func (m *Memo) Delete(ctx context.Context, keys ...string) error {
	err := m.Store.Delete(ctx, keys...)
	for _, key := range keys {
		m.forget(key)
	}
	return err
}

func (m *Memo) recall(key string) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.byKey[key]
	if !ok {
		return nil, false
	}
	m.order.MoveToFront(e)
	return bytes.Clone(e.Value.(kept).data), true
}

func (m *Memo) keep(key string, data []byte) {
	if int64(len(data)) > m.options.ObjectBytes || m.options.Changes(key) {
		return
	}
	m.forget(key)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.byKey[key]; ok { // another was faster: the object is the same
		return
	}
	m.byKey[key] = m.order.PushFront(kept{key, bytes.Clone(data)})
	m.bytes += int64(len(data))
	for m.bytes > m.options.MaxBytes {
		m.drop(m.order.Back())
	}
}

func (m *Memo) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.byKey[key]; ok {
		m.drop(e)
	}
}

// drop removes an object. The lock is held.
func (m *Memo) drop(e *list.Element) {
	k := m.order.Remove(e).(kept)
	delete(m.byKey, k.key)
	m.bytes -= int64(len(k.data))
}
