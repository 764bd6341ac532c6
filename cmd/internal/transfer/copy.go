package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
)

var (
	// ErrNoCrawl: the source holds no crawl.
	ErrNoCrawl = errors.New("the source holds no crawl")
	// ErrOther: the destination holds another crawl, a later state of this one, or
	// things of others. Nothing was written.
	ErrOther = errors.New("the destination cannot take the copy")
)

// Options of a copy. Zero numbers have defaults.
type Options struct {
	Snapshot uint64 // 0: the newest, with the rounds that are open
	Parallel int    // objects at once; 0 is 8
	// Scratch is the folder for objects on their way that are too large for memory.
	Scratch string
	// Verify reads every object back and compares its SHA-256.
	Verify bool
	// Progress, unless nil, is told how far the copy is. Calls do not overlap.
	Progress func(Report)
}

// Report is what a copy has done.
type Report struct {
	Snapshot uint64 `json:"snapshot"`
	Objects  int64  `json:"objects"`      // to be in the copy, commits among them
	Bytes    int64  `json:"bytes"`        // of them
	Copied   int64  `json:"copied"`       // by this run
	Moved    int64  `json:"bytes_copied"` // by this run
	Found    int64  `json:"found"`        // there already, of an earlier run
	Verified int64  `json:"verified"`     // read back
}

// copying is a copy under way.
type copying struct {
	src, dst objstore.Store
	o        Options
	there    map[layout.Key]int64 // sizes of the destination's objects

	// cut is the oldest commit that was met to have expired in the source since the last
	// copy, or since the source was listed; 0: none was.
	cut uint64

	mu     sync.Mutex
	report Report
}

// Run copies the crawl of src into dst, or goes on with a copy that was cut off.
func Run(ctx context.Context, src, dst objstore.Store, o Options) (Report, error) {
	if o.Parallel <= 0 {
		o.Parallel = 8
	}
	p, err := planOf(ctx, src, o.Snapshot)
	if err != nil {
		return Report{}, err
	}
	c := &copying{src: src, dst: dst, o: o, there: map[layout.Key]int64{}}
	c.expect(p)
	if err := c.claim(ctx, p); err != nil {
		return c.report, err
	}
	if err := c.all(ctx, p); err != nil {
		return c.report, fmt.Errorf("%w; the same command goes on with the copy", err)
	}
	return c.report, nil
}

// expect counts what will be in the copy.
func (c *copying) expect(p *plan) {
	c.report.Snapshot = p.snapshot
	for _, items := range append([][]item{p.data, p.specs, p.commits}, p.records...) {
		for _, it := range items {
			c.report.Objects++
			c.report.Bytes += it.size
		}
	}
}

