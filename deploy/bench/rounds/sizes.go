package main

import (
	"context"
	"fmt"

	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/reducer/task"
)

// keyPage is the mean size in bytes of a page of the column url, in the largest
// object of urls.
func keyPage(ctx context.Context, e task.Env, m *lsm.Manifest) (bytes int64, err error) {
	var o lsm.Object
	for _, run := range m.Tables[schema.URLs] {
		for _, other := range run.Objects {
			if other.Rows > o.Rows {
				o = other
			}
		}
	}
	src, err := e.Open(ctx, o.Key, o.Bytes)
	if err != nil {
		return 0, err
	}
	defer task.CloseReader(src)
	var stats rowfile.Stats
	f, err := rowfile.Open[schema.URL](src, o.Bytes, rowfile.ReadOptions{Columns: []string{"url"},
		Stats: &stats})
	if err != nil {
		return 0, err
	}
	urls, err := f.Strings("url")
	if err != nil {
		return 0, err
	}
	pages, err := urls.Pages()
	if err != nil {
		return 0, err
	}
	before, n := stats.Bytes.Load(), int64(0)
	for at := 0; at < len(pages); at += max(len(pages)/64, 1) {
		if err := urls.Fetch(pages[at : at+1]); err != nil {
			return 0, err
		}
		n++
	}
	if n == 0 {
		return 0, fmt.Errorf("%s has no pages", o.Key)
	}
	return (stats.Bytes.Load() - before) / n, nil
}

// urlBytes is what urls takes a known URL, with sidecars and lists.
func urlBytes(m *lsm.Manifest) float64 {
	bytes := int64(0)
	for _, run := range m.Tables[schema.URLs] {
		bytes += run.Bytes()
	}
	return per(bytes, m.Known)
}
