// Package leader is what a coordinator does while it leads: it takes over from
// the log and the store, hands tasks out, keeps leases, applies what schedule
// says, and does what is to be done outside the log: plan, publish, compact. It
// is a coordinator's api.Conn within the process; server puts it on HTTP.
//
// # Order of writing
//
// A spec is put before its Open entry, and a commit between its Publishing and
// Committed entries. So a crash at any point leaves either a spec that the next
// leader finds in the store, or a job in Publishing whose commit the next
// leader puts or finds. The store decides; the log follows.
//
// # Leases
//
// Leases are the leader's alone; a new leader grants whole ones to everything
// that runs. A heartbeat is acknowledged only after leadership was verified by
// a round begun after the heartbeat came, and never for a lease that has
// lapsed: the decision that it lapsed and its renewal are taken under one lock,
// so of the two exactly one happens.
//
// # Compaction
//
// After each commit, before the next submission is planned, the ledger is asked
// whether runs should be merged. Such a job goes first and is never blocking:
// when it fails it is dropped, and asked about again after the next commit.
//
// All methods may be called concurrently; Run once.
package leader

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/jobs"
	"seine/jobs/worker"
)

const (
	// pollTime is how long claims and watches are held open: below the idle
	// timeouts that proxies have.
	pollTime = 10 * time.Second
	// tickTime is how often leases and delays are looked at unasked.
	tickTime = 500 * time.Millisecond
)

// Leader is a coordinator; it answers while its node leads and Run runs.
type Leader struct {
	// Group says what sets a coordinator of a durable group apart; it is set
	// before Run, or never.
	Group *Group
	// Clock reads the clocks by which leases and times are judged; New fills in
	// the machine's.
	Clock worker.Clock

	node     Log
	ledger   Ledger
	log      *slog.Logger
	calendar calendar
	wake     chan struct{} // holds one: the loop shall look again

	mu      sync.Mutex
	leading bool
	// quiet is until when nothing is granted, mono ms.
	quiet int64
	// alive is when the guard last ran; stopped says that it had not for long,
	// and has not looked since whose the crawl is.
	alive   worker.Reading
	stopped bool
	// leases and reports exist for the tasks that run under this leader.
	leases  map[jobs.AttemptRef]*lease
	reports map[jobs.TaskRef]worker.Report
	claims  []*claim
	heard   map[string]int64 // mono ms, by worker
	trouble string
	// version rises with every change that a watcher may see. It starts at the
	// wall clock so that it rises from leader to leader as well.
	version uint64
	changed chan struct{} // closed at the next change

	settings Settings   // newest that was read
	looking  sync.Mutex // looks follow one another

	compacted bool
	planning  *planning        // only the loop touches it
	retry     retry            // only the loop touches it
	loopsAt   map[string]int64 // only the loop touches it
}

// Group is what a coordinator does that has no lock on its store: those of a durable group, and an
// embedded one on a bucket.
type Group struct {
	// Quiet is how long a group that has just taken a store over grants nothing
	// while a job is open there, so that leases of another group lapse; Wait
	// says that it holds in any case, for somebody may still work on the store.
	Quiet time.Duration
	Wait  bool
	// Formats asks the members for the newest format of commands that all of
	// them know; nil: it is alone.
	Formats func(ctx context.Context) (int, error)
	// Held says whether the store's epoch is this node's already, from a process before this one,
	// or why it must not be taken over (an error that wraps ErrHeld); nil: it never is.
	Held func(epoch uint64) (bool, error)
	// Took, if any, is told of an epoch that has been begun, before anything is granted in it.
	Took func(epoch uint64) error
}

// lease is how long a task is lent.
type lease struct {
	until  int64 // mono ms
	began  bool
	lapsed bool
}

// claim is a worker that waits for tasks.
type claim struct {
	worker.Claim
	tasks []jobs.Task
	done  chan struct{} // closed when tasks is full enough, or leading is over
}

var _ api.Conn = (*Leader)(nil)

// New makes a coordinator of a Raft node; log may be nil. It does nothing until
// Run.
func New(node Log, ledger Ledger, log *slog.Logger) *Leader {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Leader{
		Clock: worker.SystemClock(),
		node:  node, ledger: ledger, log: log,
		wake:    make(chan struct{}, 1),
		version: uint64(time.Now().UnixMilli()),
		changed: make(chan struct{}),
	}
}

