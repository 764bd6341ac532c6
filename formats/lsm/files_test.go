package lsm_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/lsm"
	"seine/formats/schema"
)

// TestFiles: every object that a snapshot or an edit names is gone over once, with
// what goes with it, wherever in it the name stands.
func TestFiles(t *testing.T) {
	run := lsm.Run{ID: "r", Objects: []lsm.Object{{Key: "u", Rows: 3, Bytes: 5, Sidecar: "us",
		SidecarBytes: 2, Superseded: "ux", SupersededBytes: 1}}}
	queue := lsm.QueueRun{Kind: schema.Ready,
		Objects: []lsm.QueueObject{{Object: lsm.Object{Key: "q", Rows: 1, Bytes: 1}}}}
	part := lsm.Part{Round: 7, Tables: map[string][]lsm.Object{schema.Pages: {{Key: "p", Bytes: 4}}},
		WARC: []lsm.WARCFile{{Key: "w", Bytes: 9}}}
	m := &lsm.Manifest{Tables: map[string][]lsm.Run{schema.URLs: {run}}, Frontier: []lsm.QueueRun{queue},
		Parts: []lsm.Part{part}}
	want := map[string]lsm.File{
		"u":  {Table: schema.URLs, Key: "u", Rows: 3, Bytes: 5},
		"us": {Table: schema.URLs, Key: "us", Bytes: 2, Sidecar: true},
		"ux": {Table: schema.URLs, Key: "ux", Bytes: 1},
		"q":  {Table: schema.Ready, Key: "q", Rows: 1, Bytes: 1},
		"p":  {Table: schema.Pages, Round: 7, Key: "p", Bytes: 4},
		"w":  {Table: schema.WARC, Round: 7, Key: "w", Bytes: 9},
	}
	rest := func(keys ...string) map[string]lsm.File {
		some := maps.Clone(want)
		maps.DeleteFunc(some, func(key string, _ lsm.File) bool { return !slices.Contains(keys, key) })
		return some
	}
	for _, c := range []struct {
		name string
		got  []lsm.File
		want map[string]lsm.File
	}{
		{"snapshot", slices.Collect(m.Files()), want},
		{"empty snapshot", slices.Collect(lsm.Empty().Files()), rest()},
		{"runs", slices.Collect((&lsm.Edit{AddRuns: map[string]lsm.Run{schema.URLs: run}}).Files()),
			rest("u", "us", "ux")},
		{"frontier", slices.Collect((&lsm.Edit{AddFrontier: []lsm.QueueRun{queue}}).Files()), rest("q")},
		{"part", slices.Collect((&lsm.Edit{Part: &part}).Files()), rest("p", "w")},
		{"parts replaced", slices.Collect((&lsm.Edit{ReplaceParts: []lsm.Part{part}}).Files()), rest("p", "w")},
		{"snapshot restored", slices.Collect((&lsm.Edit{Restore: m}).Files()), want},
	} {
		got := map[string]lsm.File{}
		for _, f := range c.got {
			if _, twice := got[f.Key]; twice {
				t.Errorf("%s: %s twice", c.name, f.Key)
			}
			got[f.Key] = f
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	for range m.Files() {
		break // ends early without a panic
	}
}
