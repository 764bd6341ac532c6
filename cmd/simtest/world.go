package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seine/cmd/internal/node"
	"seine/coordinator/api"
	"seine/coordinator/leader"
	"seine/coordinator/state"
	"seine/formats/layout"
	"seine/formats/objstore"
	"seine/formats/objstore/mem"
	"seine/formats/rowfile"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/mapper/webtest"
)

// world is a crawl in a bubble: the store and the web, which survive everything, and
// the processes, which do not.
type world struct {
	t     *testing.T
	plan  plan
	web   *webtest.Web
	base  *witness // what is stored, without faults
	flaw  fence
	talk  bool
	home  string   // scratch folders
	asker *process // who submits jobs

	opened   *node.Crawl
	asked    int      // jobs that were submitted
	struckBy []strike // used by one goroutine
	lives    int      // workers hired so far
	groups   int      // groups founded so far

	mu     sync.Mutex
	group  *group
	hands  []*hand // workers that live
	stormy bool    // faults are on
	losses int     // workers killed, cut off, or with a clock that jumped
	faults int     // of the store, and all the others
}

const (
	workers = 4
	delay   = 2 * time.Second
	// patience is how long a round may take, faults and all, in virtual time; under aimed faults,
	// which come while somebody fetches, it takes less.
	patience, aimedPatience = 90 * time.Minute, 40 * time.Minute
)

// theWeb grows small from a seed, so that a run takes seconds, and with domains of which
// some take minutes of virtual time.
func theWeb(seed uint64) *webtest.Web {
	return webtest.New(webtest.Spec{Seed: seed, Domains: 12, Pages: 30, MaxHost: 80, Links: 8,
		Plain: true, Latency: 150 * time.Millisecond})
}

