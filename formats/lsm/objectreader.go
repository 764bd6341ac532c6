package lsm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"seine/formats/bloom"
	"seine/formats/layout"
	"seine/formats/rowfile"
)

// objectReader looks keys up in one object.
type objectReader[R any] struct {
	r      *Reader[R]
	object *Object
	file   *openFile[R]
	rest   *rowfile.File[R] // the same with the columns LookupOptions.More; nil: not yet needed
	match  *rowfile.StringReader
	side   *bloom.File // nil: there is none, or it is damaged
	source io.ReaderAt // of side
	groups []Key       // of side: first keys
	pages  []int64     // without side: first row of each page
	prober prober
	known  fraction
	work   []pageWork
	chosen []int32 // keys of the work, by page
	rows   []int64
	which  []int32 // keys that the rows match

	encoded []byte
}

// pageWork is a page of the match column to look through, and the candidates
// that may be in it: chosen[lo:hi].
type pageWork struct {
	row    int64
	rows   int64 // by the sidecar; 0 without
	lo, hi int
}

func (r *Reader[R]) openReader(ctx context.Context, o *Object) (*objectReader[R], error) {
	file, err := openObject[R](ctx, r.open, *o, rowfile.ReadOptions{
		Columns: r.t.gathered(r.o.Columns), Stats: &r.o.Stats.Stats})
	if err != nil {
		return nil, err
	}
	or := &objectReader[R]{r: r, object: o, file: file}
	if or.match, err = file.Strings(r.t.Match); err != nil {
		or.close()
		return nil, err
	}
	if o.Sidecar == "" {
		return or, nil
	}
	if err := or.openSidecar(ctx); err != nil {
		or.close()
		return nil, err
	}
	return or, nil
}

func (or *objectReader[R]) openSidecar(ctx context.Context) error {
	stats := or.r.o.Stats
	src, err := or.r.open(ctx, or.object.Sidecar, or.object.SidecarBytes)
	if err != nil {
		return err
	}
	side, err := bloom.Open(src, or.object.SidecarBytes, func(n int64) {
		stats.SidecarRequests.Add(1)
		stats.SidecarBytes.Add(n)
	})
	if err == nil && side.Rows() != or.object.Rows {
		err = bloom.ErrCorrupt
	}
	if err != nil {
		closeSource(src)
		if errors.Is(err, bloom.ErrCorrupt) {
			stats.DamagedSidecars.Add(1)
			return nil
		}
		return err
	}
	groups := side.Groups()
	if or.groups, err = parseKeys(len(groups), func(i int) []byte { return groups[i].First }); err != nil {
		closeSource(src)
		stats.DamagedSidecars.Add(1)
		return nil
	}
	or.side, or.source = side, src
	return nil
}

func (or *objectReader[R]) close() {
	or.file.close()
	if or.source != nil {
		closeSource(or.source)
		or.source = nil
	}
}

// find adds what the object has of the candidates to the reader's hits. Should
// the sidecar be damaged, it goes on without.
func (or *objectReader[R]) find(ctx context.Context, c []int32) error {
	err := or.search(ctx, c)
	if errors.Is(err, bloom.ErrCorrupt) && or.side != nil {
		or.r.o.Stats.DamagedSidecars.Add(1)
		closeSource(or.source)
		or.side, or.source = nil, nil
		err = or.search(ctx, c)
	}
	if err != nil {
		return err
	}
	if or.r.o.KeysOnly && or.r.t.Unique {
		for i, row := range or.rows {
			or.r.hits = append(or.r.hits, found{int(or.which[i]), Ref{or.object.Key, row}, -1})
		}
		return nil
	}
	if or.r.t.Unique {
		return or.gather()
	}
	return or.gatherByKey(c)
}

// search finds the rows whose match column equals a candidate's.
func (or *objectReader[R]) search(ctx context.Context, c []int32) error {
	or.work, or.chosen = or.work[:0], or.chosen[:0]
	or.rows, or.which = or.rows[:0], or.which[:0]
	if err := or.plan(c); err != nil {
		return err
	}
	return or.probe(ctx, c)
}

