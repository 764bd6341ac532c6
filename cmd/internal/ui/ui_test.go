package ui

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/jobs"
)

// fetching is a round in the middle of its fetch, ten seconds after that began.
func fetching() api.Job {
	return api.Job{Job: 3, Kind: jobs.KindRound, Phase: state.Running, Stage: jobs.StageFetch,
		Opened: 0, Since: 2000, Stages: []api.Stage{
			{Stage: jobs.StageGenerate, Counts: map[string]int64{"selected": 995, "refused": 5, "refused_rule": 5},
				Tasks: []api.Task{{Phase: state.Done}}},
			{Stage: jobs.StageFetch, Counts: map[string]int64{"ok": 480, "http_404": 15, "robots_denied": 5,
				"fetched": 500, "waiting": 495, "bytes": 1 << 20},
				Tasks: []api.Task{{Phase: state.InProgress, Note: "docs.example.com: 1 request a second, 840 to go"}}},
		}}
}

func at(ms int64) time.Time { return time.UnixMilli(ms) }

func TestLines(t *testing.T) {
	want := []string{
		"round 3  12s",
		"  generate  ████████████████████████ 1 of 1",
		"  fetch     ████████████░░░░░░░░░░░░ 505 of 1000  50 pages/s",
		"            ok 480, http_404 15, robots_denied 5, rule 5",
		"            docs.example.com: 1 request a second, 840 to go",
		"  reduce    ░░░░░░░░░░░░░░░░░░░░░░░░",
	}
	if diff := cmp.Diff(want, Lines(fetching(), at(12_000))); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestLine(t *testing.T) {
	failed := fetching()
	failed.Phase = state.Blocked
	failed.Stages[1].Tasks[0] = api.Task{Index: 2, Phase: state.Failed, Failures: 3, Error: "disk is full"}
	generating := fetching()
	generating.Stage = jobs.StageGenerate
	publishing := fetching()
	publishing.Phase = state.Publishing
	tests := []struct {
		name string
		job  api.Job
		want string
	}{
		{"fetching", fetching(), "round 3 fetch: 505 of 1000, 50 pages/s; ok 480, http_404 15, robots_denied 5, " +
			"rule 5; docs.example.com: 1 request a second, 840 to go"},
		{"queued", api.Job{Kind: jobs.KindInject, Phase: api.Queued}, "inject: queued"},
		{"generating", generating, "round 3 generate: 1 of 1 tasks"},
		{"publishing", publishing, "round 3: committing"},
		{"blocked", failed, "round 3: blocked: task 2 (0-0) failed 3 times: disk is full"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Line(test.job, at(12_000))
			if test.name == "blocked" {
				got = strings.Replace(got, failed.Stages[1].Tasks[0].Range.String(), "0-0", 1)
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestWhatAnEarlierAttemptDidCounts: a taken-over task begins its counts anew.
func TestWhatAnEarlierAttemptDidCounts(t *testing.T) {
	j := fetching()
	j.Stages[1].Counts = map[string]int64{"ok": 10, "waiting": 100}
	if _, done := Running(j); done != 900 {
		t.Errorf("%d are done, want 900", done)
	}
}

func TestEnded(t *testing.T) {
	got := Ended(map[string]int64{"generate_selected": 100, "generate_refused": 4, "generate_refused_trap": 4,
		"fetch_page ok": 70, "fetch_page redirect": 5, "fetch_page robots_denied": 10, "fetch_page http_404": 6,
		"fetch_page untouched": 9, "fetch_robots ok": 3, "fetch_bytes": 5000, "fetch_listed": 100, "pages": 70})
	if got.Selected != 104 || got.Fetched != 75 || got.Refused != 14 || got.Failed != 6 || got.Untouched != 9 ||
		got.Bytes != 5000 || got.Extra["robots ok"] != 3 {
		t.Errorf("got %+v", got)
	}
	if got.Selected != got.Fetched+got.Refused+got.Failed+got.Untouched {
		t.Error("it does not add up")
	}
}

func TestPlainLinesAreFew(t *testing.T) {
	var out bytes.Buffer
	p := New(&out)
	if p.Terminal() {
		t.Fatal("a buffer is no terminal")
	}
	j := fetching()
	for ms := int64(2000); ms < 25_000; ms += 100 {
		p.Show(j, at(ms))
	}
	if n := strings.Count(out.String(), "\n"); n != 3 {
		t.Errorf("%d lines in 23 s, want one and one each 10 s:\n%s", n, out.String())
	}
	j.Stage = jobs.StageReduce
	p.Show(j, at(25_000))
	if n := strings.Count(out.String(), "\n"); n != 4 {
		t.Error("a new stage had no line")
	}
}

func TestBarsAreDrawnOverEachOther(t *testing.T) {
	var out bytes.Buffer
	p := &Progress{out: &out, terminal: true}
	p.Show(fetching(), at(12_000))
	first := out.Len()
	p.Show(fetching(), at(13_000))
	second := out.String()[first:]
	if !strings.HasPrefix(second, "\x1b[6A") || strings.Count(second, "\n") != 6 {
		t.Errorf("the second drawing: %q", second)
	}
	for _, line := range strings.Split(second, "\n") {
		if n := len([]rune(line)); n > 79+len("\x1b[6A")+len("\x1b[K") {
			t.Errorf("a line of %d characters wraps: %q", n, line)
		}
	}
	p.Say("round %d is over", 3)
	if !strings.HasSuffix(out.String(), "\x1b[6A\x1b[Jround 3 is over\n") {
		t.Errorf("bars stay above what is said: %q", out.String()[first:])
	}
}

func TestWords(t *testing.T) {
	tests := map[string]string{
		Bytes(999): "999 B", Bytes(1536): "1.5 KiB", Bytes(5 << 30): "5.0 GiB",
		Span(1500 * time.Microsecond): "2ms", Span(90 * time.Second): "1m30s", Span(72 * time.Hour): "3 days",
		Rate(0, time.Second): "", Rate(5, 2*time.Second): "2.5 pages/s", Rate(500, 10*time.Second): "50 pages/s",
		Reasons(map[string]int64{"a": 1, "b": 2, "c": 2}, 2): "b 2, c 2, 1 more reasons",
	}
	for got, want := range tests {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
