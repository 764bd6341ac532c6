package objstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Use is what a part of the key space has cost.
type Use struct {
	Kind     Kind
	Segment  string // first segment of the keys: rounds, urls, commits
	Requests int64
	Bytes    int64 // of content: read by get and read, written by put
	Failed   int64 // requests that ended in an error, ErrNotExist and ErrExists among them
}

type useKey struct {
	kind    Kind
	segment string
}

// Tally is a count of requests. Its zero value is ready; any number of goroutines may use it.
type Tally struct {
	mu   sync.Mutex
	uses map[useKey]Use
}

// Uses returns what has been counted, ordered by segment and kind. The difference of two calls
// (Since) is what happened between them.
func (t *Tally) Uses() []Use {
	t.mu.Lock()
	defer t.mu.Unlock()
	uses := slices.Collect(maps.Values(t.uses))
	slices.SortFunc(uses, func(a, b Use) int {
		return cmp.Or(cmp.Compare(a.Segment, b.Segment), cmp.Compare(a.Kind, b.Kind))
	})
	return uses
}

// Since is what the counts in now have more than those in before, without those that are equal.
func Since(now, before []Use) []Use {
	old := make(map[useKey]Use, len(before))
	for _, u := range before {
		old[useKey{u.Kind, u.Segment}] = u
	}
	var diff []Use
	for _, u := range now {
		o := old[useKey{u.Kind, u.Segment}]
		u.Requests, u.Bytes, u.Failed = u.Requests-o.Requests, u.Bytes-o.Bytes, u.Failed-o.Failed
		if u.Requests != 0 {
			diff = append(diff, u)
		}
	}
	return diff
}

func (t *Tally) count(kind Kind, key string, bytes int64, failed bool) {
	segment, _, _ := strings.Cut(key, "/")
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.uses == nil {
		t.uses = map[useKey]Use{}
	}
	k := useKey{kind, segment}
	u := t.uses[k]
	u.Kind, u.Segment = kind, segment
	u.Requests++
	u.Bytes += bytes
	if failed {
		u.Failed++
	}
	t.uses[k] = u
}

type chargedKey struct{}

// Charge returns a context whose requests every Counter counts into t, too. The account travels
// in the context, as a trace does, because between a task and the counter lie caches that are
// shared with other tasks: what they answer is charged to nobody.
func Charge(ctx context.Context, t *Tally) context.Context {
	return context.WithValue(ctx, chargedKey{}, t)
}
