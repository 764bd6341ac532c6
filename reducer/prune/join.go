package prune

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/reducer/task"
)

// join makes one part of the settled ones from start to end: their pages are one
// object, of which the newest row of a URL comes first, the live records of their
// archives one archive, and their rows of rounds, newest first, one object. Seeds
// keep their objects, for the last that names a URL counts.
func (p *pruning) join(ctx context.Context, start, end int, dead *deadRows) error {
	parts := p.m.Parts[start:end]
	last := &parts[len(parts)-1]
	next := lsm.Part{First: parts[0].Oldest(), Round: last.Round, Now: last.Now, Pruned: true,
		Tables: map[string][]lsm.Object{}}
	var pages []pageObject
	var warc []lsm.WARCFile
	for i := range parts {
		objects, err := p.pages(start+i, dead)
		if err != nil {
			return err
		}
		pages, warc = append(pages, objects...), append(warc, parts[i].WARC...)
		if seeds := parts[i].Tables[schema.Seeds]; len(seeds) > 0 {
			next.Tables[schema.Seeds] = append(next.Tables[schema.Seeds], seeds...)
		}
	}
	p.end.Counts[CountJoined] += int64(len(parts))
	for _, o := range pages {
		if n := int64(len(o.dead)); n > 0 {
			p.end.Counts[CountVersions] += n
			p.end.Counts[CountBytes] += o.object.Bytes * n / o.object.Rows
		}
	}
	fates, err := p.archives(ctx, warc, pages, true)
	if err != nil || p.dry {
		return err
	}
	archive, records, err := p.move(ctx, warc, pages, fmt.Sprintf("warc-joined-%08d", next.Round), fates)
	if err != nil {
		return err
	}
	if archive != nil {
		next.WARC = []lsm.WARCFile{*archive}
	}
	if err := p.joinPages(ctx, &next, pages, archive, records); err != nil {
		return err
	}
	if err := p.joinRounds(ctx, &next, parts); err != nil {
		return err
	}
	p.end.Parts = append(p.end.Parts, next)
	return nil
}

func (p *pruning) joinPages(ctx context.Context, next *lsm.Part, pages []pageObject,
	archive *lsm.WARCFile, records []record) error {
	rows := task.NewSorter(p.env, "pages", p.env.Memory()/4, pageBytes, comparePages)
	defer rows.Close()
	for _, o := range pages {
		skip := o.skipper()
		err := task.EachRow(ctx, p.env, o.object, nil, func(row *schema.Page) error {
			if skip() {
				return nil
			}
			if err := p.follows(row, archive, records); err != nil {
				return err
			}
			return rows.Add(task.Own(*row))
		})
		if err != nil {
			return err
		}
	}
	return writeJoined(ctx, p, next, schema.Pages, rows)
}

func (p *pruning) joinRounds(ctx context.Context, next *lsm.Part, parts []lsm.Part) error {
	bytes := func(r *schema.RoundRow) int { return 256 + len(r.Spec) + 48*len(r.Counts) }
	rows := task.NewSorter(p.env, "rounds", p.env.Memory()/4, bytes,
		func(a, b *schema.RoundRow) int { return cmp.Compare(b.Round, a.Round) })
	defer rows.Close()
	for i := range parts {
		for _, o := range parts[i].Tables[schema.Rounds] {
			err := task.EachRow(ctx, p.env, o, nil, func(row *schema.RoundRow) error {
				return rows.Add(task.Own(*row))
			})
			if err != nil {
				return err
			}
		}
	}
	return writeJoined(ctx, p, next, schema.Rounds, rows)
}

// writeJoined writes the rows as the only object of a table.
func writeJoined[R any](ctx context.Context, p *pruning, next *lsm.Part, table string,
	rows *task.Sorter[R]) error {
	out, err := task.Create[R](p.env, p.task, fmt.Sprintf("%s-joined-%08d", table, next.Round), false)
	if err != nil {
		return err
	}
	defer out.Abort()
	if err := rows.Each(func(row *R) error { return out.Write(*row) }); err != nil {
		return err
	}
	object, err := out.Finish(ctx)
	if object != nil {
		object.Range = layout.All
		next.Tables[table] = []lsm.Object{*object}
	}
	return err
}

func pageBytes(r *schema.Page) int {
	n := 640 + len(r.Domain) + len(r.Host) + len(r.URL) + len(r.Title) + len(r.Text) + len(r.BlobPath)
	for k, v := range r.Headers {
		n += 32 + len(k) + len(v)
	}
	return n
}

// comparePages is the order of the table, and of a URL's rows the newest first.
func comparePages(a, b *schema.Page) int {
	return cmp.Or(strings.Compare(a.Domain, b.Domain), strings.Compare(a.Host, b.Host),
		strings.Compare(a.URL, b.URL), cmp.Compare(b.Round, a.Round))
}
