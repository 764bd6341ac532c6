package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/schema"
	"seine/formats/taskend"
	"seine/formats/tasklog"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/reducer/task"
)

// web makes up what a fetch task leaves of its list, without a network: sealed
// rows of fetches, pages, links and robots, discoveries merged by target, and the
// log that names them. What a URL answers is a function of the URL and the round.
//
// Of 100 URLs, 90 are pages, 5 are not found, 2 redirect, 2 time out and 1 waits
// again. In its own domain, four of five links of a page lead to URLs known from
// the start, more often to those of low numbers, as navigation does; of links
// into other domains nine of ten. The rest leads to URLs that become known when a
// link to them is met.
type web struct {
	corpus *corpus
	links  int             // distinct links a page
	robots map[string]bool // hosts whose robots.txt was read in this run
}

const (
	ownShare  = 0.85 // of links: into the page's own domain
	ownKnown  = 0.8
	zipf      = 1.1 // exponent of the popularity of domains
	linkKnown = 0.9
	pageBytes = 30_000
)

// fetched is what became of a task's list.
type fetched struct {
	result  jobs.Result
	listed  int64
	targets []lsm.Key // distinct, sorted
}

// harvest is a task's rows in the making.
type harvest struct {
	web     *web
	task    jobs.Task
	fetches []schema.Fetch
	left    []schema.Fetch
	pages   []schema.Page
	links   []schema.Link
	robots  []schema.Robots
	events  []schema.Discovery
	found   map[string]int // of the source domain at hand: target to its event
	source  string
}

// fetch does the fetch task t on what generate left.
func (w *web) fetch(ctx context.Context, e task.Env, t jobs.Task) (fetched, error) {
	body, err := e.Store.Get(ctx, t.Inputs[jobs.StageGenerate][t.Index])
	if err != nil {
		return fetched{}, err
	}
	end, err := taskend.DecodeGenerate(body)
	if err != nil {
		return fetched{}, err
	}
	var rows []schema.List
	if end.Lists != nil {
		if err := task.EachRow(ctx, e, *end.Lists, nil, func(row *schema.List) error {
			rows = append(rows, *row)
			return nil
		}); err != nil {
			return fetched{}, err
		}
	}
	f := fetched{listed: int64(len(rows))}
	slices.SortFunc(rows, func(a, b schema.List) int {
		return cmp.Or(strings.Compare(a.Domain, b.Domain), strings.Compare(a.Host, b.Host),
			strings.Compare(a.URL, b.URL))
	})
	h := &harvest{web: w, task: t}
	for i := range rows {
		if err := h.ask(&rows[i]); err != nil {
			return fetched{}, err
		}
	}
	f.targets = h.keys()
	f.result, err = h.seal(ctx, e)
	return f, err
}

// ask makes up the answer for a URL.
func (h *harvest) ask(l *schema.List) error {
	at, ok := h.web.corpus.byName[l.Domain]
	if !ok {
		return fmt.Errorf("%s is of no domain of the corpus", l.URL)
	}
	d := &h.web.corpus.domains[at]
	id := weburl.ID(l.URL)
	seed := uint64(0)
	for _, b := range id[:8] {
		seed = seed<<8 | uint64(b)
	}
	r := rand.New(rand.NewPCG(seed, h.task.Spec.Job))
	row := schema.Fetch{Domain: l.Domain, Host: l.Host, URL: l.URL, Round: int64(h.task.Spec.Job),
		Attempt: h.task.Attempt.String(), Final: true, Kind: "page",
		StartedAt: h.task.Spec.Now + int64(l.Position)*1200 + r.Int64N(1000), IP: "192.0.2.1",
		Protocol: "HTTP/1.1", TTFB: 40 + int32(r.IntN(300)), Waited: int64(l.Position) * 1000}
	row.Duration = row.TTFB + int32(r.IntN(200))
	h.robotsOf(l, &row)
	switch n := r.IntN(100); {
	case n < 90:
		h.page(r, d, l, &row)
	case n < 95:
		row.Reason, row.HTTPStatus, row.Bytes = schema.NotFound, 404, 900
	case n < 97:
		row.Reason, row.HTTPStatus, row.Redirect = schema.Redirected, 301, "301"
		row.RedirectTo = h.web.corpus.url(d, r.IntN(d.urls))
		h.discover(l, d, row.RedirectTo, "redirect")
	case n < 99:
		row.Reason, row.Duration, row.TTFB = schema.Timeout, 30_000, 0
	default:
		h.left = append(h.left, schema.Fetch{Domain: l.Domain, Host: l.Host, URL: l.URL,
			Round: row.Round, Attempt: row.Attempt, Kind: "page", Reason: schema.Untouched})
		return nil
	}
	h.fetches = append(h.fetches, row)
	return nil
}