// probe looks through the planned pages.
func (or *objectReader[R]) probe(ctx context.Context, c []int32) error {
	var fetch []int64
	for i, w := range or.work {
		if i%fetchPages == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			fetch = fetch[:0]
			for _, w := range or.work[i:min(i+fetchPages, len(or.work))] {
				fetch = append(fetch, w.row)
			}
			if err := or.match.Fetch(fetch); err != nil {
				return err
			}
		}
		page, err := or.match.Page(w.row)
		if err != nil {
			return err
		}
		if or.side != nil && (page.Row != w.row || int64(page.Len()) != w.rows) {
			return fmt.Errorf("%w: page of row %d", bloom.ErrCorrupt, w.row)
		}
		or.prober.load(or.r.match, or.chosen[w.lo:w.hi])
		or.rows, or.which = or.prober.probe(page, or.r.t.Unique, or.rows, or.which)
	}
	or.r.o.Stats.KeyPages.Add(int64(len(or.work)))
	return nil
}

// fetchPages bounds the pages that are asked for together: some 4 MB.
const fetchPages = 128

// gather reads the rows found; their match column says whose they are.
func (or *objectReader[R]) gather() error {
	r := or.r
	n := len(r.rows)
	r.rows = slices.Grow(r.rows, len(or.rows))[:n+len(or.rows)]
	if err := or.file.GatherInto(or.rows, r.rows[n:]); err != nil {
		return err
	}
	for i, row := range or.rows {
		index := int(or.which[i])
		r.t.SetKey(&r.rows[n+i], r.keys[index])
		r.hits = append(r.hits, found{index, Ref{or.object.Key, row}, n + i})
	}
	return nil
}

// more reads the columns LookupOptions.More of rows found, ascending.
func (or *objectReader[R]) more(hits []found) (err error) {
	if or.rest == nil {
		if or.rest, err = or.file.Project(or.r.o.More); err != nil {
			return err
		}
	}
	numbers := make([]int64, len(hits))
	for i := range hits {
		numbers[i] = hits[i].ref.Row
	}
	for done := 0; done < len(numbers); done += gatherRows {
		some := numbers[done:min(done+gatherRows, len(numbers))]
		got, err := or.rest.Gather(some)
		if err != nil {
			return err
		}
		for i := range got {
			or.rest.Copy(&or.r.rows[hits[done+i].row], &got[i])
		}
	}
	return nil
}

// gatherByKey reads the rows found, and takes those whose whole key is a
// candidate's.
func (or *objectReader[R]) gatherByKey(c []int32) error {
	rows := slices.Compact(or.rows)
	at := 0
	for len(rows) > 0 {
		some := rows[:min(len(rows), gatherRows)]
		rows = rows[len(some):]
		got, err := or.file.Gather(some)
		if err != nil {
			return err
		}
		for i := range got {
			key := or.r.t.Key(&got[i])
			n, ok := slices.BinarySearchFunc(c[at:], key, func(c int32, k Key) int {
				return or.r.keys[c].Compare(k)
			})
			at += n
			if ok {
				or.r.hits = append(or.r.hits, found{int(c[at]), Ref{or.object.Key, some[i]}, len(or.r.rows)})
				or.r.rows = append(or.r.rows, got[i])
			}
		}
	}
	return nil
}

// gatherRows bounds the rows held at once beside the hits.
const gatherRows = 2048

// plan chooses the pages to look through.
func (or *objectReader[R]) plan(c []int32) error {
	if or.side == nil {
		return or.planByPartition(c)
	}
	keys := or.r.keys
	for i := 0; i < len(c); {
		next, _ := slices.BinarySearchFunc(or.groups, keys[c[i]], func(g, k Key) int {
			return cmp.Or(g.Compare(k), -1)
		})
		end := len(c)
		if next < len(or.groups) {
			n, _ := slices.BinarySearchFunc(c[i:], or.groups[next], func(c int32, k Key) int {
				return keys[c].Compare(k)
			})
			end = i + n
		}
		if next > 0 {
			if err := or.planGroup(next-1, c[i:end]); err != nil {
				return err
			}
		}
		i = end
	}
	return nil
}

