package catalogtest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/weburl"
)

// Start is the time of the first job, ms: 2026-03-01 00:00 UTC. Jobs are a day
// apart.
const (
	Start = 1_772_323_200_000
	Day   = 86_400_000
)

// Builder fabricates a crawl job by job.
type Builder struct {
	Store    Store
	Manifest *lsm.Manifest
	Suffixes *weburl.Suffixes

	known   map[string]*schema.URL // folded
	refs    map[string][]lsm.Ref   // the physical rows that count
	domains map[string]schema.Domain
	places  map[string][]lsm.Ref // of domains, hosts, robots rows, by table and key
}

// New begins a crawl without commits.
func New() *Builder {
	suffixes, err := weburl.ParseSuffixes(weburl.EmbeddedSuffixes())
	check(err)
	return &Builder{Store: Store{}, Manifest: lsm.Empty(), Suffixes: suffixes,
		known: map[string]*schema.URL{}, refs: map[string][]lsm.Ref{},
		domains: map[string]schema.Domain{}, places: map[string][]lsm.Ref{}}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// URL begins a row of urls for a URL in normal form.
func (b *Builder) URL(url string) schema.URL {
	n, err := weburl.Normalize(url, weburl.Options{})
	check(err)
	if n.URL != url {
		panic("not in normal form: " + url)
	}
	domain := b.Suffixes.Domain(n.Host)
	return schema.URL{Partition: int32(weburl.Partition(domain)), Domain: domain, Host: n.Host, URL: url}
}

// Known is the state of a URL, as the tables give it now.
func (b *Builder) Known(url string) schema.URL {
	if r := b.known[url]; r != nil {
		return *r
	}
	return schema.URL{}
}

// URLs are all known URLs, in key order, as a reader must see them.
func (b *Builder) URLs() []schema.URL {
	rows := slices.Collect(maps.Values(b.known))
	slices.SortFunc(rows, func(x, y *schema.URL) int { return urlKey(x).Compare(urlKey(y)) })
	out := make([]schema.URL, len(rows))
	for i, r := range rows {
		out[i] = *r
	}
	return out
}

func urlKey(r *schema.URL) lsm.Key { return lsm.URLs().Key(r) }

// key names an object of the job being built.
func (j *Job) key(stage, name string) layout.Key {
	return layout.Output(j.N, stage, 0, layout.Attempt{Epoch: 1, N: 1}, name+".parquet")
}

// table writes rows of an append table as one object.
func appendTable[R any](j *Job, stage, name string, rows []R, compare func(a, b *R) int) *lsm.Object {
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(x, y R) int { return compare(&x, &y) })
	var buf bytes.Buffer
	w := rowfile.NewWriter[R](&buf, rowfile.Options{})
	check(w.Write(rows...))
	check(w.Finish())
	o := lsm.Object{Key: j.key(stage, name), Range: layout.All, Rows: w.Rows(), Bytes: w.Bytes()}
	j.b.Store[o.Key] = buf.Bytes()
	return &o
}

// run writes rows of a run table, which supersede others, as a run of one object.
func run[R any](j *Job, t lsm.Table[R], rows []R, superseded []lsm.Ref) {
	if len(rows) == 0 {
		return
	}
	slices.SortFunc(rows, func(x, y R) int { return t.Key(&x).Compare(t.Key(&y)) })
	var data, side bytes.Buffer
	key := j.key("reduce", t.Name)
	w := t.NewWriter(&data, &side, key, key+".bloom", layout.All, rowfile.Options{})
	for i := range rows {
		check(w.Write(&rows[i]))
	}
	o, err := w.Finish()
	check(err)
	j.b.Store[o.Key], j.b.Store[o.Sidecar] = data.Bytes(), side.Bytes()
	if len(superseded) > 0 {
		list := make([]schema.SupersededRow, len(superseded))
		for i, ref := range superseded {
			list[i] = schema.SupersededRow{Object: ref.Object, Row: ref.Row}
		}
		s := appendTable(j, "reduce", t.Name+"-superseded", list, func(a, b *schema.SupersededRow) int {
			return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Row, b.Row))
		})
		o.Superseded, o.SupersededRows, o.SupersededBytes = s.Key, s.Rows, s.Bytes
	}
	j.edit.AddRuns[t.Name] = lsm.Run{ID: fmt.Sprintf("r%08d", j.N), Seq: j.N, Objects: []lsm.Object{o}}
}

// commit puts the job's edit as the next commit.
func (j *Job) commit() {
	c, err := j.b.Manifest.NewCommit(lsm.Commit{Epoch: 1, Job: j.N, Kind: j.Kind, Now: j.Now, Edit: j.edit})
	check(err)
	body, err := c.Encode()
	check(err)
	j.b.Store[layout.Commit(c.N)] = body
	j.b.Store[layout.Latest] = lsm.Hint(c.N)
	j.b.Manifest, err = lsm.Head(context.Background(), j.b.Store.Source(), j.b.Manifest)
	check(err)
}
