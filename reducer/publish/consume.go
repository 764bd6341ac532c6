package publish

import (
	"encoding/json"
	"fmt"
	"slices"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/taskend"
	"seine/jobs"
)

// consume moves the cursors of head's frontier: what generate took from the
// front, and in the ranges that absorbed a run, all of it. Runs of which
// nothing is left are removed.
func consume(edit *lsm.Edit, head *lsm.Manifest, generated []*taskend.Generate,
	reduced []*taskend.Reduce) error {
	objects := map[layout.Key]*lsm.QueueObject{}
	for r := range head.Frontier {
		for o := range head.Frontier[r].Objects {
			object := head.Frontier[r].Objects[o] // a copy
			cursor := make([]int64, len(object.Counts))
			copy(cursor, object.Cursor)
			object.Cursor = cursor
			objects[object.Key] = &object
		}
	}
	for _, end := range generated {
		for key, cursor := range end.Cursors {
			if err := advance(objects[key], cursor, end.Range); err != nil {
				return fmt.Errorf("cursor of %s: %w", key, err)
			}
		}
	}
	if err := absorb(head, objects, reduced); err != nil {
		return err
	}
	edit.Cursors = map[layout.Key][]int64{}
	for _, run := range head.Frontier {
		left := int64(0)
		for _, o := range run.Objects {
			left += objects[o.Key].Left()
		}
		if left == 0 {
			edit.RemoveFrontier = append(edit.RemoveFrontier, run.Kind+"/"+run.ID)
			continue
		}
		for _, o := range run.Objects {
			cursor := objects[o.Key].Cursor
			if before := o.Cursor; before == nil && !zero(cursor) ||
				before != nil && !slices.Equal(before, cursor) {
				edit.Cursors[o.Key] = cursor
			}
		}
	}
	return nil
}

func zero(cursor []int64) bool {
	return !slices.ContainsFunc(cursor, func(c int64) bool { return c != 0 })
}

// advance moves the cursors of a task's partitions; they only go forward, and
// not beyond the object.
func advance(o *lsm.QueueObject, cursor []int64, r layout.Range) error {
	if o == nil {
		return fmt.Errorf("no object of the head")
	}
	if len(cursor) != len(o.Counts) {
		return fmt.Errorf("%d partitions, the object has %d", len(cursor), len(o.Counts))
	}
	for i, c := range cursor {
		p := o.Range.Lo + uint16(i)
		switch {
		case !r.Holds(p) && c == -1:
		case !r.Holds(p) || c < o.Cursor[i] || c > o.Counts[i]:
			return fmt.Errorf("partition %d from %d to %d of %d, by the task of %s", p, o.Cursor[i], c,
				o.Counts[i], r)
		default:
			o.Cursor[i] = c
		}
	}
	return nil
}

// absorb takes all of the runs that tasks rewrote whole in their ranges.
func absorb(head *lsm.Manifest, objects map[layout.Key]*lsm.QueueObject,
	reduced []*taskend.Reduce) error {
	for _, end := range reduced {
		for _, name := range end.Absorbed {
			i := slices.IndexFunc(head.Frontier, func(r lsm.QueueRun) bool {
				return r.Kind+"/"+r.ID == name
			})
			if i < 0 {
				return fmt.Errorf("absorbed run %s is not in the head", name)
			}
			for _, o := range head.Frontier[i].Objects {
				object := objects[o.Key]
				for n := range object.Cursor {
					if end.Range.Holds(object.Range.Lo + uint16(n)) {
						object.Cursor[n] = object.Counts[n]
					}
				}
			}
		}
	}
	return nil
}

func encodeSpec(spec jobs.Spec) (string, error) {
	b, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("spec: %w", err)
	}
	return string(b), nil
}
