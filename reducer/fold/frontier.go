package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
)

// absorbMost is how many runs of a kind may lie side by side.
const absorbMost = 8

// absorbed says which runs of a kind this round rewrites into its own: none
// while there are at most eight with rows left. Else the smallest half, and each
// larger one that is at most twice as large as those before it together: so a
// row is rewritten as often as its run's size doubles, and a round does not
// rewrite a large frontier because of many small rounds. It is a pure function
// of the base snapshot, so all tasks of the round decide alike.
func absorbed(m *lsm.Manifest, kind string) []*lsm.QueueRun {
	type sized struct {
		run  *lsm.QueueRun
		left int64
	}
	var runs []sized
	for i := range m.Frontier {
		run := &m.Frontier[i]
		left := int64(0)
		for j := range run.Objects {
			left += run.Objects[j].Left()
		}
		if run.Kind == kind && left > 0 {
			runs = append(runs, sized{run, left})
		}
	}
	if len(runs) <= absorbMost {
		return nil
	}
	slices.SortFunc(runs, func(a, b sized) int {
		return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.run.ID, b.run.ID))
	})
	var picked []*lsm.QueueRun
	sum := int64(0)
	for i, r := range runs {
		if i >= len(runs)-absorbMost/2 && r.left > 2*sum {
			break
		}
		picked, sum = append(picked, r.run), sum+r.left
	}
	return picked
}

// returned is the object of a kind's rows that generate took and gave back.
func (f *folding) returned(kind string) *lsm.Object {
	if kind == schema.Ready {
		return f.in.generate.Moved
	}
	return f.in.generate.Deferred
}

// queues gives a kind's rows that are not new: what generate gave back, and what
// is left of the runs that are absorbed.
func (f *folding) queues(ctx context.Context, o *opened, kind string) ([]rows[schema.FrontierRow],
	error) {
	var all []rows[schema.FrontierRow]
	if object := f.returned(kind); object != nil {
		file, err := openRows[schema.FrontierRow](ctx, f.env, o, *object, 1)
		if err != nil {
			return nil, err
		}
		all = append(all, reading(object.Key, file.Scan(0, file.NumRows())))
	}
	for _, run := range absorbed(f.manifest, kind) {
		for i := range run.Objects {
			object := &run.Objects[i]
			spans := f.unconsumed(object)
			if len(spans) == 0 {
				continue
			}
			file, err := openRows[schema.FrontierRow](ctx, f.env, o, object.Object, absorbMost)
			if err != nil {
				return nil, err
			}
			all = append(all, spanned(object.Key, file, spans))
		}
		f.end.Absorbed = append(f.end.Absorbed, run.Kind+"/"+run.ID)
	}
	return all, nil
}

// span is rows [from, to) of an object.
type span struct{ from, to int64 }

// unconsumed gives the rows of the range that neither earlier rounds nor this
// one's generate took.
func (f *folding) unconsumed(o *lsm.QueueObject) []span {
	var spans []span
	cursors := f.in.generate.Cursors[o.Key]
	at := int64(0)
	for i, count := range o.Counts {
		p := o.Range.Lo + uint16(i)
		from := int64(0)
		if i < len(o.Cursor) {
			from = o.Cursor[i]
		}
		if i < len(cursors) && cursors[i] >= 0 {
			from = cursors[i]
		}
		if f.task.Range.Holds(p) && from < count {
			spans = append(spans, span{at + from, at + count})
		}
		at += count
	}
	return spans
}

// skipRows is how many rows between two spans are read over rather than sought:
// about what a page has.
const skipRows = 1024

// spanned reads ascending spans of an object.
func spanned(key layout.Key, file *rowfile.File[schema.FrontierRow],
	spans []span) rows[schema.FrontierRow] {
	var cursor *rowfile.Cursor[schema.FrontierRow]
	return func() (*schema.FrontierRow, error) {
		for {
			if len(spans) == 0 {
				return nil, io.EOF
			}
			if cursor == nil {
				cursor = file.Scan(spans[0].from, stretch(spans))
			}
			row, err := cursor.Next()
			if errors.Is(err, io.EOF) {
				end := stretch(spans)
				for len(spans) > 0 && spans[0].to <= end {
					spans = spans[1:]
				}
				cursor = nil
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", key, err)
			}
			n := cursor.Row()
			for n >= spans[0].to {
				spans = spans[1:]
			}
			if n >= spans[0].from {
				return row, nil
			}
		}
	}
}

// stretch is where the read ends that begins with the first span: before the
// first gap that is worth seeking.
func stretch(spans []span) int64 {
	end := spans[0].to
	for _, s := range spans[1:] {
		if s.from-end > skipRows {
			break
		}
		end = s.to
	}
	return end
}

// queue gives a URL its frontier row: ready if it is due at the job's now.
func (f *folding) queue(row schema.FrontierRow) error {
	row = ownFrontier(&row)
	if row.Due <= f.now {
		f.end.Counts["queued_ready"]++
		return f.out.ready.Add(row)
	}
	f.end.Counts["queued_waiting"]++
	return f.out.waiting.Add(row)
}
