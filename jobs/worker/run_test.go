package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seine/formats/layout"
	"seine/jobs"
)

// desk is a coordinator that hands out what it is told to.
type desk struct {
	mu        sync.Mutex
	tasks     []jobs.Task
	order     func(b Beat) Order // nil: Continue
	beatErr   error
	reportErr error // once
	beats     int
	said      []string
}

func newDesk(tasks ...jobs.Task) *desk { return &desk{tasks: tasks} }

func (d *desk) Claim(ctx context.Context, c Claim) ([]jobs.Task, error) {
	if got := d.take(c); len(got) > 0 {
		return got, nil
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(10 * time.Second):
		return nil, nil
	}
}

func (d *desk) take(c Claim) (got []jobs.Task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rest := d.tasks[:0:0]
	for _, t := range d.tasks {
		room := &c.Other
		if t.Stage == jobs.StageFetch {
			room = &c.Fetch
		}
		if *room == 0 {
			rest = append(rest, t)
			continue
		}
		*room--
		got = append(got, t)
	}
	d.tasks = rest
	return got
}

func (d *desk) Heartbeat(_ context.Context, h Heartbeat) (o Orders, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.beats++
	for _, b := range h.Tasks {
		order := Continue
		if d.order != nil {
			order = d.order(b)
		}
		o.Tasks = append(o.Tasks, order)
	}
	return o, d.beatErr
}

func (d *desk) note(format string, args ...any) {
	d.said = append(d.said, fmt.Sprintf(format, args...))
}

func (d *desk) Complete(_ context.Context, c Completion) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.reportErr; err != nil {
		d.reportErr = nil
		d.note("lost")
		return err
	}
	d.note("complete %s %s", c.AttemptRef, c.Result.End)
	return nil
}

func (d *desk) Fail(_ context.Context, f Failure) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note("fail %s drained=%v %s", f.AttemptRef, f.Drained, f.Error)
	return nil
}

func (d *desk) Leave(_ context.Context, l Leave) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note("leave %s", l.Worker)
	return nil
}

func task(stage jobs.Stage, index int) jobs.Task {
	return jobs.Task{Spec: jobs.Spec{Job: 1}, Stage: stage, Index: index,
		Attempt: layout.Attempt{Epoch: 1, N: 1}}
}

// employ runs a worker in a bubble; act may let time pass, and returns before
// the drain.
func employ(t *testing.T, d *desk, run Runner, s Settings,
	act func(kill context.CancelFunc)) error {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	drain := make(chan struct{})
	s.ID, s.Drain = "w", drain
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, s, d, map[jobs.Stage]Runner{
			jobs.StageFetch: run, jobs.StageReduce: run})
	}()
	act(kill)
	close(drain)
	return <-ended
}

func (d *desk) expect(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.said, want) {
		t.Errorf("the coordinator heard\n%q, want\n%q", d.said, want)
	}
}

func TestRun(t *testing.T) {
	done := func(context.Context, jobs.Task, *Lease, *Progress) (jobs.Result, error) {
		return jobs.Result{End: "end"}, nil
	}
	errLost := errors.New("connection reset")
	for _, test := range []struct {
		name string
		desk *desk
		run  Runner
		want []string
	}{
		{"a result is reported", newDesk(task(jobs.StageReduce, 0)), done,
			[]string{"complete 1/reduce/0/a000001-0001 end", "leave w"}},
		{"until it has been heard",
			&desk{tasks: []jobs.Task{task(jobs.StageReduce, 0)}, reportErr: errLost}, done,
			[]string{"lost", "complete 1/reduce/0/a000001-0001 end", "leave w"}},
		{"not to somebody who says that it is stale",
			&desk{tasks: []jobs.Task{task(jobs.StageReduce, 0)},
				reportErr: fmt.Errorf("no: %w", jobs.ErrStaleAttempt)}, done,
			[]string{"lost", "leave w"}},
		{"an error fails the task", newDesk(task(jobs.StageFetch, 3)),
			func(context.Context, jobs.Task, *Lease, *Progress) (jobs.Result, error) {
				return jobs.Result{}, errors.New("the disk is full")
			},
			[]string{"fail 1/fetch/3/a000001-0001 drained=false the disk is full", "leave w"}},
		{"a stale attempt is dropped in silence", newDesk(task(jobs.StageFetch, 3)),
			func(context.Context, jobs.Task, *Lease, *Progress) (jobs.Result, error) {
				return jobs.Result{}, fmt.Errorf("seal: %w", jobs.ErrStaleAttempt)
			},
			[]string{"leave w"}},
		{"an unknown stage fails", newDesk(task("rank", 0)), done,
			[]string{"fail 1/rank/0/a000001-0001 drained=false " +
				"worker w runs no rank tasks: use a newer seine", "leave w"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := employ(t, test.desk, test.run, Settings{}, func(context.CancelFunc) {
					time.Sleep(5 * time.Second)
				})
				if err != nil {
					t.Errorf("Run = %v", err)
				}
				test.desk.expect(t, test.want...)
			})
		})
	}
}

func TestRunSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		for i := range 6 {
			d.tasks = append(d.tasks, task(jobs.StageFetch, i), task(jobs.StageReduce, i))
		}
		var mu sync.Mutex
		now, most := map[jobs.Stage]int{}, map[jobs.Stage]int{}
		run := func(_ context.Context, task jobs.Task, _ *Lease, _ *Progress) (jobs.Result, error) {
			mu.Lock()
			now[task.Stage]++
			most[task.Stage] = max(most[task.Stage], now[task.Stage])
			mu.Unlock()
			time.Sleep(20 * time.Second)
			mu.Lock()
			now[task.Stage]--
			mu.Unlock()
			return jobs.Result{}, nil
		}
		_ = employ(t, d, run, Settings{Slots: 2, FetchSlots: 5}, func(context.CancelFunc) {
			time.Sleep(3 * time.Minute)
		})
		if most[jobs.StageFetch] != 5 || most[jobs.StageReduce] != 2 {
			t.Errorf("at once: %v, want 5 fetch and 2 reduce", most)
		}
		if len(d.said) != 13 {
			t.Errorf("%d reports, want 12 and the leave: %q", len(d.said), d.said)
		}
		if d.beats < 15 {
			t.Errorf("%d heartbeats in about a minute of work", d.beats)
		}
	})
}

// waitFor runs a fetch task until one of the signals of its lease, and says
// which; a function until its context ends.
func waitFor(ctx context.Context, task jobs.Task, l *Lease, p *Progress) (jobs.Result, error) {
	defer p.Parsing("http://a/")()
	if task.Stage.Function() {
		<-ctx.Done()
		return jobs.Result{}, fmt.Errorf("interrupted: %w", ctx.Err())
	}
	select {
	case <-ctx.Done():
		return jobs.Result{}, fmt.Errorf("interrupted: %w", ctx.Err())
	case <-l.Stop():
		return jobs.Result{End: "stopped"}, l.Gate()
	case <-l.Lost():
		return jobs.Result{End: "sealed"}, nil
	case <-l.Drain():
		return jobs.Result{}, jobs.ErrDrained
	}
}

func TestRunSignals(t *testing.T) {
	tasks := []jobs.Task{task(jobs.StageFetch, 0), task(jobs.StageReduce, 0)}
	drained := "drained=true " + jobs.ErrDrained.Error()
	t.Run("a drain seals fetch tasks and ends functions", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(tasks...)
			err := employ(t, d, waitFor, Settings{}, func(context.CancelFunc) { time.Sleep(time.Minute) })
			if err != nil {
				t.Errorf("Run = %v", err)
			}
			slices.Sort(d.said)
			d.expect(t, "fail 1/fetch/0/a000001-0001 "+drained,
				"fail 1/reduce/0/a000001-0001 "+drained, "leave w")
		})
	})
	t.Run("the end of the context ends everything unreported", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(tasks...)
			err := employ(t, d, waitFor, Settings{}, func(kill context.CancelFunc) {
				time.Sleep(time.Minute)
				kill()
				synctest.Wait()
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Run = %v", err)
			}
			d.expect(t, "leave w")
		})
	})
}

func TestRunOrders(t *testing.T) {
	tasks := []jobs.Task{task(jobs.StageFetch, 0), task(jobs.StageReduce, 0)}
	t.Run("the order to stop ends a fetch task well", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(tasks[:1]...)
			d.order = func(b Beat) Order {
				if len(b.Parsing) > 0 && d.beats > 3 {
					return Stop
				}
				return Continue
			}
			_ = employ(t, d, waitFor, Settings{}, func(context.CancelFunc) { time.Sleep(time.Minute) })
			d.expect(t, "complete 1/fetch/0/a000001-0001 stopped", "leave w")
		})
	})
	t.Run("a lost task: fetch may seal, a function is dropped", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(tasks...)
			d.order = func(Beat) Order {
				if d.beats > 3 {
					return Lost
				}
				return Continue
			}
			_ = employ(t, d, waitFor, Settings{}, func(context.CancelFunc) { time.Sleep(time.Minute) })
			d.expect(t, "complete 1/fetch/0/a000001-0001 sealed", "leave w")
		})
	})
	t.Run("a task that is lost before its lease begins never runs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(tasks...)
			d.order = func(Beat) Order { return Lost }
			_ = employ(t, d, waitFor, Settings{}, func(context.CancelFunc) { time.Sleep(time.Minute) })
			d.expect(t, "leave w")
		})
	})
	t.Run("a lease that nobody renews lapses by itself", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(tasks[:1]...)
			start := time.Now()
			var lost time.Duration
			run := func(ctx context.Context, task jobs.Task, l *Lease, p *Progress) (jobs.Result, error) {
				<-l.Lost()
				lost = time.Since(start)
				return jobs.Result{}, l.Gate()
			}
			_ = employ(t, d, run, Settings{}, func(context.CancelFunc) {
				synctest.Wait()
				d.mu.Lock()
				d.beatErr = errors.New("no route")
				d.mu.Unlock()
				time.Sleep(time.Minute)
			})
			d.expect(t, "leave w")
			if lost < 12*time.Second || lost > 12*time.Second+lapseCheck {
				t.Errorf("the runner knew after %v, want 12 s", lost)
			}
		})
	})
}

func TestRunNeedsID(t *testing.T) {
	if err := Run(t.Context(), Settings{}, newDesk(), nil); err == nil {
		t.Error("a worker without an id ran")
	}
}
