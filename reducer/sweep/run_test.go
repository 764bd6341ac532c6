package sweep_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/objstore/mem"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/jobs"
	"seine/reducer/publish"
	"seine/reducer/sweep"
	"seine/reducer/task"
	"seine/reducer/twin"
)

const day = 24 * time.Hour

// crawl is a crawl of small objects that nobody reads.
type crawl struct {
	t     testing.TB
	store objstore.Store
	env   task.Env
	head  *lsm.Manifest
}

func newCrawl(t testing.TB, store objstore.Store) *crawl {
	return &crawl{t: t, store: store, head: lsm.Empty(),
		env: twin.Env(store, t.TempDir(), settings.Settings{}, nil)}
}

func (c *crawl) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// put stores objects of a job's reduce attempts; the first is named by nobody.
func (c *crawl) put(job uint64, names ...string) []layout.Key {
	c.t.Helper()
	var keys []layout.Key
	for i, name := range names {
		a := layout.Attempt{Epoch: 1, N: uint64(min(i, 1) + 1)}
		key := layout.Output(job, "reduce", 0, a, name)
		c.must(objstore.PutIfAbsent(c.t.Context(), c.store, key, []byte("rows")))
		keys = append(keys, key)
	}
	return keys
}

// round commits a job that adds a run and, each time, one part.
func (c *crawl) round(job uint64, removes ...string) {
	c.t.Helper()
	c.must(objstore.PutIfAbsent(c.t.Context(), c.store, layout.Spec(job), nil))
	c.must(objstore.PutIfAbsent(c.t.Context(), c.store, layout.End(job, "reduce", 0), nil))
	keys := c.put(job, "orphan", "urls", "pages")
	run := lsm.Run{ID: publish.RunID(jobs.Spec{Job: job}), Seq: job,
		Objects: []lsm.Object{{Key: keys[1]}}}
	edit := lsm.Edit{AddRuns: map[string]lsm.Run{schema.URLs: run}, Part: &lsm.Part{Round: job,
		Tables: map[string][]lsm.Object{schema.Pages: {{Key: keys[2]}}}}}
	if len(removes) > 0 {
		edit.RemoveRuns = map[string][]string{schema.URLs: removes}
	}
	c.commit(jobs.Spec{Job: job, Kind: jobs.KindRound, Now: time.Now().UnixMilli()}, 1, edit)
}

func (c *crawl) commit(spec jobs.Spec, epoch uint64, edit lsm.Edit) {
	c.t.Helper()
	commit, err := publish.NewCommit(c.head, spec, epoch, edit)
	c.must(err)
	_, err = publish.Commit(c.t.Context(), c.store, commit)
	c.must(err)
	c.head, err = lsm.Head(c.t.Context(), c.env.Source(), c.head)
	c.must(err)
}

// keys lists what is left of the jobs' attempts and ends.
func (c *crawl) keys() []string {
	c.t.Helper()
	var keys []string
	c.must(c.store.List(c.t.Context(), layout.RoundPrefix, "", func(i objstore.Info) error {
		keys = append(keys, i.Key)
		return nil
	}))
	return keys
}

// history is three rounds, 20 days apart; the third replaces the first's run.
func history(c *crawl) {
	c.round(1)
	time.Sleep(20 * day)
	c.round(2)
	time.Sleep(20 * day)
	c.round(3, "r00000001")
}

func options() sweep.Options {
	return sweep.Options{Epoch: 1, Now: time.Now(), Retention: 30 * day, Snapshots: 1}
}

