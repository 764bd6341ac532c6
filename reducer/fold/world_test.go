package fold_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/mem"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/taskend"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/reducer/fold"
	"seine/reducer/generate"
	"seine/reducer/inject"
	"seine/reducer/publish"
	"seine/reducer/task"
	"seine/reducer/twin"
)

// crawl is a crawl on a store in memory, of which only the web is made up.
type crawl struct {
	t      testing.TB
	ctx    context.Context
	store  objstore.Store
	env    task.Env
	set    settings.Settings
	ranges []layout.Range
	head   *lsm.Manifest
	job    uint64
	now    int64
	topN   int64
	length int64 // of rounds, ms
}

const hourMS = int64(3_600_000)

func newCrawl(t testing.TB, s settings.Settings, tasks int) *crawl {
	t.Helper()
	suffixes, err := weburl.ParseSuffixes([]byte("test\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := &crawl{t: t, ctx: t.Context(), store: mem.New(), set: s.Fill(), ranges: layout.Split(tasks),
		head: lsm.Empty(), now: twin.Now, topN: 100_000,
		length: 1000 * hourMS}
	c.env = twin.Env(c.store, t.TempDir(), s, suffixes)
	return c
}

func (c *crawl) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// spec is that of the next job.
func (c *crawl) spec(kind jobs.Kind) jobs.Spec {
	c.job++
	return jobs.Spec{Format: jobs.SpecFormat, Job: c.job, Kind: kind, Epoch: 1, Base: c.head.N,
		Now: c.now, Settings: 1, Ranges: c.ranges}
}

func taskOf(spec jobs.Spec, stage jobs.Stage, i int, inputs map[jobs.Stage][]layout.Key) jobs.Task {
	return jobs.Task{Spec: spec, Stage: stage, Index: i, Range: spec.Ranges[i],
		Attempt: layout.Attempt{Epoch: 1, N: 1}, Inputs: inputs}
}

type runner func(context.Context, task.Env, jobs.Task) (jobs.Result, error)

// stage runs all tasks of a stage.
func (c *crawl) stage(spec jobs.Spec, stage jobs.Stage, inputs map[jobs.Stage][]layout.Key,
	run runner) []jobs.Result {
	c.t.Helper()
	results := make([]jobs.Result, len(spec.Ranges))
	for i := range results {
		var err error
		results[i], err = run(c.ctx, c.env, taskOf(spec, stage, i, inputs))
		c.must(err)
	}
	return results
}

func keysOf(results []jobs.Result) []layout.Key {
	keys := make([]layout.Key, len(results))
	for i := range results {
		keys[i] = results[i].End
	}
	return keys
}

// publish commits a job.
func (c *crawl) publish(spec jobs.Spec, ends map[jobs.Stage][]jobs.Result) {
	c.t.Helper()
	_, _, err := publish.Publish(c.ctx, c.env, c.head, publish.Job{Spec: spec, Ends: ends, Epoch: 1,
		Outcome: "committed", Ended: spec.Now})
	c.must(err)
	c.head, err = lsm.Head(c.ctx, c.env.Source(), c.head)
	c.must(err)
}

// inject brings seeds in.
func (c *crawl) inject(urls ...string) {
	c.t.Helper()
	var lines bytes.Buffer
	for _, url := range urls {
		line, err := json.Marshal(jobs.Seed{URL: url, Raw: url})
		c.must(err)
		lines.Write(append(line, '\n'))
	}
	spec := c.spec(jobs.KindInject)
	spec.Inject = &jobs.Inject{Upload: layout.Upload(fmt.Sprint("seeds", spec.Job))}
	c.must(objstore.PutIfAbsent(c.ctx, c.store, spec.Inject.Upload, lines.Bytes()))
	ends := c.stage(spec, jobs.StageInject, nil, inject.Run)
	c.publish(spec, map[jobs.Stage][]jobs.Result{jobs.StageInject: ends})
}

// web says what a fetch task meets.
type web func(spec jobs.Spec, list []schema.List) met

// round is a round that has come to its reduce stage.
type round struct {
	spec     jobs.Spec
	inputs   map[jobs.Stage][]layout.Key
	ends     map[jobs.Stage][]jobs.Result
	generate []*taskend.Generate
	met      []met
}

// fetchRound generates and fetches.
func (c *crawl) fetchRound(w web) *round {
	c.t.Helper()
	spec := c.spec(jobs.KindRound)
	spec.Round = &jobs.Round{TopN: c.topN, Duration: c.length}
	r := &round{spec: spec, ends: map[jobs.Stage][]jobs.Result{}}
	r.ends[jobs.StageGenerate] = c.stage(spec, jobs.StageGenerate, nil, generate.Run)
	for i, result := range r.ends[jobs.StageGenerate] {
		end, err := twin.Ends(c.ctx, c.env, result)
		c.must(err)
		r.generate = append(r.generate, end)
		r.met = append(r.met, w(spec, read[schema.List](c, end.Lists)))
		key := c.seal(spec, i, r.met[i])
		r.ends[jobs.StageFetch] = append(r.ends[jobs.StageFetch], jobs.Result{End: key})
	}
	r.inputs = map[jobs.Stage][]layout.Key{
		jobs.StageGenerate: keysOf(r.ends[jobs.StageGenerate]),
		jobs.StageFetch:    keysOf(r.ends[jobs.StageFetch])}
	return r
}

// reduce folds and commits.
func (c *crawl) reduce(r *round) []*taskend.Reduce {
	c.t.Helper()
	r.ends[jobs.StageReduce] = c.stage(r.spec, jobs.StageReduce, r.inputs, fold.Run)
	var ends []*taskend.Reduce
	for _, result := range r.ends[jobs.StageReduce] {
		ends = append(ends, c.end(result))
	}
	c.publish(r.spec, r.ends)
	return ends
}

func (c *crawl) end(result jobs.Result) *taskend.Reduce {
	c.t.Helper()
	body, err := c.store.Get(c.ctx, result.End)
	c.must(err)
	end, err := taskend.DecodeReduce(body)
	c.must(err)
	return end
}

// tables is what a snapshot says.
type tables struct {
	URLs    map[lsm.Key]schema.URL
	Domains map[lsm.Key]schema.Domain
	Hosts   map[lsm.Key]schema.Host
	Robots  map[lsm.Key]schema.Robots
}

func (c *crawl) tables() tables {
	c.t.Helper()
	return tables{URLs: scan(c, lsm.URLs()), Domains: scan(c, lsm.Domains()),
		Hosts: scan(c, lsm.Hosts()), Robots: scan(c, lsm.RobotsTable())}
}

func scan[R any](c *crawl, table lsm.Table[R]) map[lsm.Key]R {
	c.t.Helper()
	all := map[lsm.Key]R{}
	c.must(table.Scan(c.ctx, c.env.Open, c.head.Tables[table.Name], layout.All, nil,
		func(row *R, _ []lsm.Ref) error {
			all[table.Key(row)] = *row
			return nil
		}))
	return all
}

func read[R any](c *crawl, o *lsm.Object) []R {
	c.t.Helper()
	rows, err := twin.Rows[R](c.ctx, c.env, o)
	c.must(err)
	return rows
}

// appended reads what the newest part adds to an append table.
func appended[R any](c *crawl, table string) []R {
	c.t.Helper()
	var rows []R
	part := c.head.Parts[len(c.head.Parts)-1]
	for _, o := range part.Tables[table] {
		rows = append(rows, read[R](c, &o)...)
	}
	return rows
}

// urlKey is the key of a URL below the suffix test.
func urlKey(url string) lsm.Key {
	n, err := weburl.Normalize(url, weburl.Options{})
	if err != nil {
		panic(err)
	}
	domain := strings.TrimSuffix(n.Host, ".test")
	domain = domain[strings.LastIndexByte(domain, '.')+1:] + ".test"
	return lsm.Key{Partition: weburl.Partition(domain), Domain: domain, Host: n.Host, URL: n.URL}
}

// live gives the frontier's live rows by URL; that they are one to one with the
// URLs that wait is checked on the way.
func (c *crawl) live(urls map[lsm.Key]schema.URL) map[lsm.Key]schema.FrontierRow {
	c.t.Helper()
	world, err := twin.Load(c.ctx, c.env, c.head)
	c.must(err)
	live := map[lsm.Key]schema.FrontierRow{}
	for i := range world.Runs {
		gone := world.Runs[i].Consumed
		for _, row := range world.Runs[i].Rows {
			if p := uint16(row.Partition); gone[p] > 0 {
				gone[p]--
				continue
			}
			key := twin.Key(row.Partition, row.Domain, row.Host, row.URL)
			url, ok := urls[key]
			if !ok || url.Queued != row.Ticket {
				continue
			}
			if _, twice := live[key]; twice {
				c.t.Errorf("%s has two live rows in the frontier", key.URL)
			}
			if row.Rank != url.QueuedRank {
				c.t.Errorf("%s: rank %d in the frontier, %d in urls", key.URL, row.Rank, url.QueuedRank)
			}
			live[key] = row
		}
	}
	waiting := 0
	for key, url := range urls {
		if url.Queued == 0 {
			continue
		}
		waiting++
		if _, ok := live[key]; !ok {
			c.t.Errorf("%s waits with ticket %d and has no live row in the frontier", key.URL, url.Queued)
		}
	}
	if int64(waiting) != c.head.Waiting || int64(len(urls)) != c.head.Known {
		c.t.Errorf("manifest counts %d known, %d waiting; there are %d, %d", c.head.Known,
			c.head.Waiting, len(urls), waiting)
	}
	return live
}

// unnamed checks that of the rows that no list of superseded rows names, one
// whole row is left a key: what views rely on.
func unnamed[R any](c *crawl, table lsm.Table[R]) {
	c.t.Helper()
	named := map[schema.SupersededRow]bool{}
	for _, run := range c.head.Tables[table.Name] {
		for _, o := range run.Objects {
			if o.Superseded == "" {
				continue
			}
			info, err := c.store.Stat(c.ctx, o.Superseded)
			c.must(err)
			list := lsm.Object{Key: o.Superseded, Bytes: info.Size, Rows: o.SupersededRows}
			for _, row := range read[schema.SupersededRow](c, &list) {
				named[row] = true
			}
		}
	}
	whole := map[lsm.Key]int{}
	for _, run := range c.head.Tables[table.Name] {
		for _, o := range run.Objects {
			for n, row := range read[R](c, &o) {
				hidden := named[schema.SupersededRow{Object: o.Key, Row: int64(n)}]
				if !hidden && (table.IsDelta == nil || !table.IsDelta(&row)) {
					whole[table.Key(&row)]++
				}
			}
		}
	}
	for key, n := range whole {
		if n != 1 {
			c.t.Errorf("%s: %+v has %d rows that no list names", table.Name, key, n)
		}
	}
	if want := len(scan(c, table)); len(whole) != want {
		c.t.Errorf("%s: %d keys have a row that no list names, there are %d", table.Name, len(whole),
			want)
	}
}
