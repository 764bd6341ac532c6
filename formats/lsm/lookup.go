package lsm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"seine/formats/rowfile"
)

// Stats counts the work of lookups. It may be shared by goroutines.
type Stats struct {
	rowfile.Stats                 // of the objects' pages
	SidecarBytes     atomic.Int64 // read from sidecars
	SidecarRequests  atomic.Int64
	FilterTests      atomic.Int64 // keys asked of Bloom filters
	FilterPasses     atomic.Int64 // of these, how many may be there
	KeyPages         atomic.Int64 // pages of the match column looked through
	DamagedSidecars  atomic.Int64 // passed over: rebuild them
	MergedGroups     atomic.Int64 // groups of 64 Ki rows read without their filter
	FilteredGroups   atomic.Int64 // groups whose filter was asked
	UnresolvedDeltas atomic.Int64 // keys with deltas and no whole row
}

// LookupOptions say what a lookup brings.
type LookupOptions struct {
	// Columns are those to read of the rows found; nil: all. The key's are always
	// set.
	Columns []string
	// More are further columns, which LookupMore reads of the whole rows of keys
	// that are wanted. What deltas add to belongs in Columns.
	More []string
	// KeysOnly asks only which keys exist: Hit.Row stays zero and Hit.Refs names
	// one row. It reads no column but Table.Match, where the table is Unique.
	KeysOnly bool
	// Stats, where set, counts the work.
	Stats *Stats
}

// Hit is a key that exists.
type Hit[R any] struct {
	Index int // into the keys looked up
	Row   R   // folded
	// Refs are the rows that count for the key, newest first: the newest whole
	// row is the last, before it the deltas newer than it. They are what a whole
	// row written now supersedes. Valid until emit returns.
	Refs []Ref
}

// Lookup finds keys (sorted, distinct) in runs (oldest first) and emits those
// that exist, in order. A key with deltas but no whole row is emitted as the
// delta it is. Memory follows the number of keys in a block, not the runs.
func (t Table[R]) Lookup(ctx context.Context, open Opener, runs []Run, keys []Key, o LookupOptions,
	emit func(Hit[R]) error) error {
	r := t.NewReader(open, runs, o)
	defer r.Close()
	return r.Lookup(ctx, keys, emit)
}

// Reader looks up batches in the same runs; it keeps objects open between them.
// Batches need not ascend, but are fastest so.
type Reader[R any] struct {
	t       Table[R]
	open    Opener
	runs    []Run
	o       LookupOptions
	objects map[string]*objectReader[R]
	keys    []Key    // of the block
	match   []string // of the keys
	hits    []found
	rows    []R     // of the hits, where rows are read
	wanted  []found // of the hits: whole rows to read more of
	folder  folder[R]
	done    []bool // keys of the block that need no older run
}

// fraction estimates how many of the candidates are there.
type fraction struct{ yes, all float64 }

func (f *fraction) add(yes, all int) {
	f.yes, f.all = f.yes+float64(yes), f.all+float64(all)
}

// value begins at nothing: the first group's filter is asked, and tells.
func (f *fraction) value() float64 { return f.yes / max(f.all, 1) }

// found is a physical row of a key.
type found struct {
	index int
	ref   Ref
	row   int // into Reader.rows
}

// NewReader returns a reader of runs, oldest first. It must be closed.
func (t Table[R]) NewReader(open Opener, runs []Run, o LookupOptions) *Reader[R] {
	if o.Stats == nil {
		o.Stats = new(Stats)
	}
	return &Reader[R]{t: t, open: open, runs: runs, o: o, objects: map[string]*objectReader[R]{},
		folder: folder[R]{t: t}}
}

// Close closes the objects that are open.
func (r *Reader[R]) Close() {
	for _, o := range r.objects {
		o.close()
	}
	clear(r.objects)
}

// blockKeys is how many keys are looked up at once: enough that the pages they
// need lie close together, few enough that their rows take some megabytes.
const blockKeys = 16 << 10

// Lookup is Table.Lookup for one more batch of keys.
func (r *Reader[R]) Lookup(ctx context.Context, keys []Key, emit func(Hit[R]) error) error {
	return r.LookupMore(ctx, keys, nil, emit)
}

// LookupMore is Lookup that also brings the columns LookupOptions.More of the
// keys, given by index, that are wanted; row is folded, as far as Columns tell.
// So what is dropped at a glance costs a glance.
func (r *Reader[R]) LookupMore(ctx context.Context, keys []Key, wants func(index int, row *R) bool,
	emit func(Hit[R]) error) error {
	for i := 1; i < len(keys); i++ {
		if keys[i-1].Compare(keys[i]) >= 0 {
			return fmt.Errorf("look up %s: key %+v after %+v", r.t.Name, keys[i], keys[i-1])
		}
	}
	for done := 0; done < len(keys); done += blockKeys {
		block := keys[done:min(done+blockKeys, len(keys))]
		if err := r.block(ctx, block); err != nil {
			return err
		}
		byIndex := func(a, b found) int { return a.index - b.index }
		if !slices.IsSortedFunc(r.hits, byIndex) { // one run's mostly are
			slices.SortStableFunc(r.hits, byIndex)
		}
		if wants != nil && !r.o.KeysOnly {
			if err := r.more(done, wants); err != nil {
				return err
			}
		}
		r.leave(block[len(block)-1].Partition)
		if err := r.emit(done, emit); err != nil {
			return err
		}
	}
	return nil
}

