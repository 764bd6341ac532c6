package main

import (
	"context"
	"fmt"
	"time"

	"seine/cmd/internal/node"
	"seine/cmd/internal/ui"
	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/jobs"
)

// idleRounds is how many rounds in a row may bring nothing before a crawl stops:
// what keeps them from it will keep the next one, too.
const idleRounds = 3

// crawler runs rounds.
type crawler struct {
	app      *app
	crawl    *node.Crawl
	conn     api.Conn
	limits   limits
	settings settings.Settings
	bars     *ui.Progress
	began    time.Time

	first  uint64 // job number at the start: tickets up to it are older than the command
	rounds int
	idle   int // rounds in a row that brought nothing
	total  ui.Tally
}

// run ends what is open, injects, and runs rounds. It returns nil when nothing
// is due, and an exitError when a limit ends it.
func (r *crawler) run(ctx context.Context, seeds *seedFile) error {
	r.total = ui.Ended(nil)
	if paused, err := pausedLine(ctx, r.crawl); err != nil {
		return err
	} else if paused != "" {
		r.bars.Say("%s", paused)
	}
	if err := r.finishOpen(ctx); err != nil {
		return err
	}
	head, err := r.crawl.Head(ctx)
	if err != nil {
		return err
	}
	r.first = head.Job
	if seeds.seeds > 0 {
		if err := r.inject(ctx, seeds, head); err != nil {
			return err
		}
	}
	for {
		ended, err := r.next(ctx)
		if err != nil {
			return err
		}
		if ended != nil {
			if err := r.settle(ctx); err != nil {
				return err
			}
		}
		// After each round, for a crawl that waits for what is due may run for months.
		if err := r.sweep(ctx); err != nil {
			return err
		}
		if ended != nil {
			return r.conclude(ended)
		}
	}
}

// finishOpen waits for the jobs that an earlier process left open: they come
// before everything else.
func (r *crawler) finishOpen(ctx context.Context) error {
	for {
		st, err := r.conn.Status(ctx)
		if err != nil {
			return orCause(ctx, err)
		}
		ref, ok := upcoming(st)
		if !ok {
			return nil
		}
		if len(st.Open) > 0 && st.Open[0].Kind == jobs.KindRound {
			r.bars.Say("going on with round %d", ref.Job)
			r.rounds++
		}
		job, err := r.app.watch(ctx, r.conn, ref, r.bars)
		if err != nil {
			return err
		}
		if !job.Over() {
			return blocked(job)
		}
		if job.Kind == jobs.KindRound {
			if err := r.report(job); err != nil {
				return err
			}
		}
	}
}

// upcoming is the job that is worked on, or that will be.
func upcoming(st api.Status) (ref state.JobRef, ok bool) {
	switch {
	case len(st.Open) > 0:
		return state.JobRef{Job: st.Open[0].Job}, true
	case len(st.Queued) > 0:
		return state.JobRef{RequestID: st.Queued[0].RequestID}, true
	}
	return ref, false
}

