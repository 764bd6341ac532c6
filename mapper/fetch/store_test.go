package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"seine/formats/layout"
	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/tasklog"
	"seine/jobs"
)

// awayFrom is a store that cannot be reached in a span of time.
func awayFrom(s objstore.Store, from, to time.Time) objstore.Store {
	return fault.New(s, func(op fault.Op) fault.Fault {
		if now := time.Now(); now.After(from) && now.Before(to) {
			return fault.Fault{Before: objstore.ErrUnavailable}
		}
		return fault.Fault{}
	})
}

// manyPages is a script of n pages of size bytes on hosts of their own, ten each.
func manyPages(n, size int) (*script, []string) {
	s := newScript()
	s.answers = func(r seen) (reply, bool) {
		return html(strings.Repeat("y", size)), r.target != "/robots.txt"
	}
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("http://h%d.test/%d", i/10, i%10))
	}
	return s, list
}

// TestTheStoreIsAway: the spool grows to its bound, fetching pauses, and goes on
// when the store is back; nothing is asked twice and nothing is lost.
func TestTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, list := manyPages(100, 100_000)
		w := newScriptWorld(t, s, settings.Settings{SealInterval: settings.Duration(2 * time.Second)},
			list...)
		w.set.ScratchBytes = 3 << 20
		began := time.Now()
		back := began.Add(20 * time.Minute)
		w.env.Store = awayFrom(w.store, began.Add(500*time.Millisecond), back)
		result, err := w.run(context.Background(), foreverLease())
		if err != nil {
			t.Fatal(err)
		}
		w.audit(s, w.read(result))
		early := 0
		for _, r := range s.log {
			if r.at.Before(back) {
				early++
			}
		}
		if early > 10+45 { // ten robots.txt, 3 MiB of pages, and those in flight
			t.Errorf("%d requests while the store was away", early)
		}
		for _, u := range list {
			if n := s.count(strings.TrimPrefix(u, "http://")); n != 1 {
				t.Errorf("%s was asked for %d times", u, n)
			}
		}
	})
}

// TestALeaseLostWhileTheStoreIsAway: what is in the spool is sealed once the
// store is back, since nobody else has opened the log.
func TestALeaseLostWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, list := manyPages(20, 1000)
		w := newScriptWorld(t, s, settings.Settings{SealInterval: settings.Duration(2 * time.Second)},
			list...)
		began := time.Now()
		w.env.Store = awayFrom(w.store, began.Add(2500*time.Millisecond), began.Add(5*time.Minute))
		lease := foreverLease()
		time.AfterFunc(5500*time.Millisecond, lease.Revoke)
		if _, err := w.run(context.Background(), lease); !errors.Is(err, jobs.ErrLeaseLost) {
			t.Fatalf("got %v", err)
		}
		asked := len(s.requests())
		w.env.Store, w.env.Scratch = w.store, t.TempDir()
		w.task.Attempt.N++
		w.audit(s, w.mustRun())
		if repeats := len(s.requests()) - 2 - len(list); asked < 6 ||
			repeats > 2 { // two hosts: two in flight
			t.Errorf("%d requests before, %d repeats after", asked, repeats)
		}
	})
}

// TestAStaleAttemptStops: one that meets a higher attempt while sealing asks for
// nothing more, and what it has not sealed does not count.
func TestAStaleAttemptStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, list := manyPages(20, 1000)
		w := newScriptWorld(t, s, settings.Settings{SealInterval: settings.Duration(3 * time.Second)},
			list...)
		var fenced time.Time
		time.AfterFunc(4500*time.Millisecond, func() {
			fenced = time.Now()
			w.fence(t)
		})
		if _, err := w.run(context.Background(), foreverLease()); !errors.Is(err,
			jobs.ErrStaleAttempt) {
			t.Fatalf("got %v", err)
		}
		for _, r := range s.log {
			if r.at.Sub(fenced) > 3*time.Second {
				t.Errorf("%s was asked for %v after the fence", r.url(), r.at.Sub(fenced))
			}
		}
		w.task.Attempt.N += 2
		l := w.mustRun() // on the same scratch: the spool is taken over
		w.audit(s, l)
		if n := len(s.requests()); n > 2+len(list)+2 {
			t.Errorf("%d requests for %d URLs", n, len(list))
		}
	})
}

// fence opens the task's log as the next attempt.
func (w *world) fence(t *testing.T) {
	key := func(n int) string { return layout.Log(w.task.Spec.Job, w.task.Index, n) }
	next := tasklog.Attempt(w.task.Attempt)
	next.N++
	if _, _, err := tasklog.Open(context.Background(), objstore.WriteOnce{Store: w.store}, key,
		next); err != nil {
		t.Error(err)
	}
}

