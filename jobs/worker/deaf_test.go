package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"seine/jobs"
)

// deaf hands tasks out and hears of no end.
type deaf struct{ *desk }

func (deaf) Fail(context.Context, Failure) error        { return errors.New("nobody answers") }
func (deaf) Complete(context.Context, Completion) error { return errors.New("nobody answers") }

// A worker that drains while the coordinators are away ends when its leases
// have lapsed; one that does not drain goes on telling.
func TestDrainWithoutCoordinators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drain, ended := make(chan struct{}), make(chan error, 1)
		done := func(context.Context, jobs.Task, *Lease, *Progress) (jobs.Result, error) {
			return jobs.Result{End: "end"}, nil
		}
		go func() {
			ended <- Run(t.Context(), Settings{ID: "w", Drain: drain},
				deaf{newDesk(task(jobs.StageFetch, 0))},
				map[jobs.Stage]Runner{jobs.StageFetch: done})
		}()
		time.Sleep(10 * time.Minute)
		select {
		case err := <-ended:
			t.Fatalf("it ended without being asked: %v", err)
		default:
		}
		close(drain)
		start := time.Now()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
		if took := time.Since(start); took < LeaseTime || took > LeaseTime+5*time.Second {
			t.Errorf("it ended %v after the drain", took)
		}
	})
}
