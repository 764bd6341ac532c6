package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/layout"
	"seine/jobs"
)

// dice makes commands, some of them sensible.
type dice struct {
	*rand.Rand
	wall int64
}

func (d *dice) job() uint64 { return uint64(d.IntN(12)) }

func (d *dice) request() string { return fmt.Sprintf("r%d", d.IntN(12)) }

func (d *dice) worker() string { return fmt.Sprintf("w%d", d.IntN(3)) }

// task names a task of the state more often than not.
func (d *dice) task(s *State) (jobs.TaskRef, layout.Attempt) {
	if j := s.Writing(); j != nil && d.IntN(8) > 0 {
		i := d.IntN(len(j.Current()))
		a := j.Current()[i].Attempt
		if d.IntN(6) == 0 {
			a.N += uint64(d.IntN(3)) - 1
		}
		return jobs.TaskRef{Job: j.Spec.Job, Stage: j.Stage, Index: i}, a
	}
	stages := []jobs.Stage{jobs.StageGenerate, jobs.StageFetch, jobs.StageReduce, "x"}
	return jobs.TaskRef{Job: d.job(), Stage: stages[d.IntN(4)], Index: d.IntN(5) - 1},
		layout.Attempt{Epoch: uint64(d.IntN(3)), N: uint64(d.IntN(4))}
}

func (d *dice) submission() Submission {
	s := Submission{RequestID: d.request()}
	switch d.IntN(7) {
	case 6:
		s.Kind, s.Requeue = jobs.KindRequeue, &jobs.Requeue{}
	case 0:
		s.Kind, s.Inject = jobs.KindInject, &jobs.Inject{}
	case 1:
		s.Kind, s.Compact = jobs.KindCompact, &jobs.Compact{}
	case 2:
		s.Kind = "rank"
	default:
		policy := []string{"commit", "block"}[d.IntN(2)]
		s.Kind, s.Round = jobs.KindRound, &jobs.Round{Duration: 50_000, OnFailed: policy}
	}
	return s
}

func (d *dice) spec(s *State) jobs.Spec {
	spec := jobs.Spec{Job: s.LastJob + uint64(d.IntN(3)), Now: s.LastNow + 1000,
		Ranges: layout.Split(1 + d.IntN(3)), Kind: jobs.KindCompact, RequestID: d.request()}
	if len(s.Queue) > 0 && d.IntN(10) > 0 {
		q := s.Queue[0]
		spec.Kind, spec.RequestID, spec.Round, spec.Inject = q.Kind, q.RequestID, q.Round, q.Inject
		spec.Requeue = q.Requeue
	}
	return spec
}

func (d *dice) payload(s *State) Payload {
	ref, attempt := d.task(s)
	job := d.job()
	if j := s.Writing(); j != nil && d.IntN(8) > 0 {
		job = j.Spec.Job
	}
	if p := d.sensible(s, attempt, ref); p != nil && d.IntN(3) > 0 {
		return p
	}
	stage := ref.Stage
	switch d.IntN(40) {
	case 0, 1:
		return d.submission()
	case 2, 3, 4:
		return Open{Spec: d.spec(s)}
	case 5:
		return Refuse{RequestID: d.request(), Error: "no"}
	case 6:
		return Cancel{JobRef: JobRef{Job: uint64(d.IntN(2)) * job, RequestID: d.request()},
			Discard: d.IntN(2) == 0}
	case 7:
		return Rerun{Job: job, Partitions: []uint16{uint16(d.IntN(1100))}[:d.IntN(2)]}
	case 8:
		return CommitPartial{Job: job}
	case 9, 10:
		return Join{Worker: d.worker()}
	case 11:
		return Leave{Worker: d.worker()}
	case 12:
		return d.takeover(s)
	case 13, 14:
		return Block{Job: job}
	case 15, 16:
		return Close{Job: job}
	case 17, 18:
		return Publish{Job: job, Outcome: []Outcome{Commit, Commit, Discard}[d.IntN(3)]}
	case 19, 20:
		return Committed{Job: job, Commit: 1}
	case 21, 22:
		return Fail{AttemptRef: jobs.AttemptRef{TaskRef: ref, Attempt: attempt},
			Parsing: []string{"http://a/"}, Excused: d.IntN(3) == 0, Error: "x"}
	case 31:
		return Pause{Round: uint64(d.IntN(2)) * job, At: 1 + s.Clock, By: "o"}
	case 32, 33:
		return Resume{}
	case 23, 24, 25:
		return Advance{Job: job, Stage: stage}
	case 26, 27, 28, 29, 30:
		return Complete{AttemptRef: jobs.AttemptRef{TaskRef: ref, Attempt: attempt}}
	}
	return Grant{Task: ref, Worker: d.worker()}
}