// planGroup chooses pages of a group, asking the group's filter where that is
// expected to cost less.
func (or *objectReader[R]) planGroup(group int, c []int32) error {
	pages, err := or.side.Pages(group)
	if err != nil {
		return err
	}
	firsts, err := parseKeys(len(pages), func(i int) []byte { return pages[i].First })
	if err != nil {
		return err
	}
	mark, first := len(or.work), len(or.chosen)
	or.assign(pages, firsts, c, nil)
	stats := or.r.o.Stats
	if !filterPays(len(or.work)-mark, len(c), or.known.value()) {
		stats.MergedGroups.Add(1)
		return nil
	}
	filter, err := or.side.Filter(group)
	if err != nil {
		return err
	}
	or.work, or.chosen = or.work[:mark], or.chosen[:first]
	or.assign(pages, firsts, c, &filter)
	passed := len(or.chosen) - first
	or.known.add(passed, len(c))
	stats.FilteredGroups.Add(1)
	stats.FilterTests.Add(int64(len(c)))
	stats.FilterPasses.Add(int64(passed))
	return nil
}

// parseKeys parses a sidecar's keys.
func parseKeys(n int, key func(i int) []byte) ([]Key, error) {
	out := make([]Key, n)
	for i := range out {
		var ok bool
		if out[i], ok = parseKey(key(i)); !ok {
			return nil, fmt.Errorf("%w: its key %d is none", bloom.ErrCorrupt, i)
		}
	}
	return out, nil
}

// assign gives each key that may be there, by the filter if there is one, to its
// page.
func (or *objectReader[R]) assign(pages []bloom.Page, firsts []Key, c []int32, filter *bloom.Filter) {
	for p := 0; len(c) > 0; {
		for p+1 < len(firsts) && firsts[p+1].Compare(or.r.keys[c[0]]) <= 0 {
			p++
		}
		n := len(c)
		if p+1 < len(firsts) {
			n = or.before(c, firsts[p+1])
		}
		lo := len(or.chosen)
		for _, i := range c[:n] {
			if filter != nil {
				if or.encoded = or.r.keys[i].Append(or.encoded[:0]); !filter.MayHold(or.encoded) {
					continue
				}
			}
			or.chosen = append(or.chosen, i)
		}
		if lo < len(or.chosen) {
			or.work = append(or.work, pageWork{pages[p].Row, pages[p].Rows, lo, len(or.chosen)})
		}
		c = c[n:]
	}
}

// before is how many of the keys are less than one that is near: doubling steps,
// then halving.
func (or *objectReader[R]) before(c []int32, key Key) int {
	less := func(i int) bool { return or.r.keys[c[i]].Compare(key) < 0 }
	lo, hi := 0, 1
	for hi < len(c) && less(hi) {
		lo, hi = hi, 2*hi
	}
	hi = min(hi, len(c))
	return lo + sort.Search(hi-lo, func(i int) bool { return !less(lo + i) })
}

// planByPartition chooses, without a sidecar, all pages of the candidates'
// partitions: the footer says where they lie.
func (or *objectReader[R]) planByPartition(c []int32) (err error) {
	if or.pages == nil {
		if or.pages, err = or.match.Pages(); err != nil {
			return err
		}
	}
	for i := 0; i < len(c); {
		p := or.r.keys[c[i]].Partition
		end := i
		for end < len(c) && or.r.keys[c[end]].Partition == p {
			end++
		}
		from, to := or.file.Partitions(layout.Range{Lo: p, Hi: p + 1})
		if from < to {
			lo := len(or.chosen)
			or.chosen = append(or.chosen, c[i:end]...)
			at, there := slices.BinarySearch(or.pages, from)
			if !there {
				at--
			}
			for ; at < len(or.pages) && or.pages[at] < to; at++ {
				or.addWork(or.pages[at], lo, len(or.chosen))
			}
		}
		i = end
	}
	return nil
}

// addWork adds a page; partitions may share one, whose candidates are joined.
func (or *objectReader[R]) addWork(row int64, lo, hi int) {
	if n := len(or.work); n > 0 && or.work[n-1].row == row {
		or.work[n-1].hi = hi
		return
	}
	or.work = append(or.work, pageWork{row, 0, lo, hi})
}
