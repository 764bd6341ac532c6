package fetch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"seine/formats/objstore"
	"seine/formats/tasklog"
	"seine/jobs"
	"seine/jobs/worker"
	"seine/mapper/spool"
)

// sealState is what asking and sealing share: how much waits in the spool, and
// who must be told.
type sealState struct {
	bound int64
	every time.Duration

	mu     sync.Mutex
	bytes  int64 // of payloads in the spool's newest generation
	first  error // of appending; it ends the attempt
	failed chan struct{}
	wake   chan struct{} // a seal is wanted now
	room   chan struct{} // closed and renewed when a seal has freed the spool

	// Below: the sealer's alone once it runs.
	early   []*outcome      // outcomes that were there before asking began
	seq     int             // chunks of this attempt
	counted map[string]bool // outcomes in this attempt's chunks
}

func newSealState(f *fetcher) *sealState {
	s := &sealState{bound: f.set.SealBytes, every: f.set.SealInterval.D(),
		wake: make(chan struct{}, 1), room: make(chan struct{}), failed: make(chan struct{}),
		counted: map[string]bool{}}
	if e := f.env; e.SealBytes > 0 {
		s.bound = min(s.bound, e.SealBytes)
	}
	if e := f.env; e.SealEvery > 0 {
		s.every = min(s.every, e.SealEvery)
	}
	return s
}

// append adds a record. A generation of the spool that is worth a chunk is ended:
// however much waits there while the store is away, it is sealed in chunks that
// fit into memory.
func (s *sealState) append(sp *spool.Spool, parts [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := sp.Append(parts...); err != nil {
		return err
	}
	if s.bytes += size(parts); s.bytes < s.bound {
		return nil
	}
	s.bytes = 0
	s.nowLocked()
	_, err := sp.Rotate()
	return err
}

// now asks for a seal.
func (s *sealState) now() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nowLocked()
}

func (s *sealState) nowLocked() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// fail ends the attempt with an error of the scratch disk.
func (s *sealState) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = err
		close(s.failed)
	}
}

// freed is closed by the next seal.
func (s *sealState) freed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.room
}

// cut begins a new generation and says which is the last before it.
func (s *sealState) cut(sp *spool.Spool) (upTo uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes = 0
	return sp.Rotate()
}

// sealer seals chunks until asking has ended, then a last one. Its error, and
// that of the scratch disk, ends asking.
func (f *fetcher) sealer(ctx context.Context, cancel context.CancelCauseFunc) error {
	tick := time.NewTicker(f.seal.every)
	defer tick.Stop()
	for {
		last := false
		select {
		case <-f.asked:
			last = true
		case <-f.seal.wake:
		case <-tick.C:
		case <-f.seal.failed:
			cancel(f.seal.first)
			<-f.asked
			return f.seal.first
		}
		if err := f.sealAll(ctx); err != nil {
			cancel(err)
			<-f.asked
			return err
		}
		if last {
			return nil
		}
	}
}

// sealAll makes all that the spool holds by now count, a chunk a generation.
func (f *fetcher) sealAll(ctx context.Context) error {
	last, err := f.seal.cut(f.spool)
	if err != nil {
		return err
	}
	for {
		upTo, ok := f.spool.Oldest()
		if !ok || upTo > last {
			upTo = 0
		}
		if upTo == 0 && len(f.seal.early) == 0 {
			return f.seal.free(f.spool, 0)
		}
		if err := f.sealChunk(ctx, upTo); err != nil {
			return err
		}
	}
}

// sealChunk makes a chunk of the generations up to one, and makes it count.
func (f *fetcher) sealChunk(ctx context.Context, upTo uint64) error {
	select {
	case f.env.Sealing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c, err := f.buildChunk(upTo, f.seal.early)
	<-f.env.Sealing
	if err != nil {
		return err
	}
	if c != nil {
		defer c.close()
		if err := f.putChunk(ctx, c); err != nil {
			return err
		}
	}
	f.seal.early = nil
	return f.seal.free(f.spool, upTo)
}

// free drops what counts, and tells those who wait for room.
func (s *sealState) free(sp *spool.Spool, upTo uint64) error {
	if err := sp.Drop(upTo); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.room)
	s.room = make(chan struct{})
	return nil
}

// putChunk stores the chunk's objects, then the entry that makes them count. It
// tries as long as the store may come back: the spool holds the outcomes.
func (f *fetcher) putChunk(ctx context.Context, c *chunk) error {
	entry := tasklog.Chunk{Seq: f.seal.seq, Counts: c.counts, From: c.from, To: c.to}
	for _, o := range c.files {
		if err := f.put(ctx, o); err != nil {
			return err
		}
		entry.Objects = append(entry.Objects, o.object)
	}
	err := f.persist(ctx, "log a chunk", func(ctx context.Context) error {
		return f.log.Append(ctx, entry)
	})
	if err == nil {
		f.seal.seq++
		f.progress.Add("chunks", 1)
	}
	return err
}

// put stores an object of a chunk, or of the end.
func (f *fetcher) put(ctx context.Context, o chunkFile) error {
	return persist(ctx, f.progress, "put "+o.object.Key, putTime(o.object.Size),
		func(ctx context.Context) error {
			return f.env.Store.Put(ctx, o.object.Key, objstore.File(o.file, o.object.Size),
				objstore.PutOptions{IfAbsent: true, Same: true})
		})
}

// putTimeout bounds one try at the store, so that one that hangs is tried
// again.
const putTimeout = 2 * time.Minute

// putTime bounds one try at putting an object of size bytes: a slow line that brings a MiB
// a second ends before it.
func putTime(size int64) time.Duration {
	return putTimeout + time.Duration(size>>20)*time.Second
}

// persist does what must be done until it is, the store says that it cannot be,
// or ctx ends.
func (f *fetcher) persist(ctx context.Context, what string, do func(context.Context) error) error {
	return persist(ctx, f.progress, what, putTimeout, do)
}

func persist(ctx context.Context, p *worker.Progress, what string, limit time.Duration,
	do func(context.Context) error) error {
	pause := 250 * time.Millisecond
	for {
		try, cancel := context.WithTimeout(ctx, limit)
		err := do(try)
		hung := try.Err() != nil
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		case errors.Is(err, tasklog.ErrStaleAttempt), errors.Is(err, tasklog.ErrEnded):
			return jobs.ErrStaleAttempt
		case !hung && !errors.Is(err, objstore.ErrUnavailable):
			return fmt.Errorf("%s: %w", what, err)
		}
		p.Add("store_retries", 1)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, 15*time.Second)
	}
}
