package fold

import (
	"cmp"
	"context"

	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
)

// head is the next row of one source of the merge by key: one of the three.
type head struct {
	key   lsm.Key
	fact  *fact
	list  *schema.List
	event *schema.Discovery
}

// compareHeads orders by key; discoveries of one target by their source domain,
// so that no domain counts twice.
func compareHeads(a, b *head) int {
	if c := a.key.Compare(b.key); c != 0 {
		return c
	}
	if a.event != nil && b.event != nil {
		return compareEvents(a.event, b.event)
	}
	return cmp.Compare(a.rank(), b.rank())
}

func (h *head) rank() int {
	switch {
	case h.fact != nil:
		return 0
	case h.list != nil:
		return 1
	}
	return 2
}

// headed turns the rows of a source into heads.
func headed[R any](next rows[R], set func(h *head, row *R)) rows[head] {
	h := &head{}
	return func() (*head, error) {
		row, err := next()
		if err == nil {
			set(h, row)
		}
		return h, err
	}
}

// fold merges facts, lists and discoveries by key, and folds them batch by
// batch.
func (f *folding) fold(ctx context.Context) error {
	var o opened
	defer o.close()
	sequences, drop, err := f.heads(ctx, &o)
	if err != nil {
		return err
	}
	defer drop()
	runs := f.manifest.Tables[schema.URLs]
	candidates := int64(0) // of the whole round, as are the URLs that are known
	for _, object := range f.in.events {
		candidates += object.Rows
	}
	f.urls = lsm.URLs().NewReader(f.env.Opener(candidates, f.manifest.Known), runs, lsm.LookupOptions{Columns: linkColumns,
		More: otherColumns(), Stats: f.env.Stats})
	defer f.urls.Close()
	b := &batch{f: f, most: int(max(64, min(batchItems, f.env.Memory()/4/itemBytes)))}
	if err := mergeRows(sequences, compareHeads, func(h *head) error {
		return b.add(ctx, h)
	}); err != nil {
		return err
	}
	if err := b.flush(ctx); err != nil {
		return err
	}
	return f.settle(ctx)
}

// heads opens all sources of the merge.
func (f *folding) heads(ctx context.Context, o *opened) ([]rows[head], func(), error) {
	facts, err := f.facts.Open()
	if err != nil {
		return nil, nil, err
	}
	all := []rows[head]{headed(facts.Next, func(h *head, row *fact) {
		h.key, h.fact = row.key(), row
	})}
	if lists := f.in.generate.Lists; lists != nil {
		file, err := openRows[schema.List](ctx, f.env, o, *lists, 1)
		if err != nil {
			return nil, nil, err
		}
		next := reading(lists.Key, file.Scan(0, file.NumRows()))
		all = append(all, headed(next, func(h *head, row *schema.List) {
			h.key, h.list = lsm.Key{Partition: uint16(row.Partition), Domain: row.Domain,
				Host: row.Host, URL: row.URL}, row
		}))
	}
	events, drop, err := ordered(ctx, f.env, o, f.in.events, sorting[schema.Discovery]{
		compare: compareEvents, own: ownEvent, bytes: eventBytes,
		part: func(file *rowfile.File[schema.Discovery]) (int64, int64) {
			return file.Partitions(f.task.Range)
		}})
	if err != nil {
		return nil, nil, err
	}
	for _, s := range events {
		all = append(all, headed(s, func(h *head, row *schema.Discovery) {
			h.key, h.event = eventKey(row), row
		}))
	}
	return all, drop, nil
}