func TestRun(t *testing.T) {
	const (
		orphan1 = "rounds/00000001/reduce/0000/a000001-0001/orphan"
		urls1   = "rounds/00000001/reduce/0000/a000001-0002/urls"
		pages1  = "rounds/00000001/reduce/0000/a000001-0002/pages"
		end1    = "rounds/00000001/reduce/0000/end"
		spec1   = "rounds/00000001/spec"
	)
	tests := []struct {
		name  string
		after time.Duration // the third round
		with  func(o *sweep.Options)
		first []string // what is left of the first round
		total int64
	}{
		{"at once", 0, nil, []string{pages1, urls1, spec1}, 3},
		{"while the old snapshot is kept", 29 * day, nil, []string{pages1, urls1, spec1}, 5},
		{"after the retention", 31 * day, nil, []string{pages1, spec1}, 7},
		{"for its number the old snapshot is kept", 31 * day,
			func(o *sweep.Options) { o.Snapshots = 3 }, []string{pages1, urls1, spec1}, 6},
		{"for an open round's base", 31 * day, func(o *sweep.Options) {
			o.Open = []jobs.Spec{{Job: 4, Base: 1}}
		}, []string{pages1, urls1, spec1}, 6},
		{"an open round keeps all it has", 31 * day, func(o *sweep.Options) {
			o.Open = []jobs.Spec{{Job: 1, Base: 0}}
		}, []string{orphan1, pages1, urls1, end1, spec1}, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrawl(t, mem.New())
				history(c)
				time.Sleep(test.after)
				o := options()
				if test.with != nil {
					test.with(&o)
				}
				dry := o
				dry.DryRun = true
				before := c.keys()
				planned, err := sweep.Run(t.Context(), c.env, dry)
				c.must(err)
				if diff := gocmp.Diff(before, c.keys()); diff != "" {
					t.Errorf("a dry run deletes:\n%s", diff)
				}
				report, err := sweep.Run(t.Context(), c.env, o)
				c.must(err)
				if diff := gocmp.Diff(planned, report); diff != "" {
					t.Errorf("report (-dry +run):\n%s", diff)
				}
				left := c.keys()
				n := 0
				for n < len(left) && left[n] < "rounds/00000002" {
					n++
				}
				if diff := gocmp.Diff(test.first, left[:n]); diff != "" {
					t.Errorf("left of the first round (-want +got):\n%s", diff)
				}
				if report.Deleted != test.total || int64(len(before)-len(left)) != report.Deleted {
					t.Errorf("%d of %d objects are deleted, want %d: %v", report.Deleted, len(before),
						test.total, left)
				}
				again, err := sweep.Run(t.Context(), c.env, o)
				if c.must(err); again.Deleted != 0 {
					t.Errorf("a second sweep deletes %d more", again.Deleted)
				}
			})
		})
	}
}

func TestEmptyStore(t *testing.T) {
	c := newCrawl(t, mem.New())
	report, err := sweep.Run(t.Context(), c.env, sweep.Options{Epoch: 1, Now: time.Now()})
	if err != nil || report.Deleted != 0 {
		t.Errorf("report %+v, %v", report, err)
	}
}

// After a takeover the old group deletes nothing.
func TestTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrawl(t, mem.New())
		history(c)
		c.commit(jobs.Spec{Now: time.Now().UnixMilli()}, 2, lsm.Edit{Takeover: true})
		time.Sleep(40 * day)
		before := c.keys()
		_, err := sweep.Run(t.Context(), c.env, options())
		if !errors.Is(err, sweep.ErrNewerEpoch) {
			t.Errorf("error %v, want ErrNewerEpoch", err)
		}
		if diff := gocmp.Diff(before, c.keys()); diff != "" {
			t.Errorf("deleted:\n%s", diff)
		}
		o := options()
		o.Epoch = 2
		if report, err := sweep.Run(t.Context(), c.env, o); err != nil || report.Deleted == 0 {
			t.Errorf("the new group's sweep: %+v, %v", report, err)
		}
	})
}

// A sweep that the store interrupts anywhere leaves what is named, and the next
// one finishes.
func TestFaults(t *testing.T) {
	gone := errors.New("gone")
	swept := func(n int, f fault.Fault) (keys []string, ops int) {
		synctest.Test(t, func(t *testing.T) {
			store := fault.New(mem.New(), nil)
			c := newCrawl(t, store)
			history(c)
			time.Sleep(31 * day)
			from := len(store.Ops())
			store.SetPlan(fault.At(from+n, f))
			_, err := sweep.Run(t.Context(), c.env, options())
			if err != nil && !errors.Is(err, gone) {
				t.Errorf("error %v hides its cause", err)
			}
			ops = len(store.Ops()) - from
			store.SetPlan(nil)
			_, err = sweep.Run(t.Context(), c.env, options())
			c.must(err)
			keys = c.keys()
		})
		return keys, ops
	}
	want, ops := swept(-1, fault.Fault{})
	for n := range ops {
		for name, f := range map[string]fault.Fault{"before": {Before: gone}, "after": {After: gone}} {
			if got, _ := swept(n, f); !gocmp.Equal(want, got) {
				t.Errorf("fault %s operation %d:\n%s", name, n, gocmp.Diff(want, got))
			}
		}
	}
}