// sensible is what a leader might do, or nil.
func (d *dice) sensible(s *State, a layout.Attempt, ref jobs.TaskRef) Payload {
	j := s.Writing()
	_, t, ok := s.Task(ref)
	switch {
	case j == nil && len(s.Queue) > 0:
		return Open{Spec: d.spec(s)}
	case j == nil:
		return d.submission()
	case j.Phase == Publishing:
		return Committed{Job: j.Spec.Job, Commit: 1}
	case ok && t.Phase == Waiting:
		return Grant{Task: ref, Worker: d.worker()}
	case ok && t.Phase == InProgress && d.IntN(3) == 0:
		return Fail{AttemptRef: jobs.AttemptRef{TaskRef: ref, Attempt: a}, Error: "x",
			Parsing: []string{"http://a/"}}
	case ok && t.Phase == InProgress:
		return Complete{AttemptRef: jobs.AttemptRef{TaskRef: ref, Attempt: a}}
	}
	return nil
}

func (d *dice) takeover(s *State) Takeover {
	t := Takeover{Epoch: s.Epoch + uint64(d.IntN(4))/3}
	for range d.IntN(3) {
		t.Open = append(t.Open, OpenJob{Spec: d.spec(s),
			Highest: map[jobs.Stage]map[int]uint64{jobs.StageFetch: {0: uint64(d.IntN(9)), 7: 1}}})
	}
	for _, j := range s.Open {
		if d.IntN(6) > 0 {
			t.Open = append(t.Open, OpenJob{Spec: j.Spec})
		}
	}
	return t
}

// past is what must never go back.
type past struct {
	clock, now int64
	epoch, job uint64
	attempts   map[jobs.TaskRef]layout.Attempt
	stage      map[uint64]int
	ended      map[uint64]bool
	publishing map[uint64]bool
	phases     map[Phase]int // how often each was seen
	commits    int
}

func (p *past) check(s *State) error {
	if s.Clock < p.clock || s.LastNow < p.now || s.Epoch < p.epoch || s.LastJob < p.job {
		return fmt.Errorf("a clock or a number fell")
	}
	p.clock, p.now, p.epoch, p.job = s.Clock, s.LastNow, s.Epoch, s.LastJob
	if len(s.Ended) > Summaries || len(s.Queue) > QueueLimit {
		return fmt.Errorf("%d summaries, %d queued", len(s.Ended), len(s.Queue))
	}
	for i, j := range s.Open {
		n := j.Spec.Job
		p.phases[j.Phase]++
		if i > 0 && (j.Phase != Publishing || j.Outcome != Discard) {
			return fmt.Errorf("job %d is open beside job %d", n, s.Open[0].Spec.Job)
		}
		if p.ended[n] {
			return fmt.Errorf("job %d came back", n)
		}
		if p.publishing[n] && j.Phase != Publishing {
			return fmt.Errorf("job %d left publishing for %s", n, j.Phase)
		}
		p.publishing[n] = j.Phase == Publishing
		stages, _ := jobs.Stages(j.Spec.Kind)
		at := slices.Index(stages, j.Stage)
		if at < p.stage[n] {
			return fmt.Errorf("job %d went back to %s", n, j.Stage)
		}
		p.stage[n] = at
		for stage, tasks := range j.Tasks {
			for i, t := range tasks {
				ref := jobs.TaskRef{Job: n, Stage: stage, Index: i}
				if t.Attempt.N < p.attempts[ref].N || t.Attempt.Less(p.attempts[ref]) {
					return fmt.Errorf("attempt of %s fell from %s to %s", ref, p.attempts[ref], t.Attempt)
				}
				p.attempts[ref] = t.Attempt
				if stage != j.Stage && t.Phase != Done {
					return fmt.Errorf("%s is %s behind its stage", ref, t.Phase)
				}
			}
		}
	}
	for _, e := range s.Ended {
		if e.Job != 0 && !p.ended[e.Job] {
			p.ended[e.Job] = true
			if e.Outcome == Commit {
				p.commits++
			}
		}
	}
	return nil
}

