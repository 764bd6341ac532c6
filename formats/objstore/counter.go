package objstore

import "context"

// Counter is a Store that counts what another is asked for, for itself and for whom the context
// charges (Charge). It counts calls: a listing is one request however many pages it takes, a
// delete is one for each key. Below Retry it counts every try; below caches, what they pass on.
type Counter struct {
	store Store
	Tally
}

var _ Store = (*Counter)(nil)

// NewCounter returns a counter of all requests to s that go through it.
func NewCounter(s Store) *Counter { return &Counter{store: s} }

func (c *Counter) count(ctx context.Context, kind Kind, key string, bytes int64, failed bool) {
	c.Tally.count(kind, key, bytes, failed)
	if t, ok := ctx.Value(chargedKey{}).(*Tally); ok {
		t.count(kind, key, bytes, failed)
	}
}

// Get counts the object's bytes.
func (c *Counter) Get(ctx context.Context, key string) ([]byte, error) {
	data, err := c.store.Get(ctx, key)
	c.count(ctx, OpGet, key, int64(len(data)), err != nil)
	return data, err
}

// ReadAt counts the bytes that came.
func (c *Counter) ReadAt(ctx context.Context, key string, p []byte, off int64) (int, error) {
	n, err := c.store.ReadAt(ctx, key, p, off)
	c.count(ctx, OpRead, key, int64(n), err != nil && n == 0)
	return n, err
}

// Put counts the body's bytes, whether they were stored or not: they may have been sent.
func (c *Counter) Put(ctx context.Context, key string, body Body, o PutOptions) error {
	err := c.store.Put(ctx, key, body, o)
	c.count(ctx, OpPut, key, body.Size(), err != nil)
	return err
}

// Stat counts a request.
func (c *Counter) Stat(ctx context.Context, key string) (Info, error) {
	info, err := c.store.Stat(ctx, key)
	c.count(ctx, OpStat, key, 0, err != nil)
	return info, err
}

// List counts a request for the prefix's first segment.
func (c *Counter) List(ctx context.Context, prefix, after string, fn func(Info) error) error {
	err := c.store.List(ctx, prefix, after, fn)
	c.count(ctx, OpList, prefix, 0, err != nil)
	return err
}

// Delete counts a request for each key.
func (c *Counter) Delete(ctx context.Context, keys ...string) error {
	err := c.store.Delete(ctx, keys...)
	for _, key := range keys {
		c.count(ctx, OpDelete, key, 0, err != nil)
	}
	return err
}
