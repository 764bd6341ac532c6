package fold

import (
	"context"
	"fmt"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/tasklog"
	"seine/formats/weburl"
	"seine/reducer/task"
)

// gather brings the sealed chunks of the range into the append tables and into
// robots, and what they mean for the other tables into the facts.
func (f *folding) gather(ctx context.Context) error {
	if err := f.fetches(ctx); err != nil {
		return fmt.Errorf("fetches: %w", err)
	}
	if err := f.pages(ctx); err != nil {
		return fmt.Errorf("pages: %w", err)
	}
	if err := f.links(ctx); err != nil {
		return fmt.Errorf("links: %w", err)
	}
	if err := f.robots(ctx); err != nil {
		return fmt.Errorf("robots: %w", err)
	}
	if err := f.slots(ctx); err != nil {
		return fmt.Errorf("slots: %w", err)
	}
	for _, o := range f.in.of(tasklog.WARC) {
		f.end.WARC = append(f.end.WARC, lsm.WARCFile{Key: o.Key, Bytes: o.Size})
	}
	return nil
}

// keep stores a finished object of an append table.
func (f *folding) keep(table string, object *lsm.Object) {
	if object != nil {
		f.end.Append[table] = append(f.end.Append[table], *object)
	}
}

// fetches merges what was asked for with what waits again and what generate
// refused: every URL that the round touched has its rows in one table.
func (f *folding) fetches(ctx context.Context) error {
	var o opened
	defer o.close()
	asked, drop, err := ordered(ctx, f.env, &o, f.in.of(tasklog.Fetches), sorting[schema.Fetch]{
		compare: compareFetches, own: ownFetch, bytes: fetchBytes})
	if err != nil {
		return err
	}
	defer drop()
	left := task.NewSorter(f.env, "left", f.env.Memory()/8, fetchBytes, compareFetches)
	defer left.Close()
	sequences, err := f.decided(ctx, &o, left)
	if err != nil {
		return err
	}
	for _, s := range asked {
		sequences = append(sequences, tag(s, factRow))
	}
	out, err := task.Create[schema.Fetch](f.env, f.task, schema.Fetches, false)
	if err != nil {
		return err
	}
	defer out.Abort()
	err = mergeRows(sequences, compareEntries, func(e *entry) error {
		if err := out.Write(*e.fetch); err != nil {
			return err
		}
		return f.fetch(e.fetch, e.what)
	})
	if err != nil {
		return err
	}
	object, err := out.Finish(ctx)
	f.keep(schema.Fetches, object)
	return err
}

// decided gives the rows of URLs that nobody asked for: those that wait again,
// which fetch leaves in the order of its list, and those that generate refused.
func (f *folding) decided(ctx context.Context, o *opened,
	left *task.Sorter[schema.Fetch]) ([]rows[entry], error) {
	for _, object := range f.in.left {
		if err := sortObject(ctx, f.env, object, sorting[schema.Fetch]{own: ownFetch}, left); err != nil {
			return nil, err
		}
	}
	again, err := left.Open()
	if err != nil {
		return nil, err
	}
	sequences := []rows[entry]{tag(again.Next, factLeft)}
	if refused := f.in.generate.Refused; refused != nil {
		file, err := openRows[schema.Fetch](ctx, f.env, o, *refused, 1)
		if err != nil {
			return nil, err
		}
		next := reading(refused.Key, file.Scan(0, file.NumRows()))
		sequences = append(sequences, tag(next, factRefused))
	}
	return sequences, nil
}

// entry is a row of fetches and where it is from.
type entry struct {
	fetch *schema.Fetch
	what  int32
}

func tag(next rows[schema.Fetch], what int32) rows[entry] {
	e := &entry{what: what}
	return func() (*entry, error) {
		row, err := next()
		e.fetch = row
		return e, err
	}
}

func compareEntries(a, b *entry) int { return compareFetches(a.fetch, b.fetch) }

// fetch notes what a row of fetches means.
func (f *folding) fetch(row *schema.Fetch, what int32) error {
	fact := rowFact(row, what)
	if row.RetryAt != 0 && row.Reason != schema.Blocked { // a block is not the group's back-off
		group := f.groupKey(fact.key())
		f.retryAt[group] = max(f.retryAt[group], row.RetryAt)
	}
	if row.Reason == schema.RobotsUnreachable && row.Kind == kindPage {
		authority, err := authorityOf(&fact)
		if err != nil {
			return err
		}
		f.expires[authority] = 0
	}
	f.end.Counts["bytes"] += row.Bytes
	return f.facts.Add(fact)
}

// authorityOf is the key in robots of a URL's authority.
func authorityOf(f *fact) (lsm.Key, error) {
	normal, err := weburl.Normalize(f.URL, weburl.Options{})
	if err != nil {
		return lsm.Key{}, fmt.Errorf("URL of a final row: %w", err)
	}
	return lsm.Key{Partition: uint16(f.Partition), Domain: f.Domain,
		URL: normal.Scheme + "://" + normal.Authority}, nil
}

func (f *folding) pages(ctx context.Context) error {
	var o opened
	defer o.close()
	sequences, drop, err := ordered(ctx, f.env, &o, f.in.of(tasklog.Pages), sorting[schema.Page]{
		compare: comparePages, own: ownPage, bytes: pageBytes})
	if err != nil {
		return err
	}
	defer drop()
	out, err := task.Create[schema.Page](f.env, f.task, schema.Pages, false)
	if err != nil {
		return err
	}
	defer out.Abort()
	err = mergeRows(sequences, comparePages, func(row *schema.Page) error {
		f.end.Counts["pages"]++
		if err := out.Write(*row); err != nil {
			return err
		}
		return f.facts.Add(pageFact(row))
	})
	if err != nil {
		return err
	}
	object, err := out.Finish(ctx)
	f.keep(schema.Pages, object)
	return err
}

// links merges the links of pages. Those of one source are sorted by whole rows,
// however they were cut into chunks; the settings bound how many a page has.
func (f *folding) links(ctx context.Context) error {
	var o opened
	defer o.close()
	sequences, drop, err := ordered(ctx, f.env, &o, f.in.of(tasklog.Links), sorting[schema.Link]{
		compare: compareLinks, own: ownLink, bytes: linkBytes})
	if err != nil {
		return err
	}
	defer drop()
	out, err := task.Create[schema.Link](f.env, f.task, schema.Links, false)
	if err != nil {
		return err
	}
	defer out.Abort()
	var page []schema.Link
	flush := func() error {
		sortLinks(page)
		f.end.Counts["links"] += int64(len(page))
		err := out.Write(page...)
		page = page[:0]
		return err
	}
	err = mergeRows(sequences, compareSources, func(row *schema.Link) error {
		if len(page) > 0 && compareSources(&page[0], row) != 0 {
			if err := flush(); err != nil {
				return err
			}
		}
		page = append(page, *row)
		return nil
	})
	if err != nil {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	object, err := out.Finish(ctx)
	f.keep(schema.Links, object)
	return err
}

// slots notes which groups gave slots away.
func (f *folding) slots(ctx context.Context) error {
	if f.in.generate.Slots == nil {
		return nil
	}
	return task.EachRow(ctx, f.env, *f.in.generate.Slots, nil, func(row *schema.Domain) error {
		key := lsm.Key{Partition: uint16(row.Partition), Domain: row.Domain, Host: row.Host}
		return f.facts.Add(groupFact(key, fact{What: factSlot, NextSlot: row.NextSlot}))
	})
}
