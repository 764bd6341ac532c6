package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/cmd/internal/transfer"
	"seine/formats/crawl"
	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/dir"
	"seine/formats/objstore/fault"
	"seine/formats/objstore/mem"
	"seine/formats/objstore/s3"
	"seine/formats/objstore/storetest"
	"seine/formats/schema"
	"seine/formats/weburl"
)

func put(t *testing.T, s objstore.Store, key string, body []byte) {
	t.Helper()
	if err := s.Put(t.Context(), key, objstore.Bytes(body), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
}

// aCrawl fills a store with what a crawl of n rounds leaves: commits that name
// objects, records, orphans, and a round that is open. Objects are not what their
// names say: a copy does not read them.
func aCrawl(t *testing.T, s objstore.Store, n uint64, made int64) {
	t.Helper()
	body, err := crawl.New(weburl.EmbeddedSuffixes(), made).Encode()
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, layout.Crawl, body)
	put(t, s, layout.Settings(1), []byte("settings"))
	put(t, s, layout.Upload("0123"), []byte("seeds"))
	m := lsm.Empty()
	for job := uint64(1); job <= n; job++ {
		aJob(t, s, job)
		pages := layout.Output(job, "reduce", 0, layout.Attempt{Epoch: 1, N: 2}, "pages.parquet")
		part := lsm.Part{Round: job, Tables: map[string][]lsm.Object{schema.Pages: {{Key: pages,
			Range: layout.All, Rows: 1, Bytes: 5}}}}
		edit := lsm.Edit{Part: &part, AddRuns: map[string]lsm.Run{schema.URLs: {
			ID: fmt.Sprintf("r%08d", job), Seq: job, Objects: []lsm.Object{{Key: pages + ".urls",
				Sidecar: pages + ".bloom", Range: layout.All, Rows: 1, Bytes: 4}}}}}
		c, err := m.NewCommit(lsm.Commit{Epoch: 1, Job: job, Kind: "round", Now: int64(job), Edit: edit})
		if err != nil {
			t.Fatal(err)
		}
		if m, err = m.Apply(c); err != nil {
			t.Fatal(err)
		}
		if body, err = c.Encode(); err != nil {
			t.Fatal(err)
		}
		put(t, s, layout.Commit(job), body)
	}
	aJob(t, s, n+1)
	put(t, s, layout.Latest, lsm.Hint(n))
}

// aJob puts what a job leaves before its commit.
func aJob(t *testing.T, s objstore.Store, job uint64) {
	t.Helper()
	put(t, s, layout.Spec(job), fmt.Appendf(nil, "spec %d", job))
	for n := range 3 {
		put(t, s, layout.Log(job, 0, n), fmt.Appendf(nil, "entry %d of %d", n, job))
	}
	chunk := layout.Output(job, "fetch", 0, layout.Attempt{Epoch: 1, N: 1}, "c0.pages.parquet")
	put(t, s, chunk, []byte("chunk"))
	put(t, s, layout.End(job, "reduce", 0), []byte("end"))
	pages := layout.Output(job, "reduce", 0, layout.Attempt{Epoch: 1, N: 2}, "pages.parquet")
	put(t, s, pages, []byte("pages"))
	put(t, s, pages+".urls", []byte("urls"))
	put(t, s, pages+".bloom", []byte("bloom"))
}

