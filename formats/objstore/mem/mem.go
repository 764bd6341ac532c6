// Package mem is an object store in memory, for tests and simulations. It keeps the whole
// contract of objstore, does no I/O, starts no goroutine and waits for nothing but a mutex
// held for the length of a map operation, so it may be used inside testing/synctest bubbles,
// where its times are virtual. It is as strict as the strictest store: a key that is another
// key's folder is refused.
package mem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"seine/formats/objstore"
)

type object struct {
	data    []byte // never changed once stored
	modTime time.Time
}

// Store is a store in memory. Make one with New.
type Store struct {
	mu      sync.RWMutex
	objects map[string]object
	keys    []string // sorted
	bytes   int64
	limit   int64
}

var _ objstore.Store = (*Store)(nil)

// New returns an empty store without bounds.
func New() *Store { return &Store{objects: map[string]object{}} }

// NewLimited returns an empty store that is full (ErrFull) at so many bytes of content.
func NewLimited(bytes int64) *Store {
	s := New()
	s.limit = bytes
	return s
}

// Get returns a copy of the object.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	o, err := s.find(ctx, "get", key)
	if err != nil {
		return nil, err
	}
	if len(o.data) > objstore.MaxGet {
		return nil, fmt.Errorf("get %s: %d bytes are more than %d", key, len(o.data), objstore.MaxGet)
	}
	return append([]byte{}, o.data...), nil
}

// ReadAt copies a range of the object.
func (s *Store) ReadAt(ctx context.Context, key string, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read %s: offset %d is negative", key, off)
	}
	if len(p) == 0 {
		return 0, nil
	}
	o, err := s.find(ctx, "read", key)
	if err != nil {
		return 0, err
	}
	if off >= int64(len(o.data)) {
		return 0, io.EOF
	}
	n := copy(p, o.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Stat describes the object.
func (s *Store) Stat(ctx context.Context, key string) (objstore.Info, error) {
	o, err := s.find(ctx, "stat", key)
	if err != nil {
		return objstore.Info{}, err
	}
	return objstore.Info{Key: key, Size: int64(len(o.data)), ModTime: o.modTime}, nil
}

func (s *Store) find(ctx context.Context, op, key string) (object, error) {
	if err := ctx.Err(); err != nil {
		return object{}, fmt.Errorf("%s %s: %w", op, key, err)
	}
	if err := objstore.CheckKey(key); err != nil {
		return object{}, fmt.Errorf("%s: %w", op, err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	o, ok := s.objects[key]
	if !ok {
		return object{}, fmt.Errorf("%s %s: %w", op, key, objstore.ErrNotExist)
	}
	return o, nil
}

// Put stores a copy of the body.
func (s *Store) Put(ctx context.Context, key string, body objstore.Body,
	o objstore.PutOptions) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	if err := objstore.CheckKey(key); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	data := make([]byte, body.Size())
	if _, err := io.ReadFull(body.Reader(), data); err != nil && body.Size() > 0 {
		return fmt.Errorf("put %s: read body: %w", key, err)
	}
	err := s.store(key, data, o.IfAbsent)
	if errors.Is(err, objstore.ErrExists) {
		return objstore.Exists(ctx, s, key, body, o)
	}
	return err
}

func (s *Store) store(key string, data []byte, ifAbsent bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, there := s.objects[key]
	if there && ifAbsent {
		return objstore.ErrExists
	}
	grown := s.bytes + int64(len(data)-len(old.data))
	if s.limit > 0 && grown > s.limit {
		return fmt.Errorf("put %s: %w", key, objstore.ErrFull)
	}
	if !there {
		if other, ok := s.conflict(key); ok {
			return fmt.Errorf("put %s: the store holds %s: a key cannot be another's folder", key, other)
		}
		i, _ := slices.BinarySearch(s.keys, key)
		s.keys = slices.Insert(s.keys, i, key)
	}
	s.objects[key] = object{data, time.Now()}
	s.bytes = grown
	return nil
}

// conflict finds a key that is the folder of this one, or lies in the folder of this name.
func (s *Store) conflict(key string) (string, bool) {
	for i := range len(key) {
		if key[i] == '/' {
			if _, ok := s.objects[key[:i]]; ok {
				return key[:i], true
			}
		}
	}
	i, _ := slices.BinarySearch(s.keys, key+"/")
	if i < len(s.keys) && strings.HasPrefix(s.keys[i], key+"/") {
		return s.keys[i], true
	}
	return "", false
}

// List calls fn without holding a lock, for a view of the keys that moves with the listing.
func (s *Store) List(ctx context.Context, prefix, after string,
	fn func(objstore.Info) error) error {
	next, include := after, false
	if prefix > after {
		next, include = prefix, true
	}
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("list %s: %w", prefix, err)
		}
		info, ok := s.successor(next, include)
		if !ok || !strings.HasPrefix(info.Key, prefix) {
			return nil
		}
		if err := fn(info); errors.Is(err, fs.SkipAll) {
			return nil
		} else if err != nil {
			return err
		}
		next, include = info.Key, false
	}
}

// successor is the first key greater than key, or equal to it if include is set.
func (s *Store) successor(key string, include bool) (objstore.Info, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i, found := slices.BinarySearch(s.keys, key)
	if found && !include {
		i++
	}
	if i == len(s.keys) {
		return objstore.Info{}, false
	}
	o := s.objects[s.keys[i]]
	return objstore.Info{Key: s.keys[i], Size: int64(len(o.data)), ModTime: o.modTime}, true
}

// Delete removes the objects.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("delete %s: %w", key, err)
		}
		if err := objstore.CheckKey(key); err != nil {
			return fmt.Errorf("delete: %w", err)
		}
		s.remove(key)
	}
	return nil
}

func (s *Store) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[key]
	if !ok {
		return
	}
	s.bytes -= int64(len(o.data))
	delete(s.objects, key)
	i, _ := slices.BinarySearch(s.keys, key)
	s.keys = slices.Delete(s.keys, i, i+1)
}
