package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/weburl"
	"seine/reducer/requeue"
)

// chosenURLs are the URLs that a person chose.
type chosenURLs struct {
	rows    *requeue.Targets
	known   int64
	unknown []string // of those named, in order
}

// targets gathers the URLs named, or those for which where holds.
func (a *app) targets(ctx context.Context, l *looking, urls []string, where, cache string) (c chosenURLs, err error) {
	c.rows = requeue.NewTargets(l.Env(""))
	defer func() {
		if err != nil {
			c.rows.Close()
		}
	}()
	if where == "" {
		err = c.named(ctx, l, urls)
		return c, err
	}
	err = a.whereURLs(ctx, l, where, cache, func(domain, host, url string) error {
		c.known++
		return c.rows.Add(lsm.Key{Partition: weburl.Partition(domain), Domain: domain, Host: host, URL: url})
	})
	return c, err
}

// named looks the URLs up.
func (c *chosenURLs) named(ctx context.Context, l *looking, urls []string) error {
	var keys []lsm.Key
	for _, raw := range urls {
		u, err := normalURL(raw)
		if err != nil {
			return err
		}
		keys = append(keys, l.keyOf(u))
	}
	sorted := slices.Clone(keys)
	slices.SortFunc(sorted, lsm.Key.Compare)
	sorted = slices.Compact(sorted)
	known := map[lsm.Key]bool{}
	err := lsm.URLs().Lookup(ctx, l.Store.Open, l.head.Tables[schema.URLs], sorted,
		lsm.LookupOptions{Columns: []string{"queued"}}, func(hit lsm.Hit[schema.URL]) error {
			known[sorted[hit.Index]] = true
			c.known++
			return c.rows.Add(sorted[hit.Index])
		})
	if err != nil {
		return fmt.Errorf("look up URLs: %w", err)
	}
	for _, key := range keys {
		if !known[key] && !slices.Contains(c.unknown, key.URL) {
			c.unknown = append(c.unknown, key.URL)
		}
	}
	return nil
}

var targetColumns = []string{"domain", "host", "url"}

// compares says whether an expression is one of inspect's.
func (l *looking) compares(where string) bool {
	_, err := newSelection(folded(l, lsm.URLs()).schema, targetColumns, where)
	return err == nil
}

// comparedURLs gives the known URLs for which an expression of inspect's holds:
// it needs no DuckDB.
func (a *app) comparedURLs(ctx context.Context, l *looking, where string,
	emit func(domain, host, url string) error) error {
	in := inspection{columns: targetColumns}
	src := folded(l, lsm.URLs())
	chosen, err := newSelection(src.schema, in.columns, where)
	if err != nil {
		return err
	}
	return a.eachChosen(ctx, src, chosen, in, func(rec arrow.RecordBatch) error {
		var columns [3]*array.String
		for i := range columns {
			text, ok := rec.Column(i).(*array.String)
			if !ok {
				return fmt.Errorf("column %s of urls is %s, not text", in.columns[i], rec.Column(i).DataType())
			}
			columns[i] = text
		}
		for i := range int(rec.NumRows()) {
			if err := emit(columns[0].Value(i), columns[1].Value(i), columns[2].Value(i)); err != nil {
				return err
			}
		}
		return nil
	})
}
