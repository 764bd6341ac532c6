package main

import (
	"context"
	"errors"
	"fmt"

	"seine/formats/catalog"
	"seine/formats/layout"
	"seine/formats/objstore"
	"seine/formats/taskend"
	"seine/formats/tasklog"
	"seine/jobs"
)

// openRounds finds what the rounds after the snapshot have in the store: the
// lists of their generate tasks, and the sealed chunks in the logs of their fetch
// tasks. It takes one request a task and a sealed chunk, and no lock: what is
// sealed meanwhile may be in or not.
func (l *looking) openRounds(ctx context.Context) (*catalog.OpenRounds, error) {
	open := &catalog.OpenRounds{}
	for job := l.head.Job + 1; ; job++ {
		body, err := l.Store.Get(ctx, layout.Spec(job))
		if errors.Is(err, objstore.ErrNotExist) {
			return open, nil
		}
		if err != nil {
			return nil, fmt.Errorf("spec of job %d: %w", job, err)
		}
		spec, err := jobs.DecodeSpec(body)
		if err != nil {
			return nil, fmt.Errorf("spec of job %d: %w", job, err)
		}
		if spec.Kind != jobs.KindRound {
			continue
		}
		for task := range spec.Ranges {
			if err := l.openTask(ctx, spec, task, open); err != nil {
				return nil, fmt.Errorf("open round %d: %w", job, err)
			}
		}
	}
}

func (l *looking) openTask(ctx context.Context, spec jobs.Spec, task int, open *catalog.OpenRounds) error {
	body, err := l.Store.Get(ctx, layout.End(spec.Job, string(jobs.StageGenerate), task))
	if errors.Is(err, objstore.ErrNotExist) {
		return nil // nothing is chosen yet, so nothing is fetched
	}
	if err != nil {
		return err
	}
	end, err := taskend.DecodeGenerate(body)
	if err != nil {
		return err
	}
	if end.Lists != nil && end.Lists.Rows > 0 {
		open.Lists = append(open.Lists, *end.Lists)
	}
	log, err := tasklog.Read(ctx, objstore.WriteOnce{Store: l.Store},
		func(n int) string { return layout.Log(spec.Job, task, n) })
	if err != nil {
		return err
	}
	for _, chunk := range log.Chunks {
		open.Chunks = append(open.Chunks, chunk.Objects...)
	}
	return nil
}