// robotsOf reads robots.txt of a host, once a run: they hold for a day.
func (h *harvest) robotsOf(l *schema.List, row *schema.Fetch) {
	if h.web.robots[l.Host] {
		return
	}
	h.web.robots[l.Host] = true
	at := row.StartedAt - 500
	h.robots = append(h.robots, schema.Robots{Partition: l.Partition, Domain: l.Domain,
		Authority: "https://" + l.Host, Status: "rules", HTTPStatus: 200, Text: robotsText,
		FetchedAt: at, Expires: at + day, Round: row.Round})
	h.fetches = append(h.fetches, schema.Fetch{Domain: l.Domain, Host: l.Host,
		URL: "https://" + l.Host + "/robots.txt", Round: row.Round, Attempt: row.Attempt, Final: true,
		Kind: "robots", StartedAt: at, Reason: schema.OK, HTTPStatus: 200, TTFB: 40, Duration: 60,
		Bytes: 120, IP: row.IP, Protocol: row.Protocol})
}

// page makes up a page and its links.
func (h *harvest) page(r *rand.Rand, d *domain, l *schema.List, row *schema.Fetch) {
	row.Reason, row.HTTPStatus, row.Change = schema.OK, 200, schema.ChangeNew
	if l.CrawlCount > 0 {
		row.Change = []string{schema.ChangeChanged, schema.ChangeSame}[r.IntN(2)]
	}
	row.Bytes = pageBytes
	row.BlobPath = task.OutputKey(h.task, "00000.warc.gz")
	row.BlobOffset, row.BlobLength = int64(len(h.fetches))*8000, 8000
	var text strings.Builder
	for text.Len() < 1500 {
		text.WriteString(word(r.Uint64()))
		text.WriteByte(' ')
	}
	h.pages = append(h.pages, schema.Page{Domain: l.Domain, Host: l.Host, URL: l.URL,
		URLID: weburl.ID(l.URL), PageID: weburl.ID(fmt.Sprint(l.URL, row.Round)), Round: row.Round,
		CrawledAt: row.StartedAt, HTTPStatus: 200, Headers: map[string]string{
			"content-type": "text/html", "server": "nginx"},
		MIMEDeclared: "text/html", MIMEDetected: "text/html", Charset: "utf-8", Language: "en",
		Title: word(r.Uint64()) + " " + word(r.Uint64()), Text: text.String(),
		ContentHash: r.Uint64() | 1, PayloadDigest: fmt.Sprintf("sha1:%032X", r.Uint64()),
		SimHash: r.Uint64(), Bytes: pageBytes, Change: row.Change,
		ETag: fmt.Sprintf("%q", word(r.Uint64())), BlobPath: row.BlobPath,
		BlobOffset: row.BlobOffset, BlobLength: row.BlobLength})
	h.linksOf(r, d, l)
}

// linksOf draws the distinct links of a page.
func (h *harvest) linksOf(r *rand.Rand, d *domain, l *schema.List) {
	c := h.web.corpus
	other := rand.NewZipf(r, zipf, 1, uint64(len(c.domains)-1))
	seen := map[string]bool{l.URL: true}
	for tries := 0; len(seen) <= h.web.links; tries++ {
		to, j := d, 0
		if tries%100 < int(ownShare*100) && tries < 20*h.web.links {
			j = number(r, d, ownKnown, 2)
		} else {
			to = &c.domains[c.popular[other.Uint64()]]
			j = number(r, to, linkKnown, 3)
		}
		url := c.url(to, j)
		if seen[url] {
			continue
		}
		seen[url] = true
		h.links = append(h.links, schema.Link{SrcDomain: l.Domain, SrcHost: l.Host, SrcURL: l.URL,
			DstURL: url, DstDomain: to.name, Anchor: word(r.Uint64()), Kind: "a",
			Verdict: schema.Accepted, Round: int64(h.task.Spec.Job)})
		h.discover(l, to, url, "a")
	}
}

// number draws a URL of a domain: one that was known from the start with a
// probability known, its number skewed to the low ones; else one of twice as many
// that were not.
func number(r *rand.Rand, d *domain, known, skew float64) int {
	if r.Float64() < known {
		return int(math.Pow(r.Float64(), skew) * float64(d.urls))
	}
	return d.urls + r.IntN(2*d.urls+64)
}

