package prune

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"seine/formats/schema"
	"seine/reducer/task"
)

// version is a row of pages as far as it is told apart.
type version struct {
	Domain, Host, URL string
	Digest            string
	Round             uint64
	Part, Object      int32 // numbers in the manifest
	Row               int64
}

// compareVersions orders by URL, the newest first.
func compareVersions(a, b *version) int {
	return cmp.Or(strings.Compare(a.Domain, b.Domain), strings.Compare(a.Host, b.Host),
		strings.Compare(a.URL, b.URL), cmp.Compare(b.Round, a.Round), cmp.Compare(a.Object, b.Object),
		cmp.Compare(a.Row, b.Row))
}

func (v *version) bytes() int { return 128 + len(v.Domain) + len(v.Host) + len(v.URL) + len(v.Digest) }

// deadRow is a row of pages that is not kept.
type deadRow struct {
	Part, Object int32
	Row          int64
}

func compareDead(a, b *deadRow) int {
	return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Row, b.Row))
}

// versions finds the rows of pages that are beyond the versions kept: of each
// content the newest row counts, and of these the newest so many.
func (p *pruning) versions(ctx context.Context) error {
	if p.what.Versions <= 0 {
		return nil
	}
	all := task.NewSorter(p.env, "versions", p.env.Memory()/4, (*version).bytes, compareVersions)
	defer all.Close()
	for i := range p.m.Parts {
		if err := p.gather(ctx, i, all); err != nil {
			return err
		}
	}
	var last version
	var seen []string // contents of the URL at hand that are kept
	return all.Each(func(v *version) error {
		if v.URL != last.URL || v.Host != last.Host {
			last = version{Host: strings.Clone(v.Host), URL: strings.Clone(v.URL)}
			seen = seen[:0]
		}
		if !slices.Contains(seen, v.Digest) && len(seen) < p.what.Versions {
			seen = append(seen, strings.Clone(v.Digest))
			return nil
		}
		return p.dead.Add(deadRow{v.Part, v.Object, v.Row})
	})
}

// gather takes the rows of a part's pages.
func (p *pruning) gather(ctx context.Context, i int, all *task.Sorter[version]) error {
	columns := []string{"domain", "host", "url", "payload_digest", "round"}
	for n, o := range p.m.Parts[i].Tables[schema.Pages] {
		at := int64(-1)
		err := task.EachRow(ctx, p.env, o, columns, func(row *schema.Page) error {
			at++
			return all.Add(version{Domain: strings.Clone(row.Domain), Host: strings.Clone(row.Host),
				URL: strings.Clone(row.URL), Digest: strings.Clone(row.PayloadDigest),
				Round: uint64(row.Round), Part: int32(i), Object: int32(n), Row: at})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// deadRows gives the dead rows object by object, in the manifest's order.
type deadRows struct {
	sorted *task.Sorted[deadRow]
	head   *deadRow
}

func newDeadRows(s *task.Sorter[deadRow]) (*deadRows, error) {
	sorted, err := s.Open()
	if err != nil {
		return nil, err
	}
	d := &deadRows{sorted: sorted}
	return d, d.next()
}

func (d *deadRows) next() error {
	row, err := d.sorted.Next()
	if errors.Is(err, io.EOF) {
		d.head = nil
		return nil
	}
	if err != nil {
		return err
	}
	own := *row
	d.head = &own
	return nil
}

// of gives the dead rows of an object, ascending.
func (d *deadRows) of(part, object int) (rows []int64, err error) {
	for d.head != nil && int(d.head.Part) == part && int(d.head.Object) == object {
		rows = append(rows, d.head.Row)
		if err := d.next(); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
