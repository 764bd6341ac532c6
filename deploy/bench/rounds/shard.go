package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/jobs"
	"seine/reducer/task"
)

// shard writes one range of a database: for each job that came before, its
// objects of the range. It holds one host's URLs and one partition's frontier.
type shard struct {
	env      task.Env
	corpus   *corpus
	settings settings.Settings
	index    int
	rng      layout.Range

	jobs    [jobsBefore]*written
	domains *task.RunOutput[schema.Domain]
	hosts   *task.RunOutput[schema.Host]
	robots  *task.RunOutput[schema.Robots]

	tables map[string]*lsm.Object // of job 0, besides urls
}

// written is what one job has in the range.
type written struct {
	task     jobs.Task
	urls     *task.RunOutput[schema.URL]
	queues   map[string]*task.QueueOutput
	rows     map[string][]schema.FrontierRow // of the partition at hand
	known    int64
	waits    int64
	object   *lsm.Object
	frontier map[string]*lsm.QueueObject
}

var queueKinds = []string{schema.Waiting, schema.Ready}

func (s *shard) open() (err error) {
	for i := range s.jobs {
		w := &written{task: jobs.Task{Spec: jobs.Spec{Job: uint64(i + 1)}, Stage: jobs.StageInject,
			Index: s.index, Range: s.rng, Attempt: layout.Attempt{Epoch: 1, N: 1}},
			queues: map[string]*task.QueueOutput{}, rows: map[string][]schema.FrontierRow{},
			frontier: map[string]*lsm.QueueObject{}}
		s.jobs[i] = w
		if w.urls, err = task.CreateRun(s.env, w.task, lsm.URLs()); err != nil {
			return err
		}
		for _, kind := range queueKinds {
			if w.queues[kind], err = task.CreateQueue(s.env, w.task, kind); err != nil {
				return err
			}
		}
	}
	first := s.jobs[0].task
	if s.domains, err = task.CreateRun(s.env, first, lsm.Domains()); err != nil {
		return err
	}
	if s.hosts, err = task.CreateRun(s.env, first, lsm.Hosts()); err != nil {
		return err
	}
	s.robots, err = task.CreateRun(s.env, first, lsm.RobotsTable())
	return err
}

// abort drops what was not finished.
func (s *shard) abort() {
	for _, w := range s.jobs {
		if w == nil {
			continue
		}
		if w.urls != nil {
			w.urls.Abort()
		}
		for _, q := range w.queues {
			if q != nil {
				q.Abort()
			}
		}
	}
	if s.domains != nil {
		s.domains.Abort()
	}
	if s.hosts != nil {
		s.hosts.Abort()
	}
	if s.robots != nil {
		s.robots.Abort()
	}
}

func (s *shard) write(ctx context.Context) error {
	defer s.abort()
	if err := s.open(); err != nil {
		return err
	}
	domains := s.corpus.in(s.rng)
	for i := range domains {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.domain(&domains[i]); err != nil {
			return err
		}
		if i+1 == len(domains) || domains[i+1].partition != domains[i].partition {
			if err := s.leavePartition(); err != nil {
				return err
			}
		}
	}
	return s.finish(ctx)
}

// domain writes a domain's rows in all tables.
func (s *shard) domain(d *domain) error {
	sums := schema.Domain{Partition: int32(d.partition), Domain: d.name, Delay: 1000,
		DelayWhy: "default", LastAccessed: began - int64(d.id%1000)*60_000, Round: 1}
	hosts := make([]int, d.hosts)
	for h := range hosts {
		hosts[h] = h
	}
	slices.SortFunc(hosts, func(a, b int) int { return cmp.Compare(d.host(a), d.host(b)) })
	for _, h := range hosts {
		if err := s.host(d, h, &sums); err != nil {
			return err
		}
	}
	return s.domains.Write(&sums)
}

// named is a URL by its number.
type named struct {
	url string
	j   int
}

func (s *shard) host(d *domain, h int, sums *schema.Domain) error {
	var urls []named
	for j := h; j < d.urls; j += d.hosts {
		urls = append(urls, named{s.corpus.url(d, j), j})
	}
	slices.SortFunc(urls, func(a, b named) int { return cmp.Compare(a.url, b.url) })
	host := schema.Host{Partition: int32(d.partition), Domain: d.name, Host: d.host(h), Round: 1}
	for _, u := range urls {
		if err := s.url(d, u, sums, &host); err != nil {
			return err
		}
	}
	if host.Fetches == 0 {
		return nil
	}
	host.Latency, host.LastAccessed = 50+int64(d.id%400), sums.LastAccessed
	if err := s.hosts.Write(&host); err != nil {
		return err
	}
	return s.robots.Write(&schema.Robots{Partition: int32(d.partition), Domain: d.name,
		Authority: "https://" + host.Host, Status: "rules", HTTPStatus: 200, Text: robotsText,
		FetchedAt: sums.LastAccessed, Expires: sums.LastAccessed + day, Round: 1})
}

