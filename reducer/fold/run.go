package fold

import (
	"context"
	"fmt"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/formats/sheet"
	"seine/formats/taskend"
	"seine/jobs"
	"seine/reducer/task"
)

// Run does a reduce task and puts its end, a *taskend.Reduce.
func Run(ctx context.Context, e task.Env, t jobs.Task) (jobs.Result, error) {
	if t.Spec.Round == nil {
		return jobs.Result{}, fmt.Errorf("task %s: the spec is no round's", t.ID())
	}
	return task.Do(ctx, e, t, run)
}

// folding is a reduce task at work.
type folding struct {
	env      task.Env
	task     jobs.Task
	job      int64 // the round's number, and the ticket of what it queues
	now      int64 // ms, the job's
	settings settings.Settings
	sheets   *sheet.Table
	manifest *lsm.Manifest
	traps    *scope.Scope // asked only how suspicious a URL is
	in       *inputs
	out      *outputs
	end      *taskend.Reduce

	// retryAt says until when the groups back off that were asked to in this
	// round, ms.
	retryAt map[lsm.Key]int64
	// expires says when robots.txt of the authorities that were out of reach is
	// asked for again, ms; keys as in robots.
	expires map[lsm.Key]int64

	// counted says what is outstanding in the groups of the batch at hand.
	counted map[lsm.Key]outstanding

	facts   *task.Sorter[fact]
	urls    *lsm.Reader[schema.URL] // what a link can change; whole rows of what had its turn
	groups  *group                  // the group at hand
	hosts   *host                   // the host at hand
	tallies tallies
}

func run(ctx context.Context, e task.Env, t jobs.Task) (*taskend.Reduce, error) {
	f := &folding{env: e, task: t, job: int64(t.Spec.Job), now: t.Spec.Now,
		retryAt: map[lsm.Key]int64{}, expires: map[lsm.Key]int64{},
		counted: map[lsm.Key]outstanding{},
		end: &taskend.Reduce{Format: taskend.Format, Range: t.Range,
			Tables: map[string]lsm.Object{}, Append: map[string][]lsm.Object{},
			Counts: map[string]int64{}}}
	var err error
	if f.settings, err = e.Settings(ctx, t.Spec.Settings); err != nil {
		return nil, fmt.Errorf("settings %d: %w", t.Spec.Settings, err)
	}
	if f.sheets, err = e.Sheets(ctx, f.settings); err != nil {
		return nil, fmt.Errorf("settings %d: %w", t.Spec.Settings, err)
	}
	if f.manifest, err = e.Snapshot(ctx, t.Spec.Base); err != nil {
		return nil, err
	}
	if f.traps, err = newTraps(f.settings, f.sheets); err != nil {
		return nil, fmt.Errorf("settings %d: %w", t.Spec.Settings, err)
	}
	if f.in, err = readInputs(ctx, e, t); err != nil {
		return nil, err
	}
	f.facts = task.NewSorter(e, "facts", e.Memory()/4, factBytes, compareFacts)
	defer f.facts.Close()
	if err := f.gather(ctx); err != nil {
		return nil, err
	}
	if f.out, err = newOutputs(e, t); err != nil {
		return nil, err
	}
	defer f.out.abort()
	if err := f.fold(ctx); err != nil {
		return nil, err
	}
	return f.end, f.out.finish(ctx, f)
}

// newTraps is a scope that lets everything in and says how much a URL looks
// like a trap.
func newTraps(s settings.Settings, sheets *sheet.Table) (*scope.Scope, error) {
	return scope.New(scope.Config{Scope: scope.Any, Limits: scope.Limits{Length: s.MaxURLLength,
		Segments: s.MaxSegments, Params: s.MaxParams, RepeatedRuns: s.MaxRepeats,
		Depth: s.MaxDepth}, Depth: task.DepthOf(sheets)}, nil)
}

// ofGroup are the sheets of a politeness group.
func (f *folding) ofGroup(key lsm.Key) sheet.Values {
	return f.sheets.Of(f.settings.GroupByHost, key.Domain, key.Host)
}

// intervals are the settings with the intervals of a URL's sheets.
func (f *folding) intervals(url string) settings.Settings {
	v := task.SheetsOf(f.sheets, url)
	if v.Empty() {
		return f.settings
	}
	return v.Intervals(f.settings)
}

// groupKey is the key in domains of the politeness group of a URL.
func (f *folding) groupKey(key lsm.Key) lsm.Key {
	group := lsm.Key{Partition: key.Partition, Domain: key.Domain}
	if f.settings.GroupByHost {
		group.Host = key.Host
	}
	return group
}