// discover notes a followed link, one a (target, source domain). Sources come
// domain by domain.
func (h *harvest) discover(l *schema.List, to *domain, url, kind string) {
	if h.source != l.Domain || h.found == nil {
		h.source, h.found = l.Domain, map[string]int{}
	}
	host := strings.TrimPrefix(url, "https://")
	host = host[:strings.IndexByte(host, '/')]
	e := schema.Discovery{Partition: int32(to.partition), Domain: to.name, Host: host, URL: url,
		SrcDomain: l.Domain, Kind: kind, Depth: l.Depth + 1, Priority: l.Priority,
		First: l.CrawlCount == 0}
	at, ok := h.found[url]
	if !ok {
		h.found[url] = len(h.events)
		h.events = append(h.events, e)
		return
	}
	old := &h.events[at]
	old.Kind, old.Depth = min(old.Kind, e.Kind), min(old.Depth, e.Depth)
	old.Priority, old.First = max(old.Priority, e.Priority), old.First || e.First
}

// keys sorts the events by target, and gives the targets.
func (h *harvest) keys() (targets []lsm.Key) {
	slices.SortFunc(h.events, func(a, b schema.Discovery) int {
		return cmp.Or(eventKey(&a).Compare(eventKey(&b)), strings.Compare(a.SrcDomain, b.SrcDomain))
	})
	for i := range h.events {
		if key := eventKey(&h.events[i]); i == 0 || key != targets[len(targets)-1] {
			targets = append(targets, key)
		}
	}
	return targets
}

func eventKey(d *schema.Discovery) lsm.Key {
	return lsm.Key{Partition: uint16(d.Partition), Domain: d.Domain, Host: d.Host, URL: d.URL}
}

// seal stores the rows as one chunk and ends the log.
func (h *harvest) seal(ctx context.Context, e task.Env) (jobs.Result, error) {
	slices.SortFunc(h.fetches, func(a, b schema.Fetch) int {
		return cmp.Or(strings.Compare(a.Domain, b.Domain), strings.Compare(a.Host, b.Host),
			strings.Compare(a.URL, b.URL))
	})
	slices.SortFunc(h.robots, func(a, b schema.Robots) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), strings.Compare(a.Domain, b.Domain),
			strings.Compare(a.Authority, b.Authority))
	})
	var chunk tasklog.Chunk
	var end tasklog.End
	if err := errors.Join(store(ctx, e, h.task, tasklog.Fetches, h.fetches, &chunk.Objects),
		store(ctx, e, h.task, tasklog.Pages, h.pages, &chunk.Objects),
		store(ctx, e, h.task, tasklog.Links, h.links, &chunk.Objects),
		store(ctx, e, h.task, tasklog.Robots, h.robots, &chunk.Objects),
		store(ctx, e, h.task, tasklog.Events, h.events, &end.Objects)); err != nil {
		return jobs.Result{}, err
	}
	left := h.task
	left.Attempt.N++ // another key than the fetches of the chunk
	if err := store(ctx, e, left, tasklog.Fetches, h.left, &end.Objects); err != nil {
		return jobs.Result{}, err
	}
	keyOf := func(n int) string { return layout.Log(h.task.Spec.Job, h.task.Index, n) }
	log, _, err := tasklog.Open(ctx, objstore.WriteOnce{Store: e.Store}, keyOf,
		tasklog.Attempt{Epoch: h.task.Attempt.Epoch, N: h.task.Attempt.N})
	if err != nil {
		return jobs.Result{}, err
	}
	if err := log.Append(ctx, chunk); err != nil {
		return jobs.Result{}, err
	}
	if err := log.End(ctx, end); err != nil {
		return jobs.Result{}, err
	}
	return jobs.Result{End: keyOf(log.State().Next - 1)}, nil
}

// store puts rows as one object and names it.
func store[R any](ctx context.Context, e task.Env, t jobs.Task, kind string, rows []R,
	into *[]tasklog.Object) error {
	out, err := task.Create[R](e, t, kind, kind == tasklog.Events)
	if err != nil {
		return err
	}
	defer out.Abort()
	if err := out.Write(rows...); err != nil {
		return err
	}
	o, err := out.Finish(ctx)
	if err != nil || o == nil {
		return err
	}
	digest := sha256.New()
	r, piece := objstore.Open(ctx, e.Store, o.Key, o.Bytes), make([]byte, 1<<20)
	for off := int64(0); off < o.Bytes; off += int64(len(piece)) {
		n := min(int64(len(piece)), o.Bytes-off)
		if _, err := r.ReadAt(piece[:n], off); err != nil {
			return err
		}
		digest.Write(piece[:n])
	}
	*into = append(*into, tasklog.Object{Kind: kind, Key: o.Key, Size: o.Bytes, Rows: o.Rows,
		Digest: hex.EncodeToString(digest.Sum(nil))})
	return nil
}
