package fetch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"seine/formats/layout"
	"seine/formats/objstore"
	"seine/formats/tasklog"
	"seine/jobs"
	"seine/jobs/worker"
	"seine/mapper/spool"
)

// Run lives one attempt at a fetch task: see the package comment.
func Run(ctx context.Context, e Env, t jobs.Task, lease *worker.Lease, progress *worker.Progress) (
	jobs.Result, error) {
	e = e.filled()
	logKey := func(n int) string { return layout.Log(t.Spec.Job, t.Index, n) }
	var log *tasklog.Writer
	var before tasklog.State
	open := "open the log of task " + t.ID()
	err := persist(ctx, progress, open, putTimeout, func(ctx context.Context) (err error) {
		log, before, err = tasklog.Open(ctx, objstore.WriteOnce{Store: e.Store}, logKey,
			tasklog.Attempt(t.Attempt))
		if errors.Is(err, tasklog.ErrEnded) {
			return nil
		}
		return err
	})
	if err != nil {
		return jobs.Result{}, err
	}
	sweepErr := sweepSpools(e.Scratch, t, before.End != nil)
	if before.End != nil {
		result, err := resultOf(ctx, e, t, before)
		return result, errors.Join(err, sweepErr)
	}
	if sweepErr != nil {
		return jobs.Result{}, sweepErr
	}
	f, err := newFetcher(ctx, e, t, lease, progress, log, before)
	if err != nil {
		return jobs.Result{}, err
	}
	result, err := f.run(ctx)
	if errors.Is(err, tasklog.ErrStaleAttempt) {
		err = jobs.ErrStaleAttempt
	}
	return result, errors.Join(err, f.leaveSpool(err))
}

// resultOf finds the entry that ended a log, for a task that is done.
func resultOf(ctx context.Context, e Env, t jobs.Task, s tasklog.State) (jobs.Result, error) {
	for n := range s.Next {
		key := layout.Log(t.Spec.Job, t.Index, n)
		b, err := e.Store.Get(ctx, key)
		if err != nil {
			return jobs.Result{}, fmt.Errorf("read the log of task %s: %w", t.ID(), err)
		}
		entry, err := tasklog.Decode(key, b)
		if err != nil {
			return jobs.Result{}, err
		}
		if entry.Kind == tasklog.KindEnd {
			return jobs.Result{End: key, Counts: entry.End.Counts}, nil
		}
	}
	return jobs.Result{}, fmt.Errorf("task %s has an end in no entry of its log", t.ID())
}

// run asks, seals and ends.
func (f *fetcher) run(ctx context.Context) (jobs.Result, error) {
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sealing := make(chan error, 1)
	go func() { sealing <- f.sealer(ctx, cancel) }()
	var err error
	if !f.task.Closing {
		err = f.ask(asking, cancel)
	}
	close(f.asked)
	err = errors.Join(<-sealing, err)
	if cause := context.Cause(asking); err == nil && cause != nil && ctx.Err() == nil &&
		!errors.Is(cause, errGrace) {
		err = cause
	}
	switch {
	case err != nil:
		return jobs.Result{}, err
	case ctx.Err() != nil:
		return jobs.Result{}, context.Cause(ctx)
	case f.lease.Gate() != nil:
		return jobs.Result{}, jobs.ErrLeaseLost
	case f.draining():
		return jobs.Result{}, jobs.ErrDrained
	}
	return f.end(ctx)
}

func (f *fetcher) draining() bool {
	select {
	case <-f.lease.Drain():
		return !f.stopped()
	default:
		return false
	}
}

func (f *fetcher) stopped() bool {
	select {
	case <-f.lease.Stop():
		return true
	default:
		return false
	}
}

// errGrace ends requests that were still in flight when the grace after a stop
// was over.
var errGrace = errors.New("the time for requests in flight is over")

