package generate

import (
	"context"
	"fmt"
	"io"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/reducer/task"
)

// queue reads one object of the frontier, partition by partition.
type queue struct {
	object *lsm.QueueObject
	starts []int64 // first row of each of the object's partitions, and the end
	src    io.ReaderAt
	file   *rowfile.File[schema.FrontierRow]
	rows   *rowfile.Cursor[schema.FrontierRow]
	at     int64   // the row that rows gives next
	taken  []int64 // the new cursor of each of the object's partitions
}

// skipRows is how many rows are read over rather than sought: about what a page
// has, which would be decoded from its start anyway.
const skipRows = 1024

// pageByPage: a queue reads nothing ahead by itself, as most of a partition's
// rows are not for this round; see fetch.
const pageByPage = -1

// openQueues opens the unconsumed objects of a kind that hold rows of r, oldest
// run first. wanted is about how many of their rows the round takes.
func openQueues(ctx context.Context, e task.Env, m *lsm.Manifest, kind string, r layout.Range,
	wanted int64) ([]*queue, error) {
	var queues []*queue
	open := e.Opener(wanted, left(m, kind))
	for i := range m.Frontier {
		run := &m.Frontier[i]
		if run.Kind != kind {
			continue
		}
		for j := range run.Objects {
			o := &run.Objects[j]
			if !o.Range.Overlaps(r) || o.Left() == 0 {
				continue
			}
			q, err := openQueue(ctx, e, open, o)
			if err != nil {
				closeQueues(queues)
				return nil, err
			}
			queues = append(queues, q)
		}
	}
	return queues, nil
}

// left is how many rows of a kind are not consumed.
func left(m *lsm.Manifest, kind string) (rows int64) {
	for i := range m.Frontier {
		for j := range m.Frontier[i].Objects {
			if m.Frontier[i].Kind == kind {
				rows += m.Frontier[i].Objects[j].Left()
			}
		}
	}
	return rows
}

func openQueue(ctx context.Context, e task.Env, open lsm.Opener, o *lsm.QueueObject) (*queue, error) {
	src, err := open(ctx, o.Key, o.Bytes)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", o.Key, err)
	}
	q := &queue{object: o, src: src, starts: make([]int64, len(o.Counts)+1),
		taken: make([]int64, len(o.Counts))}
	for j, c := range o.Counts {
		q.starts[j+1] = q.starts[j] + c
		q.taken[j] = cursorOf(o, j)
	}
	if q.file, err = rowfile.Open[schema.FrontierRow](src, o.Bytes,
		rowfile.ReadOptions{BufferBytes: pageByPage, Stats: e.RowStats()}); err != nil {
		task.CloseReader(src)
		return nil, fmt.Errorf("open %s: %w", o.Key, err)
	}
	if n := q.file.NumRows(); n != q.starts[len(o.Counts)] {
		task.CloseReader(src)
		return nil, fmt.Errorf("%s has %d rows, the manifest counts %d: damaged", o.Key, n,
			q.starts[len(o.Counts)])
	}
	return q, nil
}

func closeQueues(queues []*queue) {
	for _, q := range queues {
		task.CloseReader(q.src)
	}
}

// part is the rows of partition p that are not consumed, [from, to).
func (q *queue) part(p uint16) (from, to int64) {
	if !q.object.Range.Holds(p) {
		return 0, 0
	}
	j := p - q.object.Range.Lo
	return q.starts[j] + q.taken[j], q.starts[j+1]
}

// fetch reads what is expected to be wanted of some partitions, wants rows of each
// from the front, so that near pages come in one request.
func (q *queue) fetch(parts []*partition, wants func(*partition) int64) error {
	var spans [][2]int64
	for _, p := range parts {
		from, to := q.part(p.p)
		if to = min(to, from+wants(p)); from < to {
			spans = append(spans, [2]int64{from, to})
		}
	}
	if err := q.file.Fetch(spans); err != nil {
		return fmt.Errorf("read %s: %w", q.object.Key, err)
	}
	return nil
}

// consume takes n rows off the front of partition p.
func (q *queue) consume(p uint16, n int64) { q.taken[p-q.object.Range.Lo] += n }

// row returns row n, its strings its own. It is cheap where n is a little
// further than the row before.
func (q *queue) row(n int64) (schema.FrontierRow, error) {
	if q.rows == nil || n < q.at || n-q.at > skipRows {
		q.rows, q.at = q.file.Scan(n, q.file.NumRows()), n
	}
	for {
		row, err := q.rows.Next()
		if err != nil {
			return schema.FrontierRow{}, fmt.Errorf("read %s, row %d: %w", q.object.Key, q.at, err)
		}
		q.at++
		if q.at > n {
			return own(row), nil
		}
	}
}

func own(row *schema.FrontierRow) schema.FrontierRow {
	r := *row
	r.Domain, r.Host, r.URL = strings.Clone(r.Domain), strings.Clone(r.Host), strings.Clone(r.URL)
	r.Why = strings.Clone(r.Why)
	return r
}

func ownList(row *schema.List) schema.List {
	r := *row
	for _, s := range []*string{&r.Band, &r.Domain, &r.Host, &r.URL, &r.Seed, &r.Why, &r.ETag,
		&r.LastModified, &r.BlobPath} {
		*s = strings.Clone(*s)
	}
	return r
}

// cursors is the object's new cursors; -1 for partitions of other tasks.
func (q *queue) cursors(r layout.Range) []int64 {
	cursors := make([]int64, len(q.taken))
	for j := range cursors {
		cursors[j] = -1
		if r.Holds(q.object.Range.Lo + uint16(j)) {
			cursors[j] = q.taken[j]
		}
	}
	return cursors
}

// due says in which partitions of r the first row that waits is due. Only the
// pages of one column that hold a first row are read, so that a frontier of
// which nothing is due costs next to nothing.
func (q *queue) due(r layout.Range, now int64) (map[uint16]bool, error) {
	var heads []int64
	var parts []uint16
	for p := max(r.Lo, q.object.Range.Lo); p < min(r.Hi, q.object.Range.Hi); p++ {
		if from, to := q.part(p); from < to {
			heads, parts = append(heads, from), append(parts, p)
		}
	}
	times, err := q.file.Project([]string{"timestamp"})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", q.object.Key, err)
	}
	rows, err := times.Gather(heads)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", q.object.Key, err)
	}
	due := map[uint16]bool{}
	for i := range rows {
		if rows[i].Due <= now {
			due[parts[i]] = true
		}
	}
	return due, nil
}
