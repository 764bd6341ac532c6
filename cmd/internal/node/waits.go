package node

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/reducer/task"
)

// Cut says what counts as due.
type Cut struct {
	Now int64 // ms: rows due by then
	// AsOf, ms, takes rows due by then whose ticket is at most Ticket.
	AsOf int64
	// DueNow takes all rows whose ticket is at most Ticket, whenever they are due;
	// but those that wait for a slot or for another day only when it comes.
	DueNow bool
	Ticket int64
}

func (c Cut) due(row *schema.FrontierRow) bool {
	switch {
	case row.Due <= c.Now:
		return true
	case row.Ticket > c.Ticket:
		return false
	case c.DueNow:
		return row.Why != schema.WhySlot && row.Why != schema.WhyDay
	}
	return row.Due <= c.AsOf
}

// Wait is how many URLs wait for one reason, and from when to when they are due.
type Wait struct {
	Why   string `json:"why"`
	URLs  int64  `json:"urls"`
	First int64  `json:"first_due"` // ms
	Last  int64  `json:"last_due"`  // ms
}

// Waits is what waits in a snapshot.
type Waits struct {
	Due int64  `json:"due"` // URLs that are due by the cut
	By  []Wait `json:"waiting"`
	// Exact: every row was looked at, and those that no longer count left out.
	// Otherwise numbers are those of rows, and times the earliest of each partition.
	Exact bool `json:"exact"`
}

// Total is how many URLs wait, due or not.
func (w Waits) Total() int64 {
	n := w.Due
	for _, by := range w.By {
		n += by.URLs
	}
	return n
}

// Of is what waits for a reason.
func (w Waits) Of(why string) Wait {
	for _, by := range w.By {
		if by.Why == why {
			return by
		}
	}
	return Wait{Why: why}
}

// Bounds of what is looked at: up to scanLimit rows all are read, up to
// checkLimit each is checked against urls. Beyond, a frontier is told from its
// counts and the first row of each partition: a report must not cost more than
// a round.
const (
	scanLimit  = 200_000
	checkLimit = 20_000
)

// Waits says what waits in a snapshot and since which moment it is due.
func (c *Crawl) Waits(ctx context.Context, head *lsm.Manifest, cut Cut) (Waits, error) {
	var left int64
	for _, run := range head.Frontier {
		for _, o := range run.Objects {
			left += o.Left()
		}
	}
	w := waiting{cut: cut, exact: left <= scanLimit, by: map[string]*Wait{}}
	for _, run := range head.Frontier {
		for _, o := range run.Objects {
			if err := w.object(ctx, c, run.Kind, o, left <= checkLimit); err != nil {
				return Waits{}, fmt.Errorf("read the frontier: %w", err)
			}
		}
	}
	if left <= checkLimit {
		if err := w.check(ctx, c, head); err != nil {
			return Waits{}, fmt.Errorf("read the frontier: %w", err)
		}
	}
	result := Waits{Due: w.due, Exact: left <= checkLimit}
	for _, by := range w.by {
		result.By = append(result.By, *by)
	}
	slices.SortFunc(result.By, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(a.First, b.First), strings.Compare(a.Why, b.Why))
	})
	return result, nil
}

type waiting struct {
	cut   Cut
	exact bool
	due   int64
	by    map[string]*Wait
	rows  []schema.FrontierRow // to be checked
}

func (w *waiting) add(row *schema.FrontierRow, n int64) {
	if w.cut.due(row) {
		w.due += n
		return
	}
	by := w.by[row.Why]
	if by == nil {
		by = &Wait{Why: row.Why, First: row.Due}
		w.by[row.Why] = by
	}
	by.URLs += n
	by.First, by.Last = min(by.First, row.Due), max(by.Last, row.Due)
}

// object reads what is left of an object of the frontier.
func (w *waiting) object(ctx context.Context, c *Crawl, kind string, o lsm.QueueObject, keep bool) error {
	if o.Left() == 0 {
		return nil
	}
	if !w.exact && kind == schema.Ready {
		w.due += o.Left()
		return nil
	}
	f, src, err := openRows[schema.FrontierRow](ctx, c, o.Object,
		[]string{"partition", "domain", "host", "url", "timestamp", "ticket", "why"})
	if err != nil {
		return err
	}
	defer task.CloseReader(src)
	var at int64
	for i, n := range o.Counts {
		from := at
		if o.Cursor != nil {
			from += o.Cursor[i]
		}
		to := at + n
		if at = to; from >= to {
			continue
		}
		if !w.exact {
			rows, err := f.Gather([]int64{from})
			if err != nil {
				return fmt.Errorf("%s: %w", o.Key, err)
			}
			w.add(&rows[0], to-from)
			continue
		}
		if err := w.scan(f.Scan(from, to), o.Key, keep); err != nil {
			return err
		}
	}
	return nil
}

func (w *waiting) scan(rows *rowfile.Cursor[schema.FrontierRow], key layout.Key, keep bool) error {
	for {
		row, err := rows.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if !keep {
			w.add(row, 1)
			continue
		}
		own := *row
		own.URL, own.Host, own.Domain = strings.Clone(row.URL), strings.Clone(row.Host), strings.Clone(row.Domain)
		own.Why = strings.Clone(row.Why)
		w.rows = append(w.rows, own)
	}
}

// check counts the rows that are live: whose ticket is their URL's.
func (w *waiting) check(ctx context.Context, c *Crawl, head *lsm.Manifest) error {
	rows := w.rows
	slices.SortFunc(rows, func(a, b schema.FrontierRow) int {
		return task.FrontierKey(&a).Compare(task.FrontierKey(&b))
	})
	var keys []lsm.Key
	for i := range rows {
		if k := task.FrontierKey(&rows[i]); len(keys) == 0 || keys[len(keys)-1] != k {
			keys = append(keys, k)
		}
	}
	next := 0
	return lsm.URLs().Lookup(ctx, c.Store.Open, head.Tables[schema.URLs], keys,
		lsm.LookupOptions{Columns: []string{"queued"}}, func(hit lsm.Hit[schema.URL]) error {
			for ; next < len(rows); next++ {
				order := task.FrontierKey(&rows[next]).Compare(keys[hit.Index])
				if order > 0 {
					break
				}
				if order == 0 && rows[next].Ticket == hit.Row.Queued {
					w.add(&rows[next], 1)
				}
			}
			return nil
		})
}

func openRows[R any](ctx context.Context, c *Crawl, o lsm.Object, columns []string) (*rowfile.File[R],
	io.ReaderAt, error) {
	src, err := c.Store.Open(ctx, o.Key, o.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", o.Key, err)
	}
	f, err := rowfile.Open[R](src, o.Bytes, rowfile.ReadOptions{Columns: columns})
	if err != nil {
		task.CloseReader(src)
		return nil, nil, fmt.Errorf("%s: %w", o.Key, err)
	}
	return f, src, nil
}
