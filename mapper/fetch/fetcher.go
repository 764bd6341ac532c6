package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"seine/formats/schema"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/formats/sheet"
	"seine/formats/tasklog"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/jobs/worker"
	"seine/mapper/http1"
	"seine/mapper/polite"
	"seine/mapper/spool"
)

// fetcher is one attempt at one fetch task.
type fetcher struct {
	env      Env
	task     jobs.Task
	set      settings.Settings
	scope    *scope.Scope
	sheets   *sheet.Table
	allow    []netip.Prefix
	lease    *worker.Lease
	progress *worker.Progress
	client   *http1.Client
	runner   *polite.Runner[int32]
	started  time.Time
	parsers  chan struct{}

	handles  atomic.Pointer[handles]
	late     *signal        // fired when the hard stop has come
	refusing sync.WaitGroup // of blocked URLs

	rows   []schema.List // by domain, then position
	sealed sealed

	mu          sync.Mutex
	done        []bool       // by row: it has its outcome
	left        []polite.Why // by row: why it was left
	noContact   []bool       // by row
	again       map[int32]int
	extra       []extra // what is not of the list: queue items below 0
	authorities map[string]*authority
	flights     map[*flight]struct{}
	bytes       int64

	log   *tasklog.Writer
	spool *spool.Spool
	seal  *sealState
	asked chan struct{} // closed when no more outcomes come
}

// extra is a queue item that is not a row of the list.
type extra struct {
	authority *authority
	sitemap   string // the sitemap to read; empty: the authority's robots.txt
	level     int    // of sitemap indexes above it
}

func newFetcher(ctx context.Context, e Env, t jobs.Task, lease *worker.Lease,
	progress *worker.Progress, log *tasklog.Writer, before tasklog.State) (*fetcher, error) {
	f := &fetcher{env: e, task: t, lease: lease, progress: progress, log: log, started: time.Now(),
		parsers: make(chan struct{}, e.Parsers), asked: make(chan struct{}),
		authorities: map[string]*authority{}, again: map[int32]int{}, late: newSignal(),
		flights: map[*flight]struct{}{}}
	var err error
	if f.set, err = e.Settings(ctx, t.Spec.Settings); err != nil {
		return nil, err
	}
	if f.scope, err = e.Scope(ctx, t.Spec); err != nil {
		return nil, err
	}
	if f.sheets, err = e.readSheets(ctx, f.set); err != nil {
		return nil, err
	}
	if f.allow, err = f.set.Networks(); err != nil {
		return nil, err
	}
	h, err := newHandles(t.Spec.Settings, f.set.Live(), []pace{{f.set.Delay.D(), f.sheets}}, f.started)
	if err != nil {
		return nil, err
	}
	f.handles.Store(h)
	f.client = e.client(f.set)
	if f.rows, err = readList(ctx, e, t); err != nil {
		return nil, err
	}
	f.done, f.left = make([]bool, len(f.rows)), make([]polite.Why, len(f.rows))
	f.noContact = make([]bool, len(f.rows))
	base, err := readKnown(ctx, e, t, f.set.GroupByHost, f.rows)
	if err != nil {
		return nil, err
	}
	if f.sealed, err = readSealed(ctx, e, f.set.GroupByHost, before.Chunks); err != nil {
		return nil, err
	}
	f.bytes = f.sealed.bytes
	if f.spool, err = openSpool(e.Scratch, t, f.set.ScratchBytes); err != nil {
		return nil, fmt.Errorf("open the spool of task %s: %w", t.ID(), err)
	}
	f.seal = newSealState(f)
	later := before.Next > 1 // the log holds more than our own open
	if err := f.recover(); err != nil {
		return nil, errors.Join(err, f.spool.Close())
	}
	f.fill(base, later)
	return f, nil
}