// content is a store as a map, without the probe's object.
func content(t *testing.T, s objstore.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := s.List(t.Context(), "", "", func(i objstore.Info) error {
		body, err := s.Get(t.Context(), i.Key)
		if i.Key != objstore.ProbeKey {
			all[i.Key] = string(body)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// wanted is the copy of a crawl of n rounds: without what no commit names.
func wanted(t *testing.T, src objstore.Store, n uint64) map[string]string {
	t.Helper()
	all := content(t, src)
	for key := range all {
		if job, err := layout.ParseJob(key); err == nil && job <= n && strings.Contains(key, "c0.pages") {
			delete(all, key)
		}
	}
	return all
}

// whole says what in a store is visible without what it names.
func whole(t *testing.T, s objstore.Store, want map[string]string) error {
	t.Helper()
	there := content(t, s)
	if _, done := there[layout.Crawl]; done && there[layout.Latest] != "" {
		delete(there, layout.Copy)
		if diff := cmp.Diff(want, there); diff != "" {
			return fmt.Errorf("it is a crawl, but not the source's (-want +got):\n%s", diff)
		}
	}
	for key := range there {
		if _, err := layout.ParseCommit(key); err != nil {
			continue
		}
		c, err := lsm.DecodeCommit([]byte(there[key]))
		if err != nil {
			return err
		}
		for _, o := range append(c.Edit.AddRuns[schema.URLs].Objects, c.Edit.Part.Tables[schema.Pages]...) {
			for _, name := range []string{o.Key, o.Sidecar} {
				if _, ok := there[name]; name != "" && !ok {
					return fmt.Errorf("%s names %s, which is not there", key, name)
				}
			}
		}
		if before := layout.Commit(c.N - 1); c.N > 1 && there[before] == "" {
			return fmt.Errorf("%s is there before %s", key, before)
		}
	}
	return nil
}

// TestBetweenStores copies in all directions, and once more where nothing is left
// to do.
func TestBetweenStores(t *testing.T) {
	onDisk := func(t *testing.T) objstore.Store {
		s, err := dir.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	inMemory := func(*testing.T) objstore.Store { return mem.New() }
	inBucket := func(t *testing.T) objstore.Store {
		gateway := storetest.StartGateway(t)
		s, err := s3.Open(gateway.Address("a/crawl"), gateway.Env)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, test := range []struct {
		name     string
		src, dst func(*testing.T) objstore.Store
	}{
		{"memory to memory", inMemory, inMemory},
		{"directory to bucket", onDisk, inBucket},
		{"bucket to directory", inBucket, onDisk},
	} {
		t.Run(test.name, func(t *testing.T) {
			src, dst := test.src(t), test.dst(t)
			aCrawl(t, src, 18, 1)
			report, err := transfer.Run(t.Context(), src, dst, transfer.Options{Verify: true})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wanted(t, src, 18), content(t, dst)); diff != "" {
				t.Errorf("the copy (-want +got):\n%s", diff)
			}
			if report.Copied != report.Objects || report.Verified != report.Objects {
				t.Errorf("%+v", report)
			}
			again, err := transfer.Run(t.Context(), src, dst, transfer.Options{})
			if err != nil || again.Copied != 0 || again.Found != report.Objects {
				t.Errorf("once more: %+v, %v", again, err)
			}
		})
	}
}

// expireTo lets the commits below n expire, as the sweep does.
func expireTo(t *testing.T, s objstore.Store, n uint64) {
	t.Helper()
	for i := uint64(1); i < n; i++ {
		expireOne(t, s, i)
	}
}

func expireOne(t *testing.T, s objstore.Store, n uint64) {
	t.Helper()
	body, err := s.Get(t.Context(), layout.Commit(n))
	if err != nil {
		t.Fatal(err)
	}
	c, err := lsm.DecodeCommit(body)
	if err != nil {
		t.Fatal(err)
	}
	if body, err = c.Expire().Encode(); err != nil {
		t.Fatal(err)
	}
	put(t, s, layout.Commit(n), body)
}

// TestExpiredCommits: a copy follows the source, in which commits have expired since
// the last one, and what of them is not the same is still found.
func TestExpiredCommits(t *testing.T) {
	src, dst := mem.New(), mem.New()
	aCrawl(t, src, 18, 1)
	if _, err := transfer.Run(t.Context(), src, dst, transfer.Options{}); err != nil {
		t.Fatal(err)
	}
	expireTo(t, src, 16)
	for range 2 {
		if _, err := transfer.Run(t.Context(), src, dst, transfer.Options{Verify: true}); err != nil {
			t.Fatal(err)
		}
		for n := uint64(1); n <= 18; n++ {
			ours, err1 := src.Get(t.Context(), layout.Commit(n))
			theirs, err2 := dst.Get(t.Context(), layout.Commit(n))
			if err1 != nil || err2 != nil || !bytes.Equal(ours, theirs) {
				t.Errorf("commit %d differs: %v, %v", n, err1, err2)
			}
		}
	}
	fresh := mem.New()
	if _, err := transfer.Run(t.Context(), src, fresh, transfer.Options{Verify: true}); err != nil {
		t.Fatal(err)
	}
	other := mem.New()
	aCrawl(t, other, 18, 1)
	c, err := (&lsm.Commit{N: 17, Epoch: 2, Job: 17}).Expire().Encode()
	if err != nil {
		t.Fatal(err)
	}
	put(t, other, layout.Commit(17), c)
	if _, err := transfer.Run(t.Context(), src, other, transfer.Options{}); err == nil {
		t.Error("a commit of another epoch passes for the source's")
	}
}

// swept is a source in which a sweep is at work: each time that one of its commits is
// read, after the first so many, the next ones expire.
type swept struct {
	objstore.Store
	t                 *testing.T
	after, next, base uint64
}

func (s *swept) Get(ctx context.Context, key string) ([]byte, error) {
	body, err := s.Store.Get(ctx, key)
	if _, parse := layout.ParseCommit(key); parse != nil {
		return body, err
	}
	if s.after > 0 {
		s.after--
		return body, err
	}
	for range 3 {
		if s.next++; s.next < s.base {
			expireOne(s.t, s.Store, s.next)
		}
	}
	return body, err
}

// TestSweptSource: a sweep that lets commits expire while they are copied, by a first
// copy or a later one, does not end it, and in the copy too none expires before one
// below it.
func TestSweptSource(t *testing.T) {
	for after := uint64(0); after < 150; after += 7 {
		for _, again := range []bool{false, true} {
			src, dst := mem.New(), mem.New()
			if again {
				aCrawl(t, src, 50, 1)
				if _, err := transfer.Run(t.Context(), src, dst, transfer.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			aCrawl(t, src, 60, 1)
			source := &swept{src, t, after, 0, 48}
			o := transfer.Options{Verify: after%2 == 0}
			if _, err := transfer.Run(t.Context(), source, dst, o); err != nil {
				t.Fatalf("after %d reads, again %v: %v", after, again, err)
			}
			whole := false
			for n := uint64(1); n <= 60; n++ {
				body, err := dst.Get(t.Context(), layout.Commit(n))
				if err != nil {
					t.Fatal(err)
				}
				c, err := lsm.DecodeCommit(body)
				if err != nil {
					t.Fatal(err)
				}
				if whole && c.Expired {
					t.Fatalf("after %d reads, again %v: commit %d has expired, but not the one before", after,
						again, n)
				}
				whole = !c.Expired
			}
			m, err := lsm.Head(t.Context(), lsm.Source{Get: dst.Get, Missing: func(err error) bool {
				return errors.Is(err, objstore.ErrNotExist)
			}}, nil)
			if err != nil || m.N != 60 {
				t.Fatalf("after %d reads: the copy is at %+v, %v", after, m, err)
			}
		}
	}
	src, dst := mem.New(), mem.New()
	aCrawl(t, src, 60, 1)
	source := &swept{src, t, 70, 0, 48}
	if _, err := transfer.Run(t.Context(), source, dst, transfer.Options{Snapshot: 40}); !errors.Is(err, lsm.ErrExpired) {
		t.Errorf("a snapshot that expires while it is copied: %v", err)
	}
}

// deleting is a source in which a sweep deletes each object that the newest snapshot
// does not name as soon as it has been read once.
type deleting struct {
	objstore.Store
	key func(string) bool
}

func (d *deleting) Get(ctx context.Context, key string) ([]byte, error) {
	body, err := d.Store.Get(ctx, key)
	if err == nil && d.key(key) {
		err = d.Delete(ctx, key)
	}
	return body, err
}

// TestSweptBeforeItIsVerified: what was copied and is gone since cannot be compared, and
// is nothing that the snapshot needs; what it needs has to be there.
func TestSweptBeforeItIsVerified(t *testing.T) {
	for _, test := range []struct {
		name, of string
		fails    bool
	}{{"of an open round", "c0.pages", false}, {"needed", "pages.parquet.urls", true}} {
		src, dst := mem.New(), mem.New()
		aCrawl(t, src, 3, 1)
		source := &deleting{src, func(key string) bool { return strings.Contains(key, test.of) }}
		_, err := transfer.Run(t.Context(), source, dst, transfer.Options{Verify: true})
		if test.fails != errors.Is(err, objstore.ErrNotExist) || !test.fails && err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestLargeObject goes through a scratch file.
func TestLargeObject(t *testing.T) {
	src, dst := mem.New(), mem.New()
	aCrawl(t, src, 1, 1)
	large := make([]byte, 40<<20)
	for i := range large {
		large[i] = byte(i * i >> 8)
	}
	put(t, src, layout.Upload("large"), large)
	scratch := t.TempDir()
	if _, err := transfer.Run(t.Context(), src, dst, transfer.Options{Scratch: scratch}); err != nil {
		t.Fatal(err)
	}
	got, err := dst.Get(t.Context(), layout.Upload("large"))
	if err != nil || !bytes.Equal(got, large) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestFaultAtEveryPut cuts the copy at each put in turn, before and after it
// happened: nothing is visible before what it names, and the next run ends it.
func TestFaultAtEveryPut(t *testing.T) {
	src := mem.New()
	aCrawl(t, src, 3, 1)
	want := wanted(t, src, 3)
	away := errors.New("the store is away")
	for n := 0; ; n++ {
		hit := false
		for _, f := range []fault.Fault{{Before: away}, {After: away}} {
			dst, puts := mem.New(), 0
			faulty := fault.New(dst, func(op fault.Op) fault.Fault {
				if op.Kind == objstore.OpPut && op.Key != objstore.ProbeKey {
					if puts++; puts == n+1 {
						hit = true
						return f
					}
				}
				return fault.Fault{}
			})
			_, err := transfer.Run(t.Context(), src, faulty, transfer.Options{Parallel: 3})
			if hit != errors.Is(err, away) {
				t.Fatalf("put %d: %v", n, err)
			}
			if err := whole(t, dst, want); err != nil {
				t.Errorf("after put %d, %+v: %v", n, f, err)
			}
			if _, err := transfer.Run(t.Context(), src, dst, transfer.Options{}); err != nil {
				t.Fatalf("after put %d: once more: %v", n, err)
			}
			if diff := cmp.Diff(want, content(t, dst)); diff != "" {
				t.Fatalf("after put %d: once more (-want +got):\n%s", n, diff)
			}
		}
		if !hit {
			if n < 20 {
				t.Errorf("only %d puts were made", n)
			}
			return
		}
	}
}

// TestRefuses names what stands in the way, and writes nothing.
func TestRefuses(t *testing.T) {
	other := func(t *testing.T, dst objstore.Store) { aCrawl(t, dst, 2, 99) }
	for _, test := range []struct {
		name, says string
		snapshot   uint64
		there      func(t *testing.T, dst objstore.Store)
	}{
		{"another crawl", "another crawl", 0, other},
		{"a later state", "it is at snapshot 5", 0, func(t *testing.T, dst objstore.Store) { aCrawl(t, dst, 5, 1) }},
		{"things of others", "it holds photos/1.jpg", 0, func(t *testing.T, dst objstore.Store) {
			put(t, dst, "photos/1.jpg", []byte("x"))
		}},
		{"a copy of another", "has not ended", 0, func(t *testing.T, dst objstore.Store) {
			put(t, dst, layout.Copy, []byte("of another\n"))
		}},
		{"both went on", "both went on by themselves", 0, func(t *testing.T, dst objstore.Store) {
			aCrawl(t, dst, 3, 1)
			c, err := lsm.Empty().NewCommit(lsm.Commit{Epoch: 2, Job: 9, Kind: "round"})
			if err != nil {
				t.Fatal(err)
			}
			body, err := c.Encode()
			if err != nil {
				t.Fatal(err)
			}
			put(t, dst, layout.Commit(1), body)
		}},
		{"no such snapshot", "no snapshot 9", 9, func(*testing.T, objstore.Store) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			src, dst := mem.New(), mem.New()
			aCrawl(t, src, 3, 1)
			test.there(t, dst)
			before := content(t, dst)
			_, err := transfer.Run(t.Context(), src, dst, transfer.Options{Snapshot: test.snapshot})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want it to say %q", err, test.says)
			}
			if diff := cmp.Diff(before, content(t, dst)); diff != "" {
				t.Errorf("it wrote (-before +after):\n%s", diff)
			}
		})
	}
	if _, err := transfer.Run(t.Context(), mem.New(), mem.New(), transfer.Options{}); !errors.Is(err,
		transfer.ErrNoCrawl) {
		t.Errorf("an empty source: %v", err)
	}
}

// TestDamagedSource: an object that the snapshot names is not there.
func TestDamagedSource(t *testing.T) {
	src, dst := mem.New(), mem.New()
	aCrawl(t, src, 3, 1)
	gone := layout.Output(2, "reduce", 0, layout.Attempt{Epoch: 1, N: 2}, "pages.parquet.urls")
	if err := src.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	_, err := transfer.Run(t.Context(), src, dst, transfer.Options{})
	if err == nil || !strings.Contains(err.Error(), gone) {
		t.Errorf("got %v, want it to name %s", err, gone)
	}
}

// TestAtASnapshot copies an older state: nothing of later jobs.
func TestAtASnapshot(t *testing.T) {
	src, dst := mem.New(), mem.New()
	aCrawl(t, src, 20, 1)
	if _, err := transfer.Run(t.Context(), src, dst, transfer.Options{Snapshot: 17}); err != nil {
		t.Fatal(err)
	}
	head, err := lsm.Head(t.Context(), lsm.Source{Get: dst.Get, Missing: func(err error) bool {
		return errors.Is(err, objstore.ErrNotExist)
	}}, nil)
	if err != nil || head.N != 17 {
		t.Fatalf("the copy is at %v, %v", head, err)
	}
	for key := range content(t, dst) {
		if job, err := layout.ParseJob(key); err == nil && job > 17 {
			t.Errorf("%s is in the copy", key)
		}
	}
}

// growing is a source whose open round goes on while it is listed: before each of the
// first of its keys is delivered another chunk counts.
type growing struct {
	objstore.Store
	t *testing.T
	n int
}

func (g *growing) List(ctx context.Context, prefix, after string, fn func(objstore.Info) error) error {
	return g.Store.List(ctx, prefix, after, func(i objstore.Info) error {
		if job, err := layout.ParseJob(i.Key); err == nil && job == 4 && g.n < 12 {
			chunk := layout.Output(4, "fetch", 0, layout.Attempt{Epoch: 1, N: 1},
				fmt.Sprintf("c%d.pages.parquet", 3+g.n))
			put(g.t, g.Store, chunk, []byte("more"))
			put(g.t, g.Store, layout.Log(4, 0, 3+g.n), []byte(chunk))
			g.n++
		}
		return fn(i)
	})
}

// TestRunningSource: every entry of a log in the copy has its chunk there.
func TestRunningSource(t *testing.T) {
	src, dst := mem.New(), mem.New()
	aCrawl(t, src, 3, 1)
	if _, err := transfer.Run(t.Context(), &growing{src, t, 0}, dst, transfer.Options{}); err != nil {
		t.Fatal(err)
	}
	there := content(t, dst)
	entries := 0
	for n := 3; there[layout.Log(4, 0, n)] != ""; n++ {
		entries++
		if chunk := there[layout.Log(4, 0, n)]; there[chunk] == "" {
			t.Errorf("entry %d names %s, which is not in the copy", n, chunk)
		}
	}
	if entries == 0 {
		t.Error("no entry came while the source was listed: the test shows nothing")
	}
}

// TestCutAnywhere kills copies at random operations, reads among them, again and
// again, until one ends.
func TestCutAnywhere(t *testing.T) {
	src := mem.New()
	aCrawl(t, src, 6, 1)
	want := wanted(t, src, 6)
	for seed := range uint64(20) {
		dice := rand.New(rand.NewPCG(seed, 4))
		dst := mem.New()
		away := errors.New("cut")
		lives := 0
		for {
			at := dice.IntN(40) + lives
			plan := fault.When(func(op fault.Op) bool { return op.N >= at }, fault.Fault{Before: away})
			_, err := transfer.Run(t.Context(), src, fault.New(dst, plan), transfer.Options{Parallel: 2})
			if err := whole(t, dst, want); err != nil {
				t.Fatalf("seed %d, life %d: %v", seed, lives, err)
			}
			if err == nil {
				break
			}
			if lives++; lives > 500 {
				t.Fatalf("seed %d: no end: %v", seed, err)
			}
		}
		if diff := cmp.Diff(want, content(t, dst)); diff != "" {
			t.Errorf("seed %d (-want +got):\n%s", seed, diff)
		}
		if len(want) < 40 {
			t.Fatalf("the source has only %d objects", len(want))
		}
	}
}
