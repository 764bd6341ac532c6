package audit

import (
	"context"
	"fmt"
	"io"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
)

// slice is how many queued rows are held at once.
const slice = 1 << 20

// waiting is what the frontier says of a URL.
type waiting struct {
	object  layout.Key
	tickets []int64
}

// frontier compares, slice by slice, the queues with urls: a waiting URL has one
// live row, another none; and the counts of domains with the URLs they count.
func (a *auditor) frontier(ctx context.Context) error {
	queued := int64(0)
	for _, r := range a.m.Frontier {
		for _, o := range r.Objects {
			queued += o.Left()
		}
	}
	known, waits := int64(0), int64(0)
	for _, rng := range layout.Split(int(max(queued, a.m.Known)/slice) + 1) {
		rows, err := a.queued(ctx, rng)
		if err != nil {
			return err
		}
		k, w, err := a.compare(ctx, rng, rows)
		if err != nil {
			return err
		}
		known, waits = known+k, waits+w
	}
	a.checked("waiting", waits)
	if known != a.m.Known {
		a.find("frontier", layout.Commit(a.m.N), fmt.Sprintf("the snapshot says that %d URLs are known, urls "+
			"has %d", a.m.Known, known), nextReport)
	}
	if waits != a.m.Waiting {
		a.find("frontier", layout.Commit(a.m.N), fmt.Sprintf("the snapshot says that %d URLs wait, of urls %d do",
			a.m.Waiting, waits), nextReport)
	}
	return nil
}

// queued gathers the rows behind the cursors in a range.
func (a *auditor) queued(ctx context.Context, rng layout.Range) (map[string]*waiting, error) {
	rows := map[string]*waiting{}
	for _, r := range a.m.Frontier {
		compare := lsm.CompareWaiting
		if r.Kind == schema.Ready {
			compare = lsm.CompareReady
		}
		for _, o := range r.Objects {
			if !o.Range.Overlaps(rng) || o.Left() == 0 || a.broken[o.Key] {
				continue
			}
			err := a.queue(ctx, o, rng, compare, rows)
			if err != nil && !a.damaged(ctx, "frontier", o.Key, err) {
				return nil, err
			}
		}
	}
	return rows, nil
}

// queue reads one object's rows behind the cursor in a range.
func (a *auditor) queue(ctx context.Context, o lsm.QueueObject, rng layout.Range,
	compare func(a, b *schema.FrontierRow) int, rows map[string]*waiting) error {
	src, err := a.Open(ctx, o.Key, o.Bytes)
	if err != nil {
		return err
	}
	if c, ok := src.(io.Closer); ok {
		defer func() { _ = c.Close() }() // only read
	}
	f, err := rowfile.Open[schema.FrontierRow](src, o.Bytes, rowfile.ReadOptions{})
	if err != nil {
		return err
	}
	var last schema.FrontierRow
	for i, n := range o.Counts {
		p := o.Range.Lo + uint16(i)
		from, to := f.Partitions(layout.Range{Lo: p, Hi: p + 1})
		if to-from != n {
			return fmt.Errorf("%w: partition %d has %d rows, the snapshot says %d", rowfile.ErrCorrupt, p,
				to-from, n)
		}
		if !rng.Holds(p) || n == 0 {
			continue
		}
		if i < len(o.Cursor) {
			from += o.Cursor[i]
		}
		err := eachOf(ctx, f, from, to, func(row *schema.FrontierRow, at int64) error {
			if at > from && compare(&last, row) > 0 {
				a.find("frontier", o.Key, fmt.Sprintf("row %d is out of order", at), nextReport)
			}
			if last = *row; row.Partition != int32(p) {
				a.find("frontier", o.Key, fmt.Sprintf("row %d is of partition %d, not %d", at, row.Partition, p),
					nextReport)
			}
			w := rows[row.URL]
			if w == nil {
				w = &waiting{object: o.Key}
				rows[strings.Clone(row.URL)] = w
			}
			w.tickets = append(w.tickets, row.Ticket)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// compare goes over the URLs of a range.
func (a *auditor) compare(ctx context.Context, rng layout.Range, rows map[string]*waiting) (known, waits int64,
	err error) {
	sums := map[lsm.Key]*schema.Domain{}
	columns := []string{"queued", "crawl_status", "reason", "html_blob_path"}
	err = lsm.URLs().Scan(ctx, a.Open, a.m.Tables[schema.URLs], rng, columns,
		func(row *schema.URL, refs []lsm.Ref) error {
			if row.Delta {
				return nil // found by runs
			}
			known++
			if row.Queued != 0 {
				waits++
			}
			a.oneRow(row, rows[row.URL], refs[0].Object)
			delete(rows, row.URL)
			count(sums, lsm.Key{Domain: row.Domain}, row)
			count(sums, lsm.Key{Domain: row.Domain, Host: row.Host}, row)
			return nil
		})
	if err != nil {
		return 0, 0, err
	}
	for url, w := range rows {
		a.find("frontier", w.object, fmt.Sprintf("it queues %s, which urls does not have", url), nextReport)
	}
	return known, waits, a.domains(ctx, rng, sums)
}

// oneRow holds a URL to its row of the frontier.
func (a *auditor) oneRow(row *schema.URL, w *waiting, object layout.Key) {
	live := 0
	if w != nil {
		for _, t := range w.tickets {
			if t == row.Queued && t != 0 {
				live++
			}
		}
	}
	switch {
	case row.Queued != 0 && live == 0:
		a.find("frontier", object, fmt.Sprintf("%s waits with ticket %d and has no row in the frontier",
			row.URL, row.Queued), nextReport)
	case live > 1:
		a.find("frontier", w.object, fmt.Sprintf("%s has %d live rows in the frontier", row.URL, live), nextReport)
	}
}

func count(sums map[lsm.Key]*schema.Domain, key lsm.Key, row *schema.URL) {
	d := sums[key]
	if d == nil {
		d = &schema.Domain{}
		sums[key] = d
	}
	d.Known++
	switch row.CrawlStatus {
	case schema.Pending:
		d.Pending++
	case schema.Failed:
		d.Failed++
	}
	if row.BlobPath != "" {
		d.Pages++
	}
	if row.Reason == schema.DomainFull {
		d.Held++
	}
}

// domains compares the counts of the politeness groups with those of urls.
func (a *auditor) domains(ctx context.Context, rng layout.Range, sums map[lsm.Key]*schema.Domain) error {
	return lsm.Domains().Scan(ctx, a.Open, a.m.Tables[schema.Domains], rng, nil,
		func(row *schema.Domain, refs []lsm.Ref) error {
			key := lsm.Key{Domain: row.Domain, Host: row.Host}
			want := sums[key]
			if want == nil {
				want = &schema.Domain{}
			}
			if row.Known != want.Known || row.Pending != want.Pending || row.Failed != want.Failed ||
				row.Pages != want.Pages || row.Held != want.Held {
				a.find("frontier", refs[0].Object, fmt.Sprintf("%s counts known %d, pending %d, held %d, failed %d, "+
					"pages %d; its URLs are %d, %d, %d, %d, %d", printed(key), row.Known, row.Pending, row.Held,
					row.Failed, row.Pages, want.Known, want.Pending, want.Held, want.Failed, want.Pages), nextReport)
			}
			return nil
		})
}