// run applies n random commands and checks after each: nothing goes back, what
// is refused changes nothing but the clock, and another node that reads the
// same log, through a snapshot, comes to the same state.
func run(t *testing.T, seed uint64, n int) (*State, *past) {
	t.Helper()
	d := &dice{Rand: rand.New(rand.NewPCG(seed, 1)), wall: 1_000_000}
	s, twin := New(), New()
	before := &past{attempts: map[jobs.TaskRef]layout.Attempt{}, stage: map[uint64]int{},
		ended: map[uint64]bool{}, publishing: map[uint64]bool{}, phases: map[Phase]int{}}
	for i := range n {
		d.wall += int64(d.IntN(4000)) - 1000
		c, err := NewCommand(d.payload(s), d.wall)
		if err != nil {
			t.Fatal(err)
		}
		var old []byte
		if i%4 == 0 {
			old, _ = s.Snapshot()
		}
		r, err := Apply(s, c)
		if err != nil {
			t.Fatalf("seed %d, %d: Apply(%s %s) = %v", seed, i, c.Kind, c.Payload, err)
		}
		if err := before.check(s); err != nil {
			t.Fatalf("seed %d, %d: after %s %s: %v", seed, i, c.Kind, c.Payload, err)
		}
		if r.Err != nil && old != nil {
			unchanged(t, old, s, c)
		}
		if d.IntN(20) == 0 {
			image, _ := twin.Snapshot()
			if twin, err = Restore(image); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Apply(twin, c); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := s.Snapshot()
	b, _ := twin.Snapshot()
	if diff := cmp.Diff(string(a), string(b)); diff != "" {
		t.Errorf("seed %d: the twin differs: %s", seed, diff)
	}
	return s, before
}

func unchanged(t *testing.T, old []byte, s *State, c Command) {
	t.Helper()
	was, err := Restore(old)
	if err != nil {
		t.Fatal(err)
	}
	was.Clock = s.Clock
	a, _ := was.Snapshot()
	b, _ := s.Snapshot()
	if diff := cmp.Diff(string(a), string(b)); diff != "" {
		t.Errorf("%s %s was refused and changed %s", c.Kind, c.Payload, diff)
	}
}

func TestRandomCommands(t *testing.T) {
	commits, blocked := 0, 0
	for seed := range uint64(40) {
		_, seen := run(t, seed, 300)
		commits += seen.commits
		blocked += seen.phases[Blocked]
	}
	// The dice must reach what they are to test.
	if commits < 30 || blocked < 10 {
		t.Errorf("%d jobs were committed, %d steps ended blocked", commits, blocked)
	}
}

func FuzzApply(f *testing.F) {
	for _, p := range []Payload{Submission{}, Grant{}, Takeover{}, Open{}} {
		c, _ := NewCommand(p, 1)
		f.Add(string(c.Kind), []byte(c.Payload), int64(1))
	}
	f.Add("teleport", []byte("{}"), int64(0))
	f.Add("open", []byte(`{"spec":{"kind":"round","job":1,"now":1,"ranges":[{}]}}`), int64(-1))
	f.Add("takeover", []byte(`{"open":[{"spec":{"kind":"compact","ranges":[{}]}}]}`), int64(5))
	f.Fuzz(func(t *testing.T, kind string, payload []byte, wall int64) {
		s := New()
		for _, p := range []Payload{Join{Worker: "w"}, roundOf("r"), roundOf("q"),
			Open{Spec: jobs.Spec{Job: 1, Now: 1, Kind: jobs.KindRound, RequestID: "r",
				Ranges: layout.Split(2), Round: &jobs.Round{OnFailed: "block"}}},
			Grant{Task: jobs.TaskRef{Job: 1, Stage: jobs.StageGenerate}, Worker: "w"}} {
			must(t, s, p)
		}
		before, _ := s.Snapshot()
		_, err := Apply(s, Command{Format: Format, Kind: Kind(kind), Wall: wall, Payload: payload})
		after, serr := s.Snapshot()
		if serr != nil {
			t.Fatal(serr)
		}
		if err != nil && (!errors.Is(err, ErrUnknown) || string(before) != string(after)) {
			t.Errorf("Apply = %v", err)
		}
		if !json.Valid(after) {
			t.Error("the snapshot is no JSON")
		}
	})
}
