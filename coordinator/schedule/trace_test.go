package schedule

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"seine/coordinator/state"
	"seine/formats/layout"
	"seine/jobs"
)

var update = flag.Bool("update", false, "write what is found into the traces")

// TestTraces runs the files of testdata. A line is a command or a comment; the
// lines after "----", up to an empty one, are what it prints:
//
//	submit ID KIND [on_failed=block] [duration=MS]
//	open ID tasks=N            plans the submission
//	join WORKER
//	claim WORKER fetch=N other=N    waits for tasks until it gets one
//	beat TASK [parsing=URL,URL]     renews the lease of a running task
//	complete TASK | fail TASK TEXT | drain TASK
//	cancel JOB [discard] | rerun JOB [PARTITION...] | partial JOB
//	committed JOB | compacted
//	pass MS                    lets time pass
//	next                       applies what Next says until it says nothing,
//	                           then prints the duty
//	show                       prints the tasks of the stage
func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := newTrace(t).run(string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("%s is now:\n%s", file, got)
			}
		})
	}
}

type trace struct {
	t     *testing.T
	facts Facts
	out   bytes.Buffer
}

func newTrace(t *testing.T) *trace {
	s := state.New()
	s.Epoch = 1
	return &trace{t: t, facts: Facts{State: s, Compacted: true,
		Leases: map[jobs.AttemptRef]Lease{}, Heard: map[string]int64{}}}
}

// run executes a trace and returns it with what it prints now.
func (tr *trace) run(text string) string {
	expecting := false
	var file strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "----":
			expecting = true
			continue
		case expecting:
			expecting = line != ""
			continue
		}
		file.WriteString(line + "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		tr.out.Reset()
		tr.command(strings.Fields(line))
		if tr.out.Len() > 0 {
			file.WriteString("----\n" + tr.out.String() + "\n")
		}
	}
	return file.String()
}

// options splits words into key=value pairs and the rest.
func options(words []string) (rest []string, set map[string]string) {
	set = map[string]string{}
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			set[k] = v
		} else {
			rest = append(rest, w)
		}
	}
	return rest, set
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func (tr *trace) command(words []string) {
	verb := words[0]
	args, set := options(words[1:])
	switch verb {
	case "submit":
		tr.submit(args, set)
	case "open":
		tr.open(args[0], int(number(set["tasks"])))
	case "join":
		tr.apply(state.Join{Worker: args[0]})
		tr.facts.Heard[args[0]] = tr.facts.Mono
	case "claim":
		tr.facts.Claims = append(tr.facts.Claims, Claim{Worker: args[0],
			Fetch: int(number(set["fetch"])), Other: int(number(set["other"]))})
	case "beat":
		ref := tr.attempt(args[0])
		lease := Lease{Until: tr.facts.Mono + 15_000, Began: true}
		if set["parsing"] != "" {
			lease.Parsing = strings.Split(set["parsing"], ",")
		}
		tr.facts.Leases[ref] = lease
	case "complete":
		tr.apply(state.Complete{AttemptRef: tr.attempt(args[0]),
			Result: jobs.Result{End: args[0] + "/end"}})
	case "fail", "drain":
		tr.apply(state.Fail{AttemptRef: tr.attempt(args[0]),
			Error: strings.Join(args[1:], " "), Excused: verb == "drain"})
	case "cancel":
		tr.apply(state.Cancel{JobRef: state.JobRef{Job: uint64(number(args[0]))},
			Discard: slices.Contains(args, "discard")})
	case "rerun":
		rerun := state.Rerun{Job: uint64(number(args[0]))}
		for _, p := range args[1:] {
			rerun.Partitions = append(rerun.Partitions, uint16(number(p)))
		}
		tr.apply(rerun)
	case "partial":
		tr.apply(state.CommitPartial{Job: uint64(number(args[0]))})
	case "committed":
		tr.apply(state.Committed{Job: uint64(number(args[0])), Commit: 1})
	case "compacted":
		tr.facts.Compacted = !slices.Contains(args, "not")
	case "pass":
		tr.facts.Mono += number(args[0])
	case "next":
		tr.next()
	case "show":
		tr.show()
	default:
		tr.t.Fatalf("unknown command %q", verb)
	}
}