// TestADrainWithSlowRequests ends them after the grace, seals the rest, and the
// next attempt asks again only for those, a whole delay later.
func TestADrainWithSlowRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, list := manyPages(20, 1000)
		s.replies["h1.test/2"] = reply{hang: true}
		w := newScriptWorld(t, s, settings.Settings{}, list...)
		lease := foreverLease()
		time.AfterFunc(4500*time.Millisecond, lease.BeginDrain)
		began := time.Now()
		if _, err := w.run(context.Background(), lease); !errors.Is(err, jobs.ErrDrained) {
			t.Fatalf("got %v", err)
		}
		if took := time.Since(began); took < 14*time.Second || took > 16*time.Second {
			t.Errorf("the drain took until %v", took)
		}
		delete(s.replies, "h1.test/2")
		w.env.Scratch = t.TempDir()
		w.task.Attempt.N++
		l := w.mustRun()
		w.audit(s, l)
		if n := s.count("h1.test/2"); n != 2 || len(s.requests()) != 2+len(list)+1 {
			t.Errorf("%d and %d requests", n, len(s.requests()))
		}
		if l.outcome("http://h1.test/2").Reason != schema.OK {
			t.Errorf("ends as %+v", l.outcome("http://h1.test/2"))
		}
	})
}

// TestABudgetOfBytes ends the round's asking, over attempts too.
func TestABudgetOfBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, list := manyPages(10, 10_000)
		w := newScriptWorld(t, s, settings.Settings{SealInterval: settings.Duration(time.Second)},
			list...)
		w.task.Spec.Round.MaxBytes = 25_000
		lease := foreverLease()
		time.AfterFunc(3900*time.Millisecond, lease.BeginDrain)
		if _, err := w.run(context.Background(), lease); err != nil && !errors.Is(err,
			jobs.ErrDrained) {
			t.Fatal(err)
		}
		asked := len(s.requests())
		w.task.Attempt.N++
		l := w.mustRun()
		w.audit(s, l)
		if len(s.requests()) != asked || len(l.pages) != 3 || len(l.waiting) != 7 {
			t.Errorf("%d requests, then %d; %d pages, %d wait", asked, len(s.requests()), len(l.pages),
				len(l.waiting))
		}
	})
}

// TestARecordLargerThanTheSpool ends its URL, not the attempt.
func TestARecordLargerThanTheSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.replies["h.test/big"] = html(strings.Repeat("x", 2<<20))
		w := newScriptWorld(t, s, settings.Settings{}, "http://h.test/big", "http://h.test/next")
		w.set.ScratchBytes = 1 << 20
		l := w.mustRun()
		w.complete(l)
		if got := l.outcome("http://h.test/big"); got.Reason != schema.Crashed || got.Detail == "" {
			t.Errorf("ends as %s (%s)", got.Reason, got.Detail)
		}
		if got := l.outcome("http://h.test/next"); got.Reason != schema.NotFound {
			t.Errorf("the next ends as %s", got.Reason)
		}
	})
}

// TestLinksLargerThanARecord: of a sitemap with more links than a record takes, some
// are kept, and how many is said.
func TestLinksLargerThanARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.replies["h.test/robots.txt"] = text("Sitemap: /s.txt")
		var lines strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&lines, "http://h.test/%060d\n", i)
		}
		s.replies["h.test/s.txt"] = text(lines.String())
		w := newScriptWorld(t, s, settings.Settings{}, "http://h.test/next")
		w.set.ScratchBytes = 1 << 20
		l := w.mustRun()
		w.complete(l)
		got := l.of(kindSitemap)
		if len(got) != 1 || got[0].Reason != schema.OK || !strings.Contains(got[0].Detail, "of 5000 links") {
			t.Fatalf("ends as %+v", got)
		}
		if n := len(l.links); n == 0 || n >= 5000 {
			t.Errorf("%d links", n)
		}
	})
}

// TestTheStoreIsAwayAtTheEnd, when the discoveries are read back.
func TestTheStoreIsAwayAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.replies["h.test/"] = html("<a href=/x>x</a>")
		w := newScriptWorld(t, s, settings.Settings{}, "http://h.test/")
		failures := 0
		w.env.Store = w.store
		open := w.env.Open
		w.env.Open = func(ctx context.Context, key layout.Key, size int64) (io.ReaderAt, error) {
			if strings.Contains(key, "discoveries") {
				if failures++; failures < 4 {
					return nil, objstore.ErrUnavailable
				}
			}
			return open(ctx, key, size)
		}
		l := w.mustRun()
		w.audit(s, l)
		if failures < 4 || len(l.events) != 1 {
			t.Errorf("%d failures, %d events", failures, len(l.events))
		}
	})
}
