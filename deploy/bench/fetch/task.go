package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/dir"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/formats/taskend"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/jobs/worker"
	"seine/mapper/fetch"
	"seine/mapper/resolve"
)

// seine is a fetch task as a worker runs it, on a store of its own.
type seine struct {
	web      *web
	suffixes *weburl.Suffixes
	last     jobs.Result
}

// loopback is the name service: every host is this machine.
type loopback struct{}

func (loopback) Lookup(context.Context, string) (resolve.Answer, error) {
	return resolve.Answer{Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}, nil
}

func (loopback) Prefetch(context.Context, []string) {}

// prepared is a task that is ready to run; its folder is to be removed.
type prepared struct {
	*seine
	folder string
	store  *dir.Store
	env    fetch.Env
	task   jobs.Task
}

// prepare makes a store with the task's list.
func (s *seine) prepare(ctx context.Context) (p *prepared, err error) {
	folder, err := os.MkdirTemp("", "seine-bench-*")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	p = &prepared{seine: s, folder: folder}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.remove())
		}
	}()
	if p.store, err = dir.Open(filepath.Join(folder, "store")); err != nil {
		return nil, err
	}
	scratch := filepath.Join(folder, "scratch")
	if err = os.Mkdir(scratch, 0o755); err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	p.env = s.env(p.store, scratch)
	p.task = jobs.Task{Stage: jobs.StageFetch, Range: layout.All,
		Attempt: layout.Attempt{Epoch: 1, N: 1},
		Spec: jobs.Spec{Job: 1, Kind: jobs.KindRound, Ranges: []layout.Range{layout.All},
			Round: &jobs.Round{TopN: int64(s.web.pages())}}}
	return p, p.list(ctx)
}

// env is a worker's, with the chunks of a store on disk.
func (s *seine) env(store objstore.Store, scratch string) fetch.Env {
	set := settings.Settings{Contact: "mailto:bench@example.test", Delay: 1,
		AllowNetwork: []string{"127.0.0.0/8"}}.Fill()
	return fetch.Env{Store: store, Scratch: scratch, Suffixes: s.suffixes, Resolver: loopback{},
		Dial: s.web.dial, TLS: s.web.tls, Exchanges: make(chan struct{}, connections), Software: agent,
		SealBytes: 64 << 20, SealEvery: 5 * time.Second,
		Open: func(ctx context.Context, key layout.Key, size int64) (io.ReaderAt, error) {
			return objstore.Open(ctx, store, key, size), nil
		},
		Snapshot: func(context.Context, uint64) (*lsm.Manifest, error) { return &lsm.Manifest{}, nil },
		Settings: func(context.Context, uint64) (settings.Settings, error) { return set, nil },
		Scope: func(context.Context, jobs.Spec) (*scope.Scope, error) {
			return scope.New(scope.Config{Scope: scope.Any}, s.suffixes)
		}}
}

// list writes what generate would have chosen.
func (p *prepared) list(ctx context.Context) error {
	var rows []schema.List
	for h := range p.web.hosts {
		for n := range pagesAHost {
			host := hostName(h)
			domain := p.suffixes.Domain(host)
			rows = append(rows, schema.List{URL: fmt.Sprintf("%s://%s/p/%d", p.web.scheme(), host, n),
				Host: host, Domain: domain, Partition: int32(weburl.Partition(domain)),
				Position: int32(n), Depth: 1, Priority: 0.5, Seed: "bench", Why: schema.WhyNew,
				Band: schema.High})
		}
	}
	var b bytes.Buffer
	out := rowfile.NewWriter[schema.List](&b, rowfile.Options{})
	if err := errors.Join(out.Write(rows...), out.Finish()); err != nil {
		return fmt.Errorf("write the list: %w", err)
	}
	key := layout.Output(1, "generate", 0, p.task.Attempt, "lists.parquet")
	end, err := taskend.Encode(taskend.Generate{Format: taskend.Format, Range: layout.All,
		Lists: &lsm.Object{Key: key, Rows: int64(len(rows)), Bytes: int64(b.Len())}})
	if err != nil {
		return err
	}
	endKey := layout.End(1, "generate", 0)
	p.task.Inputs = map[jobs.Stage][]layout.Key{jobs.StageGenerate: {endKey}}
	return errors.Join(objstore.PutIfAbsent(ctx, p.store, key, b.Bytes()),
		objstore.PutIfAbsent(ctx, p.store, endKey, end))
}

// run is the task itself: all that is measured.
func (p *prepared) run(ctx context.Context) (err error) {
	still := func() worker.Reading { return worker.Reading{} } // a lease without end
	lease := worker.NewLease(still, worker.Reading{})
	p.last, err = fetch.Run(ctx, p.env, p.task, lease, &worker.Progress{})
	if err != nil {
		return err
	}
	if got, want := p.last.Counts["page "+schema.OK], int64(p.web.pages()); got != want {
		return fmt.Errorf("fetch: %d of %d pages: %v", got, want, p.last.Counts)
	}
	return nil
}

func (p *prepared) remove() error {
	var err error
	if p.store != nil {
		err = p.store.Close()
	}
	return errors.Join(err, os.RemoveAll(p.folder))
}
