package compact_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/objstore/mem"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/reducer/compact"
	"seine/reducer/publish"
	"seine/reducer/task"
	"seine/reducer/twin"
)

// world is a crawl of which only urls and domains have rows.
type world struct {
	t     testing.TB
	store objstore.Store
	env   task.Env
	head  *lsm.Manifest
	job   uint64
}

func newWorld(t testing.TB, store objstore.Store) *world {
	return &world{t: t, store: store, head: lsm.Empty(),
		env: twin.Env(store, t.TempDir(), settings.Settings{}, nil)}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// write commits a run of some of the URLs: new ones and rewritten ones as whole
// rows, others as additions; and the rows of their domains.
func (w *world) write(r *rand.Rand, urls, tasks int) {
	w.t.Helper()
	w.job++
	edit := lsm.Edit{AddRuns: map[string]lsm.Run{}}
	known := scan(w, lsm.URLs())
	keys := map[lsm.Key]bool{}
	for range urls {
		keys[keyOf(r.IntN(60))] = true
	}
	domains := map[lsm.Key]bool{}
	rows := map[lsm.Key]schema.URL{}
	sorted := sortedKeys(keys)
	for _, key := range sorted {
		row := schema.URL{Partition: int32(key.Partition), Domain: key.Domain, Host: key.Host,
			URL: key.URL, Priority: r.Float32(), Depth: int32(r.IntN(9)), Round: int64(w.job)}
		if old, ok := known[key]; ok && r.IntN(2) == 0 {
			row.Delta, row.Inlinks = true, r.Int64N(5)
		} else if ok {
			row.Inlinks = old.Inlinks
		}
		if r.IntN(3) == 0 {
			row.Queued, row.QueuedRank = int64(w.job), r.Int64N(1000)
		}
		rows[key] = row
		domains[lsm.Key{Partition: key.Partition, Domain: key.Domain}] = true
	}
	for i, rng := range layout.Split(tasks) {
		t := jobs.Task{Spec: jobs.Spec{Job: w.job}, Stage: "write", Index: i, Range: rng}
		put(w, t, lsm.URLs(), sorted, func(key lsm.Key) schema.URL { return rows[key] }, &edit)
		put(w, t, lsm.Domains(), sortedKeys(domains), func(key lsm.Key) schema.Domain {
			return schema.Domain{Partition: int32(key.Partition), Domain: key.Domain,
				Round: int64(w.job)}
		}, &edit)
	}
	c, err := publish.NewCommit(w.head, jobs.Spec{Job: w.job, Kind: "write"}, 1, edit)
	w.must(err)
	_, err = publish.Commit(w.t.Context(), w.store, c)
	w.must(err)
	w.head, err = lsm.Head(w.t.Context(), w.env.Source(), w.head)
	w.must(err)
}

func sortedKeys(keys map[lsm.Key]bool) []lsm.Key {
	var all []lsm.Key
	for key := range keys {
		all = append(all, key)
	}
	slices.SortFunc(all, lsm.Key.Compare)
	return all
}

func keyOf(n int) lsm.Key {
	domain := fmt.Sprintf("d%d.test", n%7)
	return lsm.Key{Partition: weburl.Partition(domain), Domain: domain, Host: domain,
		URL: fmt.Sprintf("http://%s/%d", domain, n)}
}

// put writes the object of one task, as a reduce does.
func put[R any](w *world, t jobs.Task, table lsm.Table[R], keys []lsm.Key, row func(lsm.Key) R,
	edit *lsm.Edit) {
	w.t.Helper()
	ctx := w.t.Context()
	out, err := task.CreateRun(w.env, t, table)
	w.must(err)
	defer out.Abort()
	for _, key := range keys {
		if !t.Range.Holds(key.Partition) {
			continue
		}
		r := row(key)
		w.must(out.Write(&r))
		if table.IsDelta != nil && table.IsDelta(&r) {
			continue
		}
		w.must(table.Lookup(ctx, w.env.Open, w.head.Tables[table.Name], []lsm.Key{key},
			lsm.LookupOptions{}, func(h lsm.Hit[R]) error { return out.Supersede(h.Refs...) }))
	}
	object, err := out.Finish(ctx)
	w.must(err)
	if object == nil {
		return
	}
	run := edit.AddRuns[table.Name]
	run.ID, run.Seq = fmt.Sprintf("r%08d", w.job), w.job
	run.Objects = append(run.Objects, *object)
	edit.AddRuns[table.Name] = run
}

func scan[R any](w *world, table lsm.Table[R]) map[lsm.Key]R {
	w.t.Helper()
	all := map[lsm.Key]R{}
	w.must(table.Scan(w.t.Context(), w.env.Open, w.head.Tables[table.Name], layout.All, nil,
		func(row *R, _ []lsm.Ref) error { all[table.Key(row)] = *row; return nil }))
	return all
}

// view gives what a reader of files sees who leaves out what lists name: whole
// rows, and the sums of deltas.
func view[R any](w *world, table lsm.Table[R]) (whole map[lsm.Key]R, deltas map[lsm.Key][]R) {
	w.t.Helper()
	ctx := w.t.Context()
	named := map[schema.SupersededRow]bool{}
	for _, run := range w.head.Tables[table.Name] {
		for _, o := range run.Objects {
			if o.Superseded == "" {
				continue
			}
			info, err := w.store.Stat(ctx, o.Superseded)
			w.must(err)
			rows, err := twin.Rows[schema.SupersededRow](ctx, w.env, &lsm.Object{Key: o.Superseded,
				Bytes: info.Size, Rows: o.SupersededRows})
			w.must(err)
			for _, row := range rows {
				named[row] = true
			}
		}
	}
	whole, deltas = map[lsm.Key]R{}, map[lsm.Key][]R{}
	for _, run := range w.head.Tables[table.Name] {
		for _, o := range run.Objects {
			rows, err := twin.Rows[R](ctx, w.env, &o)
			w.must(err)
			for n := range rows {
				key := table.Key(&rows[n])
				switch _, twice := whole[key]; {
				case named[schema.SupersededRow{Object: o.Key, Row: int64(n)}]:
				case table.IsDelta != nil && table.IsDelta(&rows[n]):
					deltas[key] = append(deltas[key], rows[n])
				case twice:
					w.t.Errorf("%s: %s has two rows that no list names", table.Name, key.URL+key.Domain)
				default:
					whole[key] = rows[n]
				}
			}
		}
	}
	return whole, deltas
}

// seen folds a view, oldest first, as SQL would.
func seen(w *world) map[lsm.Key]schema.URL {
	whole, deltas := view(w, lsm.URLs())
	for key, added := range deltas {
		row, ok := whole[key]
		if !ok {
			w.t.Errorf("%s has additions and no row", key.URL)
		}
		for i := range added {
			lsm.URLs().Fold(&row, &added[i])
		}
		whole[key] = row
	}
	return whole
}

func (w *world) compact(merges map[string][]string, tasks int) {
	w.t.Helper()
	w.job++
	spec := jobs.Spec{Format: jobs.SpecFormat, Job: w.job, Kind: jobs.KindCompact, Epoch: 1,
		Base: w.head.N, Ranges: layout.Split(tasks), Compact: &jobs.Compact{Merges: merges}}
	var results []jobs.Result
	for i, rng := range spec.Ranges {
		result, err := compact.Run(w.t.Context(), w.env, jobs.Task{Spec: spec,
			Stage: jobs.StageCompact, Index: i, Range: rng, Attempt: layout.Attempt{Epoch: 1, N: 1}})
		w.must(err)
		results = append(results, result)
	}
	_, _, err := publish.Publish(w.t.Context(), w.env, w.head, publish.Job{Spec: spec, Epoch: 1,
		Ends: map[jobs.Stage][]jobs.Result{jobs.StageCompact: results}})
	w.must(err)
	w.head, err = lsm.Head(w.t.Context(), w.env.Source(), w.head)
	w.must(err)
}

// ids of some adjacent runs, at least two.
func adjacent(r *rand.Rand, runs []lsm.Run) []string {
	from := r.IntN(len(runs) - 1)
	var ids []string
	for _, run := range runs[from : from+2+r.IntN(len(runs)-from-1)] {
		ids = append(ids, run.ID)
	}
	return ids
}

// Whatever is merged with whatever: the tables say the same, to lookups and to
// views.
func TestMergesChangeNothing(t *testing.T) {
	for seed := range uint64(7) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			w := newWorld(t, mem.New())
			for range 5 {
				w.write(r, 10+r.IntN(40), 1+r.IntN(3))
			}
			for range 3 {
				w.write(r, 1+r.IntN(40), 1+r.IntN(3))
				before, domains, sight := scan(w, lsm.URLs()), scan(w, lsm.Domains()), seen(w)
				n := len(w.head.Tables[schema.URLs])
				ids := adjacent(r, w.head.Tables[schema.URLs])
				w.compact(map[string][]string{schema.URLs: ids,
					schema.Domains: adjacent(r, w.head.Tables[schema.Domains])}, 1+r.IntN(4))
				if got := len(w.head.Tables[schema.URLs]); got > n-len(ids)+1 {
					t.Errorf("%d runs of %d after %d were merged", got, n, len(ids))
				}
				if diff := gocmp.Diff(before, scan(w, lsm.URLs())); diff != "" {
					t.Fatalf("urls, merging %v:\n%s", ids, diff)
				}
				if diff := gocmp.Diff(domains, scan(w, lsm.Domains())); diff != "" {
					t.Fatalf("domains:\n%s", diff)
				}
				if diff := gocmp.Diff(sight, seen(w)); diff != "" {
					t.Fatalf("view of urls, merging %v:\n%s", ids, diff)
				}
				if whole, _ := view(w, lsm.Domains()); !gocmp.Equal(whole, domains) {
					t.Fatalf("view of domains:\n%s", gocmp.Diff(domains, whole))
				}
			}
		})
	}
}

