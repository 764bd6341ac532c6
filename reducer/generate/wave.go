package generate

import (
	"context"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/reducer/task"
)

const (
	// batchRows is how many popped rows are looked up at once: enough that a
	// page of urls is read once for many of them.
	batchRows = 16_384
	// rowMemory is about what a popped row takes with the state it is joined
	// with, bytes.
	rowMemory = 2048
	// fetchRows bounds how many rows of a partition and queue are read before they
	// are popped: two pages, some 50 KB.
	fetchRows = 2048
	// wavePartitions is how many partitions share a batch; it bounds the open
	// sorters.
	wavePartitions = 128
)

// all takes the partitions of the range in waves that share look-ups.
func (g *generation) all(ctx context.Context) error {
	rows := g.batchRows()
	var wave []*partition
	wants := int64(0)
	flush := func() error {
		err := g.wave(ctx, wave)
		wave, wants = nil, 0
		return err
	}
	for p := g.task.Range.Lo; p < g.task.Range.Hi; p++ {
		part := g.partition(p)
		if part == nil {
			continue
		}
		wave = append(wave, part)
		wants += part.want()
		if wants >= rows || len(wave) == wavePartitions {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// partition sets up partition p; nil if nothing can come of it.
func (g *generation) partition(p uint16) *partition {
	part := &partition{p: p, quota: g.quotas[p], limit: g.limits[p], groups: map[lsm.Key]*group{}}
	for _, q := range g.ready {
		if from, to := q.part(p); from < to {
			part.ready = append(part.ready, &source{queue: q, next: from, to: to})
		}
	}
	work := part.quota > 0 && len(part.ready) > 0
	for i := range g.waiting {
		work = work || part.limit > 0 && g.looks(i, p)
	}
	if work {
		return part
	}
	if len(part.ready) > 0 {
		g.stop(stopQuota)
	}
	return nil
}

// looks says whether waiting queue i may have due rows in partition p.
func (g *generation) looks(i int, p uint16) bool {
	if g.due[i] != nil {
		return g.due[i][p]
	}
	from, to := g.waiting[i].part(p)
	return from < to
}

// wave moves, pops and decides the partitions together, batch by batch, and
// then writes what became of their rows.
func (g *generation) wave(ctx context.Context, parts []*partition) (err error) {
	bound := g.env.Memory() / 8 / int64(max(len(parts), 1))
	for _, p := range parts {
		p.moved = task.NewSorter(g.env, "moved", bound, task.FrontierBytes, lsm.CompareReady)
		p.kept = task.NewSorter(g.env, "kept", bound, listBytes, byNumber)
		defer p.close()
	}
	if err := g.fetch(parts); err != nil {
		return err
	}
	for _, p := range parts {
		if err := g.move(p); err != nil {
			return err
		}
	}
	for {
		batch, err := g.batch(parts)
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			break
		}
		if err := g.decideBatch(ctx, batch); err != nil {
			return err
		}
	}
	for _, p := range parts {
		if err := g.finish(p); err != nil {
			return err
		}
	}
	return nil
}

// fetch reads the fronts of the queues of a wave: of ready rows as many as are
// popped at first, of waiting rows the page where due ones begin.
func (g *generation) fetch(parts []*partition) error {
	for _, q := range g.ready {
		if err := q.fetch(parts, func(p *partition) int64 {
			return min(p.want(), fetchRows)
		}); err != nil {
			return err
		}
	}
	for i, q := range g.waiting {
		if err := q.fetch(parts, func(p *partition) int64 {
			if p.limit > 0 && g.looks(i, p.p) {
				return 1
			}
			return 0
		}); err != nil {
			return err
		}
	}
	return nil
}

// batchRows is how many rows are looked up at once, by the memory there is.
func (g *generation) batchRows() int64 {
	return max(64, min(batchRows, g.env.Memory()/4/rowMemory))
}

// chunk is rows of one partition that are decided together.
type chunk struct {
	part *partition
	rows []popped
}

func (g *generation) batch(parts []*partition) ([]chunk, error) {
	var batch []chunk
	left := g.batchRows()
	for _, p := range parts {
		if p.done() || left <= 0 {
			continue
		}
		rows, err := p.take(min(p.want(), left))
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 {
			batch = append(batch, chunk{p, rows})
			left -= int64(len(rows))
		}
	}
	return batch, nil
}

// move takes the due prefix off the partition's waiting rows, at most its
// limit of them. Rows that --due-now looks at and does not take go back and do
// not count.
func (g *generation) move(p *partition) error {
	left := p.limit
	for i, q := range g.waiting {
		if !g.looks(i, p.p) {
			continue
		}
		if left <= 0 {
			p.cut = true
			break
		}
		moved, err := g.moveFrom(q, p, left)
		if err != nil {
			return err
		}
		left -= moved
	}
	fresh, err := p.moved.Open()
	p.fresh = fresh
	return err
}

func (g *generation) moveFrom(q *queue, p *partition, limit int64) (moved int64, err error) {
	from, to := q.part(p.p)
	for n := from; n < to; n++ {
		row, err := q.row(n)
		if err != nil {
			return moved, err
		}
		switch {
		case g.takes(&row) && moved == limit:
			p.cut = true
			return moved, nil
		case g.takes(&row):
			moved++
			g.counts[countMoved]++
			err = p.moved.Add(row)
		case g.round.DueNow:
			err = g.back(row)
		default:
			return moved, nil
		}
		if err != nil {
			return moved, err
		}
		q.consume(p.p, 1)
	}
	return moved, nil
}

// back sends a row to waiting as it is.
func (g *generation) back(row schema.FrontierRow) error {
	g.counts[countReturned]++
	return g.out.deferred.Add(row)
}
