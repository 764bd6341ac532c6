package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/weburl"
)

// rounds carries what manners need from round to round, as reduce does.
type rounds struct {
	script  *script
	set     settings.Settings
	last    time.Duration // how long a round may take
	waiting []string
	domain  schema.Domain
	robots  map[string]schema.Robots
}

func newRounds(s *script, domain string, last time.Duration, waiting ...string) *rounds {
	return &rounds{script: s, last: last, waiting: waiting, robots: map[string]schema.Robots{},
		domain: schema.Domain{Partition: int32(weburl.Partition(domain)), Domain: domain}}
}

// round lists what waits, runs the task, and folds what it left.
func (r *rounds) round(t *testing.T) *left {
	t.Helper()
	w := newScriptWorld(t, r.script, r.set, r.waiting...)
	w.task.Deadline = time.Now().Add(r.last).UnixMilli()
	w.snapshot(r.domain, r.robots)
	l := w.mustRun()
	w.complete(l)
	r.waiting = nil
	for _, f := range l.waiting {
		r.waiting = append(r.waiting, f.URL)
	}
	for _, f := range l.fetches {
		if f.HTTPStatus != 0 || f.Final && f.IP != "" {
			r.domain.LastAccessed = max(r.domain.LastAccessed, f.StartedAt+int64(f.Duration))
		}
		r.domain.BackoffUntil = max(r.domain.BackoffUntil, f.RetryAt)
	}
	for _, row := range l.robots {
		r.robots[row.Authority] = row
		r.domain.CrawlDelay = max(r.domain.CrawlDelay, row.CrawlDelay)
	}
	r.domain.Delay = max(r.domain.CrawlDelay, w.set.Delay.D().Milliseconds())
	return l
}

// snapshot gives the world a base.
func (w *world) snapshot(domain schema.Domain, robots map[string]schema.Robots) {
	w.t.Helper()
	m := &lsm.Manifest{Tables: map[string][]lsm.Run{schema.Domains: {putRun(w, lsm.Domains(),
		domain)}}}
	var rows []schema.Robots
	for _, r := range robots {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b schema.Robots) int {
		return lsm.RobotsTable().Key(&a).Compare(lsm.RobotsTable().Key(&b))
	})
	m.Tables[schema.RobotsT] = []lsm.Run{putRun(w, lsm.RobotsTable(), rows...)}
	w.env.Snapshot = func(context.Context, uint64) (*lsm.Manifest, error) { return m, nil }
}

func putRun[R any](w *world, table lsm.Table[R], rows ...R) lsm.Run {
	w.t.Helper()
	var data bytes.Buffer
	out := table.NewWriter(&data, nil, "base/"+table.Name, "", layout.All,
		rowfile.Options{Codec: rowfile.Snappy})
	for i := range rows {
		if err := out.Write(&rows[i]); err != nil {
			w.t.Fatal(err)
		}
	}
	o, err := out.Finish()
	err = errors.Join(err, objstore.PutIfAbsent(context.Background(), w.store, o.Key, data.Bytes()))
	if err != nil {
		w.t.Fatal(err)
	}
	return lsm.Run{ID: "r00000001", Seq: 1, Objects: []lsm.Object{o}}
}

// gaps judges the delays that a group's server saw.
func (s *script) gaps(t *testing.T, least time.Duration) {
	t.Helper()
	for i := 1; i < len(s.log); i++ {
		if gap := s.log[i].at.Sub(s.log[i-1].end); gap < least {
			t.Errorf("%s comes %v after %s", s.log[i].url(), gap, s.log[i-1].url())
		}
	}
}

// TestACrawlDelayLongerThanARound still moves: one URL a delay, never sooner,
// whether robots.txt outlives the delay or not.
func TestACrawlDelayLongerThanARound(t *testing.T) {
	for _, c := range []struct{ delay, every time.Duration }{
		{time.Hour, 10 * time.Minute}, {24 * time.Hour, 3 * time.Hour}, {36 * time.Hour, 3 * time.Hour},
	} {
		t.Run(c.delay.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.replies["h.test/robots.txt"] = text(fmt.Sprintf("User-agent: *\nCrawl-delay: %.0f",
					c.delay.Seconds()))
				r := newRounds(s, "h.test", 10*time.Minute, "http://h.test/1", "http://h.test/2")
				began, n := time.Now(), 0
				for ; len(r.waiting) > 0 && n < 60; n++ {
					time.Sleep(time.Until(began.Add(time.Duration(n) * c.every)))
					r.round(t)
				}
				s.gaps(t, c.delay)
				if len(r.waiting) > 0 || time.Since(began) > 4*c.delay+c.every {
					t.Errorf("%v wait after %v and %d rounds: %v", r.waiting, time.Since(began), n, s.requests())
				}
			})
		})
	}
}

// TestRoundsKeepTheDelay over their borders: settings raised, a request that the
// hard stop cut off, a pause.
func TestRoundsKeepTheDelay(t *testing.T) {
	for _, c := range []struct {
		name   string
		page   reply
		robots string
		raised time.Duration // the second round's delay
		least  time.Duration
	}{
		{"as it was", html("x"), "", time.Second, time.Second},
		{"raised between", html("x"), "", 40 * time.Second, 40 * time.Second},
		{"cut off", reply{hang: true}, "Crawl-delay: 25", time.Second, 25 * time.Second},
		{"a pause", status(429, "text/html", "", "Retry-After: 100"), "", time.Second,
			100 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.replies["h.test/robots.txt"] = text("User-agent: *\n" + c.robots)
				s.replies["h.test/1"] = c.page
				r := newRounds(s, "h.test", 30*time.Second, "http://h.test/1")
				r.round(t)
				r.set.Delay, r.last = settings.Duration(c.raised), time.Hour
				r.waiting = []string{"http://h.test/2"}
				r.round(t)
				if len(s.log) != 3 {
					t.Fatalf("requests %v", s.requests())
				}
				if gap := s.log[2].at.Sub(s.log[1].end); gap < c.least || gap > c.least+time.Second {
					t.Errorf("the second round began %v after the first had ended, want %v", gap, c.least)
				}
			})
		})
	}
}

// TestAFirstAttemptWaitsForNobody: what the snapshot knows is all there is to
// wait for.
func TestAFirstAttemptWaitsForNobody(t *testing.T) {
	s := newScript()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := newScriptWorld(t, s, settings.Settings{}, "http://h.test/")
		w.audit(s, w.mustRun())
		if waited := s.log[0].at.Sub(began); waited != 0 {
			t.Errorf("waited %v", waited)
		}
	})
}
