package fold

import (
	"context"
	"errors"
	"fmt"
	"io"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/taskend"
	"seine/formats/tasklog"
	"seine/jobs"
	"seine/reducer/task"
)

// inputs names what a task reads, besides the snapshot.
type inputs struct {
	generate *taskend.Generate
	chunks   []tasklog.Object // of the range's chunks, in the log's order
	left     []tasklog.Object // fetches rows of URLs that wait again
	events   []tasklog.Object // of all fetch tasks
}

// readInputs reads the ends of the range's generate task and of all fetch tasks.
func readInputs(ctx context.Context, e task.Env, t jobs.Task) (*inputs, error) {
	generated, fetched := t.Inputs[jobs.StageGenerate], t.Inputs[jobs.StageFetch]
	if t.Index >= len(generated) || len(fetched) != len(t.Spec.Ranges) {
		return nil, fmt.Errorf("ends of %d generate and %d fetch tasks, want %d", len(generated),
			len(fetched), len(t.Spec.Ranges))
	}
	in := &inputs{}
	body, err := e.Store.Get(ctx, generated[t.Index])
	if err != nil {
		return nil, fmt.Errorf("end of generate: %w", err)
	}
	if in.generate, err = taskend.DecodeGenerate(body); err != nil {
		return nil, fmt.Errorf("%s: %w", generated[t.Index], err)
	}
	if in.generate.Range != t.Range {
		return nil, fmt.Errorf("%s: range %s, want %s", generated[t.Index], in.generate.Range, t.Range)
	}
	for i, key := range fetched {
		end, err := readEnd(ctx, e, key)
		if err != nil {
			return nil, fmt.Errorf("end of fetch task %d: %w", i, err)
		}
		in.add(end, i == t.Index)
	}
	return in, nil
}

// readEnd reads the entry of a fetch task's log that ended it.
func readEnd(ctx context.Context, e task.Env, key layout.Key) (*tasklog.End, error) {
	body, err := e.Store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	entry, err := tasklog.Decode(key, body)
	if err != nil {
		return nil, err
	}
	if entry.Kind != tasklog.KindEnd {
		return nil, fmt.Errorf("%s is an entry of kind %s", key, entry.Kind)
	}
	return entry.End, nil
}

// add takes from an end what concerns the range: of other tasks the events.
func (in *inputs) add(end *tasklog.End, own bool) {
	for _, o := range end.Objects {
		switch {
		case o.Kind == tasklog.Events:
			in.events = append(in.events, o)
		case own && o.Kind == tasklog.Fetches:
			in.left = append(in.left, o)
		}
	}
	if !own {
		return
	}
	for _, c := range end.Chunks {
		in.chunks = append(in.chunks, c.Objects...)
	}
}

// of is the chunks' objects of a kind.
func (in *inputs) of(kind string) []tasklog.Object {
	var objects []tasklog.Object
	for _, o := range in.chunks {
		if o.Kind == kind {
			objects = append(objects, o)
		}
	}
	return objects
}

// fanIn is how many objects are read side by side, each with a buffer; more are
// sorted first.
func fanIn(e task.Env) int { return int(min(max(e.Memory()>>20, 2), 64)) }

// opened are the objects that are open for reading.
type opened struct{ sources []io.ReaderAt }

func (o *opened) close() {
	for _, src := range o.sources {
		task.CloseReader(src)
	}
}

// openRows opens an object that is gone through from end to end; several share the memory for
// reading ahead.
func openRows[R any](ctx context.Context, e task.Env, o *opened, object lsm.Object,
	shared int) (*rowfile.File[R], error) {
	src, err := e.Open(ctx, object.Key, object.Bytes)
	if err == nil {
		src, err = e.Staging.Stage(src, object.Bytes, 1)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", object.Key, err)
	}
	o.sources = append(o.sources, src)
	return readRows[R](e, src, object, shared)
}

// door is a reader behind which another can be put.
type door struct{ io.ReaderAt }