// claim makes sure that the destination is empty, or a copy of this crawl that is
// not beyond what is to be copied, and marks it.
func (c *copying) claim(ctx context.Context, p *plan) error {
	foreign := ""
	err := c.dst.List(ctx, "", "", func(i objstore.Info) error {
		c.there[i.Key] = i.Size
		if foreign == "" && i.Key != objstore.ProbeKey {
			foreign = i.Key
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the destination: %w", err)
	}
	mark := claimOf(p.crawl)
	if _, done := c.there[layout.Crawl]; done {
		return c.matches(ctx, p)
	}
	if _, claimed := c.there[layout.Copy]; !claimed {
		if foreign != "" {
			return fmt.Errorf("%w: it is not empty and no crawl, it holds %s; name an empty one", ErrOther,
				foreign)
		}
		if err := objstore.Probe(ctx, c.dst); err != nil {
			return err
		}
	}
	err = c.dst.Put(ctx, layout.Copy, objstore.Bytes(mark), objstore.PutOptions{IfAbsent: true, Same: true})
	if errors.Is(err, objstore.ErrExists) {
		return fmt.Errorf("%w: a copy of another crawl into it has not ended; name an empty one", ErrOther)
	}
	return err
}

// claimOf is the content of the claim: it names the crawl, so that a copy of
// another one does not go on where this one was cut off.
func claimOf(crawl []byte) []byte {
	sum := sha256.Sum256(crawl)
	return []byte(hex.EncodeToString(sum[:]) + "\n")
}

// matches checks a destination that is a crawl: the same one, with the same
// commits up to the snapshot and none above.
func (c *copying) matches(ctx context.Context, p *plan) error {
	crawl, err := c.dst.Get(ctx, layout.Crawl)
	if err != nil {
		return fmt.Errorf("read the destination: %w", err)
	}
	if !bytes.Equal(crawl, p.crawl) {
		return fmt.Errorf("%w: it holds another crawl; name an empty one", ErrOther)
	}
	head, err := lsm.Head(ctx, sourceOf(c.dst), nil)
	if err != nil {
		return fmt.Errorf("read the destination: %w", err)
	}
	if head.N > p.snapshot {
		return fmt.Errorf("%w: it is at snapshot %d, the source is copied at %d", ErrOther, head.N,
			p.snapshot)
	}
	for n := head.N; n > 0 && n+lsm.WholeEvery > head.N; n-- {
		ours, err := c.src.Get(ctx, layout.Commit(n))
		if errors.Is(err, objstore.ErrNotExist) {
			break // swept in the source
		}
		if err != nil {
			return fmt.Errorf("read the source: %w", err)
		}
		theirs, err := c.dst.Get(ctx, layout.Commit(n))
		if err != nil {
			return fmt.Errorf("read the destination: %w", err)
		}
		same, err := sameCommit(ours, theirs)
		if err != nil {
			return fmt.Errorf("%s: %w", layout.Commit(n), err)
		}
		if !same {
			return fmt.Errorf("%w: its snapshot %d is not the source's: both went on by themselves",
				ErrOther, n)
		}
	}
	return nil
}

// sameCommit compares commits of one number. Where one of them has expired, no more
// than their heads can be.
func sameCommit(ours, theirs []byte) (bool, error) {
	if bytes.Equal(ours, theirs) {
		return true, nil
	}
	a, err := lsm.DecodeCommit(ours)
	if err != nil {
		return false, fmt.Errorf("the source: %w", err)
	}
	b, err := lsm.DecodeCommit(theirs)
	if err != nil {
		return false, fmt.Errorf("the destination: %w", err)
	}
	return (a.Expired || b.Expired) && reflect.DeepEqual(a.Expire(), b.Expire()), nil
}

// all copies in the order that the package comment draws.
func (c *copying) all(ctx context.Context, p *plan) error {
	largestFirst(p.data)
	var data [][]item
	for _, it := range p.data {
		data = append(data, []item{it})
	}
	for _, phase := range [][][]item{data, p.records, {p.specs}, {p.commits}} {
		if err := c.phase(ctx, p, phase); err != nil {
			return err
		}
	}
	if err := c.behind(ctx); err != nil {
		return err
	}
	err := c.dst.Put(ctx, layout.Crawl, objstore.Bytes(p.crawl),
		objstore.PutOptions{IfAbsent: true, Same: true})
	if err != nil {
		return err
	}
	if p.snapshot > 0 {
		hint := objstore.Bytes(lsm.Hint(p.snapshot))
		if err := c.dst.Put(ctx, layout.Latest, hint, objstore.PutOptions{}); err != nil {
			return err
		}
	}
	return c.dst.Delete(ctx, layout.Copy)
}

// phase copies groups side by side, the objects of a group one after another.
func (c *copying) phase(ctx context.Context, p *plan, groups [][]item) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, c.o.Parallel)
	var wait sync.WaitGroup
	for _, group := range groups {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			for _, it := range group {
				if err := c.object(ctx, p, it); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// behind lets the commits expire in the copy that were copied, or found there, as they
// were before the source's sweep came to them, when it has overtaken the copy since:
// none expires before one below it.
func (c *copying) behind(ctx context.Context) error {
	for n := c.cut; n > 1; n-- {
		changed, err := c.expired(ctx, layout.Commit(n-1))
		if err != nil || !changed {
			return err
		}
	}
	return nil
}

// met notes a commit that has expired in the source.
func (c *copying) met(n uint64) {
	if c.cut == 0 || n < c.cut {
		c.cut = n
	}
}

// object copies one object, unless it is there.
func (c *copying) object(ctx context.Context, p *plan, it item) error {
	size, there := c.there[it.key]
	if there && size != it.size && strings.HasPrefix(it.key, layout.CommitPrefix) {
		if _, err := c.expired(ctx, it.key); err != nil {
			return err
		}
		size = it.size
	}
	if there && size != it.size {
		return fmt.Errorf("%w: %s has %d bytes there, %d in the source", ErrOther, it.key, size, it.size)
	}
	moved := int64(0)
	if !there {
		var err error
		moved, err = c.move(ctx, p, it)
		if errors.Is(err, objstore.ErrNotExist) && !p.needed[it.key] {
			return nil // swept meanwhile
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", it.key, err)
		}
	}
	if c.o.Verify {
		err := c.verify(ctx, it)
		if errors.Is(err, errSwept) && !p.needed[it.key] {
			return nil // there is nothing left to compare it with
		}
		if err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if there {
		c.report.Found++
	} else {
		c.report.Copied++
		c.report.Moved += moved
	}
	if c.o.Verify {
		c.report.Verified++
	}
	if c.o.Progress != nil {
		c.o.Progress(c.report)
	}
	return nil
}

// expired puts the source's commit in the place of one that differs from it, if all
// that makes them differ is that one of them has expired since the last copy.
func (c *copying) expired(ctx context.Context, key layout.Key) (changed bool, err error) {
	ours, err := c.src.Get(ctx, key)
	if err != nil {
		return false, fmt.Errorf("copy %s: %w", key, err)
	}
	theirs, err := c.dst.Get(ctx, key)
	if err != nil {
		return false, fmt.Errorf("copy %s: the destination: %w", key, err)
	}
	if bytes.Equal(ours, theirs) {
		return false, nil
	}
	same, err := sameCommit(ours, theirs)
	if err != nil {
		return false, fmt.Errorf("copy %s: %w", key, err)
	}
	if !same {
		return false, fmt.Errorf("%w: %s is another commit there", ErrOther, key)
	}
	if commit, err := lsm.DecodeCommit(ours); err == nil && commit.Expired {
		c.met(commit.N)
	}
	return true, c.dst.Put(ctx, key, objstore.Bytes(ours), objstore.PutOptions{})
}

// inMemory is the largest object that goes through memory: eight at once are 128 MiB.
const inMemory = 16 << 20

// move copies an object that is not there, and says how many bytes it has.
func (c *copying) move(ctx context.Context, p *plan, it item) (int64, error) {
	put := objstore.PutOptions{IfAbsent: true, Same: true}
	if it.size <= inMemory {
		body, err := c.src.Get(ctx, it.key)
		if err == nil && int64(len(body)) != it.size {
			err = c.cutMeanwhile(p, it, body)
		}
		if err != nil {
			return 0, err
		}
		return int64(len(body)), c.dst.Put(ctx, it.key, objstore.Bytes(body), put)
	}
	file, err := os.CreateTemp(c.o.Scratch, "copy-")
	if err != nil {
		return 0, fmt.Errorf("scratch file: %w", err)
	}
	err = read(ctx, c.src, it, file)
	if err == nil {
		err = c.dst.Put(ctx, it.key, objstore.File(file, it.size), put)
	}
	return it.size, errors.Join(err, file.Close(), os.Remove(file.Name()))
}

// cutMeanwhile notes a commit that has expired since the source was listed. Of another
// size is nothing else, and nothing that the snapshot is read through.
func (c *copying) cutMeanwhile(p *plan, it item, body []byte) error {
	n, err := layout.ParseCommit(it.key)
	if err != nil {
		return fmt.Errorf("the source gives %d of %d bytes", len(body), it.size)
	}
	commit, err := lsm.DecodeCommit(body)
	if err != nil {
		return fmt.Errorf("the source: %w", err)
	}
	if !commit.Expired || commit.N != n {
		return fmt.Errorf("the source gives %d of %d bytes", len(body), it.size)
	}
	if n >= p.snapshot-p.snapshot%lsm.WholeEvery {
		return fmt.Errorf("the source let it go while it was copied: %w", lsm.ErrExpired)
	}
	c.met(n)
	return nil
}

// read writes an object to w, a range at a time.
func read(ctx context.Context, s objstore.Store, it item, w io.Writer) error {
	buf := make([]byte, min(inMemory, it.size))
	for off := int64(0); off < it.size; {
		piece := buf[:min(int64(len(buf)), it.size-off)]
		n, err := s.ReadAt(ctx, it.key, piece, off)
		if n < len(piece) {
			return errors.Join(fmt.Errorf("%d bytes at %d: got %d", len(piece), off, n), err)
		}
		if _, err := w.Write(piece); err != nil {
			return fmt.Errorf("scratch file: %w", err)
		}
		off += int64(n)
	}
	return nil
}

// errSwept: an object is gone from the source.
var errSwept = errors.New("it is gone from the source")

// verify compares what both stores give.
func (c *copying) verify(ctx context.Context, it item) error {
	if strings.HasPrefix(it.key, layout.CommitPrefix) {
		return c.verifyCommit(ctx, it)
	}
	ours, theirs := sha256.New(), sha256.New()
	if err := read(ctx, c.src, it, ours); err != nil {
		if errors.Is(err, objstore.ErrNotExist) {
			err = fmt.Errorf("%w: %w", errSwept, err)
		}
		return fmt.Errorf("verify %s: the source: %w", it.key, err)
	}
	if err := read(ctx, c.dst, it, theirs); err != nil {
		return fmt.Errorf("verify %s: the destination: %w", it.key, err)
	}
	if !bytes.Equal(ours.Sum(nil), theirs.Sum(nil)) {
		return fmt.Errorf("%w: %s has other content there; delete it and run the copy again", ErrOther,
			it.key)
	}
	return nil
}

// verifyCommit compares a commit, which may have expired in the source since it was
// copied.
func (c *copying) verifyCommit(ctx context.Context, it item) error {
	ours, err := c.src.Get(ctx, it.key)
	if err != nil {
		return fmt.Errorf("verify %s: the source: %w", it.key, err)
	}
	theirs, err := c.dst.Get(ctx, it.key)
	if err != nil {
		return fmt.Errorf("verify %s: the destination: %w", it.key, err)
	}
	same, err := sameCommit(ours, theirs)
	if err != nil {
		return fmt.Errorf("verify %s: %w", it.key, err)
	}
	if !same {
		return fmt.Errorf("%w: %s has other content there; delete it and run the copy again", ErrOther,
			it.key)
	}
	return nil
}
