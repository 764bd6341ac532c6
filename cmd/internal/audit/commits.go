package audit

import (
	"context"
	"encoding/json"
	"fmt"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
)

// commits walks all commits up to the snapshot: no number is missing, each
// applies to what the ones before made, and a whole manifest is what the edits
// come to. Of those that have expired there is only the order.
func (a *auditor) commits(ctx context.Context) error {
	first := uint64(0)
	err := a.Store.List(ctx, layout.CommitPrefix, "", func(i objstore.Info) error {
		n, err := layout.ParseCommit(i.Key)
		switch {
		case err != nil:
			a.find("commits", i.Key, "no commit has such a key", "remove it if nothing of yours needs it")
		case first == 0:
			first = n
		}
		return nil
	})
	if err != nil {
		return err
	}
	if a.m.N == 0 {
		return nil
	}
	if first == 0 || first != 1 && first%lsm.WholeEvery != 0 {
		a.find("commits", layout.Commit(1), "is missing, and so is a whole manifest before the next",
			nextRestore)
		return nil
	}
	return a.walk(ctx, first)
}

// walk goes over the commits from the first on.
func (a *auditor) walk(ctx context.Context, first uint64) error {
	var m *lsm.Manifest // nil: of the commits so far there is only the order
	if first == 1 {
		m = lsm.Empty()
	}
	last := &lsm.Commit{}
	bytes := int64(0) // of the last one, unless it had expired
	for n := first; n <= a.m.N; n++ {
		c, size, err := a.commit(ctx, n)
		if err != nil || c == nil {
			return err
		}
		if c.Epoch < last.Epoch || c.Job != 0 && c.Job <= last.Job && last.Job != 0 {
			a.find("commits", layout.Commit(n), fmt.Sprintf("job %d of epoch %d follows job %d of epoch %d",
				c.Job, c.Epoch, last.Job, last.Epoch), nextReport)
		}
		switch {
		case c.Expired:
			m = nil
			if err := a.inOrder(ctx, n-1, bytes); err != nil {
				return err
			}
			size = 0
		case m != nil:
			if m = a.apply(ctx, m, c); m == nil {
				return nil
			}
		default: // a sweep that was interrupted leaves some up to the next whole manifest
			m = c.Whole
		}
		last = &lsm.Commit{Epoch: c.Epoch, Job: max(c.Job, last.Job)}
		bytes = size
		a.checked("commits", 1)
	}
	if m == nil || !same(m, a.m) {
		a.find("commits", layout.Commit(a.m.N), "the edits do not come to the snapshot that readers see",
			nextReport)
	}
	return nil
}

// inOrder checks that a commit below one that has expired has expired as well, at
// least since it was read, when it had so many bytes; 0: it had expired.
func (a *auditor) inOrder(ctx context.Context, n uint64, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	info, err := a.Store.Stat(ctx, layout.Commit(n))
	if err != nil {
		return err
	}
	if info.Size == bytes {
		a.find("commits", layout.Commit(n), "it has not expired, but the next one has", nextReport)
	}
	return nil
}

// commit reads a commit; nil: it is damaged.
func (a *auditor) commit(ctx context.Context, n uint64) (*lsm.Commit, int64, error) {
	key := layout.Commit(n)
	body, err := a.Store.Get(ctx, key)
	if err != nil {
		if a.damaged(ctx, "commits", key, err) {
			return nil, 0, nil
		}
		return nil, 0, err
	}
	c, err := lsm.DecodeCommit(body)
	if err == nil && c.N != n {
		err = fmt.Errorf("damaged commit: it says that it is commit %d", c.N)
	}
	if err != nil {
		a.damaged(ctx, "commits", key, err)
		return nil, 0, nil
	}
	return c, int64(len(body)), nil
}

// apply gives the manifest after a commit; nil: it does not apply.
func (a *auditor) apply(ctx context.Context, m *lsm.Manifest, c *lsm.Commit) *lsm.Manifest {
	key := layout.Commit(c.N)
	next, err := m.Apply(c)
	if err != nil {
		a.damaged(ctx, "commits", key, err)
		return nil
	}
	if c.Whole != nil && !same(next, c.Whole) {
		a.find("commits", key, "its whole manifest is not what the edits come to", nextReport)
	}
	if (c.N == 1 || c.N%lsm.WholeEvery == 0) && c.Whole == nil {
		a.find("commits", key, "it lacks the whole manifest", nextReport)
	}
	return next
}

// same compares manifests as they are stored.
func same(x, y *lsm.Manifest) bool {
	a, err1 := json.Marshal(x)
	b, err2 := json.Marshal(y)
	return err1 == nil && err2 == nil && string(normal(a)) == string(normal(b))
}

// normal makes what JSON tells apart and the manifest does not the same: lists
// that are null or empty.
func normal(b []byte) []byte {
	var v any
	if json.Unmarshal(b, &v) != nil {
		return b
	}
	out, err := json.Marshal(prune(v))
	if err != nil {
		return b
	}
	return out
}

func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if x = prune(x); x == nil {
				delete(v, k)
			} else {
				v[k] = x
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = prune(v[i])
		}
	}
	return v
}
