package server_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seine/coordinator/api"
	"seine/coordinator/client"
	"seine/coordinator/leader"
	"seine/coordinator/ledgertest"
	"seine/coordinator/raftnode"
	"seine/coordinator/server"
	"seine/coordinator/state"
	"seine/formats/layout"
	"seine/jobs"
	"seine/jobs/worker"
)

// fake answers what it is told and remembers what it was asked.
type fake struct {
	api.Conn
	err   error
	asked any
}

func (f *fake) Submit(_ context.Context, s state.Submission) (api.Submitted, error) {
	f.asked = s
	return api.Submitted{Job: 7}, f.err
}

func (f *fake) Status(context.Context) (api.Status, error) {
	return api.Status{Epoch: 3, Idle: true}, f.err
}

func (f *fake) Jobs(context.Context) ([]api.Job, error) {
	return []api.Job{{Job: 1, Phase: api.Ended, Counts: map[string]int64{"pages": 1}}}, f.err
}

func (f *fake) Watch(_ context.Context, ref state.JobRef, after uint64) (api.Job, error) {
	f.asked = api.Watch{JobRef: ref, After: after}
	return api.Job{Version: after + 1}, f.err
}

func (f *fake) note(asked any) error {
	f.asked = asked
	return f.err
}

func (f *fake) Cancel(_ context.Context, c state.Cancel) error        { return f.note(c) }
func (f *fake) Rerun(_ context.Context, r state.Rerun) error          { return f.note(r) }
func (f *fake) Commit(_ context.Context, c state.CommitPartial) error { return f.note(c) }
func (f *fake) Heed(_ context.Context, s api.Settings) error          { return f.note(s) }
func (f *fake) Complete(_ context.Context, c worker.Completion) error { return f.note(c) }
func (f *fake) Fail(_ context.Context, c worker.Failure) error        { return f.note(c) }
func (f *fake) Leave(_ context.Context, l worker.Leave) error         { return f.note(l) }
func (f *fake) Claim(_ context.Context, c worker.Claim) ([]jobs.Task, error) {
	return []jobs.Task{{Stage: jobs.StageFetch, Index: 2}}, f.note(c)
}
func (f *fake) Heartbeat(_ context.Context, h worker.Heartbeat) (worker.Orders, error) {
	return worker.Orders{Tasks: []worker.Order{worker.Stop}}, f.note(h)
}

func connect(t *testing.T, conn api.Conn) (*client.Client, string) {
	t.Helper()
	s := httptest.NewServer(server.Handler(conn, server.Options{}))
	t.Cleanup(s.Close)
	c, err := client.New(s.URL, client.Options{HTTP: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return c, s.URL
}

// Every call brings its question there and its answer back.
func TestCalls(t *testing.T) {
	f := &fake{}
	c, _ := connect(t, f)
	ctx := t.Context()
	attempt := jobs.AttemptRef{TaskRef: jobs.TaskRef{Job: 4, Stage: "fetch", Index: 1},
		Attempt: layout.Attempt{Epoch: 2, N: 3}}
	beat := worker.Heartbeat{Worker: "w", Tasks: []worker.Beat{{AttemptRef: attempt,
		Report: worker.Report{Counts: map[string]int64{"pages": 2}, Parsing: []string{"u"}}}}}
	submission := state.Submission{RequestID: "r", Kind: jobs.KindRound, Round: &jobs.Round{TopN: 5}}
	completion := worker.Completion{Worker: "w", AttemptRef: attempt, Result: jobs.Result{End: "e"}}
	failure := worker.Failure{Worker: "w", AttemptRef: attempt, Error: "x", Drained: true}
	cancel := state.Cancel{JobRef: state.JobRef{Job: 3}, Discard: true}
	for _, test := range []struct {
		name      string
		ask       any
		call      func() (any, error)
		wantsBack any
	}{
		{"submit", submission, func() (any, error) { return c.Submit(ctx, submission) },
			api.Submitted{Job: 7}},
		{"watch", api.Watch{JobRef: state.JobRef{RequestID: "r"}, After: 8},
			func() (any, error) { return c.Watch(ctx, state.JobRef{RequestID: "r"}, 8) },
			api.Job{Version: 9}},
		{"cancel", cancel, func() (any, error) { return nil, c.Cancel(ctx, cancel) }, nil},
		{"rerun", state.Rerun{Job: 3, Partitions: []uint16{4}},
			func() (any, error) {
				return nil, c.Rerun(ctx, state.Rerun{Job: 3, Partitions: []uint16{4}})
			}, nil},
		{"commit", state.CommitPartial{Job: 3},
			func() (any, error) { return nil, c.Commit(ctx, state.CommitPartial{Job: 3}) }, nil},
		{"heed", api.Settings{Version: 8},
			func() (any, error) { return nil, c.Heed(ctx, api.Settings{Version: 8}) }, nil},
		{"claim", worker.Claim{Worker: "w", Fetch: 2, Other: 1},
			func() (any, error) {
				return c.Claim(ctx, worker.Claim{Worker: "w", Fetch: 2, Other: 1})
			}, []jobs.Task{{Stage: jobs.StageFetch, Index: 2}}},
		{"heartbeat", beat, func() (any, error) { return c.Heartbeat(ctx, beat) },
			worker.Orders{Tasks: []worker.Order{worker.Stop}}},
		{"complete", completion, func() (any, error) { return nil, c.Complete(ctx, completion) }, nil},
		{"fail", failure, func() (any, error) { return nil, c.Fail(ctx, failure) }, nil},
		{"leave", worker.Leave{Worker: "w"},
			func() (any, error) { return nil, c.Leave(ctx, worker.Leave{Worker: "w"}) }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			f.asked = nil
			back, err := test.call()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.ask, f.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.wantsBack, back); diff != "" {
				t.Errorf("answered (-want +got):\n%s", diff)
			}
		})
	}
	if st, err := c.Status(ctx); err != nil || st.Epoch != 3 || !st.Idle {
		t.Errorf("Status = %+v, %v", st, err)
	}
	if all, err := c.Jobs(ctx); err != nil || len(all) != 1 || !all[0].Over() {
		t.Errorf("Jobs = %+v, %v", all, err)
	}
}

