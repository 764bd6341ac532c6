package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/dir"
	"seine/formats/schema"
	"seine/jobs"
	"seine/reducer/compact"
	"seine/reducer/fold"
	"seine/reducer/generate"
	"seine/reducer/publish"
	"seine/reducer/task"
)

// load is what a run does.
type load struct {
	Rounds int   `json:"rounds"`
	Pages  int64 `json:"pages"` // a round
	Links  int   `json:"links"` // a page
	// Compact merges all of urls after the last round, to see what that leaves.
	Compact bool `json:"compact,omitempty"`
}

// The stages that are measured, in order. Fetching is made up, so it is not.
const (
	stageGenerate = "generate"
	stageReduce   = "reduce"
	stagePublish  = "publish"
	stageCompact  = "compact"
)

var stages = []string{stageGenerate, stageReduce, stagePublish, stageCompact}

// bench is a run at work.
type bench struct {
	load     load
	counter  *objstore.Counter
	kinds    *kinds
	env      task.Env
	web      *web
	head     *lsm.Manifest
	now      int64
	attempts layout.Attempt
}

// run runs rounds on a copy of the store at path, made at work and removed.
func run(ctx context.Context, path, work string, l load, out io.Writer) (r *result, err error) {
	if err := clone(path, work); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	d, err := dir.Open(work)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	b, s, err := open(ctx, d, work, l)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r = &result{Shape: s, Load: l, Known: b.head.Known}
	if r.KeyPage, err = keyPage(ctx, b.env, b.head); err != nil {
		return nil, err
	}
	for n := range l.Rounds {
		round, err := b.round(ctx)
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", n+1, err)
		}
		r.Rounds = append(r.Rounds, *round)
		if err := errors.Join(round.print(out, n+1), r.save(path)); err != nil {
			return nil, err
		}
	}
	r.URLBytes = urlBytes(b.head)
	if l.Compact {
		if err := b.compact(ctx, &round{Costs: map[string]cost{}}, wholeURLs); err != nil {
			return nil, fmt.Errorf("compact urls: %w", err)
		}
		r.CompactBytes = urlBytes(b.head)
	}
	return r, r.save(path)
}

// wholeURLs picks all runs of urls, as long as there are several.
func wholeURLs(m *lsm.Manifest) map[string][]string {
	runs := m.Tables[schema.URLs]
	if len(runs) < 2 {
		return nil
	}
	var ids []string
	for _, run := range runs {
		ids = append(ids, run.ID)
	}
	return map[string][]string{schema.URLs: ids}
}

// clone copies a store by links to its objects, which never change.
func clone(from, to string) error {
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s is in the way: remove it", to), err)
	}
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		return os.Link(path, filepath.Join(to, name))
	})
}

func open(ctx context.Context, d objstore.Store, work string, l load) (*bench, shape, error) {
	var s shape
	body, err := d.Get(ctx, shapeKey)
	if err != nil {
		return nil, s, missing(err)
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, s, fmt.Errorf("%w: %w", errNoShape, err)
	}
	b := &bench{load: l, counter: objstore.NewCounter(d), now: began,
		attempts: layout.Attempt{Epoch: 1, N: 1},
		web:      &web{corpus: newCorpus(s), links: l.Links, robots: map[string]bool{}}}
	b.kinds = newKinds(b.counter)
	if b.env, err = environment(ctx, b.kinds, work); err != nil {
		return nil, s, err
	}
	b.head, err = lsm.Head(ctx, b.env.Source(), nil)
	return b, s, err
}

// round runs one round, and the compactions that are due after it.
func (b *bench) round(ctx context.Context) (*round, error) {
	b.now += 11 * 60_000
	spec := b.spec(jobs.KindRound)
	spec.Round = &jobs.Round{TopN: b.load.Pages, Duration: 600_000, OnFailed: "commit"}
	spec.Ranges = layout.Split(jobs.RoundTasks(b.load.Pages, b.head.Known, 1))
	if err := b.putSpec(ctx, spec); err != nil {
		return nil, err
	}
	r := &round{Costs: map[string]cost{}}
	ends := map[jobs.Stage][]jobs.Result{}
	err := b.stage(ctx, r, stageGenerate, func(ctx context.Context) (err error) {
		ends[jobs.StageGenerate], err = b.tasks(ctx, spec, jobs.StageGenerate, ends, generate.Run)
		return err
	})
	if err != nil {
		return nil, err
	}
	var targets []lsm.Key
	ends[jobs.StageFetch], err = b.tasks(ctx, spec, jobs.StageFetch, ends,
		func(ctx context.Context, e task.Env, t jobs.Task) (jobs.Result, error) {
			f, err := b.web.fetch(ctx, e, t)
			r.Listed += f.listed
			targets = append(targets, f.targets...)
			return f.result, err
		})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(targets, lsm.Key.Compare)
	r.Candidates = int64(len(slices.Compact(targets)))
	if err := b.reduce(ctx, r, spec, ends); err != nil {
		return nil, err
	}
	return r, b.compact(ctx, r, lsm.Pick)
}

