package prune

import (
	"cmp"
	"context"
	"strings"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/reducer/task"
)

// move is a body whose record has a new place.
type move struct {
	Partition         int32
	Domain, Host, URL string
	FromKey           string
	From              int64
	ToKey             string
	To                int64
}

func (m *move) key() lsm.Key {
	return lsm.Key{Partition: uint16(m.Partition), Domain: m.Domain, Host: m.Host, URL: m.URL}
}

func (m *move) bytes() int {
	return 160 + len(m.Domain) + len(m.Host) + len(m.URL) + len(m.FromKey) + len(m.ToKey)
}

func compareMoves(a, b *move) int {
	return cmp.Or(a.key().Compare(b.key()), strings.Compare(a.FromKey, b.FromKey), cmp.Compare(a.From, b.From))
}

// batchMoves is how many moves are looked up at once.
const batchMoves = 8192

// follow writes the rows of urls whose newest body has moved.
func (p *pruning) follow(ctx context.Context) error {
	out, err := task.CreateRun(p.env, p.task, lsm.URLs())
	if err != nil {
		return err
	}
	defer out.Abort()
	var batch []move
	err = p.moved.Each(func(m *move) error {
		if n := len(batch); n >= batchMoves && batch[n-1].key() != m.key() {
			if err := p.followBatch(ctx, out, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
		batch = append(batch, *m)
		return nil
	})
	if err != nil {
		return err
	}
	if err := p.followBatch(ctx, out, batch); err != nil {
		return err
	}
	object, err := out.Finish(ctx)
	if object != nil {
		p.end.Tables[schema.URLs] = *object
	}
	return err
}

func (p *pruning) followBatch(ctx context.Context, out *task.RunOutput[schema.URL], batch []move) error {
	var keys []lsm.Key
	first := map[lsm.Key]int{} // of a URL's moves
	for i := range batch {
		key := batch[i].key()
		if _, ok := first[key]; !ok {
			keys, first[key] = append(keys, key), i
		}
	}
	return lsm.URLs().Lookup(ctx, p.env.Open, p.m.Tables[schema.URLs], keys, lsm.LookupOptions{},
		func(hit lsm.Hit[schema.URL]) error {
			for i := first[keys[hit.Index]]; i < len(batch) && batch[i].key() == keys[hit.Index]; i++ {
				if m := &batch[i]; hit.Row.BlobPath == m.FromKey && hit.Row.BlobOffset == m.From {
					row := hit.Row
					row.BlobPath, row.BlobOffset, row.Round = m.ToKey, m.To, int64(p.task.Spec.Job)
					p.end.Counts[CountMoved]++
					if err := out.Write(&row); err != nil {
						return err
					}
					return out.Supersede(hit.Refs...)
				}
			}
			return nil
		})
}
