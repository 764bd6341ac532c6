package objstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Backoff says how often and how long apart an operation is tried. The zero value has defaults.
type Backoff struct {
	Tries int           // in all; 0 is 8: about half a minute, longer than a store's failover
	First time.Duration // mean pause after the first try, doubled after each; 0 is 250 ms
	Max   time.Duration // longest mean pause; 0 is 15 s
	// Timeout ends a try that hangs, which then counts as ErrUnavailable; 0 is 2 min,
	// enough for MaxGet at 1 MB/s. Puts of large bodies get the time for their size besides.
	Timeout time.Duration
}

func (b Backoff) withDefaults() Backoff {
	if b.Tries == 0 {
		b.Tries = 8
	}
	if b.First == 0 {
		b.First = 250 * time.Millisecond
	}
	if b.Max == 0 {
		b.Max = 15 * time.Second
	}
	if b.Timeout == 0 {
		b.Timeout = 2 * time.Minute
	}
	return b
}

// pause is the time between try n (from 0) and the next: between half and one and a half of the
// mean, so that workers which failed together do not come back together.
func (b Backoff) pause(n int) time.Duration {
	mean := b.Max
	if n < 30 && b.First<<n < b.Max {
		mean = b.First << n
	}
	return mean/2 + time.Duration(rand.Int64N(int64(mean)+1))
}

// Retry is a Store that tries again where another is ErrUnavailable.
//
// A put with IfAbsent whose first try was answered by ErrUnavailable may have happened. The next
// try then gets ErrExists, of which Retry cannot know whose object it speaks: identical content
// may be another's. So it decides nothing: with PutOptions.Same the store compares
// and an identical object is success; without, the caller gets ErrExists, as if another had won,
// reads the object and decides. No other operation is made ambiguous by trying again: a delete
// that happened finds nothing to delete, a listing goes on behind the last key delivered.
type Retry struct {
	store   Store
	backoff Backoff
}

var _ Store = Retry{}

// NewRetry returns s with retries.
func NewRetry(s Store, b Backoff) Retry { return Retry{s, b.withDefaults()} }

func (r Retry) do(ctx context.Context, op func(ctx context.Context) error) error {
	return r.within(ctx, r.backoff.Timeout, op)
}

// within tries again what fails as ErrUnavailable, or takes longer than timeout.
func (r Retry) within(ctx context.Context, timeout time.Duration,
	op func(ctx context.Context) error) error {
	for n := 0; ; n++ {
		err := once(ctx, timeout, op)
		if err == nil || !errors.Is(err, ErrUnavailable) {
			return err
		}
		if n+1 >= r.backoff.Tries {
			return fmt.Errorf("%d tries: %w", n+1, err)
		}
		timer := time.NewTimer(r.backoff.pause(n))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w, after %d tries: %w", ctx.Err(), n+1, err)
		}
	}
}

// once is a single try. One that hangs is as good as a store that is away.
func once(ctx context.Context, timeout time.Duration, op func(ctx context.Context) error) error {
	try, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := op(try)
	if err != nil && try.Err() != nil && ctx.Err() == nil && !errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w: no answer in %v: %w", ErrUnavailable, timeout, err)
	}
	return err
}

// Get tries again.
func (r Retry) Get(ctx context.Context, key string) (data []byte, err error) {
	err = r.do(ctx, func(ctx context.Context) error {
		data, err = r.store.Get(ctx, key)
		return err
	})
	return data, err
}

// ReadAt tries the whole range again.
func (r Retry) ReadAt(ctx context.Context, key string, p []byte, off int64) (n int, err error) {
	err = r.do(ctx, func(ctx context.Context) error {
		n, err = r.store.ReadAt(ctx, key, p, off)
		return err
	})
	return n, err
}

// Put tries the whole body again. See Retry for what ErrExists then means.
func (r Retry) Put(ctx context.Context, key string, body Body, o PutOptions) error {
	const slowest = 1 << 20 // bytes a second
	timeout := r.backoff.Timeout + time.Duration(body.Size()/slowest)*time.Second
	return r.within(ctx, timeout, func(ctx context.Context) error {
		return r.store.Put(ctx, key, body, o)
	})
}

// Stat tries again.
func (r Retry) Stat(ctx context.Context, key string) (info Info, err error) {
	err = r.do(ctx, func(ctx context.Context) error {
		info, err = r.store.Stat(ctx, key)
		return err
	})
	return info, err
}

// List goes on where it was interrupted. An error of fn is fn's, whatever it matches.
func (r Retry) List(ctx context.Context, prefix, after string, fn func(Info) error) error {
	var fromFn error
	// A listing lasts as long as fn takes: what hangs in it is the store's own to notice.
	const ever = time.Duration(1<<63 - 1)
	err := r.within(ctx, ever, func(ctx context.Context) error {
		err := r.store.List(ctx, prefix, after, func(info Info) error {
			if fromFn = fn(info); fromFn == nil {
				after = info.Key
			}
			return fromFn
		})
		if fromFn != nil {
			return nil
		}
		return err
	})
	if fromFn != nil {
		return skipAll(fromFn)
	}
	return err
}

// Delete tries all keys again.
func (r Retry) Delete(ctx context.Context, keys ...string) error {
	return r.do(ctx, func(ctx context.Context) error { return r.store.Delete(ctx, keys...) })
}
