package main

import (
	"context"
	"fmt"
	"slices"

	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/reducer/task"
)

// The batches and columns of the product's lookups, which it does not export:
// generate's of urls (reducer/generate/tables.go) and fold's (reducer/fold/batch.go).
const (
	generateBatch = 16_384
	foldBatch     = 8192
)

var (
	generateColumns = []string{"depth", "seed", "queued", "etag", "last_modified", "content_hash",
		"simhash", "crawl_count", "fail_count", "last_crawled", "html_blob_path", "blob_offset",
		"blob_length"}
	linkColumns = []string{"partition", "domain", "host", "url", "delta", "priority", "depth",
		"last_crawled", "next_crawl", "why", "visits", "changes", "inlinks", "user_signal", "queued",
		"queued_rank"}
)

// decoded counts what the lookups of a round decoded, by asking again.
func (b *bench) decoded(ctx context.Context, r *round, base *lsm.Manifest, all *fetched) error {
	slices.SortFunc(all.listed, lsm.Key.Compare)
	slices.SortFunc(all.asked, lsm.Key.Compare)
	slices.SortFunc(all.targets, lsm.Key.Compare)
	all.targets = slices.Compact(all.targets)
	r.Listed, r.Candidates = int64(len(all.listed)), int64(len(all.targets))
	var popped, reduced lsm.Stats
	if err := lookUp(ctx, b.env, lsm.URLs(), base, [][]lsm.Key{all.listed}, generateBatch,
		generateColumns, &popped); err != nil {
		return err
	}
	asked, linked := batches(all)
	if err := lookUp(ctx, b.env, lsm.URLs(), base, asked, foldBatch, nil, &reduced); err != nil {
		return err
	}
	if err := lookUp(ctx, b.env, lsm.URLs(), base, linked, foldBatch, linkColumns,
		&reduced); err != nil {
		return err
	}
	r.KeyPages, r.Filters = reduced.KeyPages.Load(), reduced.FilteredGroups.Load()
	for at, keys := range [][]lsm.Key{all.listed, slices.Concat(all.asked, all.targets)} {
		domains, hosts := groups(keys)
		stats := []*lsm.Stats{&popped, &reduced}[at]
		if err := lookUp(ctx, b.env, lsm.Domains(), base, [][]lsm.Key{domains}, foldBatch, nil,
			stats); err != nil {
			return err
		}
		if at == 1 { // only hosts that were asked have something new
			_, hosts = groups(all.asked)
		}
		if err := lookUp(ctx, b.env, lsm.Hosts(), base, [][]lsm.Key{hosts}, foldBatch, nil,
			stats); err != nil {
			return err
		}
	}
	for stage, stats := range map[string]*lsm.Stats{stageGenerate: &popped, stageReduce: &reduced} {
		c := r.Costs[stage]
		c.Rows += stats.Rows.Load()
		r.Costs[stage] = c
	}
	return nil
}

// batches cuts the keys of a round as fold does: those with a final row are
// looked up whole, the other targets for what links change.
func batches(all *fetched) (asked, linked [][]lsm.Key) {
	merged := slices.Concat(all.asked, all.targets)
	slices.SortFunc(merged, lsm.Key.Compare)
	merged = slices.Compact(merged)
	for keys := range slices.Chunk(merged, foldBatch) {
		var whole, part []lsm.Key
		for _, key := range keys {
			if _, ok := slices.BinarySearchFunc(all.asked, key, lsm.Key.Compare); ok {
				whole = append(whole, key)
			} else {
				part = append(part, key)
			}
		}
		asked, linked = append(asked, whole), append(linked, part)
	}
	return asked, linked
}

// groups are the keys in domains and hosts of URLs.
func groups(keys []lsm.Key) (domains, hosts []lsm.Key) {
	for _, k := range keys {
		domains = append(domains, lsm.Key{Partition: k.Partition, Domain: k.Domain})
		hosts = append(hosts, lsm.Key{Partition: k.Partition, Domain: k.Domain, Host: k.Host})
	}
	slices.SortFunc(domains, lsm.Key.Compare)
	slices.SortFunc(hosts, lsm.Key.Compare)
	return slices.Compact(domains), slices.Compact(hosts)
}

// lookUp asks a table for keys, batch by batch, and counts the work.
func lookUp[R any](ctx context.Context, e task.Env, t lsm.Table[R], m *lsm.Manifest,
	keys [][]lsm.Key, batch int, columns []string, stats *lsm.Stats) error {
	r := t.NewReader(e.Open, m.Tables[t.Name], lsm.LookupOptions{Columns: columns, Stats: stats})
	defer r.Close()
	for _, some := range keys {
		for part := range slices.Chunk(some, batch) {
			if err := r.Lookup(ctx, part, func(lsm.Hit[R]) error { return nil }); err != nil {
				return err
			}
		}
	}
	return nil
}

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
