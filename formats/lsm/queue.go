package lsm

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"seine/formats/layout"
	"seine/formats/rowfile"
	"seine/formats/schema"
)

// CompareWaiting orders waiting rows: by partition and due, then by the whole
// row.
func CompareWaiting(a, b *schema.FrontierRow) int {
	return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Due, b.Due),
		compareRest(a, b))
}

// CompareReady orders ready rows: by partition and falling rank, then by the
// whole row, URL first.
func CompareReady(a, b *schema.FrontierRow) int {
	return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(b.Rank, a.Rank),
		compareRest(a, b))
}

func compareRest(a, b *schema.FrontierRow) int {
	return cmp.Or(strings.Compare(a.URL, b.URL), strings.Compare(a.Domain, b.Domain),
		strings.Compare(a.Host, b.Host), cmp.Compare(a.Ticket, b.Ticket), cmp.Compare(a.Due, b.Due),
		cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Priority, b.Priority),
		cmp.Compare(a.Depth, b.Depth), strings.Compare(a.Why, b.Why))
}

// Marks is how many marks a queue object has.
const Marks = 16

// maxSamples bounds the sort values kept for the marks: 8 MiB.
const maxSamples = 1 << 20

// QueueWriter writes one object of frontier rows.
type QueueWriter struct {
	kind    string
	compare func(a, b *schema.FrontierRow) int
	rows    *rowfile.Writer[schema.FrontierRow]
	object  QueueObject
	last    schema.FrontierRow
	samples []int64 // the sort value of every stride-th row
	stride  int64
	err     error
}

// NewQueueWriter returns a writer of an object of a queue run: kind is
// schema.Waiting or schema.Ready.
func NewQueueWriter(kind string, data io.Writer, key layout.Key, rng layout.Range,
	o rowfile.Options) *QueueWriter {
	o.Partitioned = true
	w := &QueueWriter{kind: kind, rows: rowfile.NewWriter[schema.FrontierRow](data, o), stride: 1}
	w.object.Object = Object{Key: key, Range: rng}
	w.object.Counts = make([]int64, rng.Len())
	switch kind {
	case schema.Waiting:
		w.compare = CompareWaiting
	case schema.Ready:
		w.compare = CompareReady
	default:
		w.err = fmt.Errorf("write %s: %q is no kind of queue", key, kind)
	}
	return w
}

// Write appends a row; rows must come in the order of the kind.
func (w *QueueWriter) Write(row *schema.FrontierRow) error {
	if w.err == nil {
		w.err = w.write(row)
	}
	return w.err
}

func (w *QueueWriter) write(row *schema.FrontierRow) error {
	if row.Partition < 0 || row.Partition >= layout.Partitions || !w.object.Range.Holds(uint16(row.Partition)) {
		return fmt.Errorf("write %s: partition %d is outside %s", w.object.Key, row.Partition, w.object.Range)
	}
	if w.object.Rows > 0 && w.compare(&w.last, row) > 0 {
		return fmt.Errorf("write %s: row %+v after %+v", w.object.Key, *row, w.last)
	}
	w.last = *row
	w.sample(row)
	if err := w.rows.WriteRow(row); err != nil {
		return fmt.Errorf("write %s: %w", w.object.Key, err)
	}
	w.object.Rows++
	w.object.Counts[uint16(row.Partition)-w.object.Range.Lo]++
	return nil
}

// sample keeps the sort value of every stride-th row.
func (w *QueueWriter) sample(row *schema.FrontierRow) {
	if w.object.Rows%w.stride == 0 && len(w.samples) == maxSamples {
		w.thin()
	}
	if w.object.Rows%w.stride == 0 {
		w.samples = append(w.samples, w.value(row))
	}
}

// value is the row's value of the sort column.
func (w *QueueWriter) value(row *schema.FrontierRow) int64 {
	if w.kind == schema.Ready {
		return row.Rank
	}
	return row.Due
}

// thin drops every second sample.
func (w *QueueWriter) thin() {
	for i := range maxSamples / 2 {
		w.samples[i] = w.samples[2*i]
	}
	w.samples = w.samples[:maxSamples/2]
	w.stride *= 2
}

// marks are the sort values at 16 even places of all rows by that value: exact
// up to maxSamples rows, of evenly drawn rows beyond.
func (w *QueueWriter) marks() []int64 {
	n := len(w.samples)
	if n == 0 {
		return nil
	}
	slices.Sort(w.samples)
	if w.kind == schema.Ready {
		slices.Reverse(w.samples)
	}
	marks := make([]int64, Marks)
	for i := range marks {
		marks[i] = w.samples[(2*i+1)*n/(2*Marks)]
	}
	return marks
}

// Finish ends the object and describes it.
func (w *QueueWriter) Finish() (QueueObject, error) {
	if w.err != nil {
		return QueueObject{}, w.err
	}
	if err := w.rows.Finish(); err != nil {
		w.err = fmt.Errorf("finish %s: %w", w.object.Key, err)
		return QueueObject{}, w.err
	}
	w.object.Bytes = w.rows.Bytes()
	w.object.Marks = w.marks()
	w.err = fmt.Errorf("write %s: it is finished", w.object.Key)
	return w.object, nil
}

// Abort gives up: what was written is no object. It may follow Finish.
func (w *QueueWriter) Abort() {
	w.rows.Abort()
	if w.err == nil {
		w.err = fmt.Errorf("write %s: it was aborted", w.object.Key)
	}
}
