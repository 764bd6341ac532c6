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
	first = a.expired(ctx, first)
	m := lsm.Empty()
	for n := first; n <= a.m.N; n++ {
		if m, err = a.apply(ctx, m, n, n == first && n != 1); err != nil || m == nil {
			return err
		}
		a.checked("commits", 1)
	}
	if !same(m, a.m) {
		a.find("commits", layout.Commit(a.m.N), "the edits do not come to the snapshot that readers see",
			nextReport)
	}
	return nil
}

// expired checks the commits that have expired, from the first on, and says which is
// the first that has not: it carries the whole manifest.
func (a *auditor) expired(ctx context.Context, n uint64) uint64 {
	var epoch, job uint64
	for ; n < a.m.N; n++ {
		body, err := a.Store.Get(ctx, layout.Commit(n))
		if err != nil {
			return n // which the walk that follows will find
		}
		c, err := lsm.DecodeCommit(body)
		if err != nil || c.N != n || !c.Expired {
			return n
		}
		if c.Epoch < epoch || c.Job != 0 && c.Job <= job {
			a.find("commits", layout.Commit(n), fmt.Sprintf("job %d of epoch %d follows job %d of epoch %d",
				c.Job, c.Epoch, job, epoch), nextReport)
		}
		epoch, job = c.Epoch, max(c.Job, job)
		a.checked("commits", 1)
	}
	return n
}

// apply gives the manifest after commit n; nil ends the walk.
func (a *auditor) apply(ctx context.Context, m *lsm.Manifest, n uint64, start bool) (*lsm.Manifest, error) {
	key := layout.Commit(n)
	body, err := a.Store.Get(ctx, key)
	if err != nil {
		if a.damaged(ctx, "commits", key, err) {
			return nil, nil
		}
		return nil, err
	}
	c, err := lsm.DecodeCommit(body)
	if err == nil && c.N != n {
		err = fmt.Errorf("damaged commit: it says that it is commit %d", c.N)
	}
	if err != nil {
		a.damaged(ctx, "commits", key, err)
		return nil, nil
	}
	if start && c.Whole != nil {
		return c.Whole, nil
	}
	next, err := m.Apply(c)
	if err != nil {
		a.damaged(ctx, "commits", key, err)
		return nil, nil
	}
	if c.Epoch < m.Epoch || c.Job != 0 && c.Job <= m.Job && m.Job != 0 {
		a.find("commits", key, fmt.Sprintf("job %d of epoch %d follows job %d of epoch %d", c.Job, c.Epoch,
			m.Job, m.Epoch), nextReport)
	}
	if c.Whole != nil && !same(next, c.Whole) {
		a.find("commits", key, "its whole manifest is not what the edits come to", nextReport)
	}
	if (n == 1 || n%lsm.WholeEvery == 0) && c.Whole == nil {
		a.find("commits", key, "it lacks the whole manifest", nextReport)
	}
	return next, nil
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