func (tr *trace) submit(args []string, set map[string]string) {
	s := state.Submission{RequestID: args[0], Kind: jobs.Kind(args[1])}
	switch s.Kind {
	case jobs.KindRound:
		s.Round = &jobs.Round{OnFailed: "commit", Duration: 600_000}
		if v := set["on_failed"]; v != "" {
			s.Round.OnFailed = v
		}
		if v := set["duration"]; v != "" {
			s.Round.Duration = number(v)
		}
	case jobs.KindInject:
		s.Inject = &jobs.Inject{}
	case jobs.KindCompact:
		s.Compact = &jobs.Compact{}
	}
	tr.apply(s)
}

func (tr *trace) open(id string, tasks int) {
	s := tr.facts.State
	spec := jobs.Spec{Job: s.LastJob + 1, Now: max(s.LastNow+1000, tr.facts.Mono),
		Ranges: layout.Split(tasks), RequestID: id, Kind: jobs.KindCompact}
	for _, q := range s.Queue {
		if q.RequestID == id {
			spec.Kind, spec.Round, spec.Inject = q.Kind, q.Round, q.Inject
		}
	}
	tr.apply(state.Open{Spec: spec})
}

// attempt finds the newest attempt of a task named job/stage/index.
func (tr *trace) attempt(name string) jobs.AttemptRef {
	part := strings.Split(name, "/")
	ref := jobs.TaskRef{Job: uint64(number(part[0])), Stage: jobs.Stage(part[1]),
		Index: int(number(part[2]))}
	_, task, ok := tr.facts.State.Task(ref)
	if !ok {
		tr.t.Fatalf("no task %s", name)
	}
	return jobs.AttemptRef{TaskRef: ref, Attempt: task.Attempt}
}

// apply applies a command and prints it only if it was refused.
func (tr *trace) apply(p state.Payload) state.Result {
	c, err := state.NewCommand(p, tr.facts.Mono)
	if err != nil {
		tr.t.Fatal(err)
	}
	r, err := state.Apply(tr.facts.State, c)
	if err != nil {
		tr.t.Fatal(err)
	}
	if r.Err != nil {
		fmt.Fprintf(&tr.out, "refused: %v\n", r.Err)
	}
	return r
}

func (tr *trace) next() {
	for range 20 {
		due := Next(tr.facts, tr.facts.Mono)
		if len(due) == 0 {
			fmt.Fprintf(&tr.out, "duty: %s\n", cmp.Or(string(Outside(tr.facts)), "nothing"))
			return
		}
		for _, p := range due {
			name := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", p), "state."))
			body, _ := json.Marshal(p)
			fmt.Fprintf(&tr.out, "%s %s\n", name, body)
			r := tr.apply(p)
			if g, ok := p.(state.Grant); ok && r.Task != nil {
				tr.granted(g, *r.Task)
			}
		}
	}
	tr.t.Fatalf("Next does not come to an end:\n%s", tr.out.String())
}

// granted begins the lease and uses the claim up, as the leader does.
func (tr *trace) granted(g state.Grant, t jobs.Task) {
	fmt.Fprintf(&tr.out, "  attempt %s closing=%v deadline=%d suspects=%q inputs=%v\n",
		t.Attempt, t.Closing, t.Deadline, t.Suspects, t.Inputs)
	tr.facts.Leases[t.AttemptRef()] = Lease{Until: tr.facts.Mono + 15_000}
	for i := range tr.facts.Claims {
		if c := &tr.facts.Claims[i]; c.Worker == g.Worker {
			if t.Stage == jobs.StageFetch {
				c.Fetch--
			} else {
				c.Other--
			}
		}
	}
}

func (tr *trace) show() {
	s := tr.facts.State
	for _, j := range s.Open {
		fmt.Fprintf(&tr.out, "job %d %s %s %s\n", j.Spec.Job, j.Phase, j.Outcome, j.Stage)
		for i, t := range j.Current() {
			fmt.Fprintf(&tr.out, "  %d %s n=%d worker=%s failures=%d closing=%v %s\n", i, t.Phase,
				t.Attempt.N, t.Worker, t.Failures, t.Closing, t.Error)
		}
	}
	for _, q := range s.Queue {
		fmt.Fprintf(&tr.out, "queued %s\n", q.RequestID)
	}
	for _, e := range s.Ended {
		fmt.Fprintf(&tr.out, "ended %d %s %s partial=%v %s\n", e.Job, e.RequestID, e.Outcome,
			e.Partial, e.Error)
	}
	fmt.Fprintf(&tr.out, "workers %v\n", slices.Sorted(maps.Keys(s.Workers)))
}
