package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/formats/sheet"
	"seine/formats/weburl"
)

// Scope builds the decision on what is crawled by the settings of the day, for
// URLs whose domains lie in r: save "any", which needs no seeds, a seed's scope
// never reaches beyond its domain, so only the seeds of the range are read.
// maxDepth, where it is set, lowers the limits of the settings and of seeds.
func (e Env) Scope(ctx context.Context, m *lsm.Manifest, s settings.Settings, r layout.Range,
	maxDepth int) (*scope.Scope, error) {
	seeds, err := e.Seeds(ctx, m, r)
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
	sheets, err := e.Sheets(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("settings %d: %w", s.Version, err)
	}
	within := func(depth int) int {
		if maxDepth > 0 && maxDepth < depth {
			return maxDepth
		}
		return depth
	}
	urls, origins := termsOf(seeds, s, maxDepth)
	config := scope.Config{Scope: s.Scope, Seeds: urls, Origins: origins, Rules: rules,
		Lists: lists, Limits: scope.Limits{Length: s.MaxURLLength, Segments: s.MaxSegments,
			Params: s.MaxParams, RepeatedRuns: s.MaxRepeats, Depth: within(s.MaxDepth)}}
	if depth := DepthOf(sheets); depth != nil {
		config.Depth = func(u weburl.Normal) (int, bool) {
			limit, ok := depth(u)
			return within(limit), ok
		}
	}
	decide, err := scope.New(config, e.Suffixes)
	if err != nil {
		return nil, fmt.Errorf("settings %d: %w", s.Version, err)
	}
	return decide, nil
}

// DepthOf gives the limits of hops that sheets set, as scope.Config takes them; nil
// where there are no sheets.
func DepthOf(sheets *sheet.Table) func(u weburl.Normal) (limit int, ok bool) {
	if sheets == nil {
		return nil
	}
	return func(u weburl.Normal) (int, bool) {
		v := sheets.For(u)
		return v.Depth, v.Has(sheet.Depth)
	}
}

// termsOf tells the seeds that have terms of their own from the others.
func termsOf(seeds map[string]string, s settings.Settings, maxDepth int) (urls []string,
	origins map[string]scope.Origin) {
	origins = make(map[string]scope.Origin, len(s.Terms))
	for name, terms := range s.Terms {
		depth := terms.Depth
		if maxDepth > 0 && (depth > maxDepth || depth == 0 && s.MaxDepth > maxDepth) {
			depth = maxDepth
		}
		origins[name] = scope.Origin{Scope: terms.Scope, Depth: depth}
	}
	for url, origin := range seeds {
		if o, ok := origins[origin]; ok {
			o.Seeds = append(o.Seeds, url)
			origins[origin] = o
			continue
		}
		urls = append(urls, url)
	}
	return urls, origins
}

// Seeds are the seeds of a snapshot whose partition lies in r, but for those that
// were removed: their tags, or their own URLs, by URL.
func (e Env) Seeds(ctx context.Context, m *lsm.Manifest, r layout.Range) (map[string]string, error) {
	origins := map[string]string{}
	for _, part := range m.Parts { // the oldest first: the last word counts
		for _, object := range part.Tables[schema.Seeds] {
			if !object.Range.Overlaps(r) {
				continue
			}
			err := EachRow(ctx, e, object, []string{"domain", "url", "tag", "removed"},
				func(row *schema.Seed) error {
					switch {
					case !r.Holds(weburl.Partition(row.Domain)):
					case row.Removed:
						delete(origins, row.URL)
					default:
						url := strings.Clone(row.URL)
						origins[url] = url
						if row.Tag != "" {
							origins[url] = strings.Clone(row.Tag)
						}
					}
					return nil
				})
			if err != nil {
				return nil, fmt.Errorf("seeds: %w", err)
			}
		}
	}
	return origins, nil
}

// EachRow reads an object from its first row to its last, only the columns
// named; nil: all. A row is valid until the next one.
func EachRow[R any](ctx context.Context, e Env, o lsm.Object, columns []string,
	fn func(row *R) error) error {
	src, err := e.Open(ctx, o.Key, o.Bytes)
	if err == nil && columns == nil {
		src, err = e.Staging.Stage(src, o.Bytes, 1)
	}
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

// Own copies the strings and maps of a row, which else are those of the pages that
// it was read from.
func Own[R any](row R) R {
	v := reflect.ValueOf(&row).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Kind() == reflect.String:
			f.SetString(strings.Clone(f.String()))
		case f.Kind() == reflect.Map && !f.IsNil():
			f.Set(ownMap(f))
		}
	}
	return row
}

// ownMap copies a map whose keys, and values if they are any, are strings.
func ownMap(m reflect.Value) reflect.Value {
	own := reflect.MakeMapWithSize(m.Type(), m.Len())
	for each := m.MapRange(); each.Next(); {
		k, v := each.Key(), each.Value()
		if v.Kind() == reflect.String {
			v = reflect.ValueOf(strings.Clone(v.String())).Convert(v.Type())
		}
		own.SetMapIndex(reflect.ValueOf(strings.Clone(k.String())).Convert(k.Type()), v)
	}
	return own
}

// denseRows is up to how many rows there may be for each that is wanted so that most pages are met.
const denseRows = 32

// Opener opens objects of which wanted rows, of some out of all, are looked up in order: staged
// where so many are that most of an object's pages are met, and met more than once by batches that
// lie next to each other.
func (e Env) Opener(wanted, of int64) lsm.Opener {
	if wanted < of/denseRows {
		return e.Open
	}
	return func(ctx context.Context, key layout.Key, size int64) (io.ReaderAt, error) {
		src, err := e.Open(ctx, key, size)
		if err != nil {
			return nil, err
		}
		return e.Staging.Stage(src, size, 1)
	}
}

// CloseReader closes what an lsm.Opener gave, if it wants to be closed. Nothing
// is written through it, so its error says nothing.
func CloseReader(r io.ReaderAt) {
	if c, ok := r.(io.Closer); ok {
		_ = c.Close()
	}
}
