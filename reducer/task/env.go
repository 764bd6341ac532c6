package task

import (
	"context"
	"errors"
	"fmt"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/rowfile"
	"seine/formats/settings"
	"seine/formats/taskend"
	"seine/formats/weburl"
	"seine/jobs"
)

// Env is the world of the reducer's tasks on one worker.
type Env struct {
	Store objstore.Store
	// Open reads objects of the store by range, cached where the worker has a
	// cache.
	Open lsm.Opener
	// Scratch is a directory for files that do not outlive a task.
	Scratch string
	Codec   rowfile.Codec
	// MemoryBytes bounds the rows that a task holds at once; 0 is
	// DefaultMemory. Codecs, footers and filters come on top.
	MemoryBytes int64
	// Staging is how objects are read by tasks that go through all of one, or through a
	// part of each of its columns.
	Staging objstore.Staging
	// Settings reads a version of the settings, defaults filled in; version 0
	// is all defaults.
	Settings func(ctx context.Context, version uint64) (settings.Settings, error)
	// Files are those that settings name; nil: read them each time.
	Files *Files
	// Suffixes is the Public Suffix List that the crawl pinned.
	Suffixes *weburl.Suffixes
	// Stats, where set, counts what the tasks read of Parquet objects and sidecars.
	Stats *lsm.Stats
}

// RowStats is the part of Stats that counts the reading of Parquet objects; nil
// where nothing is counted.
func (e Env) RowStats() *rowfile.Stats {
	if e.Stats == nil {
		return nil
	}
	return &e.Stats.Stats
}

// DefaultMemory is what MemoryBytes means when it is zero: large enough that
// the lists of a round of 50,000 URLs never spill.
const DefaultMemory = 128 << 20

// Memory is the bound in bytes on the rows that a task holds at once.
func (e Env) Memory() int64 {
	if e.MemoryBytes > 0 {
		return e.MemoryBytes
	}
	return DefaultMemory
}

// Source is the store as lsm walks commits on it.
func (e Env) Source() lsm.Source {
	return lsm.Source{
		Get:     func(ctx context.Context, key layout.Key) ([]byte, error) { return e.Store.Get(ctx, key) },
		Missing: func(err error) bool { return errors.Is(err, objstore.ErrNotExist) },
	}
}

// Snapshot is the manifest after commit n; snapshot 0 is empty.
func (e Env) Snapshot(ctx context.Context, n uint64) (*lsm.Manifest, error) {
	return lsm.At(ctx, e.Source(), n)
}

// Do does a task by work and puts the end that it returns. A task whose end is
// there already is not done again.
func Do[E *taskend.Generate | *taskend.Reduce](ctx context.Context, e Env, t jobs.Task,
	work func(context.Context, Env, jobs.Task) (E, error)) (jobs.Result, error) {
	if result, ended, err := e.Ended(ctx, t); err != nil || ended {
		return result, err
	}
	end, err := work(ctx, e, t)
	if err != nil {
		return jobs.Result{}, fmt.Errorf("task %s: %w", t.ID(), err)
	}
	return e.Finish(ctx, t, end)
}

// Finish ends a task: it puts its end object, a *taskend.Generate or
// *taskend.Reduce, unless another attempt has done so. Both are the same
// function of the same objects, so the older one stands for both.
func (e Env) Finish(ctx context.Context, t jobs.Task, end any) (jobs.Result, error) {
	body, err := taskend.Encode(end)
	if err != nil {
		return jobs.Result{}, fmt.Errorf("end of task %s: %w", t.ID(), err)
	}
	key := layout.End(t.Spec.Job, string(t.Stage), t.Index)
	err = objstore.PutIfAbsent(ctx, e.Store, key, body)
	if err != nil && !errors.Is(err, objstore.ErrExists) {
		return jobs.Result{}, fmt.Errorf("end of task %s: %w", t.ID(), err)
	}
	return jobs.Result{End: key, Counts: counts(end)}, nil
}

// Ended says whether an earlier attempt has put the task's end, and then what
// the task's result is: work that need not be done again. Before a first attempt
// nobody can have put it, so nothing is asked.
func (e Env) Ended(ctx context.Context, t jobs.Task) (jobs.Result, bool, error) {
	if t.Attempt.N == 1 {
		return jobs.Result{}, false, nil
	}
	key := layout.End(t.Spec.Job, string(t.Stage), t.Index)
	body, err := e.Store.Get(ctx, key)
	if errors.Is(err, objstore.ErrNotExist) {
		return jobs.Result{}, false, nil
	}
	if err != nil {
		return jobs.Result{}, false, fmt.Errorf("end of task %s: %w", t.ID(), err)
	}
	var end any
	if t.Stage == jobs.StageGenerate {
		end, err = taskend.DecodeGenerate(body)
	} else {
		end, err = taskend.DecodeReduce(body)
	}
	if err != nil {
		return jobs.Result{}, false, fmt.Errorf("%s: %w", key, err)
	}
	return jobs.Result{End: key, Counts: counts(end)}, true, nil
}

func counts(end any) map[string]int64 {
	switch end := end.(type) {
	case *taskend.Generate:
		return end.Counts
	case *taskend.Reduce:
		return end.Counts
	}
	return nil
}