func newWorld(t *testing.T, seed uint64, f fence, talk bool) *world {
	w := &world{t: t, plan: plan{seed: seed, aim: f.aim}, web: theWeb(seed),
		base: &witness{Store: mem.New()}, flaw: f, talk: talk, home: t.TempDir(),
		asker: &process{name: "asker"}}
	c, err := node.OpenCrawl(t.Context(), node.OnStore(w.base, "mem:setup", w.home), true)
	if err != nil {
		t.Fatal(err)
	}
	c.Codec = rowfile.Snappy
	w.opened = c
	set := settings.Settings{Contact: "https://example.org/", Scope: "any",
		Delay: settings.Duration(delay), AllowNetwork: []string{"127.0.0.0/8"},
		RoundDuration: settings.Duration(2 * time.Hour)}
	if _, _, err := c.PutSettings(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	return w
}

// crawl is the crawl as a process sees it that has its own way to the store.
func (w *world) crawl(base objstore.Store, name string) *node.Crawl {
	return w.opened.Over(node.OnStore(base, "mem:"+name, filepath.Join(w.home, name)))
}

func (w *world) say(format string, args ...any) {
	if w.talk {
		fmt.Printf("%s  %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
	}
}

// gone says whether a group has ended; one of nobody has.
func (w *world) gone(g *group) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return g.over || len(g.members) == 0
}

func (w *world) newest() *group {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.group
}

// submit asks for a job and waits for its end. It asks again when no answer comes, and when those
// who answer know nothing of it.
func (w *world) submit(s state.Submission) (api.Job, error) {
	w.asked++
	l, id, known, most := w.newLine(w.asker), s.RequestID, false, patience
	if w.flaw.name != "" {
		most = aimedPatience
	}
	for end, n := time.Now().Add(most), 0; time.Now().Before(end); n++ {
		l.turn()
		if !known && w.flaw.anonymous {
			s.RequestID = fmt.Sprint(id, "-try-", n)
		}
		if !known {
			_, err := over(w.t.Context(), l, "submit "+id, otherPatience,
				func(ctx context.Context, to *leader.Leader) (api.Submitted, error) {
					return to.Submit(ctx, s)
				})
			known = err == nil
		}
		if known {
			job, err := w.watch(l, s.RequestID)
			if err == nil && job.Over() {
				return job, nil
			}
			known = !errors.Is(err, state.ErrNoJob)
		}
		if w.flaw.name != "" && n%20 == 0 && len(w.ill()) > 0 { // that is enough
			return api.Job{}, errIll
		}
		time.Sleep(time.Second)
	}
	return api.Job{}, fmt.Errorf("%s does not end within %v", id, most)
}

var errIll = errors.New("a rule is broken")

// watch waits a while for a job to change. One that is blocked waits for a person, who has it go
// on.
func (w *world) watch(l *line, id string) (api.Job, error) {
	job, err := over(w.t.Context(), l, "watch "+id, pollPatience,
		func(ctx context.Context, to *leader.Leader) (api.Job, error) {
			return to.Watch(ctx, state.JobRef{RequestID: id}, 0)
		})
	if err == nil && job.Phase == state.Blocked {
		w.say("job %d is blocked: %s", job.Job, job.Error)
		_, err = over(w.t.Context(), l, "rerun "+id, otherPatience,
			func(ctx context.Context, to *leader.Leader) (struct{}, error) {
				return struct{}{}, to.Rerun(ctx, state.Rerun{Job: job.Job})
			})
	}
	return job, err
}

// seeds injects where the crawl begins.
func (w *world) seeds() error {
	var lines []byte
	for _, raw := range w.web.Seeds(4) {
		u, err := weburl.Normalize(raw, weburl.Options{})
		if err != nil {
			return err
		}
		line, err := json.Marshal(jobs.Seed{URL: u.URL, Domain: w.opened.Suffixes.Domain(u.Host),
			Host: u.Host, Raw: raw})
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
	}
	sum := sha256.Sum256(lines)
	key := layout.Upload(hex.EncodeToString(sum[:]))
	err := objstore.PutIfAbsent(w.t.Context(), w.base, key, lines)
	if err != nil {
		return err
	}
	_, err = w.submit(state.Submission{RequestID: "inject", Kind: jobs.KindInject,
		Inject: &jobs.Inject{Upload: key}})
	return err
}

// crawlAll runs rounds until two in a row choose nothing.
func (w *world) crawlAll() error {
	if err := w.seeds(); err != nil {
		return err
	}
	idle := 0
	for n := 1; idle < 2; n++ {
		if n > 60 {
			return errors.New("no end of rounds")
		}
		job, err := w.submit(state.Submission{RequestID: fmt.Sprint("round-", n), Kind: jobs.KindRound,
			Round: &jobs.Round{OnFailed: "commit", Duration: (2 * time.Hour).Milliseconds()}})
		if err != nil {
			return err
		}
		w.say("round %d ended as %s: %d chosen", job.Job, job.Outcome, job.Counts["generate_selected"])
		if w.flaw.anonymous && len(w.doubled()) > 0 {
			return errIll
		}
		idle++
		if job.Counts["generate_selected"] > 0 {
			idle = 0
		}
		time.Sleep(time.Minute) // slots and short retries come due
	}
	return nil
}

// simulate makes one run in a bubble and says what broke.
func simulate(t *testing.T, seed uint64, f fence, talk bool) (found []string, was outcome) {
	was = stormy(t, seed, f, talk)
	if found = was.broken; len(found) == 0 {
		var calm outcome
		synctest.Test(t, func(t *testing.T) { calm = live(t, seed, fence{}, false, false) })
		for _, what := range calm.broken {
			found = append(found, "without faults: "+what)
		}
		found = append(found, differences(calm, was)...)
	}
	if len(found) > 0 {
		found = append(found, fmt.Sprintf("to see it again: go run ./cmd/simtest -seed %d -runs 1 -v%s",
			seed, f.flags()))
	}
	return found, was
}

// stormy is one crawl in a bubble, with faults.
func stormy(t *testing.T, seed uint64, f fence, talk bool) (o outcome) {
	synctest.Test(t, func(t *testing.T) { o = live(t, seed, f, true, talk) })
	return o
}

// live is one crawl from its seeds to its end.
func live(t *testing.T, seed uint64, f fence, storm, talk bool) outcome {
	began := time.Now()
	w := newWorld(t, seed, f, talk)
	w.found(3, false)
	for range workers {
		w.hire("")
	}
	stop := func() {}
	if storm {
		stop = w.storm()
	}
	err := w.crawlAll()
	stop()
	w.dismiss()
	w.disband()
	time.Sleep(time.Minute) // answers that nobody hears any more, calls that nobody waits for
	o := w.judge(err)
	o.faults, o.took, o.strikes = w.faults, time.Since(began), w.struckBy
	return o
}
