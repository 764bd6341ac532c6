package objstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Use is what a part of the key space has cost.
type Use struct {
	Kind     Kind
	Segment  string // first segment of the keys: rounds, urls, commits
	Requests int64
	Bytes    int64 // of content: read by get and read, written by put
	Failed   int64 // requests that ended in an error, ErrNotExist and ErrExists among them
}

type useKey struct {
	kind    Kind
	segment string
}

// Counter is a Store that counts what another is asked for. It counts calls: a listing is one
// request however many pages it takes, a delete is one for each key.
type Counter struct {
	store Store
	mu    sync.Mutex
	uses  map[useKey]Use
}

var _ Store = (*Counter)(nil)

// NewCounter returns a counter of all requests to s that go through it.
func NewCounter(s Store) *Counter {
	return &Counter{store: s, uses: map[useKey]Use{}}
}

// Uses returns what has been counted, ordered by segment and kind. The difference of two calls
// (Since) is what happened between them.
func (c *Counter) Uses() []Use {
	c.mu.Lock()
	defer c.mu.Unlock()
	uses := slices.Collect(maps.Values(c.uses))
	slices.SortFunc(uses, func(a, b Use) int {
		return cmp.Or(cmp.Compare(a.Segment, b.Segment), cmp.Compare(a.Kind, b.Kind))
	})
	return uses
}

// Since is what the counts in now have more than those in before, without those that are equal.
func Since(now, before []Use) []Use {
	old := make(map[useKey]Use, len(before))
	for _, u := range before {
		old[useKey{u.Kind, u.Segment}] = u
	}
	var diff []Use
	for _, u := range now {
		o := old[useKey{u.Kind, u.Segment}]
		u.Requests, u.Bytes, u.Failed = u.Requests-o.Requests, u.Bytes-o.Bytes, u.Failed-o.Failed
		if u.Requests != 0 {
			diff = append(diff, u)
		}
	}
	return diff
}

func (c *Counter) count(kind Kind, key string, bytes int64, failed bool) {
	segment, _, _ := strings.Cut(key, "/")
	c.mu.Lock()
	defer c.mu.Unlock()
	k := useKey{kind, segment}
	u := c.uses[k]
	u.Kind, u.Segment = kind, segment
	u.Requests++
	u.Bytes += bytes
	if failed {
		u.Failed++
	}
	c.uses[k] = u
}

// Get counts the object's bytes.
func (c *Counter) Get(ctx context.Context, key string) ([]byte, error) {
	data, err := c.store.Get(ctx, key)
	c.count(OpGet, key, int64(len(data)), err != nil)
	return data, err
}

// ReadAt counts the bytes that came.
func (c *Counter) ReadAt(ctx context.Context, key string, p []byte, off int64) (int, error) {
	n, err := c.store.ReadAt(ctx, key, p, off)
	c.count(OpRead, key, int64(n), err != nil && n == 0)
	return n, err
}

// Put counts the body's bytes, whether they were stored or not: they may have been sent.
func (c *Counter) Put(ctx context.Context, key string, body Body, o PutOptions) error {
	err := c.store.Put(ctx, key, body, o)
	c.count(OpPut, key, body.Size(), err != nil)
	return err
}

// Stat counts a request.
func (c *Counter) Stat(ctx context.Context, key string) (Info, error) {
	info, err := c.store.Stat(ctx, key)
	c.count(OpStat, key, 0, err != nil)
	return info, err
}

// List counts a request for the prefix's first segment.
func (c *Counter) List(ctx context.Context, prefix, after string, fn func(Info) error) error {
	err := c.store.List(ctx, prefix, after, fn)
	c.count(OpList, prefix, 0, err != nil)
	return err
}

// Delete counts a request for each key.
func (c *Counter) Delete(ctx context.Context, keys ...string) error {
	err := c.store.Delete(ctx, keys...)
	for _, key := range keys {
		c.count(OpDelete, key, 0, err != nil)
	}
	return err
}
