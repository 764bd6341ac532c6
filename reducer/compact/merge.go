package compact

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/jobs"
	"seine/reducer/task"
)

// scratchBuffer is how many bytes a scratch file gathers before it writes.
const scratchBuffer = 256 << 10

// scratch is a file that vanishes with its process.
type scratch struct {
	*bufio.Writer
	file *os.File
}

func newScratch(dir string) (*scratch, error) {
	f, err := os.CreateTemp(dir, "compact-*")
	if err != nil {
		return nil, fmt.Errorf("scratch file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("scratch file: %w", err)
	}
	return &scratch{bufio.NewWriterSize(f, scratchBuffer), f}, nil
}

// close drops the file; its bytes are gone or stored, so an error says nothing.
func (s *scratch) close() { _ = s.file.Close() }

// put stores the size bytes of the file under a key of this attempt.
func (s *scratch) put(ctx context.Context, e task.Env, key layout.Key, size int64) error {
	if err := s.Flush(); err != nil {
		return fmt.Errorf("scratch file: %w", err)
	}
	return e.Store.Put(ctx, key, objstore.File(s.file, size),
		objstore.PutOptions{IfAbsent: true, Same: true})
}

// merge writes a merge as one object with its sidecar and list; nil when there is
// nothing to say.
func merge[R any](ctx context.Context, e task.Env, t jobs.Task, table lsm.Table[R],
	m lsm.Merge) (*lsm.Object, error) {
	data, err := newScratch(e.Scratch)
	if err != nil {
		return nil, err
	}
	defer data.close()
	side, err := newScratch(e.Scratch)
	if err != nil {
		return nil, err
	}
	defer side.close()
	list, err := task.Create[schema.SupersededRow](e, t, table.Name+"-superseded", false)
	if err != nil {
		return nil, err
	}
	defer list.Abort()
	w := table.NewWriter(data, side, task.OutputKey(t, table.Name+".parquet"),
		task.OutputKey(t, table.Name+".sidecar"), t.Range, rowfile.Options{Codec: e.Codec})
	defer w.Abort()
	if err := mergeInto(ctx, e, table, m, w, list); err != nil {
		return nil, err
	}
	// Without rows there may still be a list: younger runs hide all that was here,
	// but the rows of older runs that it hid stay hidden only by name.
	if w.Rows() == 0 && list.Rows() == 0 {
		return nil, nil
	}
	object, err := w.Finish()
	if err != nil {
		return nil, err
	}
	named, err := list.Finish(ctx)
	if err != nil {
		return nil, err
	}
	if named != nil {
		object.Superseded, object.SupersededRows = named.Key, named.Rows
		object.SupersededBytes = named.Bytes
	}
	if err := side.put(ctx, e, object.Sidecar, object.SidecarBytes); err != nil {
		return nil, err
	}
	return &object, data.put(ctx, e, object.Key, object.Bytes)
}

// mergeInto writes the rows of a merge, and the list.
func mergeInto[R any](ctx context.Context, e task.Env, table lsm.Table[R], m lsm.Merge,
	w *lsm.RunWriter[R], list *task.Output[schema.SupersededRow]) error {
	sorter := task.NewSorter(e, "hidden", e.Memory()/8, nameBytes, compareNames)
	defer sorter.Close()
	if err := hidden(ctx, e, table, m, sorter); err != nil {
		return err
	}
	sorted, err := sorter.Open()
	if err != nil {
		return err
	}
	n := &names{out: list, hidden: sorted}
	if err := n.advance(); err != nil {
		return err
	}
	if err := table.Merge(ctx, e.Open, m, w, n.add); err != nil {
		return err
	}
	return n.upTo(nil)
}
