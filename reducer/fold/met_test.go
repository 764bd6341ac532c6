package fold_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"seine/formats/layout"
	"seine/formats/objstore"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/tasklog"
	"seine/formats/weburl"
	"seine/jobs"
)

// met is what a fetch task leaves, but for the cut into chunks.
type met struct {
	fetches     []schema.Fetch
	pages       []schema.Page
	links       []schema.Link
	robots      []schema.Robots
	left        []schema.Fetch
	discoveries []schema.Discovery // one a target and source domain
}

func (m *met) discover(d schema.Discovery) {
	for i := range m.discoveries {
		o := &m.discoveries[i]
		if o.URL != d.URL || o.SrcDomain != d.SrcDomain {
			continue
		}
		o.Kind, o.Depth = min(o.Kind, d.Kind), min(o.Depth, d.Depth)
		o.Priority, o.Suspicion = max(o.Priority, d.Priority), min(o.Suspicion, d.Suspicion)
		o.First = o.First || d.First
		if d.Seed < o.Seed {
			o.Seed = d.Seed
		}
		return
	}
	m.discoveries = append(m.discoveries, d)
}

// chunks is how many chunks a task's work is cut into.
const chunks = 3

// seal stores what a task met as its chunks, its events and the end of its log.
func (c *crawl) seal(spec jobs.Spec, index int, m met) layout.Key {
	c.t.Helper()
	attempt := layout.Attempt{Epoch: 1, N: 1}
	s := sealer{c: c, spec: spec, index: index, attempt: attempt}
	end := tasklog.End{}
	for n := range chunks {
		chunk := tasklog.Chunk{Attempt: tasklog.Attempt(attempt), Seq: n}
		name := func(kind string) string { return fmt.Sprintf("%05d-%s.parquet", n, kind) }
		fetches := cut(m.fetches, n, func(r schema.Fetch) string { return r.URL })
		slices.SortFunc(fetches, func(a, b schema.Fetch) int {
			return cmp.Or(byText(a.Domain, a.Host, a.URL, b.Domain, b.Host, b.URL),
				cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.StartedAt, b.StartedAt))
		})
		pages := cut(m.pages, n, func(r schema.Page) string { return r.URL })
		slices.SortFunc(pages, func(a, b schema.Page) int {
			return byText(a.Domain, a.Host, a.URL, b.Domain, b.Host, b.URL)
		})
		links := cut(m.links, n, func(r schema.Link) string { return r.SrcURL })
		slices.SortStableFunc(links, func(a, b schema.Link) int {
			return byText(a.SrcDomain, a.SrcHost, a.SrcURL, b.SrcDomain, b.SrcHost, b.SrcURL)
		})
		robots := cut(m.robots, n, func(r schema.Robots) string {
			return r.Authority + fmt.Sprint(r.FetchedAt)
		})
		slices.SortFunc(robots, func(a, b schema.Robots) int {
			return cmp.Or(cmp.Compare(a.Partition, b.Partition),
				byText(a.Domain, a.Authority, "", b.Domain, b.Authority, ""),
				cmp.Compare(a.FetchedAt, b.FetchedAt))
		})
		put(&s, &chunk.Objects, tasklog.Fetches, name("fetches"), fetches, false)
		put(&s, &chunk.Objects, tasklog.Pages, name("pages"), pages, false)
		put(&s, &chunk.Objects, tasklog.Links, name("links"), links, false)
		put(&s, &chunk.Objects, tasklog.Robots, name("robots"), robots, true)
		end.Chunks = append(end.Chunks, chunk)
	}
	slices.SortFunc(m.discoveries, func(a, b schema.Discovery) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition),
			byText(a.Domain, a.Host, a.URL, b.Domain, b.Host, b.URL),
			strings.Compare(a.SrcDomain, b.SrcDomain))
	})
	put(&s, &end.Objects, tasklog.Fetches, "left.parquet", m.left, false)
	put(&s, &end.Objects, tasklog.Events, "events.parquet", m.discoveries, true)
	body, err := tasklog.Encode(tasklog.Entry{Kind: tasklog.KindEnd, Attempt: tasklog.Attempt(attempt),
		End: &end})
	c.must(err)
	key := layout.Log(spec.Job, index, 1)
	c.must(objstore.PutIfAbsent(c.ctx, c.store, key, body))
	return key
}