// settle waits for the compaction that the last round made due, and for what other
// processes have submitted meanwhile: an embedded coordinator forgets its queue.
func (r *crawler) settle(ctx context.Context) error {
	for {
		st, err := r.conn.Status(ctx)
		if err != nil {
			return orCause(ctx, err)
		}
		if st.Idle || st.Paused != nil || r.app.coordinator != "" {
			return nil
		}
		if ref, ok := upcoming(st); ok {
			job, err := r.app.watch(ctx, r.conn, ref, r.bars)
			if err != nil {
				return err
			}
			if !job.Over() {
				return blocked(job)
			}
			continue
		}
		if err := r.sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// sweep deletes, once a day, what no kept snapshot names. Where there are coordinators,
// the one that leads does it.
func (r *crawler) sweep(ctx context.Context) error {
	if r.app.coordinator != "" {
		return nil
	}
	swept, err := r.crawl.SweepDaily(ctx, "", time.Now(), r.settle)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	if swept.Deleted > 0 {
		fmt.Fprintf(r.app.err, "swept: %d objects, %s\n", swept.Deleted, ui.Bytes(swept.Bytes))
	}
	return nil
}

func (r *crawler) inject(ctx context.Context, seeds *seedFile, head *lsm.Manifest) error {
	known, err := injected(ctx, r.crawl, head, seeds.key())
	if err != nil || known {
		return err
	}
	job, err := r.app.inject(ctx, r.conn, r.crawl, seeds, false, r.bars)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.app.err, "%d seeds: %d new, %d known\n", seeds.seeds, job.Counts["new"],
		int64(seeds.seeds)-job.Counts["new"])
	return nil
}

// ending is why a crawl ends.
type ending struct {
	limit string // "" when nothing is due
	waits node.Waits
	head  *lsm.Manifest
}

// next runs one round, or sleeps, or says that the crawl is over.
func (r *crawler) next(ctx context.Context) (*ending, error) {
	head, err := r.crawl.Head(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	waits, err := r.crawl.Waits(ctx, head, node.Cut{Now: nextNow(head, now), AsOf: r.limits.asOf,
		DueNow: r.limits.dueNow, Ticket: int64(r.first)})
	if err != nil {
		return nil, err
	}
	if limit := r.reached(now); limit != "" && (waits.Due > 0 || waits.Of(schema.WhySlot).URLs > 0) {
		return &ending{limit, waits, head}, nil
	}
	if waits.Due == 0 && len(head.Room) > 0 {
		if came, err := r.room(ctx, head); came || err != nil {
			return nil, err
		}
	}
	if waits.Due == 0 {
		until, what := r.wakes(waits, now)
		if what == "" {
			return &ending{"", waits, head}, nil
		}
		return nil, r.sleepUntil(ctx, until, what)
	}
	if r.idle >= idleRounds {
		return &ending{fmt.Sprintf("%d rounds in a row brought nothing", r.idle), waits, head}, nil
	}
	return nil, r.round(ctx)
}

// room waits for the job that brings back what full domains kept back: the
// coordinator begins it before the next round. came is false if it ended without.
func (r *crawler) room(ctx context.Context, before *lsm.Manifest) (came bool, err error) {
	for {
		st, err := r.conn.Status(ctx)
		if err != nil {
			return false, orCause(ctx, err)
		}
		head, err := r.crawl.Head(ctx)
		if err != nil || head.N != before.N && len(head.Room) == 0 {
			return err == nil, err
		}
		if st.Idle || st.Paused != nil {
			return false, nil
		}
		if err := r.sleep(ctx, 50*time.Millisecond); err != nil {
			return false, err
		}
	}
}

// nextNow is the time (ms) that the next job will have: jobs are a second apart,
// so in a fast sequence of them it runs before the clock.
func nextNow(head *lsm.Manifest, now time.Time) int64 {
	return max(now.UnixMilli(), head.Now+1000)
}

// reached names the limit that is reached, or "".
func (r *crawler) reached(now time.Time) string {
	l := r.limits
	switch {
	case l.rounds > 0 && r.rounds >= l.rounds:
		return fmt.Sprintf("--rounds %d", l.rounds)
	case l.pages > 0 && r.total.Fetched+r.total.Failed >= l.pages:
		return fmt.Sprintf("--max-pages %d", l.pages)
	case l.bytes > 0 && r.total.Bytes >= l.bytes:
		return "--max-bytes " + l.size
	case l.time > 0 && now.Sub(r.began) >= l.time:
		return r.timeText()
	}
	return ""
}

func (r *crawler) timeText() string {
	if r.limits.demo {
		return fmt.Sprintf("the demo's time of %v", r.limits.time)
	}
	return fmt.Sprintf("--max-time %v", r.limits.time)
}

// wakes says until when to sleep and for what; "" if for nothing.
func (r *crawler) wakes(w node.Waits, now time.Time) (until time.Time, what string) {
	for _, by := range w.By {
		due := time.UnixMilli(by.First)
		if by.Why != schema.WhySlot && (r.limits.wait == 0 || due.After(now.Add(r.limits.wait))) {
			continue
		}
		if what == "" || due.Before(until) {
			until, what = due, fmt.Sprintf("%d URLs (%s)", by.URLs, whyText(by.Why))
		}
	}
	return until, what
}

// sleepUntil sleeps, but not beyond --max-time.
func (r *crawler) sleepUntil(ctx context.Context, until time.Time, what string) error {
	if end := r.began.Add(r.limits.time); r.limits.time > 0 && end.Before(until) {
		until = end
	}
	defer r.bars.Clear()
	for {
		now := time.Now()
		if !now.Before(until) {
			return nil
		}
		r.bars.Wait(what, until, now)
		if err := r.sleep(ctx, min(until.Sub(now), time.Second)); err != nil {
			return err
		}
	}
}

func (r *crawler) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// round submits a round and waits for its end.
func (r *crawler) round(ctx context.Context) error {
	spec := &jobs.Round{TopN: r.settings.TopN, Duration: r.settings.RoundDuration.D().Milliseconds(),
		OnFailed: r.settings.OnFailed, AsOf: r.limits.asOf}
	if r.limits.roundTime > 0 {
		spec.Duration = r.limits.roundTime.Milliseconds()
	}
	if r.limits.dueNow {
		spec.DueNow, spec.DueTicket = true, max(r.first, 1)
	}
	if left := r.limits.pages - r.total.Fetched - r.total.Failed; r.limits.pages > 0 {
		spec.TopN = min(left, r.settings.TopN)
	}
	if r.limits.bytes > 0 {
		spec.MaxBytes = r.limits.bytes - r.total.Bytes
	}
	if r.limits.time > 0 {
		left := max(r.limits.time-time.Since(r.began), time.Second).Milliseconds()
		spec.Duration = min(spec.Duration, left)
	}
	id := requestID("round")
	_, err := r.conn.Submit(ctx, state.Submission{RequestID: id, Kind: jobs.KindRound, Round: spec})
	if err != nil {
		return orCause(ctx, err)
	}
	job, err := r.app.watch(ctx, r.conn, state.JobRef{RequestID: id}, r.bars)
	if err != nil {
		return err
	}
	if !job.Over() {
		return blocked(job)
	}
	if job.Outcome == state.Refused {
		return fmt.Errorf("the round was refused: %s", job.Error)
	}
	r.rounds++
	return r.report(job)
}

// report prints a round that has ended and adds it up.
func (r *crawler) report(job api.Job) error {
	t := ui.Ended(job.Counts)
	r.total.Fetched += t.Fetched
	r.total.Failed += t.Failed
	r.total.Refused += t.Refused
	r.total.Bytes += t.Bytes
	for reason, n := range t.ByReason {
		r.total.ByReason[reason] += n
	}
	r.idle++
	if t.Fetched+t.Failed+t.Refused+int64(len(t.Extra)) > 0 || job.Counts["generate_deferred"] > 0 {
		r.idle = 0
	}
	if t.ByReason[schema.NoContact] > 0 && t.Fetched+t.Failed == 0 {
		r.idle = idleRounds
	}
	return r.app.printRound(summaryOf(job))
}
