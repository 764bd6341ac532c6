package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
)

// item is an object to be copied.
type item struct {
	key  layout.Key
	size int64
}

// plan is what is copied, in its order.
type plan struct {
	snapshot uint64
	data     []item              // in any order
	records  [][]item            // of one task each; each in the order of keys
	specs    []item              // in order
	commits  []item              // in order
	needed   map[layout.Key]bool // what the snapshot names: it must be there
	crawl    []byte
}

// source is the store that is copied, as lsm walks it.
func sourceOf(s objstore.Store) lsm.Source {
	return lsm.Source{Get: s.Get,
		Missing: func(err error) bool { return errors.Is(err, objstore.ErrNotExist) }}
}

// planOf reads what there is to copy at snapshot n; 0: the newest.
func planOf(ctx context.Context, src objstore.Store, n uint64) (*plan, error) {
	p := &plan{}
	var err error
	if p.crawl, err = src.Get(ctx, layout.Crawl); err != nil {
		if errors.Is(err, objstore.ErrNotExist) {
			return nil, fmt.Errorf("%w; name a store that holds a crawl", ErrNoCrawl)
		}
		return nil, fmt.Errorf("read the source: %w", err)
	}
	head, err := lsm.Head(ctx, sourceOf(src), nil)
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	m, newest := head, n == 0 || n == head.N
	if n > head.N {
		return nil, fmt.Errorf("the source has no snapshot %d, its newest is %d", n, head.N)
	}
	if !newest {
		if m, err = lsm.At(ctx, sourceOf(src), n); err != nil {
			return nil, fmt.Errorf("read the source: %w", err)
		}
	}
	p.snapshot, p.needed = m.N, map[layout.Key]bool{}
	name(p.needed, m.Files())
	if err := p.list(ctx, src, m, newest); err != nil {
		return nil, fmt.Errorf("list the source: %w", err)
	}
	return p, p.missing()
}

// list sorts the source's objects into the plan: records by a first listing, data
// by a second one.
func (p *plan) list(ctx context.Context, src objstore.Store, m *lsm.Manifest, open bool) error {
	tasks := map[string][]item{}
	err := src.List(ctx, "", "", func(i objstore.Info) error {
		it, job := item{i.Key, i.Size}, jobOf(i.Key)
		switch n, err := layout.ParseCommit(i.Key); {
		case err == nil && n <= p.snapshot:
			p.commits = append(p.commits, it)
		case job > m.Job && !open:
		case isSpec(i.Key):
			p.specs = append(p.specs, it)
		case isRecord(i.Key):
			task := taskOf(i.Key)
			tasks[task] = append(tasks[task], it)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, task := range slices.Sorted(maps.Keys(tasks)) {
		p.records = append(p.records, tasks[task])
	}
	readable, err := readable(ctx, src, p.commits, p.needed)
	if err != nil {
		return err
	}
	return src.List(ctx, "", "", func(i objstore.Info) error {
		job := jobOf(i.Key)
		switch {
		case !isData(i.Key), job > m.Job && !open:
		case job == 0, job > m.Job, readable[i.Key]:
			p.data = append(p.data, item{i.Key, i.Size})
		}
		return nil
	})
}

// missing is an error if the snapshot names what was not listed.
func (p *plan) missing() error {
	there := make(map[layout.Key]bool, len(p.data))
	for _, it := range p.data {
		there[it.key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(p.needed)) {
		if !there[key] {
			return fmt.Errorf("%s, which snapshot %d names, is not in the source: `seine check` says "+
				"what else is wrong", key, p.snapshot)
		}
	}
	return nil
}

// readable is all that some commit to be copied names, so that older snapshots can
// be read in the copy as well; what the sweep has deleted is just not there.
func readable(ctx context.Context, src objstore.Store, commits []item,
	needed map[layout.Key]bool) (map[layout.Key]bool, error) {
	all := maps.Clone(needed)
	for _, it := range commits {
		b, err := src.Get(ctx, it.key)
		if err != nil {
			return nil, err
		}
		c, err := lsm.DecodeCommit(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", it.key, err)
		}
		if c.Whole != nil {
			name(all, c.Whole.Files())
		}
		name(all, c.Edit.Files())
	}
	return all, nil
}

func name(keys map[layout.Key]bool, files iter.Seq[lsm.File]) {
	for f := range files {
		keys[f.Key] = true
	}
}

// jobOf is the number of the job that a key belongs to, or 0.
func jobOf(key layout.Key) uint64 {
	n, err := layout.ParseJob(key)
	if err != nil {
		return 0
	}
	return n
}

func isSpec(key layout.Key) bool {
	_, err := layout.ParseSpec(key)
	return err == nil
}

// isRecord says whether a key is a log's entry or a task's end.
func isRecord(key layout.Key) bool {
	parts := strings.Split(key, "/") // rounds, R, STAGE, TTTT, end | log …
	return len(parts) > 4 && jobOf(key) > 0 && (parts[4] == "end" || parts[4] == "log")
}

// taskOf is the folder of a record's task.
func taskOf(key layout.Key) string {
	return strings.Join(strings.Split(key, "/")[:4], "/")
}

// isData says whether a key is none of those that make others visible.
func isData(key layout.Key) bool {
	switch key {
	case layout.Crawl, layout.Latest, layout.Copy, objstore.ProbeKey:
		return false
	}
	return !strings.HasPrefix(key, layout.CommitPrefix) && !isSpec(key) && !isRecord(key)
}

// largestFirst makes the end of a parallel copy short.
func largestFirst(items []item) {
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.key, b.key))
	})
}
