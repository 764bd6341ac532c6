package prune

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/weburl"
	"seine/reducer/task"
)

// pageObject is an object of pages and its dead rows.
type pageObject struct {
	object lsm.Object
	dead   []int64 // ascending
}

// skipper says row by row, from the first, whether the row is dead.
func (o pageObject) skipper() func() bool {
	at, left := int64(-1), o.dead
	return func() bool {
		at++
		if len(left) > 0 && left[0] == at {
			left = left[1:]
			return true
		}
		return false
	}
}

func (p *pruning) pages(i int, dead *deadRows) (objects []pageObject, err error) {
	for n, o := range p.m.Parts[i].Tables[schema.Pages] {
		rows, err := dead.of(i, n)
		if err != nil {
			return nil, err
		}
		objects = append(objects, pageObject{o, rows})
	}
	return objects, nil
}

// rewrite writes a part's pages objects anew that are worth it: a third of the
// rows is dead, or a record that a row points to moves or goes.
func (p *pruning) rewrite(ctx context.Context, next *lsm.Part, pages []pageObject,
	fates map[string]fate) (rewritten bool, err error) {
	moving := false
	for _, f := range fates {
		moving = moving || f != stays
	}
	var kept []lsm.Object
	for n, o := range pages {
		worth := 3*int64(len(o.dead)) >= o.object.Rows
		if !worth && !moving {
			kept = append(kept, o.object)
			continue
		}
		p.end.Counts[CountVersions] += int64(len(o.dead))
		if len(o.dead) > 0 {
			p.end.Counts[CountBytes] += o.object.Bytes * int64(len(o.dead)) / o.object.Rows
		}
		if p.dry {
			continue
		}
		name := fmt.Sprintf("%08d-%04d", next.Round, n)
		archive, records, err := p.move(ctx, next.WARC, []pageObject{o}, "warc-"+name, fates)
		if err != nil {
			return false, err
		}
		if archive == nil && len(o.dead) == 0 {
			kept = append(kept, o.object)
			continue
		}
		object, err := p.write(ctx, o, "pages-"+name, archive, records)
		if err != nil {
			return false, err
		}
		if object != nil {
			kept = append(kept, *object)
		}
		if archive != nil {
			next.WARC = append(slices.Clone(next.WARC), *archive)
		}
		rewritten = true
	}
	if rewritten {
		next.Tables[schema.Pages] = kept
	}
	return rewritten, nil
}

// write writes the rows of an object that are not dead, with the new places of
// the records that moved; nil: no row is left.
func (p *pruning) write(ctx context.Context, o pageObject, name string, archive *lsm.WARCFile,
	records []record) (*lsm.Object, error) {
	out, err := task.Create[schema.Page](p.env, p.task, name, false)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	skip := o.skipper()
	err = task.EachRow(ctx, p.env, o.object, nil, func(row *schema.Page) error {
		if skip() {
			return nil
		}
		if err := p.follows(row, archive, records); err != nil {
			return err
		}
		return out.Write(*row)
	})
	if err != nil {
		return nil, err
	}
	object, err := out.Finish(ctx)
	if object != nil {
		object.Range = o.object.Range
	}
	return object, err
}

// follows gives a row of pages the place to which its record has moved, if it has,
// and notes that the row of urls must follow.
func (p *pruning) follows(row *schema.Page, archive *lsm.WARCFile, records []record) error {
	at, ok := slices.BinarySearchFunc(records, record{key: row.BlobPath, offset: row.BlobOffset},
		compareRecords)
	if !ok {
		return nil
	}
	m := move{Partition: int32(weburl.Partition(row.Domain)), Domain: strings.Clone(row.Domain),
		Host: strings.Clone(row.Host), URL: strings.Clone(row.URL),
		FromKey: strings.Clone(row.BlobPath), From: row.BlobOffset,
		ToKey: archive.Key, To: records[at].to}
	row.BlobPath, row.BlobOffset = m.ToKey, m.To
	return p.moved.Add(m)
}