// commits reads all commits, by number.
func (c *crawl) commits() (all []*lsm.Commit) {
	c.t.Helper()
	for n := uint64(1); n <= c.head.N; n++ {
		body, err := c.store.Get(c.t.Context(), layout.Commit(n))
		c.must(err)
		commit, err := lsm.DecodeCommit(body)
		c.must(err)
		if commit.N != n || commit.Job != n || commit.Epoch != 1 || commit.Kind != string(jobs.KindRound) {
			c.t.Errorf("commit %d is number %d, %s %d of epoch %d", n, commit.N, commit.Kind, commit.Job,
				commit.Epoch)
		}
		all = append(all, commit)
	}
	return all
}

// days is a crawl of a round a day.
func days(c *crawl, n uint64) {
	for job := uint64(1); job <= n; job++ {
		c.round(job)
		time.Sleep(day)
	}
}

// Commits that no kept snapshot is read through are cut to their heads, all kept
// snapshots are read as before, the others are said to have expired, and a
// committer that slept through it all is turned away.
func TestCommitsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrawl(t, mem.New())
		days(c, 16)
		early := c.head
		var truth []*lsm.Manifest
		for job := uint64(17); job <= 100; job++ {
			c.round(job)
			truth = append(truth, c.head)
			time.Sleep(day)
		}
		o := options()
		dry := o
		dry.DryRun = true
		planned, err := sweep.Run(t.Context(), c.env, dry)
		c.must(err)
		report, err := sweep.Run(t.Context(), c.env, o)
		c.must(err)
		if diff := gocmp.Diff(planned, report); diff != "" {
			t.Errorf("report (-dry +run):\n%s", diff)
		}
		// Snapshot 71 is 30 days old and was the newest when the retention began; it
		// is read from 64 on.
		const base = 64
		if report.Expired != base-1 {
			t.Errorf("%d commits expired, want %d", report.Expired, base-1)
		}
		for _, commit := range c.commits() {
			if commit.Expired != (commit.N < base) || commit.Expired && commit.Edit.Part != nil {
				t.Errorf("commit %d: expired %v, with %+v", commit.N, commit.Expired, commit.Edit)
			}
		}
		for _, want := range truth {
			got, err := lsm.At(t.Context(), c.env.Source(), want.N)
			if want.N < base && !errors.Is(err, lsm.ErrExpired) || want.N >= base && err != nil {
				t.Errorf("snapshot %d: %v", want.N, err)
			}
			if diff := gocmp.Diff(want, got); err == nil && diff != "" {
				t.Errorf("snapshot %d (-before +after):\n%s", want.N, diff)
			}
		}
		for _, hint := range []string{"3", "70", "100", "rubbish"} {
			c.must(c.store.Put(t.Context(), layout.Latest, objstore.Bytes([]byte(hint)),
				objstore.PutOptions{}))
			for _, from := range []*lsm.Manifest{nil, early, truth[80]} {
				got, err := lsm.Head(t.Context(), c.env.Source(), from)
				if c.must(err); got.N != c.head.N {
					t.Errorf("hint %s: the newest is %d, want %d", hint, got.N, c.head.N)
				}
			}
		}
		commit, err := publish.NewCommit(early, jobs.Spec{Job: 999, Kind: jobs.KindRound}, 1, lsm.Edit{})
		c.must(err)
		if _, err := publish.Commit(t.Context(), c.store, commit); !errors.Is(err, publish.ErrStepDown) {
			t.Errorf("a committer of 84 days ago: %v, want ErrStepDown", err)
		}
		if again, err := sweep.Run(t.Context(), c.env, o); err != nil || again.Expired != 0 {
			t.Errorf("again %d expired, %v", again.Expired, err)
		}
		o.Retention = 90 * day // longer than it was
		if _, err := sweep.Run(t.Context(), c.env, o); err != nil {
			t.Errorf("after a longer retention was set: %v", err)
		}
		c.round(101)
		c.commits()
	})
}