// spec is the next job's, as yet without what its kind wants.
func (b *bench) spec(kind jobs.Kind) jobs.Spec {
	return jobs.Spec{Format: jobs.SpecFormat, Job: b.head.Job + 1, Kind: kind, Epoch: 1,
		Base: b.head.N, Now: max(b.now, b.head.Now+1000), Settings: 1,
		RequestID: fmt.Sprintf("bench-%d", b.head.N)}
}

func (b *bench) putSpec(ctx context.Context, spec jobs.Spec) error {
	body, err := spec.Encode()
	if err != nil {
		return err
	}
	return objstore.PutIfAbsent(ctx, b.env.Store, layout.Spec(spec.Job), body)
}

// stage measures a stage and adds it to what it has cost the round so far.
func (b *bench) stage(ctx context.Context, r *round, name string,
	f func(context.Context) error) error {
	c, err := b.measure(func() (err error) {
		pprof.Do(ctx, pprof.Labels("stage", name), func(ctx context.Context) { err = f(ctx) })
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	sum := r.Costs[name]
	sum.add(c)
	r.Costs[name] = sum
	return nil
}

// tasks runs the tasks of a stage, one after the other.
func (b *bench) tasks(ctx context.Context, spec jobs.Spec, stage jobs.Stage,
	before map[jobs.Stage][]jobs.Result,
	run func(context.Context, task.Env, jobs.Task) (jobs.Result, error)) ([]jobs.Result, error) {
	inputs := map[jobs.Stage][]layout.Key{}
	for stage, results := range before {
		for _, r := range results {
			inputs[stage] = append(inputs[stage], r.End)
		}
	}
	var results []jobs.Result
	for i, rng := range spec.Ranges {
		r, err := run(ctx, b.env, jobs.Task{Spec: spec, Stage: stage, Index: i, Range: rng,
			Attempt: b.attempts, Inputs: inputs})
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// reduce folds a round and commits it.
func (b *bench) reduce(ctx context.Context, r *round, spec jobs.Spec,
	ends map[jobs.Stage][]jobs.Result) error {
	stats := b.env.Stats
	r.KeyPages, r.Filters = -stats.KeyPages.Load(), -stats.FilteredGroups.Load()
	err := b.stage(ctx, r, stageReduce, func(ctx context.Context) (err error) {
		ends[jobs.StageReduce], err = b.tasks(ctx, spec, jobs.StageReduce, ends, fold.Run)
		return err
	})
	if err != nil {
		return err
	}
	r.KeyPages, r.Filters = r.KeyPages+stats.KeyPages.Load(), r.Filters+stats.FilteredGroups.Load()
	return b.stage(ctx, r, stagePublish, func(ctx context.Context) error {
		return b.publish(ctx, spec, ends, r)
	})
}

func (b *bench) publish(ctx context.Context, spec jobs.Spec, ends map[jobs.Stage][]jobs.Result,
	r *round) error {
	c, counts, err := publish.Publish(ctx, b.env, b.head, publish.Job{Spec: spec, Ends: ends, Epoch: 1,
		Outcome: "committed", Ended: spec.Now})
	if err != nil {
		return err
	}
	if b.head, err = b.head.Apply(c); err != nil {
		return err
	}
	if spec.Kind == jobs.KindRound {
		r.Counts = counts
	}
	return nil
}

// compact merges runs as long as pick finds something to merge.
func (b *bench) compact(ctx context.Context, r *round,
	pick func(*lsm.Manifest) map[string][]string) error {
	for {
		merges := pick(b.head)
		if len(merges) == 0 {
			return nil
		}
		spec := b.spec(jobs.KindCompact)
		spec.Compact = &jobs.Compact{Merges: merges}
		spec.Ranges = layout.Split(jobs.RoundTasks(0, b.head.Known, 1))
		if err := b.putSpec(ctx, spec); err != nil {
			return err
		}
		rows := b.env.Stats.Rows.Load()
		if err := b.stage(ctx, r, stageCompact, func(ctx context.Context) error {
			results, err := b.tasks(ctx, spec, jobs.StageCompact, nil, compact.Run)
			if err != nil {
				return err
			}
			return b.publish(ctx, spec, map[jobs.Stage][]jobs.Result{jobs.StageCompact: results}, r)
		}); err != nil {
			return err
		}
		r.Merged += b.env.Stats.Rows.Load() - rows
	}
}
