package publish

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/mem"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/taskend"
	"seine/jobs"
	"seine/reducer/task"
)

func env(t *testing.T, store objstore.Store) task.Env {
	return task.Env{Store: store, Scratch: t.TempDir(), Codec: rowfile.Snappy,
		Open: func(ctx context.Context, key layout.Key, size int64) (io.ReaderAt, error) {
			return objstore.Open(ctx, store, key, size), nil
		}}
}

// put stores ends of tasks and gives their results.
func put[E any](t *testing.T, store objstore.Store, job uint64, stage jobs.Stage,
	ends ...E) []jobs.Result {
	t.Helper()
	var results []jobs.Result
	for i, end := range ends {
		body, err := taskend.Encode(end)
		if err != nil {
			t.Fatal(err)
		}
		key := layout.End(job, string(stage), i)
		if err := objstore.PutIfAbsent(context.Background(), store, key, body); err != nil {
			t.Fatal(err)
		}
		results = append(results, jobs.Result{End: key, Counts: map[string]int64{"n": int64(i + 1)}})
	}
	return results
}

var halves = layout.Split(2)

func roundSpec() jobs.Spec {
	return jobs.Spec{Format: 1, Job: 5, Kind: jobs.KindRound, Base: 1, Now: 1000, Settings: 3,
		Ranges: halves, Round: &jobs.Round{TopN: 10}}
}

// wide is a queue object over all partitions with one row in partitions 0, 511,
// 512 and 1023.
func wide(key string, cursor ...int64) lsm.QueueObject {
	o := lsm.QueueObject{Object: lsm.Object{Key: key, Range: layout.All, Rows: 4},
		Counts: make([]int64, layout.Partitions)}
	for i, p := range []int{0, 511, 512, 1023} {
		o.Counts[p] = 1
		if cursor != nil {
			if o.Cursor == nil {
				o.Cursor = make([]int64, layout.Partitions)
			}
			o.Cursor[p] = cursor[i]
		}
	}
	return o
}

// taken is the cursor that the task of a half leaves in a wide object.
func taken(r layout.Range, rows ...int) []int64 {
	cursor := make([]int64, layout.Partitions)
	for p := range cursor {
		if !r.Holds(uint16(p)) {
			cursor[p] = -1
		}
	}
	for _, p := range rows {
		cursor[p] = 1
	}
	return cursor
}

func head(runs ...lsm.QueueRun) *lsm.Manifest {
	return &lsm.Manifest{Format: 1, N: 1, Frontier: runs, Tables: map[string][]lsm.Run{}}
}

func queueRun(id, kind string, objects ...lsm.QueueObject) lsm.QueueRun {
	return lsm.QueueRun{ID: id, Kind: kind, Objects: objects}
}

func TestEditConsumesTheFrontier(t *testing.T) {
	base := head(queueRun("r1", schema.Ready, wide("a")), queueRun("r2", schema.Ready, wide("b")),
		queueRun("r3", schema.Waiting, wide("c")), queueRun("r4", schema.Waiting, wide("d", 1, 1, 1, 1)),
		queueRun("r5", schema.Ready, wide("e")))
	low, high := halves[0], halves[1]
	generated := []*taskend.Generate{
		{Format: 1, Range: low, Cursors: map[layout.Key][]int64{"a": taken(low, 0, 511),
			"b": taken(low, 0), "c": taken(low)}},
		{Format: 1, Range: high, Cursors: map[layout.Key][]int64{"a": taken(high, 512, 1023),
			"b": taken(high), "c": taken(high, 512)}},
	}
	reduced := []*taskend.Reduce{
		{Format: 1, Range: low, Absorbed: []string{"ready/r5", "waiting/r3"}},
		{Format: 1, Range: high, Absorbed: []string{"ready/r5"}},
	}
	var edit lsm.Edit
	if err := consume(&edit, base, generated, reduced); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ready/r1", "waiting/r4", "ready/r5"}, edit.RemoveFrontier); diff != "" {
		t.Errorf("removed runs (-want +got):\n%s", diff)
	}
	want := map[layout.Key][]int64{"b": wide("", 1, 0, 0, 0).Cursor, "c": wide("", 1, 1, 1, 0).Cursor}
	if diff := cmp.Diff(want, edit.Cursors); diff != "" {
		t.Errorf("cursors (-want +got):\n%s", diff)
	}
}

func TestEditRefusesBadCursors(t *testing.T) {
	low := halves[0]
	tests := []struct {
		name   string
		cursor []int64
		key    string
	}{
		{"backwards", taken(low), "a"},
		{"of another task's partition", taken(halves[1], 512), "a"},
		{"of an object that is not there", taken(low, 0), "z"},
		{"too short", []int64{1}, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base := head(queueRun("r1", schema.Ready, wide("a", 1, 0, 0, 0)))
			end := &taskend.Generate{Range: low, Cursors: map[layout.Key][]int64{tt.key: tt.cursor}}
			var edit lsm.Edit
			if err := consume(&edit, base, []*taskend.Generate{end}, nil); err == nil {
				t.Errorf("taken: %v", edit)
			}
		})
	}
}