// ask drives the queue until it is done or told to stop.
func (f *fetcher) ask(ctx context.Context, cancel context.CancelCauseFunc) error {
	live, _ := f.lease.Live()
	f.obey(ctx, live) // before the first request: what is blocked by now is not asked for
	watching, unwatch := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		f.watch(watching, cancel)
	}()
	hosts, prefetched := f.hosts(), make(chan struct{})
	go func() {
		defer close(prefetched)
		f.env.Resolver.Prefetch(watching, hosts)
	}()
	following := make(chan struct{})
	go func() {
		defer close(following)
		f.follow(watching)
	}()
	err := f.runner.Run(ctx, f.env.Exchanges, f.send)
	unwatch()
	<-watched
	<-following
	f.refusing.Wait()
	<-prefetched
	f.client.CloseIdle()
	if errors.Is(err, context.Canceled) {
		return nil // the cause is judged by run
	}
	return err
}

// watch stops the queue at a drain, a hard stop or a lost lease, and cancels
// what is then in flight too long.
func (f *fetcher) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	report := time.NewTicker(time.Second)
	defer report.Stop()
	var grace <-chan time.Time
	stop, drain, lost := f.lease.Stop(), f.lease.Drain(), f.lease.Lost()
	late := f.late.c
	begin := func() {
		f.stopQueue()
		if grace == nil {
			grace = time.After(f.env.Grace)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-stop:
			stop = nil
			begin()
		case <-drain:
			drain = nil
			begin()
		case <-late:
			late = nil
			begin()
		case <-lost:
			f.stopQueue()
			cancel(jobs.ErrLeaseLost)
			return
		case <-grace:
			cancel(errGrace)
			return
		case <-report.C:
			f.note()
		}
	}
}

// signal is a channel that is closed at most once.
type signal struct {
	c    chan struct{}
	once sync.Once
}

func newSignal() *signal { return &signal{c: make(chan struct{})} }

func (s *signal) fire() { s.once.Do(func() { close(s.c) }) }

// leaveSpool lets the spool go, and removes it when the task has ended.
func (f *fetcher) leaveSpool(failed error) error {
	if failed == nil {
		return f.spool.Remove()
	}
	return f.spool.Close()
}

// sweepSpools removes the spools of tasks that can never be taken up again: those
// of earlier jobs, since one round is open at a time, and the task's own once it
// has ended.
func sweepSpools(dir string, t jobs.Task, ended bool) error {
	ids, err := spool.List(dir)
	if err != nil {
		return err
	}
	own := spoolID(t)
	for _, id := range ids {
		var job uint64
		if n, err := fmt.Sscanf(id, "r%d-", &job); n != 1 || err != nil || job > t.Spec.Job {
			continue
		}
		if job == t.Spec.Job && !(ended && (id == own || strings.HasPrefix(id, own+"-"))) {
			continue
		}
		s, err := spool.Open(dir, id, 0)
		if errors.Is(err, spool.ErrBusy) {
			continue // an attempt that has yet to see that it is over
		}
		if err != nil {
			return err
		}
		if err := s.Remove(); err != nil {
			return err
		}
	}
	return nil
}

func spoolID(t jobs.Task) string { return taskSpool(t.Spec.Job, t.Index) }

func taskSpool(job uint64, index int) string { return fmt.Sprintf("r%08d-t%04d", job, index) }

// Deaths counts, for the URLs that were being parsed in a fetch task when a process died that had
// this scratch folder, the deaths. A coordinator that died with its worker learns them so.
func Deaths(scratch string, job uint64, index int) (map[string]int, error) {
	ids, err := spool.List(scratch)
	if err != nil {
		return nil, err
	}
	deaths := map[string]int{}
	own := taskSpool(job, index)
	for _, id := range ids {
		if id != own && !strings.HasPrefix(id, own+"-") {
			continue
		}
		found, err := spool.Deaths(scratch, id)
		if err != nil {
			return nil, err
		}
		for url, n := range found {
			deaths[url] += n
		}
	}
	return deaths, nil
}

// openSpool takes over the task's spool; when another process holds it, this
// attempt makes one of its own.
func openSpool(dir string, t jobs.Task, bytes int64) (*spool.Spool, error) {
	id := spoolID(t)
	s, err := spool.Open(dir, id, bytes)
	if errors.Is(err, spool.ErrBusy) {
		s, err = spool.Open(dir, id+"-"+t.Attempt.String(), bytes)
	}
	return s, err
}
