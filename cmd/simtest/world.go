package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seine/cmd/internal/node"
	"seine/coordinator/api"
	"seine/coordinator/leader"
	"seine/coordinator/raftnode"
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
	t    *testing.T
	dice *rand.Rand // of the schedule of faults; used by one goroutine
	web  *webtest.Web
	base objstore.Store // what is stored, without faults
	flaw fence
	talk bool
	home string // scratch folders

	suffixes *weburl.Suffixes

	mu     sync.Mutex
	group  *group
	hands  []*hand // workers that live
	stormy bool    // faults of the store are on
	lives  int     // workers hired so far
	losses int     // workers killed, cut off, or with a clock that jumped
	faults int     // of the store, and all the others
}

const (
	coordinators = 3
	workers      = 3
	delay        = 2 * time.Second
	// patience is how long a round may take, faults and all, in virtual time.
	patience = 6 * time.Hour
)

// theWeb grows small from a seed, so that a run takes seconds, and with domains of which
// some take minutes of virtual time.
func theWeb(seed uint64) *webtest.Web {
	return webtest.New(webtest.Spec{Seed: seed, Domains: 5, Pages: 12, MaxHost: 40, Links: 8, Plain: true,
		Latency: 150 * time.Millisecond})
}

func newWorld(t *testing.T, seed uint64, f fence, talk bool) *world {
	w := &world{t: t, dice: rand.New(rand.NewPCG(seed, 11)), web: theWeb(seed), base: mem.New(), flaw: f,
		talk: talk, home: t.TempDir()}
	c := w.crawl(w.base, "setup", true)
	w.suffixes = c.Suffixes
	set := settings.Settings{Contact: "https://example.org/", Scope: "any", Delay: settings.Duration(delay),
		AllowNetwork: []string{"127.0.0.0/8"}, RoundDuration: settings.Duration(2 * time.Hour)}
	if _, _, err := c.PutSettings(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	return w
}

// crawl opens the crawl as a process of its own does, on a store of its own.
func (w *world) crawl(base objstore.Store, name string, create bool) *node.Crawl {
	local := filepath.Join(w.home, name)
	c, err := node.OpenCrawl(w.t.Context(), node.OnStore(base, "mem:"+name, local), create)
	if err != nil {
		w.t.Fatal(err)
	}
	c.Codec = rowfile.Snappy
	return c
}

func (w *world) say(format string, args ...any) {
	if w.talk {
		fmt.Printf("%s  %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
	}
}

// group is three coordinators.
type group struct {
	nodes   *raftnode.MemoryGroup
	leaders []*leader.Leader
	stop    func()
	wait    sync.WaitGroup
	over    bool
}

// found begins a group on empty disks: it takes up what the store shows. recover says that another
// may still work on it.
func (w *world) found(recover bool) {
	nodes, err := raftnode.Memory(coordinators, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	g := &group{nodes: nodes, stop: cancel}
	for i, n := range nodes.Nodes {
		name := fmt.Sprintf("coordinator-%d", i)
		c := w.crawl(w.base, name, false)
		c.Store = node.OnStore(&troubled{Store: w.base, world: w, dice: w.fork()}, "mem:"+name,
			filepath.Join(w.home, name))
		l := leader.New(n, node.NewLedger(c, w.folder(name)), nil)
		l.Group = &leader.Group{Wait: recover, Quiet: w.flaw.quiet()}
		g.leaders = append(g.leaders, l)
		g.wait.Go(func() {
			if err := l.Run(ctx); err != nil && ctx.Err() == nil {
				w.say("%s ended: %v", name, err)
			}
		})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.group = g
}

// disband loses all coordinators at once, with their logs.
func (w *world) disband() {
	w.mu.Lock()
	g := w.group
	w.group = &group{stop: func() {}}
	w.mu.Unlock()
	w.end(g)
}

// end ends a group, once.
func (w *world) end(g *group) {
	g.stop()
	g.wait.Wait()
	w.mu.Lock()
	over := g.over
	g.over = true
	w.mu.Unlock()
	if over {
		return
	}
	if g.nodes != nil {
		if err := g.nodes.Close(); err != nil {
			w.t.Error(err)
		}
	}
}

// fork gives a goroutine dice of its own.
func (w *world) fork() *rand.Rand { return rand.New(rand.NewPCG(w.dice.Uint64(), w.dice.Uint64())) }

var errNobody = fmt.Errorf("no coordinator answers: %w", api.ErrUnavailable)

// ask asks whichever coordinator leads.
func ask[R any](w *world, do func(*leader.Leader) (R, error)) (got R, err error) {
	return askOf(w.newest(), do)
}

// gone says whether a group has ended; one of nobody has.
func (w *world) gone(g *group) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return g.over || len(g.leaders) == 0
}

func (w *world) newest() *group {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.group
}

func askOf[R any](g *group, do func(*leader.Leader) (R, error)) (got R, err error) {
	err = errNobody
	for _, l := range g.leaders {
		if got, err = do(l); !errors.Is(err, api.ErrNotLeader) && !errors.Is(err, api.ErrUnavailable) {
			return got, err
		}
	}
	return got, err
}

// submit asks for a job until somebody takes it, and waits for its end.
func (w *world) submit(s state.Submission) (api.Job, error) {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		_, err := ask(w, func(l *leader.Leader) (api.Submitted, error) { return l.Submit(w.t.Context(), s) })
		var job api.Job
		if err == nil {
			job, err = ask(w, func(l *leader.Leader) (api.Job, error) {
				return l.Watch(w.t.Context(), state.JobRef{RequestID: s.RequestID}, 0)
			})
		}
		switch {
		case err == nil && job.Over():
			return job, nil
		case err == nil && job.Phase == state.Blocked:
			w.say("job %d is blocked: %s", job.Job, job.Error)
			_, _ = ask(w, func(l *leader.Leader) (int, error) { // a blocked job waits for a person
				return 0, l.Rerun(w.t.Context(), state.Rerun{Job: job.Job})
			})
		}
		time.Sleep(time.Second)
	}
	return api.Job{}, fmt.Errorf("%s does not end within %v", s.RequestID, patience)
}

// seeds injects where the crawl begins.
func (w *world) seeds() error {
	var lines []byte
	for _, raw := range w.web.Seeds(4) {
		u, err := weburl.Normalize(raw, weburl.Options{})
		if err != nil {
			return err
		}
		line, err := json.Marshal(jobs.Seed{URL: u.URL, Domain: w.suffixes.Domain(u.Host), Host: u.Host,
			Raw: raw})
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
		idle++
		if job.Counts["generate_selected"] > 0 {
			idle = 0
		}
		time.Sleep(time.Minute) // slots and short retries come due
	}
	return nil
}

// simulate makes one run in a bubble and says what broke.
func simulate(t *testing.T, seed uint64, without string, talk bool) (found []string, stormy outcome) {
	var calm outcome
	synctest.Test(t, func(t *testing.T) { calm = live(t, seed, fence{}, false, false) })
	synctest.Test(t, func(t *testing.T) { stormy = live(t, seed, fences[without], true, talk) })
	for _, what := range calm.broken {
		found = append(found, "without faults: "+what)
	}
	found = append(found, stormy.broken...)
	return append(found, differences(calm, stormy)...), stormy
}

// live is one crawl from its seeds to its end.
func live(t *testing.T, seed uint64, f fence, storm, talk bool) outcome {
	began := time.Now()
	w := newWorld(t, seed, f, talk)
	w.found(false)
	for range workers {
		w.hire()
	}
	stop := func() {}
	if storm {
		stop = w.storm()
	}
	err := w.crawlAll()
	stop()
	w.dismiss()
	w.disband()
	o := w.judge(err)
	o.faults, o.took = w.faults, time.Since(began)
	return o
}