func byText(a1, a2, a3, b1, b2, b3 string) int {
	return cmp.Or(strings.Compare(a1, b1), strings.Compare(a2, b2), strings.Compare(a3, b3))
}

// cut gives the rows of chunk n.
func cut[R any](rows []R, n int, by func(R) string) []R {
	var mine []R
	for _, row := range rows {
		if hash(by(row))%chunks == uint64(n) {
			mine = append(mine, row)
		}
	}
	return mine
}

type sealer struct {
	c       *crawl
	spec    jobs.Spec
	index   int
	attempt layout.Attempt
}

func put[R any](s *sealer, into *[]tasklog.Object, kind, name string, rows []R, partitioned bool) {
	s.c.t.Helper()
	if len(rows) == 0 {
		return
	}
	var body bytes.Buffer
	w := rowfile.NewWriter[R](&body, rowfile.Options{Codec: rowfile.Snappy, Partitioned: partitioned})
	s.c.must(w.Write(rows...))
	s.c.must(w.Finish())
	sum := sha256.Sum256(body.Bytes())
	key := layout.Output(s.spec.Job, "fetch", s.index, s.attempt, name)
	s.c.must(objstore.PutIfAbsent(s.c.ctx, s.c.store, key, body.Bytes()))
	*into = append(*into, tasklog.Object{Kind: kind, Key: key, Size: int64(body.Len()),
		Rows: int64(len(rows)), Digest: hex.EncodeToString(sum[:])})
}

// fetchOf begins the row of a listed URL.
func fetchOf(spec jobs.Spec, row *schema.List, reason schema.Reason) schema.Fetch {
	return schema.Fetch{Domain: row.Domain, Host: row.Host, URL: row.URL, Round: int64(spec.Job),
		Attempt: "a000001-0001", Final: true, Kind: "page", Reason: reason}
}

// answered is a final row with an HTTP status, at some ms after the job's now.
func answered(spec jobs.Spec, row *schema.List, reason schema.Reason, status int32,
	after int64) schema.Fetch {
	f := fetchOf(spec, row, reason)
	f.HTTPStatus, f.StartedAt, f.Duration, f.TTFB = status, spec.Now+after, 30, 20
	f.IP, f.Bytes = "192.0.2.1", 1000
	return f
}

// pageOf is the body of an answer.
func pageOf(f *schema.Fetch, change string, hash uint64) schema.Page {
	return schema.Page{Domain: f.Domain, Host: f.Host, URL: f.URL, URLID: weburl.ID(f.URL),
		Round: f.Round, CrawledAt: f.StartedAt, HTTPStatus: f.HTTPStatus,
		Headers: map[string]string{"content-type": "text/html"}, Text: "text of " + f.URL,
		ContentHash: hash, SimHash: hash * 0x9e3779b97f4a7c15, Bytes: f.Bytes, Change: change,
		ETag: `"` + fmt.Sprint(hash) + `"`, BlobPath: fmt.Sprintf("warc/%d/%x", f.Round, hash),
		BlobOffset: int64(hash % 1000), BlobLength: 500}
}

// linkTo is a discovery made on a listed page.
func linkTo(row *schema.List, target, kind string, depth int32) schema.Discovery {
	key := urlKey(target)
	return schema.Discovery{Partition: int32(key.Partition), Domain: key.Domain, Host: key.Host,
		URL: key.URL, SrcDomain: row.Domain, Kind: kind, Depth: depth, Priority: row.Priority,
		Seed: row.Seed, First: row.CrawlCount == 0}
}

func hash(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	var n uint64
	for _, b := range sum[:8] {
		n = n<<8 | uint64(b)
	}
	return n
}
