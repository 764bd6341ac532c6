package state

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"seine/formats/layout"
	"seine/jobs"
)

func must(t *testing.T, s *State, p Payload) Result {
	t.Helper()
	r := try(t, s, p)
	if r.Err != nil {
		t.Fatalf("%T: %v", p, r.Err)
	}
	return r
}

func try(t *testing.T, s *State, p Payload) Result {
	t.Helper()
	c, err := NewCommand(p, s.Clock+1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Apply(s, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func roundOf(id string) Submission {
	return Submission{RequestID: id, Kind: jobs.KindRound, Round: &jobs.Round{OnFailed: "commit"}}
}

func TestSubmit(t *testing.T) {
	for _, test := range []struct {
		name string
		s    Submission
		want string // in the error; "": none
	}{
		{"a round", roundOf("r"), ""},
		{"an inject", Submission{RequestID: "r", Kind: jobs.KindInject, Inject: &jobs.Inject{}}, ""},
		{"a requeue", Submission{RequestID: "r", Kind: jobs.KindRequeue, Requeue: &jobs.Requeue{}}, ""},
		{"without an id", roundOf(""), "no request id"},
		{"of an unknown kind", Submission{RequestID: "r", Kind: "rank"}, "rank"},
		{"without its field", Submission{RequestID: "r", Kind: jobs.KindRound}, "exactly the field"},
		{"with another's field", Submission{RequestID: "r", Kind: jobs.KindInject,
			Inject: &jobs.Inject{}, Round: &jobs.Round{}}, "exactly the field"},
		{"that says nothing of failures", Submission{RequestID: "r", Kind: jobs.KindRound,
			Round: &jobs.Round{}}, "on_failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := try(t, New(), test.s)
			if test.want == "" {
				if r.Err != nil {
					t.Error(r.Err)
				}
			} else if !errors.Is(r.Err, ErrRefused) || !strings.Contains(r.Err.Error(), test.want) {
				t.Errorf("got %v, want %q", r.Err, test.want)
			}
		})
	}
}

func TestQueueIsBounded(t *testing.T) {
	s := New()
	for i := range QueueLimit {
		must(t, s, roundOf(fmt.Sprint(i)))
	}
	if r := try(t, s, roundOf("one more")); !errors.Is(r.Err, ErrRefused) {
		t.Errorf("one more than the limit: %v", r.Err)
	}
	must(t, s, roundOf("0")) // is known
}

// The same request id is the same job in every phase of its life.
func TestSameRequestSameJob(t *testing.T) {
	s := New()
	again := func(want uint64) {
		t.Helper()
		if r := must(t, s, roundOf("r")); r.Job != want {
			t.Errorf("job %d, want %d", r.Job, want)
		}
		if len(s.Queue)+len(s.Open)+len(s.Ended) != 1 {
			t.Errorf("%d queued, %d open, %d ended", len(s.Queue), len(s.Open), len(s.Ended))
		}
	}
	again(0)
	spec := jobs.Spec{Job: 5, Now: 9, Kind: jobs.KindRound, RequestID: "r",
		Ranges: layout.Split(1), Round: &jobs.Round{OnFailed: "commit"}}
	again(0)
	must(t, s, Open{Spec: spec})
	again(5)
	must(t, s, Cancel{JobRef: JobRef{Job: 5}, Discard: true})
	again(5)
	must(t, s, Committed{Job: 5, Commit: 2})
	again(5)
	if r := try(t, s, Cancel{JobRef: JobRef{RequestID: "r"}}); !errors.Is(r.Err, ErrPhase) {
		t.Errorf("cancel of an ended job: %v", r.Err)
	}
	if r := try(t, s, Cancel{JobRef: JobRef{Job: 99}}); !errors.Is(r.Err, ErrNoJob) {
		t.Errorf("cancel of no job: %v", r.Err)
	}
}

// Cancelled between the put of its spec and its opening, a job ends without
// doing anything: its number is taken.
func TestCancelledWhilePlanned(t *testing.T) {
	spec := jobs.Spec{Job: 1, Now: 9, Kind: jobs.KindRound, RequestID: "r",
		Ranges: layout.Split(1), Round: &jobs.Round{OnFailed: "commit"}}
	for _, test := range []struct {
		name string
		then Payload
	}{
		{"opened", Open{Spec: spec}},
		{"found in the store", Takeover{Epoch: 1, Open: []OpenJob{{Spec: spec}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := New()
			must(t, s, roundOf("r"))
			must(t, s, Cancel{JobRef: JobRef{RequestID: "r"}})
			must(t, s, test.then)
			if j := s.Writing(); j == nil || j.Phase != Publishing || j.Outcome != Discard {
				t.Errorf("the job is %+v", j)
			}
		})
	}
}

func TestNowIsMonotonic(t *testing.T) {
	s := New()
	spec := jobs.Spec{Job: 1, Now: 1000, Kind: jobs.KindCompact, Ranges: layout.Split(1)}
	must(t, s, Open{Spec: spec})
	must(t, s, Publish{Job: 1, Outcome: Discard})
	must(t, s, Committed{Job: 1})
	spec.Job = 2
	if r := try(t, s, Open{Spec: spec}); !errors.Is(r.Err, ErrPhase) {
		t.Errorf("two jobs with one now: %v", r.Err)
	}
	c, _ := NewCommand(Join{Worker: "w"}, -5)
	before := s.Clock
	if _, err := Apply(s, c); err != nil || s.Clock != before {
		t.Errorf("a clock that was set back moved the state's from %d to %d", before, s.Clock)
	}
}

func TestUnknownCommands(t *testing.T) {
	good, _ := NewCommand(Join{Worker: "w"}, 1)
	for _, test := range []struct {
		name   string
		change func(*Command)
	}{
		{"kind", func(c *Command) { c.Kind = "freeze" }},
		{"format", func(c *Command) { c.Format = Format + 1 }},
		{"payload", func(c *Command) { c.Payload = []byte(`{"worker":7}`) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, s := good, New()
			test.change(&c)
			if _, err := Apply(s, c); !errors.Is(err, ErrUnknown) {
				t.Errorf("Apply = %v", err)
			}
			if len(s.Workers) != 0 || s.Clock != 0 {
				t.Error("it changed the state")
			}
		})
	}
}

func TestRestoreRefuses(t *testing.T) {
	for name, image := range map[string]string{
		"another format": `{"format":99}`, "no format": `{}`, "no JSON": `{"format":`,
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := Restore([]byte(image)); err == nil {
				t.Errorf("Restore = %+v", s)
			}
		})
	}
}

func TestDeathsAreBounded(t *testing.T) {
	var task Task
	for i := range 2 * deathLimit {
		task.die([]string{fmt.Sprintf("http://%04d/", i)})
	}
	task.die([]string{"http://0001/", "http://0000/", "http://late/"})
	if len(task.Deaths) != deathLimit {
		t.Errorf("%d deaths are remembered", len(task.Deaths))
	}
	if got := task.Suspects(); len(got) != 2 || got[0] != "http://0000/" {
		t.Errorf("suspects %q", got)
	}
}

// A page that killed two embedded processes is a suspect in the third.
func TestDeathsFromTheStore(t *testing.T) {
	s := New()
	spec := jobs.Spec{Job: 1, Now: 9, Kind: jobs.KindRound, Ranges: layout.Split(1),
		Round: &jobs.Round{OnFailed: "commit"}}
	done := map[jobs.Stage]map[int]jobs.Result{jobs.StageGenerate: {0: {End: "e"}}}
	must(t, s, Join{Worker: "w"})
	must(t, s, Takeover{Epoch: 1, Open: []OpenJob{{Spec: spec, Done: done,
		Deaths: map[int]map[string]int{0: {"http://a/": 2, "http://b/": 1}, 7: {"http://c/": 2}}}}})
	ref := jobs.TaskRef{Job: 1, Stage: jobs.StageFetch}
	got := must(t, s, Grant{Task: ref, Worker: "w"}).Task.Suspects
	if len(got) != 1 || got[0] != "http://a/" {
		t.Errorf("suspects %q", got)
	}
}

func TestSummariesAreBounded(t *testing.T) {
	s := New()
	for i := range uint64(Summaries + 5) {
		n := i + 1
		must(t, s, Open{Spec: jobs.Spec{Job: n, Now: int64(n), Kind: jobs.KindCompact,
			Ranges: layout.Split(1)}})
		must(t, s, Publish{Job: n, Outcome: Discard})
		must(t, s, Committed{Job: n})
	}
	if len(s.Ended) != Summaries || s.Ended[0].Job != 6 {
		t.Errorf("%d summaries from job %d", len(s.Ended), s.Ended[0].Job)
	}
}
