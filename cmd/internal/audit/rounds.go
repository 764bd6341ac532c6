package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/weburl"
)

// turn is a URL's turn in a round.
type turn struct {
	round int64
	url   string
}

// taken is what became of a turn.
type taken struct {
	key    lsm.Key
	object layout.Key
	finals int
}

// rounds follows every listed URL: it has one final row in fetches, or waits
// again. Slices of partitions bound the memory.
func (a *auditor) rounds(ctx context.Context) error {
	listed := int64(0)
	for _, p := range a.m.Parts {
		for _, o := range p.Tables[schema.Lists] {
			listed += o.Rows
		}
	}
	for _, rng := range layout.Split(int(listed/slice) + 1) {
		turns, err := a.turns(ctx, rng)
		if err != nil {
			return err
		}
		if err := a.finals(ctx, rng, turns); err != nil {
			return err
		}
		if err := a.untouched(ctx, turns); err != nil {
			return err
		}
	}
	return nil
}

func (a *auditor) turns(ctx context.Context, rng layout.Range) (map[turn]*taken, error) {
	turns := map[turn]*taken{}
	columns := []string{"partition", "domain", "host", "url", "round"}
	err := eachPart(ctx, a, schema.Lists, columns, func(o lsm.Object, row *schema.List, at int64) error {
		if !rng.Holds(uint16(row.Partition)) {
			return nil
		}
		t := turn{row.Round, strings.Clone(row.URL)}
		if turns[t] != nil {
			a.find("rounds", o.Key, fmt.Sprintf("row %d: round %d lists %s twice", at, row.Round, row.URL),
				nextReport)
		}
		turns[t] = &taken{object: o.Key, key: lsm.Key{Partition: uint16(row.Partition),
			Domain: strings.Clone(row.Domain), Host: strings.Clone(row.Host), URL: t.url}}
		a.checked(schema.Lists, 1)
		return nil
	})
	return turns, err
}

// finals counts the final rows of the turns, and finds requests without a turn.
func (a *auditor) finals(ctx context.Context, rng layout.Range, turns map[turn]*taken) error {
	columns := []string{"domain", "host", "url", "round", "final", "kind", "http_status", "reason"}
	var last schema.Fetch
	var in layout.Key
	return eachPart(ctx, a, schema.Fetches, columns, func(o lsm.Object, row *schema.Fetch, at int64) error {
		if in == o.Key && byURL(last.Domain, last.Host, last.URL, row.Domain, row.Host, row.URL) > 0 {
			a.find("rounds", o.Key, fmt.Sprintf("row %d is out of order", at), nextReport)
		}
		last, in = *row, o.Key
		if !rng.Holds(weburl.Partition(row.Domain)) {
			return nil
		}
		a.checked(schema.Fetches, 1)
		if _, ok := schema.PolicyOf(row.Reason); !ok {
			a.find("rounds", o.Key, fmt.Sprintf("row %d has reason %q, which nobody knows", at, row.Reason),
				nextReport)
		}
		if row.Kind != "page" || !row.Final {
			return nil
		}
		t := turns[turn{row.Round, row.URL}]
		switch {
		case t != nil:
			t.finals++
		case row.HTTPStatus != 0:
			a.find("rounds", o.Key, fmt.Sprintf("row %d: %s was asked for in round %d, which did not list it", at,
				row.URL, row.Round), nextReport)
		}
		return nil
	})
}

func byURL(d1, h1, u1, d2, h2, u2 string) int {
	return cmp.Or(strings.Compare(d1, d2), strings.Compare(h1, h2), strings.Compare(u1, u2))
}

// untouched looks the URLs up that had a turn and no final row: each waits, or a
// later round has dealt with it.
func (a *auditor) untouched(ctx context.Context, turns map[turn]*taken) error {
	newest := map[lsm.Key]turn{}
	for t, was := range turns {
		if was.finals > 1 {
			a.find("rounds", was.object, fmt.Sprintf("%s has %d final rows in round %d", t.url, was.finals, t.round),
				nextReport)
		}
		if was.finals == 0 && newest[was.key].round < t.round {
			newest[was.key] = t
		}
	}
	keys := make([]lsm.Key, 0, len(newest))
	for key := range newest {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, lsm.Key.Compare)
	found := make([]bool, len(keys))
	err := lsm.URLs().Lookup(ctx, a.Open, a.m.Tables[schema.URLs], keys,
		lsm.LookupOptions{Columns: []string{"queued", "round"}}, func(h lsm.Hit[schema.URL]) error {
			found[h.Index] = h.Row.Queued != 0 || h.Row.Round > newest[keys[h.Index]].round
			return nil
		})
	if err != nil {
		return err
	}
	for i, ok := range found {
		if t := newest[keys[i]]; !ok {
			a.find("rounds", turns[t].object, fmt.Sprintf("round %d listed %s, which has neither a final row in "+
				"fetches nor waits", t.round, t.url), nextReport)
		}
	}
	return nil
}

// others reads the append tables that no must is proved from.
func (a *auditor) others(ctx context.Context) error {
	if !a.o.ReadData {
		return nil
	}
	return errors.Join(readAll[schema.Seed](ctx, a, schema.Seeds),
		readAll[schema.DeadLetter](ctx, a, schema.DeadLetters), readAll[schema.RoundRow](ctx, a, schema.Rounds))
}

func readAll[R any](ctx context.Context, a *auditor, table string) error {
	return eachPart(ctx, a, table, nil, func(lsm.Object, *R, int64) error {
		a.checked(table, 1)
		return nil
	})
}

// eachPart reads all rows of an append table; with ReadData, all columns.
func eachPart[R any](ctx context.Context, a *auditor, table string, columns []string,
	use func(o lsm.Object, row *R, at int64) error) error {
	if a.o.ReadData {
		columns = nil
	}
	for _, p := range a.m.Parts {
		for _, o := range p.Tables[table] {
			if a.broken[o.Key] || o.Rows == 0 {
				continue
			}
			err := eachRow(ctx, a, o, columns, func(row *R, at int64) error { return use(o, row, at) })
			if err != nil && !a.damaged(ctx, table, o.Key, err) {
				return err
			}
		}
	}
	return nil
}
