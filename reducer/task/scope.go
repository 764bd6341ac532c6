package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/formats/weburl"
)

// Scope builds the decision on what is crawled by the settings of the day, for
// URLs whose domains lie in r: a seed's scope never reaches beyond its domain,
// so only the seeds of the range are read. maxDepth, where it is set, lowers
// the limit of the settings.
func (e Env) Scope(ctx context.Context, m *lsm.Manifest, s settings.Settings, r layout.Range,
	maxDepth int) (*scope.Scope, error) {
	seeds, err := e.SeedURLs(ctx, m, r)
	if err != nil {
		return nil, err
	}
	rules := make([]scope.Rule, len(s.Rules))
	for i, text := range s.Rules {
		if rules[i], err = scope.ParseRule(text); err != nil {
			return nil, fmt.Errorf("settings %d, rule %d: %w", s.Version, i+1, err)
		}
	}
	lists, err := e.lists(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("settings %d: %w", s.Version, err)
	}
	depth := s.MaxDepth
	if maxDepth > 0 && maxDepth < depth {
		depth = maxDepth
	}
	decide, err := scope.New(scope.Config{Scope: s.Scope, Seeds: seeds, Rules: rules,
		Lists: lists, Limits: scope.Limits{Length: s.MaxURLLength, Segments: s.MaxSegments,
			Params: s.MaxParams, RepeatedRuns: s.MaxRepeats, Depth: depth}}, e.Suffixes)
	if err != nil {
		return nil, fmt.Errorf("settings %d: %w", s.Version, err)
	}
	return decide, nil
}

// SeedURLs are the seeds ever injected whose partition lies in r.
func (e Env) SeedURLs(ctx context.Context, m *lsm.Manifest, r layout.Range) ([]string, error) {
	var urls []string
	for _, part := range m.Parts {
		for _, object := range part.Tables[schema.Seeds] {
			if !object.Range.Overlaps(r) {
				continue
			}
			err := EachRow(ctx, e, object, []string{"domain", "url"}, func(row *schema.Seed) error {
				if r.Holds(weburl.Partition(row.Domain)) {
					urls = append(urls, strings.Clone(row.URL))
				}
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("seeds: %w", err)
			}
		}
	}
	return urls, nil
}

// EachRow reads an object from its first row to its last, only the columns
// named; nil: all. A row is valid until the next one.
func EachRow[R any](ctx context.Context, e Env, o lsm.Object, columns []string,
	fn func(row *R) error) error {
	src, err := e.Open(ctx, o.Key, o.Bytes)
	if err != nil {
		return fmt.Errorf("open %s: %w", o.Key, err)
	}
	defer CloseReader(src)
	f, err := rowfile.Open[R](src, o.Bytes, rowfile.ReadOptions{Columns: columns, Stats: e.RowStats()})
	if err != nil {
		return fmt.Errorf("open %s: %w", o.Key, err)
	}
	for cursor := f.Scan(0, f.NumRows()); ; {
		row, err := cursor.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", o.Key, err)
		}
		if err := fn(row); err != nil {
			return err
		}
	}
}

// CloseReader closes what an lsm.Opener gave, if it wants to be closed. Nothing
// is written through it, so its error says nothing.
func CloseReader(r io.ReaderAt) {
	if c, ok := r.(io.Closer); ok {
		_ = c.Close()
	}
}
