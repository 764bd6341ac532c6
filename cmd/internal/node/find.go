package node

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/weburl"
	"seine/reducer/task"
)

// Place is a key of an append table: its objects are sorted by it. An empty
// Host stands for all hosts of the domain, an empty URL for all of the host's.
type Place struct{ Domain, Host, URL string }

// compare orders a row's key against the place: 0 for what the place holds.
func (p Place) compare(domain, host, url string) int {
	if c := cmp.Compare(domain, p.Domain); c != 0 || p.Host == "" {
		return c
	}
	if c := cmp.Compare(host, p.Host); c != 0 || p.URL == "" {
		return c
	}
	return cmp.Compare(url, p.URL)
}

// Columns names the key columns of an append table; links are sorted by their
// source.
type Columns struct{ Domain, Host, URL string }

// OfRow is the key of most tables, OfSource that of links.
var (
	OfRow    = Columns{"domain", "host", "url"}
	OfSource = Columns{"src_domain", "src_host", "src_url"}
)

// Find emits the rows of an append table at a place, those of the newest job
// first, until emit says that it has enough. It looks into an object only where
// its range of partitions holds the domain, and there only at the pages that a
// binary search by the sorted key needs.
func Find[R any](ctx context.Context, c *Crawl, head *lsm.Manifest, table string, by Columns, p Place,
	emit func(row *R) (more bool, err error)) error {
	part := weburl.Partition(p.Domain)
	for _, job := range slices.Backward(head.Parts) {
		for _, object := range job.Tables[table] {
			if !object.Range.Holds(part) || object.Rows == 0 {
				continue
			}
			more, err := findIn(ctx, c, object, by, p, emit)
			if err != nil {
				return fmt.Errorf("%s: %w", object.Key, err)
			}
			if !more {
				return nil
			}
		}
	}
	return nil
}

func findIn[R any](ctx context.Context, c *Crawl, o lsm.Object, by Columns, p Place,
	emit func(row *R) (more bool, err error)) (bool, error) {
	f, src, err := openRows[R](ctx, c, o, nil)
	if err != nil {
		return false, err
	}
	defer task.CloseReader(src)
	part := weburl.Partition(p.Domain)
	from, to := f.Partitions(layout.Range{Lo: part, Hi: part + 1})
	keys, err := newKeyReader(f, by)
	if err != nil {
		return false, err
	}
	first, err := keys.search(from, to, func(order int) bool { return order >= 0 }, p)
	if err != nil || first == to {
		return true, err
	}
	end, err := keys.search(first, to, func(order int) bool { return order > 0 }, p)
	if err != nil {
		return true, err
	}
	rows := f.Scan(first, end)
	for {
		row, err := rows.Next()
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if more, err := emit(row); err != nil || !more {
			return false, err
		}
	}
}

// keyReader reads the keys of single rows, a page of each column at a time.
type keyReader struct {
	columns [3]*rowfile.StringReader
	pages   [3]*rowfile.Strings
}

func newKeyReader[R any](f *rowfile.File[R], by Columns) (*keyReader, error) {
	k := &keyReader{}
	for i, name := range []string{by.Domain, by.Host, by.URL} {
		var err error
		if k.columns[i], err = f.Strings(name); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func (k *keyReader) at(column int, row int64) (string, error) {
	if s := k.pages[column]; s == nil || row < s.Row || row >= s.Row+int64(s.Len()) {
		s, err := k.columns[column].Page(row)
		if err != nil {
			return "", err
		}
		k.pages[column] = s
	}
	return string(k.pages[column].At(int(row - k.pages[column].Row))), nil
}

// search finds the first row of [from, to) whose order against the place is
// after.
func (k *keyReader) search(from, to int64, after func(order int) bool, p Place) (int64, error) {
	var failed error
	n := sort.Search(int(to-from), func(i int) bool {
		var key [3]string
		for column := range key {
			var err error
			if key[column], err = k.at(column, from+int64(i)); err != nil {
				failed = err
				return true
			}
		}
		return after(p.compare(key[0], key[1], key[2]))
	})
	return from + int64(n), failed
}

// ScanURLs emits the known URLs of a range of partitions in key order, folded.
// A row is valid until emit returns, its URL for good.
func ScanURLs(ctx context.Context, c *Crawl, head *lsm.Manifest, r layout.Range, columns []string,
	emit func(row *schema.URL) error) error {
	return lsm.URLs().Scan(ctx, c.Store.Open, head.Tables[schema.URLs], r, columns,
		func(row *schema.URL, _ []lsm.Ref) error {
			own := *row
			own.URL = strings.Clone(row.URL)
			return emit(&own)
		})
}

// LookupOne finds the row of a key in a run table.
func LookupOne[R any](ctx context.Context, c *Crawl, head *lsm.Manifest, table lsm.Table[R], key lsm.Key) (row R,
	found bool, err error) {
	err = table.Lookup(ctx, c.Store.Open, head.Tables[table.Name], []lsm.Key{key}, lsm.LookupOptions{},
		func(hit lsm.Hit[R]) error {
			row, found = hit.Row, true
			return nil
		})
	return row, found, err
}