// recover takes over what an earlier attempt left in the spool.
func (f *fetcher) recover() error {
	byHost := f.set.GroupByHost
	recovered, err := f.spool.Replay(func(b []byte) error {
		o, err := decodeOutcome(b)
		if err != nil {
			return nil // as if it had never been appended: it is asked for again
		}
		if !f.sealed.ids[o.id()] {
			f.sealed.add(byHost, &o.Fetch)
			f.bytes += o.Fetch.Bytes
		}
		if o.Robots != nil {
			f.sealed.addRobots(o.Robots)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("take over the spool of task %s: %w", f.task.ID(), err)
	}
	if recovered.Bytes >= f.seal.bound {
		f.seal.now()
	}
	return nil
}

// fill makes the queue: every row without an outcome, by group.
func (f *fetcher) fill(base known, later bool) {
	q := polite.New[int32](polite.Settings{HardStop: fromMS(f.task.Deadline)})
	f.recall(base)
	// Delays that robots.txt asked for hold from the first request on.
	asked := map[string]time.Duration{}
	for _, a := range f.authorities {
		asked[a.group] = max(asked[a.group], f.delayOf(a))
	}
	suspects := f.task.Suspects
	delays := map[string]time.Duration{}
	for i := range f.rows {
		row := &f.rows[i]
		g := f.groupOf(row)
		if _, restored := delays[g]; !restored {
			delays[g] = f.delay(g)
			q.Restore(g, f.groupState(base, g, max(asked[g], delays[g]), later))
		}
		switch {
		case f.sealed.ids[row.URL]:
			f.done[i] = true
		case slices.Contains(suspects, row.URL):
			f.setAside(i)
		default:
			q.Add(g, time.Time{}, delays[g], int32(i))
		}
	}
	q.Close()
	if f.spent(f.bytes) {
		q.Stop(polite.WhyStopped)
	}
	f.runner = polite.NewRunner(q)
}

// recall makes the authorities whose robots.txt the snapshot or the log has. A
// robots.txt that nothing followed yet stays valid beyond its time, over rounds
// too: with a Crawl-delay of a day it would else be asked for for ever.
func (f *fetcher) recall(base known) {
	for name, row := range base.robots {
		a := f.newAuthority(name, row, true)
		a.followed = base.groups[a.group].LastAccessed > row.FetchedAt+1
		f.authorities[name] = a
	}
	for name, row := range f.sealed.robots {
		f.authorities[name] = f.newAuthority(name, row, f.sealed.asked[name] > row.FetchedAt)
	}
}

// groupOf is the group that a row's requests go to, by what will be asked: a
// damaged row must not slip past its domain's delay.
func (f *fetcher) groupOf(row *schema.List) string {
	u, err := normal(row.URL)
	if err != nil || u.Host == row.Host {
		return group(f.set.GroupByHost, row.Domain, row.Host)
	}
	return group(f.set.GroupByHost, f.env.Suffixes.Domain(u.Host), u.Host)
}

// groupState joins what the settings and robots.txt ask for, a delay, with what the
// snapshot and the log say of a group. A later attempt waits one whole delay: the one
// before may have asked just now.
func (f *fetcher) groupState(base known, g string, delay time.Duration, later bool) polite.State {
	row := base.groups[g]
	row.CrawlDelay = f.heeded(g, time.Duration(row.CrawlDelay)*time.Millisecond).Milliseconds()
	s := stateOf(row, delay)
	if later {
		s.NextSlot = latest(s.NextSlot, f.started.Add(s.Delay))
	}
	if earlier, ok := f.sealed.groups[g]; ok {
		s.PausedTo = latest(s.PausedTo, earlier.PausedTo)
		s.NextSlot = latest(s.NextSlot, earlier.PausedTo, f.started.Add(s.Delay))
	}
	return s
}

func latest(times ...time.Time) (t time.Time) {
	for _, c := range times {
		if c.After(t) {
			t = c
		}
	}
	return t
}

// hosts are the list's hosts, without repeats, in its order.
func (f *fetcher) hosts() []string {
	seen := map[string]bool{}
	var hosts []string
	for i := range f.rows {
		if !f.done[i] && !seen[f.rows[i].Host] {
			seen[f.rows[i].Host] = true
			hosts = append(hosts, f.rows[i].Host)
		}
	}
	return hosts
}

// parsing says that a body is being parsed until done is called: to the coordinator, which outlives
// this worker, and to the scratch disk, which outlives both.
func (f *fetcher) parsing(url string) (done func()) {
	told, noted := f.progress.Parsing(url), f.spool.Working(url)
	return func() {
		noted()
		told()
	}
}

// setAside gives up on a URL whose parsing killed workers.
func (f *fetcher) setAside(i int) {
	o := f.outcomeOf(&f.rows[i], time.Now())
	o.Fetch.Reason, o.Fetch.Final = schema.Crashed, true
	o.Fetch.Detail = "parsing it ended two workers"
	f.done[i] = true
	f.seal.early = append(f.seal.early, o)
}

// outcomeOf begins the outcome of a row.
func (f *fetcher) outcomeOf(row *schema.List, at time.Time) *outcome {
	return &outcome{
		Fetch: schema.Fetch{Domain: row.Domain, Host: row.Host, URL: row.URL,
			Round: int64(f.task.Spec.Job), Attempt: f.task.Attempt.String(), Kind: kindPage,
			StartedAt: toMS(at), Waited: max(at.Sub(f.started).Milliseconds(), 0)},
		Source: source{Depth: row.Depth, Priority: row.Priority, Seed: row.Seed,
			First: row.CrawlCount == 0},
	}
}

// stopQueue leaves all that waits.
func (f *fetcher) stopQueue() {
	f.runner.With(func(q *polite.Queue[int32]) { q.Stop(polite.WhyStopped) })
}

// note tells what the task waits for.
func (f *fetcher) note() {
	var waits []polite.Wait
	pending := 0
	f.runner.With(func(q *polite.Queue[int32]) { waits, pending = q.Waiting(1), q.Pending() })
	f.progress.Set("waiting", int64(pending))
	if len(waits) == 0 {
		f.progress.Note("")
		return
	}
	w := waits[0]
	what := fmt.Sprintf("1 request per %v", w.Delay)
	if w.Delay == time.Second {
		what = "1 request a second"
	}
	if w.Paused {
		what = "it asked for a pause until " + w.NextSlot.UTC().Format(time.TimeOnly)
	}
	f.progress.Note(fmt.Sprintf("%s: %s, %d to go", w.Group, what, w.Pending))
}

var errNormal = errors.New("a listed URL is not in normal form")

// normal parses a URL that is in normal form already.
func normal(url string) (weburl.Normal, error) {
	u, err := weburl.Normalize(url, weburl.Options{})
	if err != nil {
		return u, fmt.Errorf("%w: %w", errNormal, err)
	}
	return u, nil
}