// Run leads whenever the node leads. It returns nil when ctx ends, and an error
// when the node cannot follow its log, when another group has the crawl
// (ErrStepDown), or when the store is damaged (ErrDamaged). The node stays open.
func (l *Leader) Run(ctx context.Context) error {
	var term *term
	stop := func() {
		if term != nil {
			term.cancel()
			<-term.done
			term = nil
		}
	}
	defer stop()
	l.live()
	guarding, end := context.WithCancel(ctx)
	guarded := make(chan error, 1)
	go func() { guarded <- l.guard(guarding) }()
	defer func() {
		end()
		<-guarded
	}()
	for {
		var over chan struct{}
		if term != nil {
			over = term.done
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.node.Failed():
			return l.node.Failure()
		case err := <-guarded:
			guarded <- nil
			return err
		case leads := <-l.node.Leadership():
			stop()
			if leads {
				term = l.begin(ctx)
			}
		case <-over:
			if err := term.err; err != nil {
				return err
			}
			term = nil
		}
	}
}

// term is one time of leading.
type term struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error // before done: why nobody may go on
}

func (l *Leader) begin(ctx context.Context) *term {
	ctx, cancel := context.WithCancel(ctx)
	t := &term{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(t.done)
		defer cancel()
		defer l.retire()
		t.err = l.lead(ctx)
	}()
	return t
}

// change tells watchers and the loop that something is new. The caller holds mu.
func (l *Leader) change() {
	l.version++
	close(l.changed)
	l.changed = make(chan struct{})
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// install makes this the leader that answers, with whole leases for everything
// that runs.
func (l *Leader) install() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.mono()
	l.leases = map[jobs.AttemptRef]*lease{}
	l.reports = map[jobs.TaskRef]worker.Report{}
	l.heard = map[string]int64{}
	l.claims, l.compacted, l.trouble, l.quiet = nil, false, "", 0
	l.node.View(func(s *state.State) {
		if s.Quiet != 0 && l.Group != nil { // how much of it the leader before waited is not known
			l.quiet = now + l.Group.Quiet.Milliseconds()
		}
		for id := range s.Workers {
			l.heard[id] = now
		}
		for _, j := range s.Open {
			for i, t := range j.Current() {
				if t.Phase == state.InProgress {
					ref := jobs.TaskRef{Job: j.Spec.Job, Stage: j.Stage, Index: i}
					l.leases[jobs.AttemptRef{TaskRef: ref, Attempt: t.Attempt}] =
						&lease{until: now + worker.LeaseTime.Milliseconds(), began: true}
				}
			}
		}
	})
	l.leading = true
	l.change()
	l.log.Info("this coordinator leads", "tasks", len(l.leases))
}

// retire stops answering.
func (l *Leader) retire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leading {
		l.log.Info("this coordinator leads no more")
	}
	l.leading = false
	for _, c := range l.claims {
		close(c.done)
	}
	l.claims = nil
	l.change()
}

// apply puts a command into the log. The state's refusal is the error.
func (l *Leader) apply(ctx context.Context, p state.Payload) (state.Result, error) {
	c, err := state.NewCommand(p, l.wall())
	if err != nil {
		return state.Result{}, err
	}
	format := 0
	l.node.View(func(s *state.State) { format = s.Format })
	if c.Format > format { // a member that does not know it would stop
		return state.Result{}, fmt.Errorf("%w: not all coordinators are known to run a seine that knows "+
			"%s; once they do, try again", state.ErrRefused, c.Kind)
	}
	r, err := l.node.Apply(ctx, c)
	if err != nil {
		return state.Result{}, away(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.change()
	return r, r.Err
}

// await waits for the next change after the version, for pollTime at most.
func (l *Leader) await(ctx context.Context, version uint64) error {
	l.mu.Lock()
	changed, now := l.changed, l.version
	l.mu.Unlock()
	if now != version {
		return nil
	}
	t := time.NewTimer(pollTime)
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// dropClaim takes a claim off the list; false if it is not there any more. The
// caller holds mu.
func (l *Leader) dropClaim(c *claim) bool {
	i := slices.Index(l.claims, c)
	if i < 0 {
		return false
	}
	l.claims = slices.Delete(l.claims, i, i+1)
	return true
}

// troubled remembers, for Status, what is tried in vain; nil: nothing is.
func (l *Leader) troubled(what string, err error) {
	text := ""
	if err != nil {
		text = fmt.Sprintf("%s: %v", what, err)
		l.log.Error(what, "error", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trouble != text {
		l.trouble = text
		l.change()
	}
}
