package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/rowfile"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/reducer/publish"
	"seine/reducer/task"
)

// environment is the world of the tasks on a store: no cache, settings as stored
// by build, scratch files in the folder scratch.
func environment(ctx context.Context, store objstore.Store, scratch string) (task.Env, error) {
	pinned, err := publish.OpenCrawl(ctx, store)
	if err != nil {
		return task.Env{}, err
	}
	suffixes, err := weburl.ParseSuffixes([]byte(pinned.SuffixesText))
	if err != nil {
		return task.Env{}, err
	}
	set := scopeAny().Fill()
	return task.Env{Store: store, Scratch: scratch, Codec: rowfile.Zstd, Suffixes: suffixes, Stats: new(lsm.Stats),
		Open: func(ctx context.Context, key layout.Key, size int64) (io.ReaderAt, error) {
			return objstore.Open(ctx, store, key, size), nil
		},
		Settings: func(context.Context, uint64) (settings.Settings, error) { return set, nil },
	}, nil
}

// Use is what requests for one kind of object have cost.
type Use struct {
	Requests int64 `json:"requests"`
	Read     int64 `json:"read"`    // bytes
	Written  int64 `json:"written"` // bytes
}

// kinds is a Store that tells apart what kinds of objects were asked for: by the
// last segment of the key. The totals are the Counter's below it.
type kinds struct {
	objstore.Store
	mu   sync.Mutex
	uses map[string]Use
}

func newKinds(s objstore.Store) *kinds { return &kinds{Store: s, uses: map[string]Use{}} }

func (k *kinds) count(key string, read, written int64) {
	name := key[strings.LastIndexByte(key, '/')+1:]
	if name = strings.TrimSuffix(name, ".parquet"); strings.Trim(name, "0123456789") == "" {
		name = "commits and logs"
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	u := k.uses[name]
	k.uses[name] = Use{u.Requests + 1, u.Read + read, u.Written + written}
}

// Get counts the object's bytes.
func (k *kinds) Get(ctx context.Context, key string) ([]byte, error) {
	b, err := k.Store.Get(ctx, key)
	k.count(key, int64(len(b)), 0)
	return b, err
}

// ReadAt counts the bytes that came.
func (k *kinds) ReadAt(ctx context.Context, key string, p []byte, off int64) (int, error) {
	n, err := k.Store.ReadAt(ctx, key, p, off)
	k.count(key, int64(n), 0)
	return n, err
}

// Put counts the body's bytes.
func (k *kinds) Put(ctx context.Context, key string, b objstore.Body, o objstore.PutOptions) error {
	k.count(key, 0, b.Size())
	return k.Store.Put(ctx, key, b, o)
}

// snapshot is what has been counted so far.
func (k *kinds) snapshot() map[string]Use {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.uses)
}

// cost is what a stage of a round has cost.
type cost struct {
	Use
	Rows    int64          `json:"rows"` // decoded
	Wall    time.Duration  `json:"wall_ns"`
	Peak    int64          `json:"peak"` // resident bytes, at most
	Objects map[string]Use `json:"objects,omitempty"`
}

func (c *cost) add(o cost) {
	c.Requests, c.Read, c.Written = c.Requests+o.Requests, c.Read+o.Read, c.Written+o.Written
	c.Rows, c.Wall, c.Peak = c.Rows+o.Rows, c.Wall+o.Wall, max(c.Peak, o.Peak)
	if c.Objects == nil {
		c.Objects = map[string]Use{}
	}
	for name, u := range o.Objects {
		was := c.Objects[name]
		c.Objects[name] = Use{was.Requests + u.Requests, was.Read + u.Read, was.Written + u.Written}
	}
}

// most gives the names of the objects by falling bytes.
func (c *cost) most() []string {
	return slices.SortedFunc(maps.Keys(c.Objects), func(a, b string) int {
		x, y := c.Objects[a], c.Objects[b]
		return cmp.Or(cmp.Compare(y.Read+y.Written, x.Read+x.Written), cmp.Compare(a, b))
	})
}

// measure runs f as a stage and says what it cost.
func (b *bench) measure(f func() error) (cost, error) {
	resetPeak()
	uses, objects, start := b.counter.Uses(), b.kinds.snapshot(), time.Now()
	rows := b.env.Stats.Rows.Load()
	err := f()
	c := cost{Wall: time.Since(start), Peak: peak(), Objects: map[string]Use{},
		Rows: b.env.Stats.Rows.Load() - rows}
	for _, u := range objstore.Since(b.counter.Uses(), uses) {
		c.Requests += u.Requests
		switch u.Kind {
		case objstore.OpPut:
			c.Written += u.Bytes
		case objstore.OpGet, objstore.OpRead:
			c.Read += u.Bytes
		}
	}
	for name, now := range b.kinds.snapshot() {
		was := objects[name]
		if now != was {
			c.Objects[name] = Use{now.Requests - was.Requests, now.Read - was.Read,
				now.Written - was.Written}
		}
	}
	return c, err
}

// resetPeak makes the kernel forget the largest resident size so far, where it
// can; what earlier stages left is given back first.
func resetPeak() {
	runtime.GC()
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // Linux only
}

// peak is the largest resident size in bytes since resetPeak; where the kernel
// does not tell, since the process began.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok && err == nil {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(
				strings.TrimSpace(value), "kB")), 10, 64)
			if err == nil {
				return kb << 10
			}
		}
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return usage.Maxrss
	}
	return usage.Maxrss << 10
}

// errNoShape: the store was not made by build.
var errNoShape = errors.New("this store was not made by `rounds build`")

func missing(err error) error {
	if errors.Is(err, objstore.ErrNotExist) {
		return fmt.Errorf("%w: %w", errNoShape, err)
	}
	return err
}
