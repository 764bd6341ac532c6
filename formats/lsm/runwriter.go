package lsm

import (
	"fmt"
	"io"

	"seine/formats/bloom"
	"seine/formats/layout"
	"seine/formats/rowfile"
)

// RunWriter writes one object of a run and its sidecar.
type RunWriter[R any] struct {
	t       Table[R]
	rows    *rowfile.Writer[R]
	sidecar *bloom.Writer // nil: none
	object  Object
	last    Key
	encoded []byte
	err     error
}

// NewWriter returns a writer of an object: the rows of partitions rng go to
// data, page keys and filters to sidecar. sidecar may be nil: then the object has
// none, which is right where it is smaller than some pages.
func (t Table[R]) NewWriter(data, sidecar io.Writer, key, sidecarKey layout.Key, rng layout.Range,
	o rowfile.Options) *RunWriter[R] {
	o.Partitioned = true
	w := &RunWriter[R]{t: t, rows: rowfile.NewWriter[R](data, o), object: Object{Key: key, Range: rng}}
	if sidecar != nil {
		w.sidecar = bloom.NewWriter(sidecar)
		w.object.Sidecar = sidecarKey
	}
	return w
}

// Write appends a row. Keys must ascend strictly and lie in the object's range.
func (w *RunWriter[R]) Write(row *R) error {
	if w.err == nil {
		w.err = w.write(row)
	}
	return w.err
}

func (w *RunWriter[R]) write(row *R) error {
	key := w.t.Key(row)
	if !w.object.Range.Holds(key.Partition) {
		return fmt.Errorf("write %s: partition %d is outside %s", w.object.Key, key.Partition, w.object.Range)
	}
	if w.object.Rows > 0 && w.last.Compare(key) >= 0 {
		return fmt.Errorf("write %s: row %+v after %+v", w.object.Key, key, w.last)
	}
	if n := len(w.t.MatchOf(key)); n > rowfile.MaxAligned {
		return fmt.Errorf("write %s: key of %d bytes", w.object.Key, n)
	}
	w.last = key
	if w.sidecar != nil {
		w.encoded = key.Append(w.encoded[:0])
		if err := w.sidecar.Add(w.encoded, w.rows.StartsPage()); err != nil {
			return fmt.Errorf("write %s: %w", w.object.Sidecar, err)
		}
	}
	if err := w.rows.WriteRow(row); err != nil {
		return fmt.Errorf("write %s: %w", w.object.Key, err)
	}
	w.object.Rows++
	if w.t.isDelta(row) {
		w.object.Deltas++
	}
	return nil
}

// Rows is the number of rows written so far.
func (w *RunWriter[R]) Rows() int64 { return w.object.Rows }

// Finish ends the object and describes it. An object without rows is valid; the
// caller may leave it out.
func (w *RunWriter[R]) Finish() (Object, error) {
	if w.err != nil {
		return Object{}, w.err
	}
	if err := w.rows.Finish(); err != nil {
		w.err = fmt.Errorf("finish %s: %w", w.object.Key, err)
		return Object{}, w.err
	}
	w.object.Bytes = w.rows.Bytes()
	if w.sidecar != nil {
		if err := w.sidecar.Finish(); err != nil {
			w.err = fmt.Errorf("finish %s: %w", w.object.Sidecar, err)
			return Object{}, w.err
		}
		w.object.SidecarBytes = w.sidecar.Bytes()
	}
	w.err = fmt.Errorf("write %s: it is finished", w.object.Key)
	return w.object, nil
}

// Abort gives up: what was written is no object. It may follow Finish.
func (w *RunWriter[R]) Abort() {
	w.rows.Abort()
	if w.err == nil {
		w.err = fmt.Errorf("write %s: it was aborted", w.object.Key)
	}
}