// A sweep that is interrupted anywhere is taken up by the next, among the commits
// too.
func TestFaultsOfExpiry(t *testing.T) {
	gone := errors.New("gone")
	swept := func(n int, f fault.Fault) (ops int) {
		synctest.Test(t, func(t *testing.T) {
			store := fault.New(mem.New(), nil)
			c := newCrawl(t, store)
			days(c, 40)
			from := len(store.Ops())
			store.SetPlan(fault.At(from+n, f))
			o := options()
			o.Retention = 20 * day
			_, err := sweep.Run(t.Context(), c.env, o)
			if err != nil && !errors.Is(err, gone) {
				t.Errorf("error %v hides its cause", err)
			}
			ops = len(store.Ops()) - from
			store.SetPlan(nil)
			_, err = sweep.Run(t.Context(), c.env, o)
			c.must(err)
			for _, commit := range c.commits() {
				if commit.Expired != (commit.N < 16) {
					t.Errorf("fault at operation %d: commit %d expired: %v", n, commit.N, commit.Expired)
				}
			}
			head, err := lsm.Head(t.Context(), c.env.Source(), nil)
			if c.must(err); head.N != 40 {
				t.Errorf("fault at operation %d: the newest is %d", n, head.N)
			}
		})
		return ops
	}
	ops := swept(-1, fault.Fault{})
	for n := range ops {
		swept(n, fault.Fault{Before: gone})
		swept(n, fault.Fault{After: gone})
	}
}

// A sweep that was cut off anywhere among the commits does not stand in the way of a
// later one, even if a longer retention reaches back to where it ended.
func TestLongerAfterAFault(t *testing.T) {
	gone := errors.New("gone")
	for cut := range 17 {
		synctest.Test(t, func(t *testing.T) {
			store := fault.New(mem.New(), nil)
			c := newCrawl(t, store)
			days(c, 60)
			puts := 0
			store.SetPlan(fault.When(func(op fault.Op) bool {
				if op.Kind == objstore.OpPut {
					puts++
				}
				return puts > cut
			}, fault.Fault{Before: gone}))
			o := options()
			o.Retention = 20 * day
			if _, err := sweep.Run(t.Context(), c.env, o); !errors.Is(err, gone) {
				t.Errorf("cut at %d: %v", cut, err)
			}
			store.SetPlan(nil)
			o.Retention = 300 * day
			if _, err := sweep.Run(t.Context(), c.env, o); err != nil {
				t.Errorf("cut at %d, then a longer retention: %v", cut, err)
			}
			oldest, err := sweep.Oldest(t.Context(), c.env, c.head, o)
			c.must(err)
			if _, err := lsm.At(t.Context(), c.env.Source(), oldest); err != nil {
				t.Errorf("cut at %d: snapshot %d is kept: %v", cut, oldest, err)
			}
		})
	}
}

// A commit that was put back, so that it is too young, holds up those after it: none
// expires before one that is older than it.
func TestExpiryInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrawl(t, mem.New())
		days(c, 60)
		key := layout.Commit(9)
		body, err := c.store.Get(t.Context(), key)
		c.must(err)
		c.must(c.store.Put(t.Context(), key, objstore.Bytes(body), objstore.PutOptions{}))
		o := options()
		o.Retention = 20 * day
		for _, want := range []int64{8, 0, 23} {
			report, err := sweep.Run(t.Context(), c.env, o)
			if c.must(err); report.Expired != want {
				t.Errorf("%d commits expired, want %d", report.Expired, want)
			}
			if want == 0 {
				time.Sleep(day)
				o.Now = time.Now()
			}
		}
	})
}

// A hint of long ago, and a memory of the commits that it leads to from before they
// expired, do not keep anyone from the newest snapshot.
func TestHintOfLongAgo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrawl(t, mem.New())
		days(c, 60)
		memo := c.env
		memo.Store = objstore.NewMemo(c.store, objstore.MemoOptions{
			Changes: func(key string) bool { return key == layout.Latest }})
		_, err := memo.Snapshot(t.Context(), 20)
		c.must(err)
		o := options()
		o.Retention = 20 * day
		_, err = sweep.Run(t.Context(), c.env, o)
		c.must(err)
		c.must(c.store.Put(t.Context(), layout.Latest, objstore.Bytes(lsm.Hint(20)), objstore.PutOptions{}))
		gets := 0
		source := memo.Source()
		get := source.Get
		source.Get = func(ctx context.Context, key layout.Key) ([]byte, error) {
			if gets++; gets > 1000 {
				return nil, errors.New("no end")
			}
			return get(ctx, key)
		}
		head, err := lsm.Head(t.Context(), source, nil)
		if err != nil || head.N != c.head.N {
			t.Errorf("the newest is %+v, %v", head, err)
		}
	})
}
