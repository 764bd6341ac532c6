package sweep_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/schema"
	"seine/jobs"
	"seine/reducer/sweep"
)

var update = flag.Bool("update", false, "write what plans say into testdata")

// A trace is a file of lines:
//
//	now 100d | retention 30d | epoch 2
//	snapshot N job J            begins a kept snapshot
//	  run KEY [KEY…]            names: an object, its sidecar, its list
//	  ready KEY | part KEY | warc KEY
//	commit                      begins the edit of a commit after it; lines as above
//	open JOB base N
//	object KEY AGE              is listed
//
// and after a line "plan" what the plan says.
type trace struct {
	t     testing.TB
	facts sweep.Facts
	list  []objstore.Info
	edit  *lsm.Edit
}

func TestPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/*.trace")
	if err != nil || len(files) < 4 {
		t.Fatalf("traces %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".trace"), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want, _ := strings.Cut(string(body), "plan\n")
			tr := &trace{t: t, facts: sweep.Facts{Epoch: 1, Retention: 30 * 24 * time.Hour}}
			for _, line := range strings.Split(input, "\n") {
				if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
					tr.line(strings.Fields(line))
				}
			}
			got := tr.plan()
			if *update {
				if err := os.WriteFile(file, []byte(input+"plan\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func (tr *trace) plan() string {
	deletes, err := sweep.Plan(tr.list, tr.facts)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, d := range deletes {
		fmt.Fprintf(&b, "%s %s\n", d.Why, d.Key)
	}
	return b.String()
}

func (tr *trace) number(s string) uint64 {
	tr.t.Helper()
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		tr.t.Fatal(err)
	}
	return n
}

// age reads "30d", "25h".
func (tr *trace) age(s string) time.Duration {
	tr.t.Helper()
	if days, ok := strings.CutSuffix(s, "d"); ok {
		return time.Duration(tr.number(days)) * 24 * time.Hour
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		tr.t.Fatal(err)
	}
	return d
}

var epochStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (tr *trace) line(words []string) {
	tr.t.Helper()
	switch words[0] {
	case "now":
		tr.facts.Now = epochStart.Add(tr.age(words[1]))
	case "retention":
		tr.facts.Retention = tr.age(words[1])
	case "epoch":
		tr.facts.Epoch = tr.number(words[1])
	case "snapshot":
		tr.edit = nil
		tr.facts.Kept = append(tr.facts.Kept, &lsm.Manifest{N: tr.number(words[1]),
			Job: tr.number(words[3]), Tables: map[string][]lsm.Run{}})
	case "commit":
		tr.facts.Edits = append(tr.facts.Edits, lsm.Edit{AddRuns: map[string]lsm.Run{}})
		tr.edit = &tr.facts.Edits[len(tr.facts.Edits)-1]
	case "open":
		tr.facts.Open = append(tr.facts.Open, jobs.Spec{Job: tr.number(words[1]),
			Base: tr.number(words[3])})
	case "object":
		tr.list = append(tr.list, objstore.Info{Key: words[1],
			ModTime: tr.facts.Now.Add(-tr.age(words[2]))})
	default:
		tr.names(words[0], words[1:])
	}
}

func (tr *trace) names(kind string, keys []string) {
	tr.t.Helper()
	keys = append(slices.Clone(keys), "", "")
	o := lsm.Object{Key: keys[0], Sidecar: keys[1], Superseded: keys[2]}
	queue := lsm.QueueRun{Kind: schema.Ready, Objects: []lsm.QueueObject{{Object: o}}}
	part := lsm.Part{Tables: map[string][]lsm.Object{schema.Pages: {o}}}
	if kind == "warc" {
		part = lsm.Part{WARC: []lsm.WARCFile{{Key: o.Key}}}
	}
	run := lsm.Run{Objects: []lsm.Object{o}}
	m := tr.facts.Kept[len(tr.facts.Kept)-1]
	switch {
	case kind == "run" && tr.edit != nil:
		tr.edit.AddRuns[schema.URLs] = run
	case kind == "run":
		m.Tables[schema.URLs] = append(m.Tables[schema.URLs], run)
	case kind == "ready" && tr.edit != nil:
		tr.edit.AddFrontier = append(tr.edit.AddFrontier, queue)
	case kind == "ready":
		m.Frontier = append(m.Frontier, queue)
	case (kind == "part" || kind == "warc") && tr.edit != nil:
		tr.edit.Part = &part
	case kind == "part" || kind == "warc":
		m.Parts = append(m.Parts, part)
	default:
		tr.t.Fatalf("line %q", kind)
	}
}

// No key that layout builds but those of attempts, ends and logs is ever
// deleted, whatever its age, and nothing that is named.
func FuzzPlan(f *testing.F) {
	a := layout.Attempt{Epoch: 1, N: 2}
	for _, key := range []string{layout.Crawl, layout.Latest, layout.Settings(3), layout.Commit(9),
		layout.Upload("abc"), layout.Spec(4), layout.End(4, "reduce", 7), layout.Log(4, 1, 2),
		layout.Output(4, "fetch", 1, a, "00001-pages.parquet"), "rounds/00000004/x",
		"rounds/00000004/fetch/0001/strange", "rounds/4/fetch/0001/end", "other/key"} {
		f.Add(key)
	}
	now := epochStart.AddDate(1, 0, 0)
	old := epochStart
	f.Fuzz(func(t *testing.T, key string) {
		facts := sweep.Facts{Kept: []*lsm.Manifest{{N: 1, Job: 100}}, Epoch: 9, Now: now,
			Retention: 24 * time.Hour}
		list := []objstore.Info{{Key: key, ModTime: old}}
		deletes, err := sweep.Plan(list, facts)
		if err != nil {
			t.Fatal(err)
		}
		if len(deletes) == 0 {
			return
		}
		parts := strings.Split(key, "/")
		if len(parts) < 4 || parts[0] != "rounds" || deletes[0].Key != key {
			t.Errorf("plan deletes %v", deletes)
		}
		facts.Kept[0].Parts = []lsm.Part{{WARC: []lsm.WARCFile{{Key: key}}}}
		if deletes, err = sweep.Plan(list, facts); err != nil || len(deletes) > 0 {
			if parts[3] != "end" && parts[3] != "log" {
				t.Errorf("named and deleted: %v, %v", deletes, err)
			}
		}
		job, err := layout.ParseJob(key)
		if err != nil {
			t.Fatalf("%s is of no job, and deleted", key)
		}
		facts.Open = []jobs.Spec{{Job: job, Base: 1}}
		if deletes, err = sweep.Plan(list, facts); err != nil || len(deletes) > 0 {
			t.Errorf("of an open job and deleted: %v, %v", deletes, err)
		}
	})
}
