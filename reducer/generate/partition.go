package generate

import (
	"errors"
	"io"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/reducer/task"
)

// partition is a partition being popped.
type partition struct {
	p            uint16
	quota, limit int64

	ready   []*source
	moved   *task.Sorter[schema.FrontierRow]
	fresh   *task.Sorted[schema.FrontierRow] // moved, in ready order
	head    *schema.FrontierRow              // of fresh; nil: none or not read
	pending []popped                         // popped and not yet decided

	listed, popped int64
	empty          bool // nothing is left to pop
	cut            bool // more rows are due than were moved
	groups         map[lsm.Key]*group
	kept           *task.Sorter[schema.List] // listed, and deferred to a slot
	listing        []bool                    // of each kept row: is it listed?
}

// source is what is left of a partition in one ready object.
type source struct {
	queue    *queue
	next, to int64 // rows
	head     *schema.FrontierRow
}

// popped is a row and where it is from; source nil: it was moved.
type popped struct {
	row    schema.FrontierRow
	source *source
}

// done says whether the partition has listed or popped what it may.
func (p *partition) done() bool {
	return p.listed >= p.quota || p.popped >= p.limit || p.empty
}

// stopped is what ended the popping.
func (p *partition) stopped() (string, error) {
	if err := p.fillMoved(); err != nil {
		return "", err
	}
	more := p.cut || p.head != nil || len(p.pending) > 0
	for _, s := range p.ready {
		more = more || s.head != nil || s.next < s.to
	}
	switch {
	case !more:
		return stopEmpty, nil
	case p.listed >= p.quota:
		return stopQuota, nil
	}
	return stopPopped, nil
}

// want is how many rows are worth looking up at once: what the quota lacks and
// a bit for those that come to nothing.
func (p *partition) want() int64 {
	lacks := p.quota - p.listed
	return max(0, min(lacks+lacks/4+16, p.limit-p.popped))
}

// take gives the next n rows by rank, fewer at the end.
func (p *partition) take(n int64) ([]popped, error) {
	rows := p.pending
	p.pending = nil
	if int64(len(rows)) > n {
		rows, p.pending = rows[:n:n], rows[n:]
	}
	for int64(len(rows)) < n {
		row, err := p.pop()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		p.empty = true
	}
	return rows, nil
}

// pop gives the best of the ready objects and the moved rows; of equals the
// oldest run's.
func (p *partition) pop() (popped, error) {
	var best *source
	for _, s := range p.ready {
		if err := s.fill(); err != nil {
			return popped{}, err
		}
		if s.head != nil && (best == nil || lsm.CompareReady(s.head, best.head) < 0) {
			best = s
		}
	}
	if err := p.fillMoved(); err != nil {
		return popped{}, err
	}
	switch {
	case p.head != nil && (best == nil || lsm.CompareReady(p.head, best.head) < 0):
		row := popped{row: *p.head}
		p.head = nil
		return row, nil
	case best != nil:
		row := popped{row: *best.head, source: best}
		best.head = nil
		return row, nil
	}
	return popped{}, io.EOF
}

func (s *source) fill() error {
	if s.head != nil || s.next >= s.to {
		return nil
	}
	row, err := s.queue.row(s.next)
	if err != nil {
		return err
	}
	s.head = &row
	s.next++
	return nil
}

func (p *partition) fillMoved() error {
	if p.head != nil || p.fresh == nil {
		return nil
	}
	row, err := p.fresh.Next()
	if errors.Is(err, io.EOF) {
		p.fresh = nil
		return nil
	}
	if err != nil {
		return err
	}
	mine := own(row)
	p.head = &mine
	return nil
}

// decided takes a popped row off its queue: from now on it is somebody else's.
func (p *partition) decided(row popped) {
	p.popped++
	if row.source != nil {
		row.source.queue.consume(p.p, 1)
	}
}

// rest gives the moved rows that were not popped, in ready order.
func (p *partition) rest(emit func(*schema.FrontierRow) error) error {
	for i := range p.pending {
		if p.pending[i].source == nil {
			if err := emit(&p.pending[i].row); err != nil {
				return err
			}
		}
	}
	for {
		if err := p.fillMoved(); err != nil {
			return err
		}
		if p.head == nil {
			return nil
		}
		if err := emit(p.head); err != nil {
			return err
		}
		p.head = nil
	}
}

func (p *partition) close() {
	p.moved.Close()
	p.kept.Close()
}

// listBytes is about what a row takes in memory.
func listBytes(r *schema.List) int {
	return 320 + len(r.Domain) + len(r.Host) + len(r.URL) + len(r.ETag) + len(r.LastModified) +
		len(r.Seed) + len(r.BlobPath)
}