// Errors keep their sentinel and their text.
func TestErrors(t *testing.T) {
	for _, sentinel := range []error{jobs.ErrStaleAttempt, state.ErrPhase, state.ErrNoJob,
		state.ErrRefused, api.ErrNotLeader, api.ErrUnavailable, api.ErrBadRequest} {
		t.Run(sentinel.Error(), func(t *testing.T) {
			c, _ := connect(t, &fake{err: errors.Join(errors.New("why"), sentinel)})
			err := c.Cancel(t.Context(), state.Cancel{})
			if !errors.Is(err, sentinel) || !strings.Contains(err.Error(), "why") {
				t.Errorf("Cancel = %v", err)
			}
		})
	}
	c, _ := connect(t, &fake{err: errors.New("the roof is on fire")})
	if err := c.Cancel(t.Context(), state.Cancel{}); err == nil ||
		!strings.Contains(err.Error(), "the roof is on fire") {
		t.Errorf("Cancel = %v", err)
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	f := &fake{}
	_, url := connect(t, f)
	for _, test := range []struct {
		name, method, path, kind, body, host string
		want                                 int
	}{
		{"a form from a web page", "POST", api.PathCancel, "text/plain", "{}", "", 400},
		{"no JSON", "POST", api.PathCancel, "application/json", "{", "", 400},
		{"too long", "POST", api.PathCancel, "application/json",
			`{"request_id":"` + strings.Repeat("x", 9<<20) + `"}`, "", 400},
		{"another name that points here", "GET", api.PathStatus, "", "", "evil.test", 400},
		{"localhost", "GET", api.PathStatus, "", "", "localhost:80", 200},
		{"GET where POST is due", "GET", api.PathCancel, "", "", "", 405},
		{"an unknown path", "POST", "/v1/explode", "application/json", "{}", "", 404},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), test.method, url+test.path,
				strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", test.kind)
			r.Host = test.host
			got, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			if body, _ := io.ReadAll(got.Body); got.StatusCode != test.want {
				t.Errorf("status %d, want %d: %s", got.StatusCode, test.want, body)
			}
			if f.asked != nil {
				t.Errorf("the coordinator was asked %+v", f.asked)
			}
		})
	}
}

// A round over HTTP, with a real coordinator and worker.
func TestRoundOverHTTP(t *testing.T) {
	node, err := raftnode.Embedded(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	ctx, cancel := context.WithCancel(t.Context())
	l := leader.New(node, ledgertest.New(2), nil)
	led := make(chan error, 1)
	go func() { led <- l.Run(ctx) }()
	on, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, on, l, server.Options{}) }()
	c, err := client.New("http://"+on.Addr().String(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	drain, ended := make(chan struct{}), make(chan error, 1)
	run := func(_ context.Context, task jobs.Task, _ *worker.Lease, _ *worker.Progress) (
		jobs.Result, error) {
		return jobs.Result{End: task.ID()}, nil
	}
	go func() {
		ended <- worker.Run(ctx, worker.Settings{ID: "w", Drain: drain}, c, map[jobs.Stage]worker.Runner{
			jobs.StageGenerate: run, jobs.StageFetch: run, jobs.StageReduce: run})
	}()
	submission := state.Submission{RequestID: "r", Kind: jobs.KindRound,
		Round: &jobs.Round{OnFailed: "commit"}}
	for {
		if _, err = c.Submit(ctx, submission); !errors.Is(err, api.ErrNotLeader) {
			break
		}
	}
	for after := uint64(0); err == nil; {
		var j api.Job
		if j, err = c.Watch(ctx, state.JobRef{RequestID: "r"}, after); j.Over() {
			if j.Commit != 1 {
				t.Errorf("the round ended as %+v", j)
			}
			break
		}
		after = j.Version
	}
	if err != nil {
		t.Fatal(err)
	}
	close(drain)
	if err := <-ended; err != nil {
		t.Errorf("worker: %v", err)
	}
	cancel()
	if err := errors.Join(<-served, <-led); err != nil {
		t.Error(err)
	}
	if _, err := c.Status(t.Context()); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("Status of a server that is gone: %v", err)
	}
	short, stop := context.WithTimeout(t.Context(), time.Nanosecond)
	defer stop()
	if _, err := c.Status(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Status out of time: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	for _, bad := range []string{"", "localhost:7700", "ftp://x", "http://", "://"} {
		if _, err := client.New(bad, client.Options{}); err == nil {
			t.Errorf("New(%q) is no error", bad)
		}
	}
}
