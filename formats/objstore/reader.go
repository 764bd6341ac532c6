package objstore

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

// Range is a part of an object in bytes. It has no name of its own, so that packages which must
// not know this one can speak of the same type.
type Range = struct{ Off, Len int64 }

const (
	// joinGap is the gap in bytes over which two ranges are read in one request: it takes less
	// time to pass over than another request takes to be answered.
	joinGap = 64 << 10
	// joinMax ends joining: larger requests are better made side by side.
	joinMax = 8 << 20
	// readers is how many requests of one ReadRanges run at once.
	readers = 8
)

// Reader reads an object that does not change. It may be used by many goroutines.
type Reader struct {
	readAt   func(p []byte, off int64) (int, error)
	size     int64
	requests atomic.Int64
	bytes    atomic.Int64
}

// Open returns a reader of the object, whose size in bytes the caller knows (from the manifest:
// nothing is asked for here). The reader lives as long as ctx.
func Open(ctx context.Context, s Store, key string, size int64) *Reader {
	r := &Reader{size: size}
	r.readAt = func(p []byte, off int64) (int, error) {
		r.requests.Add(1)
		n, err := s.ReadAt(ctx, key, p, off)
		r.bytes.Add(int64(n))
		return n, err
	}
	return r
}

// OpenWhole returns a reader of a small object that gets it whole, with one request, at the first
// read: for objects that take less time to transfer than a second request takes to be answered,
// and that a Memo can hold. The reader lives as long as ctx.
func OpenWhole(ctx context.Context, s Store, key string, size int64) *Reader {
	r := &Reader{size: size}
	var mu sync.Mutex
	var data []byte
	r.readAt = func(p []byte, off int64) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		if data == nil {
			got, err := s.Get(ctx, key)
			if err != nil {
				return 0, err
			}
			r.requests.Add(1)
			r.bytes.Add(int64(len(got)))
			data = got
		}
		if off < 0 || off > int64(len(data)) {
			return 0, io.EOF
		}
		n := copy(p, data[off:])
		if n < len(p) {
			return n, io.EOF
		}
		return n, nil
	}
	return r
}

// Size is the object's size in bytes.
func (r *Reader) Size() int64 { return r.size }

// Requests and bytes asked of the store so far.
func (r *Reader) Requests() (requests, bytes int64) { return r.requests.Load(), r.bytes.Load() }

// ReadAt reads with one request, or none where there is nothing to read.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if off >= r.size && len(p) > 0 {
		return 0, io.EOF
	}
	return r.readAt(p, off)
}

// ReadRanges reads many ranges, in any order, in few requests: ranges that overlap or lie at
// most 64 KiB apart are read as one, up to 8 requests at once. It returns the bytes of each
// range, in the order asked for; they may share memory. It needs the memory of all of them.
func (r *Reader) ReadRanges(ranges []Range) ([][]byte, error) {
	order := make([]int, len(ranges))
	for i, g := range ranges {
		if g.Off < 0 || g.Len < 0 || g.Off > r.size || g.Len > r.size-g.Off {
			return nil, fmt.Errorf("range of %d bytes at %d is not in %d bytes", g.Len, g.Off, r.size)
		}
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ranges[a].Off, ranges[b].Off) })
	out := make([][]byte, len(ranges))
	var wait sync.WaitGroup
	slots := make(chan struct{}, readers)
	groups := join(ranges, order)
	errs := make([]error, len(groups))
	for i, g := range groups {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			errs[i] = r.readGroup(g, ranges, out)
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// group is a request and the ranges that it answers, by index.
type group struct {
	Range
	members []int
}

// join groups ranges, given in the order of their offsets.
func join(ranges []Range, order []int) []group {
	var groups []group
	for _, i := range order {
		g := ranges[i]
		if n := len(groups); n > 0 {
			last := &groups[n-1]
			end := max(last.Off+last.Len, g.Off+g.Len)
			if g.Off-(last.Off+last.Len) <= joinGap && end-last.Off <= max(joinMax, last.Len) {
				last.Len = end - last.Off
				last.members = append(last.members, i)
				continue
			}
		}
		groups = append(groups, group{g, []int{i}})
	}
	return groups
}

func (r *Reader) readGroup(g group, ranges []Range, out [][]byte) error {
	buf := make([]byte, g.Len)
	if g.Len > 0 {
		if n, err := r.readAt(buf, g.Off); n < len(buf) {
			return fmt.Errorf("%d bytes at %d of %d: got %d: %w", g.Len, g.Off, r.size, n, err)
		}
	}
	for _, i := range g.members {
		from := ranges[i].Off - g.Off
		out[i] = buf[from : from+ranges[i].Len : from+ranges[i].Len]
	}
	return nil
}