// A merge of all runs leaves one whole row a key and no list.
func TestMergeOfAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	w := newWorld(t, mem.New())
	for range 6 {
		w.write(r, 40, 2)
	}
	var ids []string
	for _, run := range w.head.Tables[schema.URLs] {
		ids = append(ids, run.ID)
	}
	want := scan(w, lsm.URLs())
	w.compact(map[string][]string{schema.URLs: ids}, 1)
	runs := w.head.Tables[schema.URLs]
	if len(runs) != 1 || runs[0].ID != "c00000007" || runs[0].Seq != 6 || len(runs[0].Objects) != 1 {
		t.Fatalf("runs are %+v", runs)
	}
	o := runs[0].Objects[0]
	if o.Rows != int64(len(want)) || o.Deltas != 0 || o.Superseded != "" || o.Sidecar == "" {
		t.Errorf("object is %+v, of %d URLs", o, len(want))
	}
	if diff := gocmp.Diff(want, scan(w, lsm.URLs())); diff != "" {
		t.Error(diff)
	}
}

func TestRefusals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	w := newWorld(t, mem.New())
	for range 3 {
		w.write(r, 20, 1)
	}
	tests := []struct {
		name   string
		merges map[string][]string
		want   string
	}{
		{"a run that is not there", map[string][]string{schema.URLs: {"r00000009"}},
			"does not have them"},
		{"no runs", map[string][]string{schema.URLs: {}}, "does not have them"},
		{"not adjacent", map[string][]string{schema.URLs: {"r00000001", "r00000003"}}, "not adjacent"},
		{"a table without runs", map[string][]string{schema.Pages: {"r00000001"}},
			"does not have them"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := compact.Run(t.Context(), w.env, jobs.Task{Stage: jobs.StageCompact,
				Range: layout.All, Spec: jobs.Spec{Job: 9, Base: w.head.N,
					Compact: &jobs.Compact{Merges: test.merges}}})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// The store fails once at each operation in turn; the next attempt leaves what
// one without faults leaves.
func TestFaults(t *testing.T) {
	gone := errors.New("gone")
	run := func(plan fault.Plan) (map[string]string, int) {
		r := rand.New(rand.NewPCG(5, 5))
		store := fault.New(mem.New(), nil)
		w := newWorld(t, store)
		for range 4 {
			w.write(r, 30, 1)
		}
		spec := jobs.Spec{Job: 5, Base: w.head.N, Ranges: layout.Split(1), Compact: &jobs.Compact{
			Merges: map[string][]string{schema.URLs: {"r00000002", "r00000003"}}}}
		job := jobs.Task{Spec: spec, Stage: jobs.StageCompact, Range: layout.All,
			Attempt: layout.Attempt{Epoch: 1, N: 1}}
		from := len(store.Ops())
		if plan != nil {
			store.SetPlan(func(op fault.Op) fault.Fault { op.N -= from; return plan(op) })
		}
		_, err := compact.Run(context.Background(), w.env, job)
		if err != nil && !errors.Is(err, gone) {
			t.Errorf("error %v hides its cause", err)
		}
		ops := len(store.Ops()) - from
		store.SetPlan(nil)
		job.Attempt.N = 2
		result, err := compact.Run(context.Background(), w.env, job)
		w.must(err)
		body, err := store.Get(t.Context(), result.End)
		w.must(err)
		left := map[string]string{}
		for _, n := range []uint64{1, 2} {
			attempt := layout.Attempt{Epoch: 1, N: n}.String()
			if !strings.Contains(string(body), attempt) {
				continue
			}
			left["end"] = strings.ReplaceAll(string(body), attempt, "ATTEMPT")
			folder := layout.Task(5, "compact", 0) + attempt + "/"
			w.must(store.List(t.Context(), folder, "", func(i objstore.Info) error {
				object, err := store.Get(t.Context(), i.Key)
				left[strings.TrimPrefix(i.Key, folder)] = string(object)
				return err
			}))
		}
		return left, ops
	}
	want, ops := run(nil)
	if len(want) != 4 { // end, rows, sidecar, list
		t.Fatalf("a merge leaves %d objects, want 4", len(want))
	}
	for n := range ops {
		for name, f := range map[string]fault.Fault{"before": {Before: gone}, "after": {After: gone}} {
			if got, _ := run(fault.At(n, f)); !gocmp.Equal(want, got) {
				t.Errorf("a fault %s operation %d changes what is left", name, n)
			}
		}
	}
}