// openPart opens an object of which one part is read, and says which rows these are.
func openPart[R any](ctx context.Context, e task.Env, o *opened, object lsm.Object, shared int,
	part func(*rowfile.File[R]) (from, to int64)) (file *rowfile.File[R], from, to int64, err error) {
	if part == nil {
		file, err := openRows[R](ctx, e, o, object, shared)
		return file, 0, object.Rows, err
	}
	src, err := e.Open(ctx, object.Key, object.Bytes)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("open %s: %w", object.Key, err)
	}
	o.sources = append(o.sources, src)
	d := &door{src}
	if file, err = readRows[R](e, d, object, shared); err != nil {
		return nil, 0, 0, err
	}
	from, to = part(file)
	o.sources = o.sources[:len(o.sources)-1] // what is staged closes it
	staged, err := e.Staging.Stage(src, object.Bytes, float64(to-from)/float64(max(object.Rows, 1)))
	if err != nil {
		return nil, 0, 0, fmt.Errorf("open %s: %w", object.Key, err)
	}
	d.ReaderAt = staged
	o.sources = append(o.sources, staged)
	return file, from, to, nil
}

// readRows opens the file of an object that src reads.
func readRows[R any](e task.Env, src io.ReaderAt, object lsm.Object, shared int) (*rowfile.File[R],
	error) {
	buffer := min(max(int(e.Memory()/8)/max(shared, 1), 256<<10), 4<<20)
	file, err := rowfile.Open[R](src, object.Bytes, rowfile.ReadOptions{BufferBytes: buffer,
		Stats: e.RowStats()})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", object.Key, err)
	}
	if n := file.NumRows(); n != object.Rows {
		return nil, fmt.Errorf("%s has %d rows, its task counted %d: damaged", object.Key, n,
			object.Rows)
	}
	return file, nil
}

// named is an object of a fetch task as lsm describes objects.
func named(o tasklog.Object) lsm.Object {
	return lsm.Object{Key: o.Key, Rows: o.Rows, Bytes: o.Size}
}

// rows gives rows in order, and io.EOF at the end; a row is valid until the next
// call.
type rows[R any] func() (*R, error)

// reading names the object in errors.
func reading[R any](key layout.Key, c *rowfile.Cursor[R]) rows[R] {
	return func() (*R, error) {
		row, err := c.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			err = fmt.Errorf("read %s: %w", key, err)
		}
		return row, err
	}
}

// sorting says how rows of a kind are merged.
type sorting[R any] struct {
	compare func(a, b *R) int
	own     func(*R) R // a copy that keeps nothing of the object it was read from
	bytes   func(*R) int
	part    func(*rowfile.File[R]) (from, to int64) // nil: all rows
}

// ordered opens sorted objects for a merge: one sequence for each; or, where
// they are many, one that is sorted on scratch first.
func ordered[R any](ctx context.Context, e task.Env, o *opened, objects []tasklog.Object,
	s sorting[R]) (sequences []rows[R], drop func(), err error) {
	if len(objects) <= fanIn(e) {
		for _, object := range objects {
			file, from, to, err := openPart(ctx, e, o, named(object), len(objects), s.part)
			if err != nil {
				return nil, nil, err
			}
			sequences = append(sequences, reading(object.Key, file.Scan(from, to)))
		}
		return sequences, func() {}, nil
	}
	sorter := task.NewSorter(e, "inputs", e.Memory()/8, s.bytes, s.compare)
	for _, object := range objects {
		if err := sortObject(ctx, e, object, s, sorter); err != nil {
			sorter.Close()
			return nil, nil, err
		}
	}
	sorted, err := sorter.Open()
	if err != nil {
		sorter.Close()
		return nil, nil, err
	}
	return []rows[R]{sorted.Next}, sorter.Close, nil
}

func sortObject[R any](ctx context.Context, e task.Env, object tasklog.Object, s sorting[R],
	into *task.Sorter[R]) error {
	var o opened
	defer o.close()
	file, from, to, err := openPart(ctx, e, &o, named(object), 1, s.part)
	if err != nil {
		return err
	}
	next := reading(object.Key, file.Scan(from, to))
	for {
		row, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := into.Add(s.own(row)); err != nil {
			return err
		}
	}
}

// mergeRows gives the rows of sequences in order.
func mergeRows[R any](sequences []rows[R], compare func(a, b *R) int, emit func(*R) error) error {
	next := make([]func() (*R, error), len(sequences))
	for i, s := range sequences {
		next[i] = s
	}
	return rowfile.MergeFunc(next, compare, func(row *R, _ int) error { return emit(row) })
}