// block finds the rows of some keys, those of newer runs first.
func (r *Reader[R]) block(ctx context.Context, keys []Key) error {
	clear(r.rows)
	r.hits, r.rows = r.hits[:0], r.rows[:0]
	r.match = r.match[:0]
	r.done = slices.Grow(r.done[:0], len(keys))[:len(keys)]
	clear(r.done)
	pending := make([]int32, len(keys))
	for i, k := range keys {
		pending[i] = int32(i)
		r.match = append(r.match, r.t.MatchOf(k))
	}
	r.keys = keys
	for i := len(r.runs) - 1; i >= 0 && len(pending) > 0; i-- {
		before := len(r.hits)
		for j := range r.runs[i].Objects {
			o := &r.runs[i].Objects[j]
			some := r.within(pending, o)
			if len(some) == 0 {
				continue
			}
			if err := r.lookIn(ctx, o, some); err != nil {
				return err
			}
		}
		pending = r.unresolved(pending, r.hits[before:])
	}
	return nil
}

// within gives the keys, of those pending, whose partitions the object has.
func (r *Reader[R]) within(c []int32, o *Object) []int32 {
	at := func(p uint16) int {
		i, _ := slices.BinarySearchFunc(c, p, func(c int32, p uint16) int {
			return int(r.keys[c].Partition) - int(p)
		})
		return i
	}
	if o.Rows == 0 {
		return nil
	}
	return c[at(o.Range.Lo):at(o.Range.Hi)]
}

// unresolved drops the keys that need no older run.
func (r *Reader[R]) unresolved(pending []int32, hits []found) []int32 {
	for i := range hits {
		if r.o.KeysOnly || !r.t.isDelta(&r.rows[hits[i].row]) {
			r.done[hits[i].index] = true
		}
	}
	if len(hits) == 0 {
		return pending
	}
	return slices.DeleteFunc(pending, func(c int32) bool { return r.done[c] })
}

// lookIn adds what an object has of the keys, given by index, to the hits.
func (r *Reader[R]) lookIn(ctx context.Context, o *Object, c []int32) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	or := r.objects[o.Key]
	if or == nil {
		var err error
		if or, err = r.openReader(ctx, o); err != nil {
			return err
		}
		r.objects[o.Key] = or
	}
	if err := or.find(ctx, c); err != nil {
		return fmt.Errorf("look up in run object %s: %w", o.Key, err)
	}
	return nil
}

// leave closes objects that end before a partition: keys mostly ascend.
func (r *Reader[R]) leave(p uint16) {
	for key, o := range r.objects {
		if o.object.Range.Hi <= p {
			o.close()
			delete(r.objects, key)
		}
	}
}

// more reads further columns of the whole rows of the keys that are wanted.
func (r *Reader[R]) more(base int, wants func(int, *R) bool) error {
	r.wanted = r.wanted[:0]
	for i := 0; i < len(r.hits); {
		index := r.hits[i].index
		i = r.foldFrom(i)
		// The fold ended with the whole row, if there is one.
		whole := r.hits[i-1]
		if r.folder.whole && wants(base+index, r.folder.fold()) {
			r.wanted = append(r.wanted, whole)
		}
	}
	slices.SortFunc(r.wanted, func(a, b found) int {
		return cmp.Or(strings.Compare(a.ref.Object, b.ref.Object), cmp.Compare(a.ref.Row, b.ref.Row))
	})
	for left := r.wanted; len(left) > 0; {
		key := left[0].ref.Object
		n := 1
		for n < len(left) && left[n].ref.Object == key {
			n++
		}
		if err := r.objects[key].more(left[:n]); err != nil {
			return fmt.Errorf("look up in run object %s: %w", key, err)
		}
		left = left[n:]
	}
	return nil
}

// emit folds the hits of the block and emits them by key. Of one key, hits come
// from newer runs first.
func (r *Reader[R]) emit(base int, emit func(Hit[R]) error) error {
	var hit Hit[R]
	for i := 0; i < len(r.hits); {
		hit.Index = base + r.hits[i].index
		if r.o.KeysOnly {
			r.folder.refs = append(r.folder.refs[:0], r.hits[i].ref)
			i++
		} else {
			i = r.foldFrom(i)
			hit.Row = *r.folder.fold()
			if !r.folder.whole {
				r.o.Stats.UnresolvedDeltas.Add(1)
			}
		}
		hit.Refs = r.folder.refs
		if err := emit(hit); err != nil {
			return err
		}
	}
	return nil
}

// foldFrom gathers the hits of one key and returns where the next key's begin.
func (r *Reader[R]) foldFrom(i int) int {
	index := r.hits[i].index
	r.folder.reset()
	for ; i < len(r.hits) && r.hits[i].index == index; i++ {
		r.folder.add(&r.rows[r.hits[i].row], r.hits[i].ref)
	}
	return i
}