func TestEditOfARound(t *testing.T) {
	ctx := context.Background()
	store := mem.New()
	spec := roundSpec()
	object := func(key string, r layout.Range) lsm.Object { return lsm.Object{Key: key, Range: r, Rows: 1} }
	low, high := halves[0], halves[1]
	queue := lsm.QueueObject{Object: object("w1", high)}
	lists := object("l0", low)
	job := Job{Spec: spec, Outcome: "committed", Ended: 2000, Ends: map[jobs.Stage][]jobs.Result{
		jobs.StageGenerate: put(t, store, 5, jobs.StageGenerate,
			&taskend.Generate{Format: 1, Range: low, Lists: &lists}, &taskend.Generate{Format: 1, Range: high}),
		jobs.StageReduce: put(t, store, 5, jobs.StageReduce,
			&taskend.Reduce{Format: 1, Range: low, Tables: map[string]lsm.Object{"urls": object("u0", low)},
				Append: map[string][]lsm.Object{"pages": {object("p0", low)}}, Known: 2, Tickets: 1},
			&taskend.Reduce{Format: 1, Range: high, Tables: map[string]lsm.Object{"urls": object("u1", high)},
				Waiting: &queue, WARC: []lsm.WARCFile{{Key: "x"}}, Known: 3, Tickets: -2})}}
	edit, counts, err := Edit(ctx, env(t, store), head(), job)
	if err != nil {
		t.Fatal(err)
	}
	rounds := edit.Part.Tables[schema.Rounds]
	delete(edit.Part.Tables, schema.Rounds)
	want := lsm.Edit{Settings: 3, KnownDelta: 5, WaitingDelta: -1,
		AddRuns: map[string]lsm.Run{"urls": {ID: "r00000005", Seq: 5,
			Objects: []lsm.Object{object("u0", low), object("u1", high)}}},
		AddFrontier: []lsm.QueueRun{{ID: "r00000005", Kind: schema.Waiting, Seq: 5,
			Objects: []lsm.QueueObject{queue}}},
		Cursors: map[layout.Key][]int64{},
		Part: &lsm.Part{Round: 5, Now: 1000, WARC: []lsm.WARCFile{{Key: "x"}},
			Tables: map[string][]lsm.Object{"lists": {lists}, "pages": {object("p0", low)}}}}
	if diff := cmp.Diff(want, edit); diff != "" {
		t.Errorf("edit (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"n": 3, "generate_n": 3}, counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	var row schema.RoundRow
	err = task.EachRow(ctx, env(t, store), rounds[0], nil, func(r *schema.RoundRow) error {
		row = *r
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if row.Round != 5 || row.Ended != 2000 || row.Outcome != "committed" ||
		!strings.Contains(row.Spec, `"top_n":10`) || row.Counts["generate_n"] != 3 {
		t.Errorf("rounds row %+v", row)
	}
}

func TestEditOfACompaction(t *testing.T) {
	store := mem.New()
	base := head()
	for i := range uint64(3) {
		base.Tables["urls"] = append(base.Tables["urls"], lsm.Run{ID: fmt.Sprint("r", i), Seq: 10 + i})
	}
	spec := jobs.Spec{Job: 7, Kind: jobs.KindCompact, Ranges: layout.Split(1),
		Compact: &jobs.Compact{Merges: map[string][]string{"urls": {"r0", "r1"}}}}
	job := Job{Spec: spec, Ends: map[jobs.Stage][]jobs.Result{jobs.StageCompact: put(t, store, 7,
		jobs.StageCompact, &taskend.Reduce{Format: 1, Range: layout.All,
			Tables: map[string]lsm.Object{"urls": {Key: "m", Range: layout.All}}})}}
	edit, _, err := Edit(context.Background(), env(t, store), base, job)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCommit(base, spec, 0, edit)
	if err != nil {
		t.Fatal(err)
	}
	next, err := base.Apply(c)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, run := range next.Tables["urls"] {
		ids = append(ids, fmt.Sprintf("%s@%d", run.ID, run.Seq))
	}
	if diff := cmp.Diff([]string{"c00000007@11", "r2@12"}, ids); diff != "" {
		t.Errorf("runs after the compaction (-want +got):\n%s", diff)
	}
}

func TestEditWantsEveryTask(t *testing.T) {
	store := mem.New()
	ends := put(t, store, 5, jobs.StageReduce, &taskend.Reduce{Format: 1, Range: halves[1]},
		&taskend.Reduce{Format: 1, Range: halves[0]})
	generated := put(t, store, 5, jobs.StageGenerate, &taskend.Generate{Format: 1},
		&taskend.Generate{Format: 1})
	tests := []struct {
		name, says string
		ends       map[jobs.Stage][]jobs.Result
	}{
		{"no generate", "0 of 2 tasks of generate", map[jobs.Stage][]jobs.Result{}},
		{"one reduce is missing", "1 of 2 tasks of reduce", map[jobs.Stage][]jobs.Result{
			jobs.StageGenerate: generated, jobs.StageReduce: ends[:1]}},
		{"ranges swapped", "ended with range", map[jobs.Stage][]jobs.Result{
			jobs.StageGenerate: generated, jobs.StageReduce: ends}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := Edit(context.Background(), env(t, store), head(),
				Job{Spec: roundSpec(), Ends: tt.ends})
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
		})
	}
}
