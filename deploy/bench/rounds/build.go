package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/dir"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/reducer/publish"
	"seine/reducer/task"
)

// shapeKey is where a store keeps what it was drawn from: among the uploads,
// which no job touches.
var shapeKey = layout.Upload("rounds-benchmark")

// scopeAny is the settings of the built crawls: the defaults, but every URL is in
// scope.
func scopeAny() settings.Settings { return settings.Settings{Version: 1, Scope: scope.Any} }

// build writes a crawl of a shape into a new folder.
func build(ctx context.Context, path string, s shape, threads int, out io.Writer) (err error) {
	start := time.Now()
	store, err := dir.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if _, err := publish.OpenCrawl(ctx, store); !errors.Is(err, publish.ErrNoCrawl) {
		return errors.Join(fmt.Errorf("%s is no empty folder: it holds a crawl", path), err)
	}
	if err := create(ctx, store, s); err != nil {
		return err
	}
	env, err := environment(ctx, store, path)
	if err != nil {
		return err
	}
	c := newCorpus(s)
	ranges := layout.Split(jobs.RoundTasks(10_000, s.URLs, 1))
	shards := make([]*shard, len(ranges))
	for i, r := range ranges {
		shards[i] = &shard{env: env, corpus: c, settings: scopeAny().Fill(), index: i, rng: r}
	}
	if err := each(threads, len(shards), func(i int) error {
		return shards[i].write(ctx)
	}); err != nil {
		return err
	}
	head, err := commit(ctx, env, shards)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %d URLs of %d domains, urls %.1f bytes a URL with sidecars, %s\n",
		path, head.Known, len(c.domains), urlBytes(head),
		time.Since(start).Round(time.Second))
	return err
}

// create makes the store a crawl with its settings.
func create(ctx context.Context, store objstore.Store, s shape) error {
	if _, err := publish.CreateCrawl(ctx, store, weburl.EmbeddedSuffixes(), began); err != nil {
		return err
	}
	body, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode shape: %w", err)
	}
	if err := objstore.PutIfAbsent(ctx, store, shapeKey, body); err != nil {
		return err
	}
	set, err := scopeAny().Encode()
	if err != nil {
		return fmt.Errorf("encode settings: %w", err)
	}
	return objstore.PutIfAbsent(ctx, store, layout.Settings(1), set)
}

// each runs f for 0 to n-1, at most threads at a time, and waits for all.
func each(threads, n int, f func(i int) error) error {
	errs := make([]error, n)
	slots := make(chan struct{}, max(threads, 1))
	done := make(chan struct{})
	for i := range n {
		slots <- struct{}{}
		go func() {
			defer func() { <-slots; done <- struct{}{} }()
			errs[i] = f(i)
		}()
	}
	for range n {
		<-done
	}
	return errors.Join(errs...)
}

// commit makes what the shards wrote visible, a commit a job.
func commit(ctx context.Context, env task.Env, shards []*shard) (*lsm.Manifest, error) {
	head := lsm.Empty()
	for job := range jobsBefore {
		spec := jobs.Spec{Format: jobs.SpecFormat, Job: uint64(job + 1), Kind: jobs.KindInject,
			Epoch: 1, Base: head.N, Now: began - int64(jobsBefore-1-job)*1000, Settings: 1,
			RequestID: fmt.Sprintf("build-%d", job+1), Inject: &jobs.Inject{}}
		edit := lsm.Edit{Settings: 1, AddRuns: map[string]lsm.Run{},
			Part: &lsm.Part{Round: spec.Job, Tables: map[string][]lsm.Object{}}}
		for _, s := range shards {
			spec.Ranges = append(spec.Ranges, s.rng)
			s.edit(job, publish.RunID(spec), &edit)
		}
		body, err := spec.Encode()
		if err != nil {
			return nil, err
		}
		if err := objstore.PutIfAbsent(ctx, env.Store, layout.Spec(spec.Job), body); err != nil {
			return nil, err
		}
		c, err := publish.NewCommit(head, spec, 1, edit)
		if err != nil {
			return nil, err
		}
		if _, err := publish.Commit(ctx, env.Store, c); err != nil {
			return nil, err
		}
		if head, err = head.Apply(c); err != nil {
			return nil, err
		}
	}
	return head, nil
}
