package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/leader"
	"seine/coordinator/raftnode"
	"seine/coordinator/state"
	"seine/formats/layout"
	"seine/formats/objstore"
	"seine/formats/objstore/dir"
	"seine/formats/objstore/mem"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/jobs/worker"
)

// The round of TestRequestsOfALargeRound; deploy/bench/requests has figures.
var (
	costHosts = flag.Int("cost.hosts", 0, "hosts of TestRequestsOfALargeRound; 0: it is skipped")
	costPages = flag.Int("cost.pages", 50, "its pages a host")
	costLinks = flag.Int("cost.links", 12, "its links a page")
	costBytes = flag.Int("cost.bytes", 600, "its bytes a page, about")
	costTopN  = flag.Int64("cost.top-n", 0, "URLs a round may take; 0: as many as there are")
	costSeal  = flag.Int64("cost.seal", 0, "bytes of a chunk; 0: the default")
)

// costCrawl is a crawl of which each task runs as if in a process of its own: what one has read or
// written, no other has in its caches.
type costCrawl struct {
	t      *testing.T
	web    costWeb
	store  *kinds
	home   string
	upload layout.Key
}

// newCostCrawl makes a crawl whose seeds are all URLs of a web.
func newCostCrawl(t *testing.T, w costWeb, base objstore.Store, seal int64) *costCrawl {
	t.Helper()
	c := &costCrawl{t: t, web: w, home: t.TempDir(),
		store: &kinds{Store: base, uses: map[string]kindUse{}}}
	crawl, err := c.process("seeds", true)
	if err != nil {
		t.Fatal(err)
	}
	set := settings.Settings{Contact: "https://example.org/", Scope: "any",
		Delay: settings.Duration(time.Millisecond), AllowNetwork: []string{"127.0.0.0/8"},
		RoundDuration: settings.Duration(2 * time.Hour), Connections: 64, SealBytes: seal}
	if _, _, err := crawl.PutSettings(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	body, err := c.seeds(crawl.Suffixes)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(body)
	c.upload = layout.Upload(hex.EncodeToString(sum[:]))
	if err := objstore.PutIfAbsent(t.Context(), c.store, c.upload, body); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *costCrawl) seeds(suffixes *weburl.Suffixes) (lines []byte, err error) {
	for h := range c.web.hosts {
		for p := range c.web.pages {
			u, err := weburl.Normalize(c.web.url(h, p), weburl.Options{})
			if err != nil {
				return nil, err
			}
			line, err := json.Marshal(jobs.Seed{URL: u.URL, Raw: u.URL, Domain: suffixes.Domain(u.Host),
				Host: u.Host})
			if err != nil {
				return nil, err
			}
			lines = append(append(lines, line...), '\n')
		}
	}
	return lines, nil
}

// process opens the crawl as a process that has just begun.
func (c *costCrawl) process(name string, create bool) (*Crawl, error) {
	local := filepath.Join(c.home, name)
	if err := os.MkdirAll(local, 0o700); err != nil {
		return nil, err
	}
	return OpenCrawl(c.t.Context(), OnStore(c.store, "mem:"+name, local), create)
}

// runners run each task in a process of its own.
func (c *costCrawl) runners() map[jobs.Stage]worker.Runner {
	all := map[jobs.Stage]worker.Runner{}
	for _, stage := range []jobs.Stage{jobs.StageInject, jobs.StageGenerate, jobs.StageFetch,
		jobs.StageReduce, jobs.StageCompact} {
		all[stage] = func(ctx context.Context, t jobs.Task, l *worker.Lease, p *worker.Progress) (
			jobs.Result, error) {
			crawl, err := c.process(fmt.Sprintf("%d-%s-%d", t.Spec.Job, stage, t.Index), false)
			if err != nil {
				return jobs.Result{}, err
			}
			return Runners(crawl, crawl.Store.Local, c.web.web(), Limits{})[stage](ctx, t, l, p)
		}
	}
	return all
}

// spentRound is what a round has cost.
type spentRound struct {
	job     api.Job
	tasks   int64
	entries uint64 // of Raft's log
	took    time.Duration
}

// round injects the seeds, and runs a round of all of them.
func (c *costCrawl) round(topN int64) (spent spentRound, err error) {
	crawl, err := c.process("coordinator", false)
	if err != nil {
		return spent, err
	}
	use := func(ctx context.Context, group *raftnode.Node, conn api.Conn) error {
		inject := state.Submission{RequestID: "i", Kind: jobs.KindInject,
			Inject: &jobs.Inject{Upload: c.upload}}
		_, err := run(ctx, conn, inject, nil)
		if err != nil {
			return err
		}
		c.store.clear()
		began, before := time.Now(), group.Entries()
		round := state.Submission{RequestID: "r", Kind: jobs.KindRound, Round: &jobs.Round{
			OnFailed: "commit", TopN: topN, Duration: (2 * time.Hour).Milliseconds()}}
		spent.job, err = run(ctx, conn, round, func(j api.Job) {
			if j.Spec != nil {
				spent.tasks = int64(len(j.Spec.Ranges))
			}
		})
		spent.took, spent.entries = time.Since(began), group.Entries()-before
		return err
	}
	return spent, alone(c.t.Context(), crawl, c.runners(), use)
}

// alone runs a coordinator and a worker in this process as Embed does, but for the lock and the
// listener.
func alone(ctx context.Context, c *Crawl, runners map[jobs.Stage]worker.Runner,
	use func(ctx context.Context, group *raftnode.Node, conn api.Conn) error) error {
	group, err := raftnode.Embedded(nil)
	if err != nil {
		return err
	}
	l := leader.New(group, NewLedger(c, c.Store.Local), nil)
	l.Group = c.fences()
	ctx, stop := context.WithCancel(ctx)
	leading := make(chan error, 1)
	go func() { leading <- l.Run(ctx) }()
	err = work(ctx, Options{}, l, runners, leading, func(ctx context.Context, conn api.Conn) error {
		return use(ctx, group, conn)
	})
	stop()
	return errors.Join(err, <-leading, group.Close())
}

// run submits a job and waits for its end; seen, if any, is shown each version of it.
func run(ctx context.Context, conn api.Conn, s state.Submission, seen func(api.Job)) (job api.Job,
	err error) {
	if _, err := conn.Submit(ctx, s); err != nil {
		return job, err
	}
	for !job.Over() {
		if job, err = conn.Watch(ctx, state.JobRef{RequestID: s.RequestID}, job.Version); err != nil {
			return job, err
		}
		if seen != nil {
			seen(job)
		}
	}
	return job, nil
}

// model is what decides how many requests a round makes, but for lookups in a database that is
// large: they are must 5's account.
type model struct {
	processes int64 // that run tasks
	tasks     int64 // of each stage
	chunks    int64
	pageRows  int64 // bytes of the rows of pages, of a chunk the only object longer than a block
	fetching  time.Duration
}

// requests of a round; DESIGN.md of jobs says where they go.
func (m model) requests() int64 {
	return 10 + int64(m.fetching/bucketLook) + int64(m.fetching/leader.GuardTime) +
		3*m.processes + 50*m.tasks + m.tasks*m.tasks + 12*m.chunks + m.pageRows/stageBytes
}

// TestRequestsOfARound holds small rounds of several shapes to the model.
func TestRequestsOfARound(t *testing.T) {
	if testing.Short() {
		t.Skip("crawls thousands of pages")
	}
	for _, test := range []struct {
		name   string
		topN   int64 // decides the number of tasks
		seal   int64
		chunks int64 // at least
	}{
		{"one task, a chunk", 200_000, 64 << 20, 1},
		{"one task, many chunks", 200_000, 200 << 10, 6},
		{"five tasks, many chunks", 2_500_000, 100 << 10, 15},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCostCrawl(t, costWeb{hosts: 40, pages: 20, links: 10, bytes: 2500}, mem.New(),
				test.seal)
			spent, err := c.round(test.topN)
			if err != nil {
				t.Fatal(err)
			}
			total := int64(0)
			for _, r := range Requests(jobs.KindRound, spent.job.Counts) {
				total += r.Total
			}
			m := model{tasks: spent.tasks, processes: 3 * spent.tasks,
				chunks: c.store.uses["put warc"].requests, pageRows: c.store.uses["put pages"].bytes}
			most := m.requests()
			if spent.job.Counts["pages"] != 800 || m.tasks != max(test.topN/500_000, 1) ||
				m.chunks < test.chunks || total > most ||
				total < most/2 {
				t.Errorf("%d requests, the model of %+v says %d", total, m, most)
				c.tell(spent)
			}
			if most := 2*3*m.tasks + 10; spent.entries > uint64(most) {
				t.Errorf("%d entries in the log, two a task and ten are %d", spent.entries, most)
			}
		})
	}
}

