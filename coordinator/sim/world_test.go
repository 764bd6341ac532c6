package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/leader"
	"seine/coordinator/ledgertest"
	"seine/coordinator/raftnode"
	"seine/coordinator/state"
	"seine/jobs"
	"seine/jobs/worker"
)

// world is a crawl in a bubble: a store that survives, and processes that need
// not.
type world struct {
	t      *testing.T
	ledger *ledgertest.Ledger

	mu  sync.Mutex
	ran []string // attempts that began, in order
}

func newWorld(t *testing.T, tasks int) *world {
	return &world{t: t, ledger: ledgertest.New(tasks)}
}

// process is an embedded coordinator.
type process struct {
	*leader.Leader
	node *raftnode.Node
	kill func() error // stops it and returns what Run returned
}

// start starts an embedded coordinator and waits until it leads.
func (w *world) start() *process {
	w.t.Helper()
	node, err := raftnode.Embedded(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	p := &process{Leader: leader.New(node, w.ledger, nil), node: node}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	p.kill = sync.OnceValue(func() error {
		cancel()
		err := <-ended
		return errors.Join(err, node.Close())
	})
	return p
}

// until asks until the status is as wanted; virtual time passes.
func (w *world) until(c api.Conn, what string, is func(api.Status) bool) api.Status {
	w.t.Helper()
	var st api.Status
	var err error
	for range 3000 {
		if st, err = c.Status(w.t.Context()); err == nil && is(st) {
			return st
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.t.Fatalf("not %s after 5 min: %+v, %v", what, st, err)
	return st
}

func (w *world) untilIdle(c api.Conn) {
	w.t.Helper()
	w.until(c, "idle", func(st api.Status) bool { return st.Idle })
}

// employ runs a worker until stop is called; stop drains it, or kills it so
// that it never speaks again.
func (w *world) employ(c worker.Conn, id string, run worker.Runner) (stop func(kill bool)) {
	ctx, cancel := context.WithCancel(w.t.Context())
	drain := make(chan struct{})
	ended := make(chan error, 1)
	phone := &line{Conn: c}
	noted := func(ctx context.Context, t jobs.Task, l *worker.Lease, p *worker.Progress) (
		jobs.Result, error) {
		w.mu.Lock()
		w.ran = append(w.ran, fmt.Sprintf("%s %s", id, t.AttemptRef()))
		w.mu.Unlock()
		w.ledger.Attempt(t.Ref(), t.Attempt.N)
		r, err := run(ctx, t, l, p)
		if err == nil {
			w.ledger.End(t.Ref(), r)
		}
		return r, err
	}
	runners := map[jobs.Stage]worker.Runner{}
	for _, s := range []jobs.Stage{jobs.StageInject, jobs.StageGenerate, jobs.StageFetch,
		jobs.StageReduce, jobs.StageCompact} {
		runners[s] = noted
	}
	go func() {
		ended <- worker.Run(ctx, worker.Settings{ID: id, Slots: 2, Drain: drain}, phone, runners)
	}()
	var once sync.Once
	return func(kill bool) {
		once.Do(func() {
			if kill {
				phone.cut()
				cancel()
			} else {
				close(drain)
			}
			if err := <-ended; err != nil && !kill {
				w.t.Errorf("worker %s: %v", id, err)
			}
			cancel()
		})
	}
}

// line is a connection that can be cut.
type line struct {
	worker.Conn
	mu   sync.Mutex
	dead bool
}

var errCut = errors.New("the line is cut")

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
}

func (l *line) state() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return errCut
	}
	return nil
}

func (l *line) Claim(ctx context.Context, c worker.Claim) ([]jobs.Task, error) {
	if err := l.state(); err != nil {
		return nil, err
	}
	tasks, err := l.Conn.Claim(ctx, c)
	if cut := l.state(); cut != nil {
		return nil, cut
	}
	return tasks, err
}

func (l *line) Heartbeat(ctx context.Context, h worker.Heartbeat) (worker.Orders, error) {
	if err := l.state(); err != nil {
		return worker.Orders{}, err
	}
	return l.Conn.Heartbeat(ctx, h)
}

func (l *line) Fail(ctx context.Context, f worker.Failure) error {
	if err := l.state(); err != nil {
		return err
	}
	return l.Conn.Fail(ctx, f)
}

func (l *line) Complete(ctx context.Context, c worker.Completion) error {
	if err := l.state(); err != nil {
		return err
	}
	return l.Conn.Complete(ctx, c)
}

func (l *line) Leave(ctx context.Context, p worker.Leave) error {
	if err := l.state(); err != nil {
		return err
	}
	return l.Conn.Leave(ctx, p)
}

// work ends every task after a time, with one page counted.
func work(d time.Duration) worker.Runner {
	return func(ctx context.Context, t jobs.Task, _ *worker.Lease, p *worker.Progress) (
		jobs.Result, error) {
		p.Add("pages", 1)
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return jobs.Result{}, ctx.Err()
		}
		return jobs.Result{End: t.ID() + "/end", Counts: map[string]int64{"pages": 1}}, nil
	}
}

func round(id string) state.Submission {
	return state.Submission{RequestID: id, Kind: jobs.KindRound,
		Round: &jobs.Round{OnFailed: "commit", Duration: 600_000}}
}

func (w *world) submit(c api.Conn, s state.Submission) {
	w.t.Helper()
	w.until(c, "leading", func(api.Status) bool { return true })
	if _, err := c.Submit(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
}
