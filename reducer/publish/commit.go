package publish

import (
	"context"
	"errors"
	"fmt"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/jobs"
	"seine/reducer/task"
)

// ErrStepDown: another group of coordinators has the crawl; its commit has the
// number that ours would have.
var ErrStepDown = errors.New("another group of coordinators has taken the crawl over")

// NewCommit is the commit that follows head with an edit. The first and every
// 16th carries the whole manifest.
func NewCommit(head *lsm.Manifest, spec jobs.Spec, epoch uint64, edit lsm.Edit) (*lsm.Commit,
	error) {
	return head.NewCommit(lsm.Commit{Epoch: epoch, Job: spec.Job, Kind: string(spec.Kind),
		Now: spec.Now, Edit: edit})
}

// Commit puts a commit, if absent. One of the same job under its number is as
// good as ours and is returned, for it is the one that counts; any other is
// ErrStepDown. Then LATEST is set, which is only a hint: it may fail.
func Commit(ctx context.Context, store objstore.Store, c *lsm.Commit) (*lsm.Commit, error) {
	key := layout.Commit(c.N)
	body, err := c.Encode()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	err = objstore.PutIfAbsent(ctx, store, key, body)
	if errors.Is(err, objstore.ErrExists) {
		c, err = settled(ctx, store, c)
	}
	if err != nil {
		return nil, fmt.Errorf("commit job %d as %s: %w", c.Job, key, err)
	}
	_ = store.Put(ctx, layout.Latest, objstore.Bytes(lsm.Hint(c.N)), objstore.PutOptions{})
	return c, nil
}

// settled reads the commit that has the number already. With an error it
// returns ours.
func settled(ctx context.Context, store objstore.Store, ours *lsm.Commit) (*lsm.Commit, error) {
	body, err := store.Get(ctx, layout.Commit(ours.N))
	if err != nil {
		return ours, err
	}
	there, err := lsm.DecodeCommit(body)
	if err != nil {
		return ours, err
	}
	if there.Job == ours.Job && (ours.Job != 0 || there.Epoch == ours.Epoch) {
		return there, nil
	}
	return ours, fmt.Errorf("it is job %d's, of epoch %d: %w", there.Job, there.Epoch, ErrStepDown)
}

// Publish commits a job on the newest snapshot. It may be repeated: a job that
// is the head's is done. from is any snapshot known to the caller, or nil.
func Publish(ctx context.Context, e task.Env, from *lsm.Manifest, j Job) (*lsm.Commit,
	map[string]int64, error) {
	head, err := lsm.Head(ctx, e.Source(), from)
	if err != nil {
		return nil, nil, fmt.Errorf("publish job %d: %w", j.Spec.Job, err)
	}
	if head.Epoch > j.Epoch {
		return nil, nil, fmt.Errorf("publish job %d in epoch %d: the store is in epoch %d: %w",
			j.Spec.Job, j.Epoch, head.Epoch, ErrStepDown)
	}
	if head.Job == j.Spec.Job && j.Spec.Job != 0 {
		n, err := beforeTakeovers(ctx, e, head.N, 0)
		if err != nil {
			return nil, nil, err
		}
		return published(ctx, e, n)
	}
	n, err := beforeTakeovers(ctx, e, head.N, j.Spec.Base)
	if err != nil {
		return nil, nil, fmt.Errorf("publish job %d: %w", j.Spec.Job, err)
	}
	if n != j.Spec.Base {
		return nil, nil, fmt.Errorf("publish job %d, made for snapshot %d: job %d has committed %d",
			j.Spec.Job, j.Spec.Base, head.Job, head.N)
	}
	edit, counts, err := Edit(ctx, e, head, j)
	if err != nil {
		return nil, nil, err
	}
	c, err := NewCommit(head, j.Spec, j.Epoch, edit)
	if err != nil {
		return nil, nil, fmt.Errorf("publish job %d: %w", j.Spec.Job, err)
	}
	if c, err = Commit(ctx, e.Store, c); err != nil {
		return nil, nil, err
	}
	return c, counts, nil
}
