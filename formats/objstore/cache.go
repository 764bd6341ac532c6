package objstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// CacheOptions bound a Cache. The zero value of a field but Dir has a default.
type CacheOptions struct {
	Dir      string // on scratch; of this cache alone
	MaxBytes int64  // on disk; 0 is 1 GiB
	// BlockBytes is the unit of caching; 0 is 128 KiB: what a lookup of a thin batch reads
	// (footers, filters, single pages) is of that size.
	BlockBytes int64
	// ScanBytes is the length from which a read goes past the cache; 0 is 1 MiB. Reads of that
	// size are scans, which come once and would drive out everything.
	ScanBytes int64
}

func (o CacheOptions) withDefaults() CacheOptions {
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 30
	}
	if o.BlockBytes == 0 {
		o.BlockBytes = 128 << 10
	}
	if o.ScanBytes == 0 {
		o.ScanBytes = 1 << 20
	}
	return o
}

// Cache is a Store that keeps blocks of the objects that are read by range on a local disk. It
// is for objects that never change once written; gets and stats are not cached. It
// evicts what was not used for longest, survives a crash (blocks carry checksums, damaged ones
// are read again), and asks the store once for what many goroutines want at a time. A cache
// that cannot be written is a cache that does not help, not an error.
type Cache struct {
	Store
	options CacheOptions
	blocks  *blockFiles

	mu      sync.Mutex
	flights map[blockID]*flight
}

// blockID names a block: of the object with the key, from number × BlockBytes on.
type blockID struct {
	key    string
	number int64
}

// flight is a block on its way; done is closed when data and err are set.
type flight struct {
	done chan struct{}
	data []byte // shorter than a block where the object ends, empty behind its end
	err  error

	stale atomic.Bool // the key was forgotten while the block was on its way
}

var _ Store = (*Cache)(nil)

// NewCache returns s with a cache in a folder, which is created, or found as an earlier process
// left it.
func NewCache(s Store, o CacheOptions) (*Cache, error) {
	o = o.withDefaults()
	blocks, err := openBlockFiles(o.Dir, o.MaxBytes, o.BlockBytes)
	if err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	return &Cache{Store: s, options: o, blocks: blocks, flights: map[blockID]*flight{}}, nil
}

// ReadAt reads from the cache what it holds, and the rest with one request for each gap.
func (c *Cache) ReadAt(ctx context.Context, key string, p []byte, off int64) (int, error) {
	if off < 0 || len(p) == 0 || int64(len(p)) >= c.options.ScanBytes || CheckKey(key) != nil {
		return c.Store.ReadAt(ctx, key, p, off)
	}
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("read %s: %w", key, err)
	}
	size := c.options.BlockBytes
	n := 0
	for n < len(p) {
		at := off + int64(n)
		first, last := at/size, (off+int64(len(p))-1)/size
		data, blocks, err := c.run(ctx, blockID{key, first}, last-first+1)
		if err != nil {
			return n, err
		}
		if skip := at - first*size; skip < int64(len(data)) {
			n += copy(p[n:], data[skip:])
		}
		if int64(len(data)) < blocks*size && n < len(p) {
			return n, io.EOF
		}
	}
	return n, nil
}

// run returns the data of a block and how many blocks it is of: one, from the disk or from who
// is reading it; or up to want, as far as nobody has them, with one request to the store.
func (c *Cache) run(ctx context.Context, id blockID, want int64) ([]byte, int64, error) {
	for {
		if data, ok := c.blocks.get(id); ok {
			return data, 1, nil
		}
		theirs, mine := c.board(id, want)
		if theirs == nil {
			data, err := c.fetch(ctx, id, mine)
			return data, int64(len(mine)), err
		}
		select {
		case <-theirs.done:
		case <-ctx.Done():
			return nil, 0, fmt.Errorf("read %s: %w", id.key, ctx.Err())
		}
		// Another's failure may be its own (its context's end): then try ourselves.
		if !errors.Is(theirs.err, context.Canceled) && !errors.Is(theirs.err, context.DeadlineExceeded) {
			return theirs.data, 1, theirs.err
		}
	}
}

// board returns the flight that the block is on, or new ones of the caller's for as many blocks
// from there on as are wanted, in no flight, and not on the disk.
func (c *Cache) board(id blockID, want int64) (theirs *flight, mine []*flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, ok := c.flights[id]; ok && !f.stale.Load() {
		return f, nil
	}
	for k := range want {
		next := blockID{id.key, id.number + k}
		if _, ok := c.flights[next]; k > 0 && (ok || c.blocks.has(next)) {
			break
		}
		f := &flight{done: make(chan struct{})}
		c.flights[next] = f
		mine = append(mine, f)
	}
	return nil, mine
}

// fetch reads the blocks of flights from id on in one request and lands them.
func (c *Cache) fetch(ctx context.Context, id blockID, flights []*flight) ([]byte, error) {
	size := c.options.BlockBytes
	buf := make([]byte, size*int64(len(flights)))
	n, err := c.Store.ReadAt(ctx, id.key, buf, id.number*size)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	buf = buf[:n]
	for i, f := range flights {
		from := min(int64(i)*size, int64(n))
		f.data, f.err = buf[from:min(from+size, int64(n))], err
		next := blockID{id.key, id.number + int64(i)}
		if err == nil && len(f.data) > 0 {
			c.blocks.put(next, f.data, &f.stale)
		}
		c.mu.Lock()
		if c.flights[next] == f {
			delete(c.flights, next)
		}
		c.mu.Unlock()
		close(f.done)
	}
	return buf, err
}

// forget drops what there is of a key, and keeps what is on its way from staying.
func (c *Cache) forget(key string) {
	c.mu.Lock()
	for id, f := range c.flights {
		if id.key == key {
			f.stale.Store(true)
		}
	}
	c.mu.Unlock()
	c.blocks.forget(key)
}

// Put forgets what the cache has of the key: for an object that is overwritten after all, this
// process at least reads the new one.
func (c *Cache) Put(ctx context.Context, key string, body Body, o PutOptions) error {
	err := c.Store.Put(ctx, key, body, o)
	c.forget(key)
	return err
}

// Delete forgets what the cache has of the keys.
func (c *Cache) Delete(ctx context.Context, keys ...string) error {
	err := c.Store.Delete(ctx, keys...)
	for _, key := range keys {
		c.forget(key)
	}
	return err
}

// Use says how many blocks came from the disk, and how many from the store.
func (c *Cache) Use() (hits, misses int64) { return c.blocks.use() }
