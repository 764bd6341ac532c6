package objstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/objstore/mem"
)

func newCache(t *testing.T, s objstore.Store, o objstore.CacheOptions) *objstore.Cache {
	t.Helper()
	c, err := objstore.NewCache(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// cached returns a cache with blocks of 10 bytes over an object of n bytes.
func cached(t *testing.T, n int, maxBytes int64) (*objstore.Cache, *fault.Store, []byte, string) {
	t.Helper()
	s, content := newObject(t, n)
	dir := t.TempDir()
	c := newCache(t, s, objstore.CacheOptions{Dir: dir, MaxBytes: maxBytes,
		BlockBytes: 10, ScanBytes: 500})
	return c, s, content, dir
}

// reads lists the reads that reached the store, as offset+length.
func reads(s *fault.Store) []string {
	var out []string
	for _, op := range s.Ops() {
		out = append(out, fmt.Sprintf("%d+%d", op.Off, op.Len))
	}
	return out
}

// checkRead reads through the cache and compares.
func checkRead(t *testing.T, c objstore.Store, content []byte, off, n int) {
	t.Helper()
	p := make([]byte, n)
	got, err := c.ReadAt(t.Context(), "k", p, int64(off))
	want := content[min(off, len(content)):min(off+n, len(content))]
	if diff := cmp.Diff(want, p[:got]); diff != "" {
		t.Errorf("read %d+%d differs", off, n)
	}
	if short := len(want) < n; short != errors.Is(err, io.EOF) || !short && err != nil {
		t.Errorf("read %d+%d: error %v", off, n, err)
	}
}

func TestCacheAsksOnce(t *testing.T) {
	c, s, content, _ := cached(t, 95, 1<<20)
	checkRead(t, c, content, 12, 5) // block 1
	checkRead(t, c, content, 15, 3)
	checkRead(t, c, content, 5, 40)  // blocks 0 to 4, of which 1 is there
	checkRead(t, c, content, 91, 20) // the last, beyond the end
	checkRead(t, c, content, 90, 5)
	checkRead(t, c, content, 0, 50)
	want := []string{"10+10", "0+10", "20+30", "90+30"}
	if diff := cmp.Diff(want, reads(s)); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if hits, misses := c.Use(); hits != 8 || misses != 6 {
		t.Errorf("%d hits, %d misses", hits, misses)
	}
}

func TestCacheEqualsTheObject(t *testing.T) {
	for _, size := range []int{0, 1, 9, 10, 11, 95, 100} {
		c, _, content, _ := cached(t, size, 300)
		random := rand.New(rand.NewPCG(1, uint64(size)))
		for range 300 {
			checkRead(t, c, content, random.IntN(size+15), 1+random.IntN(60))
		}
	}
}

func TestCacheScansGoPast(t *testing.T) {
	c, s, content, dir := cached(t, 2000, 1<<20)
	checkRead(t, c, content, 0, 500)
	checkRead(t, c, content, 0, 500)
	if diff := cmp.Diff([]string{"0+500", "0+500"}, reads(s)); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if files := cacheFiles(t, dir); len(files) > 0 {
		t.Errorf("a scan left %d files", len(files))
	}
}

func cacheFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestCacheEvictsTheLeastUsed(t *testing.T) {
	const file = 16 + 10 // head and block
	c, s, content, dir := cached(t, 1000, 3*file)
	for _, off := range []int{0, 10, 20, 0, 30} { // 10 goes
		checkRead(t, c, content, off, 10)
	}
	if n := len(cacheFiles(t, dir)); n != 3 {
		t.Errorf("%d files, want 3", n)
	}
	before := len(s.Ops())
	for _, off := range []int{0, 20, 30} {
		checkRead(t, c, content, off, 10)
	}
	if got := reads(s)[before:]; len(got) > 0 {
		t.Errorf("evicted: %q", got)
	}
	checkRead(t, c, content, 10, 10)
	if got := reads(s)[before:]; len(got) != 1 {
		t.Errorf("the least recently used is still there: %q", got)
	}
}

func TestCacheSurvivesARestart(t *testing.T) {
	c, s, content, dir := cached(t, 100, 1<<20)
	checkRead(t, c, content, 0, 40)
	files := cacheFiles(t, dir)
	slices.Sort(files)
	damage := []func(path string) error{
		func(path string) error { return os.Truncate(path, 20) },
		func(path string) error { return os.Truncate(path, 0) },
		func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data[20] ^= 1
			return os.WriteFile(path, data, 0o644)
		},
	}
	for i, do := range damage {
		if err := do(files[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "new123"), []byte("half a block"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := len(s.Ops())
	again := newCache(t, s, objstore.CacheOptions{Dir: dir, BlockBytes: 10})
	for off := 0; off < 40; off += 10 {
		checkRead(t, again, content, off, 10)
	}
	if diff := cmp.Diff([]string{"0+10", "10+10", "20+10"}, reads(s)[before:]); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if n := len(cacheFiles(t, dir)); n != 4 {
		t.Errorf("%d files, want 4", n)
	}
	smaller := newCache(t, s, objstore.CacheOptions{Dir: dir, BlockBytes: 10, MaxBytes: 60})
	checkRead(t, smaller, content, 0, 40)
	if n := len(cacheFiles(t, dir)); n != 2 {
		t.Errorf("%d files under a smaller bound, want 2", n)
	}
	other := newCache(t, s, objstore.CacheOptions{Dir: dir, BlockBytes: 7}) // blocks of 10 are no use
	checkRead(t, other, content, 0, 40)
}

func TestCacheWithoutDisk(t *testing.T) {
	c, s, content, dir := cached(t, 100, 1<<20)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	checkRead(t, c, content, 0, 45)
	if diff := cmp.Diff([]string{"0+50"}, reads(s)); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

func TestCacheForgets(t *testing.T) {
	c, _, content, _ := cached(t, 30, 1<<20)
	checkRead(t, c, content, 0, 30)
	other := []byte("shorter")
	if err := c.Put(t.Context(), "k", objstore.Bytes(other), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	checkRead(t, c, other, 0, 30)
	if err := c.Delete(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	_, err := c.ReadAt(t.Context(), "k", make([]byte, 1), 0)
	if !errors.Is(err, objstore.ErrNotExist) {
		t.Errorf("after delete: %v", err)
	}
}

// meddler overwrites the object through the cache while a read of it is on its way.
type meddler struct {
	objstore.Store
	once   sync.Once
	meddle func()
}

func (m *meddler) ReadAt(ctx context.Context, key string, p []byte, off int64) (int, error) {
	n, err := m.Store.ReadAt(ctx, key, p, off)
	m.once.Do(m.meddle)
	return n, err
}

func TestCacheDoesNotKeepWhatWasOverwrittenOnItsWay(t *testing.T) {
	s, content := newObject(t, 10)
	m := &meddler{Store: s}
	c := newCache(t, m, objstore.CacheOptions{Dir: t.TempDir()})
	next := []byte("0123456789")
	m.meddle = func() {
		if err := c.Put(t.Context(), "k", objstore.Bytes(next), objstore.PutOptions{}); err != nil {
			t.Error(err)
		}
	}
	checkRead(t, c, content, 0, 10)
	checkRead(t, c, next, 0, 10)
}

func TestCacheSharesFlights(t *testing.T) {
	s, content := newObject(t, 1000)
	c := newCache(t, s, objstore.CacheOptions{Dir: t.TempDir(), BlockBytes: 100, MaxBytes: 1 << 20})
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			for k := range 10 {
				checkRead(t, c, content, (i+k)%10*100, 150)
			}
		})
	}
	wait.Wait()
	asked := map[int64]int{}
	for _, op := range s.Ops() {
		for at := op.Off; at < op.Off+int64(op.Len); at += 100 {
			asked[at]++
		}
	}
	delete(asked, 1000) // behind the end there is nothing to keep
	for at, n := range asked {
		// One, and some more by those who looked just before it landed; not sharing
		// would be thirty.
		if n > 8 {
			t.Errorf("block at %d was read %d times", at, n)
		}
	}
}

func TestCacheErrors(t *testing.T) {
	c, s, content, _ := cached(t, 100, 1<<20)
	s.SetPlan(fault.At(0, fault.Fault{Torn: true}))
	_, err := c.ReadAt(t.Context(), "k", make([]byte, 30), 0)
	if !errors.Is(err, objstore.ErrUnavailable) {
		t.Errorf("torn read: %v", err)
	}
	checkRead(t, c, content, 0, 30) // nothing of the torn one was kept
}

func TestProbeRefuses(t *testing.T) {
	ignoring := &ignorant{Store: mem.New()}
	for range 2 {
		if err := objstore.Probe(t.Context(), ignoring); err == nil {
			t.Error("a store that ignores put-if-absent was accepted")
		}
	}
	full := mem.NewLimited(1)
	if err := objstore.Probe(t.Context(), full); !errors.Is(err, objstore.ErrFull) {
		t.Errorf("a full store: %v", err)
	}
}

// ignorant takes conditional puts and ignores the condition.
type ignorant struct{ objstore.Store }

func (s *ignorant) Put(ctx context.Context, key string, b objstore.Body,
	_ objstore.PutOptions) error {
	return s.Store.Put(ctx, key, b, objstore.PutOptions{})
}