// TestRequestBudget: a worker that fetches 300 pages/s for an hour, and the 33 that fetch 10,000,
// make at most a request for 1,000 pages, each of 26 kB in the spool (15 kB packed, and the text and
// 60 links that were found in it) and of 4 kB of row.
func TestRequestBudget(t *testing.T) {
	for _, workers := range []int64{1, 10, 33} {
		pages := workers * 300 * 3600
		tasks := int64(jobs.RoundTasks(pages, 0, int(workers)))
		seal := settings.Settings{}.Fill().SealBytes
		m := model{processes: workers, tasks: tasks, chunks: tasks * (pages/tasks*26_000/seal + 1),
			pageRows: pages * 4_000, fetching: time.Hour}
		if n := m.requests(); n > pages/1000 {
			t.Errorf("%d workers: %d requests for %d pages: %+v", workers, n, pages, m)
		}
	}
}

// tell logs what a round asked of the store, by stage and by kind.
func (c *costCrawl) tell(s spentRound) {
	c.t.Helper()
	total, objects := int64(0), int64(0)
	for _, r := range Requests(jobs.KindRound, s.job.Counts) {
		total += r.Total
		c.t.Logf("%-12s %7d requests %12d bytes read %12d written  %v", r.Stage, r.Total, r.BytesRead,
			r.BytesWritten, r.By)
	}
	for _, name := range slices.Sorted(maps.Keys(c.store.uses)) {
		u := c.store.uses[name]
		if name[:3] == "put" {
			objects += u.requests
		}
		c.t.Logf("%-32s %7d %12d", name, u.requests, u.bytes)
	}
	pages := s.job.Counts["pages"]
	c.t.Logf("%d tasks, %d pages, %d links, %d requests (%.3f for 1,000 pages), %d objects, %d entries, "+
		"%v", s.tasks, pages, s.job.Counts["links"], total,
		1000*float64(total)/float64(max(pages, 1)), objects, s.entries, s.took.Round(time.Second))
}

// TestRequestsOfALargeRound runs a round as large as one says, and tells what it cost.
func TestRequestsOfALargeRound(t *testing.T) {
	if *costHosts == 0 {
		t.Skip("-cost.hosts says how large")
	}
	w := costWeb{hosts: *costHosts, pages: *costPages, links: *costLinks, bytes: *costBytes}
	var base objstore.Store = mem.New()
	if folder := os.Getenv("SEINE_COST_STORE"); folder != "" {
		d, err := dir.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		base = d
	}
	c := newCostCrawl(t, w, base, *costSeal)
	topN := *costTopN
	if topN == 0 {
		topN = int64(w.hosts * w.pages)
	}
	spent, err := c.round(topN)
	if err != nil {
		t.Fatal(err)
	}
	c.tell(spent)
}