const robotsText = "User-agent: *\nDisallow: /admin/\nDisallow: /search\nSitemap: /sitemap.xml\n"

// url writes the rows that a URL has in the jobs' runs, and queues it.
func (s *shard) url(d *domain, u named, sums *schema.Domain, host *schema.Host) error {
	p := s.corpus.pastOf(d, u.j)
	row := s.corpus.row(s.settings, d, u.j, u.url, p)
	newest := s.jobs[p.job]
	first := newest
	if p.older {
		first = s.jobs[0]
		old := s.corpus.pending(s.settings, d, u.j, u.url, 0)
		ref := lsm.Ref{Object: task.OutputKey(first.task, schema.URLs+".parquet"),
			Row: first.urls.Rows()}
		if err := first.urls.Write(&old); err != nil {
			return err
		}
		if err := newest.urls.Supersede(ref); err != nil {
			return err
		}
	}
	first.known++
	first.waits++
	if err := newest.urls.Write(&row); err != nil {
		return err
	}
	newest.queue(queued(&row))
	s.count(&row, sums, host)
	if p.delta == 0 {
		return nil
	}
	more := addition(&row, p)
	if p.raised {
		promoted := queued(&row)
		promoted.Priority, promoted.Rank, promoted.Ticket = more.Priority, more.QueuedRank, more.Queued
		s.jobs[p.delta].queue(promoted)
	}
	return s.jobs[p.delta].urls.Write(&more)
}

func (s *shard) count(row *schema.URL, sums *schema.Domain, host *schema.Host) {
	sums.Known++
	switch row.CrawlStatus {
	case schema.Pending:
		sums.Pending++
		return
	case schema.Failed:
		sums.Failed++
		host.Failed++
	}
	host.Fetches++
	host.Bytes += 30_000
	if row.BlobPath != "" {
		sums.Pages++
		host.Pages++
	}
}

// queue keeps a frontier row until its partition ends.
func (w *written) queue(row schema.FrontierRow) {
	kind := schema.Ready
	if row.Due > began {
		kind = schema.Waiting
	}
	w.rows[kind] = append(w.rows[kind], row)
}

func (s *shard) leavePartition() error {
	for _, w := range s.jobs {
		for kind, rows := range w.rows {
			compare := task.CompareQueue(kind)
			slices.SortFunc(rows, func(a, b schema.FrontierRow) int { return compare(&a, &b) })
			for i := range rows {
				if err := w.queues[kind].Write(&rows[i]); err != nil {
					return err
				}
			}
			clear(rows)
			w.rows[kind] = rows[:0]
		}
	}
	return nil
}

func (s *shard) finish(ctx context.Context) (err error) {
	for _, w := range s.jobs {
		if w.object, err = w.urls.Finish(ctx); err != nil {
			return err
		}
		for kind, q := range w.queues {
			if w.frontier[kind], err = q.Finish(ctx); err != nil {
				return err
			}
		}
	}
	s.tables = map[string]*lsm.Object{}
	if s.tables[schema.Domains], err = s.domains.Finish(ctx); err != nil {
		return err
	}
	if s.tables[schema.Hosts], err = s.hosts.Finish(ctx); err != nil {
		return err
	}
	s.tables[schema.RobotsT], err = s.robots.Finish(ctx)
	return err
}

// edit adds the shard's objects of a job to its edit.
func (s *shard) edit(job int, id string, edit *lsm.Edit) {
	w := s.jobs[job]
	edit.KnownDelta += w.known
	edit.WaitingDelta += w.waits
	add := func(table string, o *lsm.Object) {
		if o == nil {
			return
		}
		run := edit.AddRuns[table]
		run.ID, run.Seq = id, uint64(job+1)
		run.Objects = append(run.Objects, *o)
		edit.AddRuns[table] = run
	}
	add(schema.URLs, w.object)
	if job == 0 {
		for table, o := range s.tables {
			add(table, o)
		}
	}
	for _, kind := range queueKinds {
		o := w.frontier[kind]
		if o == nil {
			continue
		}
		i := slices.IndexFunc(edit.AddFrontier, func(r lsm.QueueRun) bool { return r.Kind == kind })
		if i < 0 {
			i = len(edit.AddFrontier)
			edit.AddFrontier = append(edit.AddFrontier,
				lsm.QueueRun{ID: id, Kind: kind, Seq: uint64(job + 1)})
		}
		edit.AddFrontier[i].Objects = append(edit.AddFrontier[i].Objects, *o)
	}
	slices.SortFunc(edit.AddFrontier, func(a, b lsm.QueueRun) int {
		return strings.Compare(a.Kind, b.Kind)
	})
}
