package catalogtest

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/warc"
	"seine/formats/weburl"
)

// Job is a job being built.
type Job struct {
	N    uint64
	Kind string
	Now  int64
	// Rows of the tables; Commit sorts and writes them.
	Lists       []schema.List
	Fetches     []schema.Fetch
	Pages       []schema.Page
	Links       []schema.Link
	Seeds       []schema.Seed
	DeadLetters []schema.DeadLetter
	Robots      []schema.Robots
	Hosts       []schema.Host

	b       *Builder
	whole   map[string]schema.URL
	deltas  map[string]schema.URL
	edit    lsm.Edit
	archive bytes.Buffer
	warc    *warc.Writer
}

// Job begins the next job, of kind inject or round.
func (b *Builder) Job(kind string) *Job {
	n := b.Manifest.Job + 1
	return &Job{N: n, Kind: kind, Now: Start + int64(n-1)*Day, b: b, whole: map[string]schema.URL{},
		deltas: map[string]schema.URL{}, edit: lsm.Edit{AddRuns: map[string]lsm.Run{},
			Cursors: map[layout.Key][]int64{}, Part: &lsm.Part{Round: n, Now: Start + int64(n-1)*Day,
				Tables: map[string][]lsm.Object{}}}}
}

// Put writes a whole row of urls.
func (j *Job) Put(r schema.URL) { j.PutAs(r, int64(j.N)) }

// PutAs is Put of a row that says that another job has written it.
func (j *Job) PutAs(r schema.URL, job int64) { r.Round = job; j.whole[r.URL] = r }

// New writes the row of a URL that nobody knew; it waits from now on.
func (j *Job) New(url string, depth int32, priority float32) {
	r := j.b.URL(url)
	r.CrawlStatus, r.Depth, r.Priority, r.DiscoveredAt = schema.Pending, depth, priority, j.Now
	r.Why, r.NextCrawl, r.Inlinks = schema.WhyNew, j.Now, 1
	r.Queued, r.QueuedRank = int64(j.N), int64(priority*1000)
	j.Put(r)
}

// Delta adds inlinks to a known URL and, if rank is not 0, queues it again.
func (j *Job) Delta(url string, inlinks int64, rank int64) {
	r := j.b.URL(url)
	r.Delta, r.Inlinks, r.Depth, r.Round = true, inlinks, 3, int64(j.N)
	if rank != 0 {
		r.Queued, r.QueuedRank, r.Priority = int64(j.N), rank, 0.75
	}
	j.deltas[url] = r
}

// List chooses a URL that waits.
func (j *Job) List(url string) {
	r := j.b.Known(url)
	if r.Queued == 0 {
		panic("does not wait: " + url)
	}
	j.Lists = append(j.Lists, schema.List{Partition: r.Partition, Domain: r.Domain, Host: r.Host, URL: url,
		Band: schema.Medium, Priority: r.Priority, Depth: r.Depth, Due: r.NextCrawl, Why: r.Why,
		Rank: r.QueuedRank, Ticket: r.Queued, CrawlCount: r.CrawlCount, Round: int64(j.N)})
}

// Fetch is the final row of a listed URL: the outcome with the URL's state
// afterwards.
func (j *Job) Fetch(url string, reason schema.Reason, status int32, edit func(*schema.Fetch)) {
	r := j.b.Known(url)
	f := schema.Fetch{Domain: r.Domain, Host: r.Host, URL: url, Round: int64(j.N), Attempt: "a000001-0001",
		Final: true, Kind: "page", StartedAt: j.Now + int64(len(j.Fetches))*1000, Reason: reason,
		HTTPStatus: status, TTFB: 40, Duration: 90, Waited: 1000, Bytes: 2000, IP: "192.0.2.1"}
	if status == 0 {
		f.TTFB, f.Bytes = 0, 0
	}
	if edit != nil {
		edit(&f)
	}
	policy, ok := schema.PolicyOf(reason)
	if !ok {
		panic("no such reason: " + reason)
	}
	j.Fetches = append(j.Fetches, f)
	r.Reason, r.HTTPStatus, r.LastCrawled, r.Why = reason, status, f.StartedAt, schema.WhyRecrawl
	r.CrawlCount++
	if policy.Status != "" {
		r.CrawlStatus = policy.Status
	}
	if policy.Blame {
		r.FailCount++
		r.Why = schema.WhyRetry
	}
	r.RedirectURL = f.RedirectTo
	r.NextCrawl, r.Queued, r.QueuedRank = f.StartedAt+30*Day, int64(j.N), 100
	if policy.Due == schema.DueNever || policy.Due == schema.DueBlock {
		r.NextCrawl, r.Queued, r.QueuedRank, r.Why = 0, 0, 0, ""
	}
	j.Put(r)
}

// Page is a fetch with a 2xx body: archived, with its row of pages.
func (j *Job) Page(url, body string, links ...string) {
	r := j.b.Known(url)
	date := time.UnixMilli(j.Now + int64(len(j.Fetches))*1000).UTC()
	header := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n", len(body))
	digest, err := warc.Digest(strings.NewReader(body))
	check(err)
	offset, length := j.archived(url, date, header, body)
	hash := binary.BigEndian.Uint64(md5of(body)[:8])
	change := schema.ChangeNew
	if r.ContentHash == hash {
		change = schema.ChangeSame
	} else if r.ContentHash != 0 {
		change = schema.ChangeChanged
	}
	p := schema.Page{Domain: r.Domain, Host: r.Host, URL: url, URLID: weburl.ID(url),
		PageID: [16]byte(md5of(url + fmt.Sprint(j.N))), Round: int64(j.N), CrawledAt: date.UnixMilli(),
		HTTPStatus: 200, Headers: map[string]string{"content-type": "text/html", "server": "test"},
		MIMEDeclared: "text/html", MIMEDetected: "text/html", Charset: "utf-8", Language: "en-GB",
		Title: "Page " + url, Text: body, ContentHash: hash, PayloadDigest: digest, Bytes: int64(len(body)),
		Change: change, BlobPath: j.warcKey(), BlobOffset: offset, BlobLength: length}
	j.Pages = append(j.Pages, p)
	j.Fetch(url, schema.OK, 200, func(f *schema.Fetch) {
		f.Change, f.BlobPath, f.BlobOffset, f.BlobLength = change, p.BlobPath, offset, length
	})
	row := j.whole[url]
	row.ContentHash, row.BlobPath, row.BlobOffset, row.BlobLength = hash, p.BlobPath, offset, length
	j.whole[url] = row
	for _, dst := range links {
		d := j.b.URL(dst)
		j.Links = append(j.Links, schema.Link{SrcDomain: r.Domain, SrcHost: r.Host, SrcURL: url, DstURL: dst,
			DstDomain: d.Domain, Anchor: "to " + dst, Kind: "a", Verdict: schema.Accepted, Round: int64(j.N)})
	}
}

func md5of(s string) []byte { sum := md5.Sum([]byte(s)); return sum[:] }

func (j *Job) warcKey() layout.Key {
	return layout.Output(j.N, "fetch", 0, layout.Attempt{Epoch: 1, N: 1}, fmt.Sprintf("seine-r%d.warc.gz", j.N))
}

// archived writes a response and its request into the job's archive.
func (j *Job) archived(url string, date time.Time, header, body string) (offset, length int64) {
	if j.warc == nil {
		var err error
		j.warc, err = warc.NewWriter(&j.archive, warc.Options{Seed: j.warcKey()})
		check(err)
		_, _, err = j.warc.Write(warc.Info{Filename: j.warcKey(), Software: "seine/test"}.Record("", date))
		check(err)
	}
	x := warc.Exchange{URI: url, Date: date, IP: "192.0.2.1", RawRequest: []byte("GET / HTTP/1.1\r\n\r\n"),
		RawHeader: []byte(header), RawBody: bytes.NewReader([]byte(body)), PayloadType: "text/html"}
	response, request := x.Records()
	offset, length, err := j.warc.Write(response)
	check(err)
	_, _, err = j.warc.Write(request)
	check(err)
	return offset, length
}

// Commit writes all that the job leaves and commits it.
func (j *Job) Commit() {
	b := j.b
	var rows []schema.URL
	var superseded []lsm.Ref
	for url, r := range j.whole {
		if d, ok := j.deltas[url]; ok { // what is both is one whole row
			lsm.URLs().Fold(&r, &d)
			delete(j.deltas, url)
		}
		superseded = append(superseded, b.refs[url]...)
		b.refs[url] = nil
		if b.known[url] == nil {
			j.edit.KnownDelta++
		}
		j.waiting(b.Known(url).Queued, r.Queued)
		b.known[url] = &r
		rows = append(rows, r)
	}
	for url, d := range j.deltas {
		was := b.known[url].Queued
		lsm.URLs().Fold(b.known[url], &d)
		j.waiting(was, b.known[url].Queued)
		rows = append(rows, d)
	}
	run(j, lsm.URLs(), rows, superseded)
	for i, r := range rows { // run has sorted them
		b.refs[r.URL] = append([]lsm.Ref{{Object: j.key("reduce", schema.URLs), Row: int64(i)}}, b.refs[r.URL]...)
	}
	j.groups(rows)
	keyed(j, lsm.Hosts(), j.Hosts)
	keyed(j, lsm.RobotsTable(), j.Robots)
	j.queues()
	j.parts()
	j.commit()
}

func (j *Job) waiting(was, is int64) {
	if was == 0 && is != 0 {
		j.edit.WaitingDelta++
	} else if was != 0 && is == 0 {
		j.edit.WaitingDelta--
	}
}

// groups writes the domains whose counts changed.
func (j *Job) groups(changed []schema.URL) {
	touched := map[string]bool{}
	for _, r := range changed {
		touched[r.Domain] = true
	}
	rows := map[string]schema.Domain{}
	for _, r := range j.b.known {
		if !touched[r.Domain] {
			continue
		}
		d := rows[r.Domain]
		d.Partition, d.Domain, d.Delay, d.DelayWhy, d.Round = r.Partition, r.Domain, 1000, "default", int64(j.N)
		d.Known++
		switch r.CrawlStatus {
		case schema.Pending:
			d.Pending++
		case schema.Failed:
			d.Failed++
		}
		if r.BlobPath != "" {
			d.Pages++
		}
		d.LastAccessed = max(d.LastAccessed, r.LastCrawled)
		rows[r.Domain] = d
	}
	keyed(j, lsm.Domains(), slices.Collect(maps.Values(rows)))
}

// keyed writes whole rows of a table without deltas.
func keyed[R any](j *Job, t lsm.Table[R], rows []R) {
	var superseded []lsm.Ref
	name := func(r *R) string { return t.Name + string(t.Key(r).Append(nil)) }
	for i := range rows {
		superseded = append(superseded, j.b.places[name(&rows[i])]...)
	}
	run(j, t, rows, superseded)
	for i := range rows {
		j.b.places[name(&rows[i])] = []lsm.Ref{{Object: j.key("reduce", t.Name), Row: int64(i)}}
	}
}

// queues consumes the partitions of the listed URLs, and queues what waits there
// and what has a new ticket.
func (j *Job) queues() {
	popped := map[int32]bool{}
	for _, l := range j.Lists {
		popped[l.Partition] = true
	}
	for _, r := range j.b.Manifest.Frontier {
		left := int64(0)
		for _, o := range r.Objects {
			cursor := make([]int64, len(o.Counts))
			copy(cursor, o.Cursor)
			for i := range cursor {
				if popped[int32(o.Range.Lo)+int32(i)] {
					cursor[i] = o.Counts[i]
				}
			}
			j.edit.Cursors[o.Key], o.Cursor = cursor, cursor
			left += o.Left()
		}
		if left == 0 {
			j.edit.RemoveFrontier = append(j.edit.RemoveFrontier, r.Kind+"/"+r.ID)
		}
	}
	var waiting, ready []schema.FrontierRow
	for _, r := range j.b.known {
		if r.Queued == 0 || !popped[r.Partition] && r.Queued != int64(j.N) {
			continue
		}
		f := schema.FrontierRow{Partition: r.Partition, Domain: r.Domain, Host: r.Host, URL: r.URL,
			Priority: r.Priority, Depth: r.Depth, Due: r.NextCrawl, Rank: r.QueuedRank, Ticket: r.Queued, Why: r.Why}
		if r.NextCrawl <= j.Now {
			ready = append(ready, f)
		} else {
			waiting = append(waiting, f)
		}
	}
	j.queue(schema.Waiting, waiting, lsm.CompareWaiting)
	j.queue(schema.Ready, ready, lsm.CompareReady)
}

func (j *Job) queue(kind string, rows []schema.FrontierRow, compare func(a, b *schema.FrontierRow) int) {
	if len(rows) == 0 {
		return
	}
	slices.SortFunc(rows, func(x, y schema.FrontierRow) int { return compare(&x, &y) })
	var buf bytes.Buffer
	w := lsm.NewQueueWriter(kind, &buf, j.key("reduce", kind), layout.All, rowfile.Options{})
	for i := range rows {
		check(w.Write(&rows[i]))
	}
	o, err := w.Finish()
	check(err)
	j.b.Store[o.Key] = buf.Bytes()
	j.edit.AddFrontier = append(j.edit.AddFrontier, lsm.QueueRun{ID: fmt.Sprintf("r%08d", j.N), Kind: kind,
		Seq: j.N, Objects: []lsm.QueueObject{o}})
}

// parts writes the append tables and the archive.
func (j *Job) parts() {
	tables := j.edit.Part.Tables
	put := func(table string, o *lsm.Object) {
		if o != nil {
			tables[table] = []lsm.Object{*o}
		}
	}
	put(schema.Lists, appendTable(j, "generate", schema.Lists, j.Lists, func(a, b *schema.List) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), byURL(a.Domain, a.Host, a.URL, b.Domain, b.Host, b.URL))
	}))
	put(schema.Fetches, appendTable(j, "reduce", schema.Fetches, j.Fetches, func(a, b *schema.Fetch) int {
		return byURL(a.Domain, a.Host, a.URL, b.Domain, b.Host, b.URL)
	}))
	put(schema.Pages, appendTable(j, "reduce", schema.Pages, j.Pages, func(a, b *schema.Page) int {
		return byURL(a.Domain, a.Host, a.URL, b.Domain, b.Host, b.URL)
	}))
	put(schema.Links, appendTable(j, "reduce", schema.Links, j.Links, func(a, b *schema.Link) int {
		return byURL(a.SrcDomain, a.SrcHost, a.SrcURL, b.SrcDomain, b.SrcHost, b.SrcURL)
	}))
	put(schema.Seeds, appendTable(j, "inject", schema.Seeds, j.Seeds, func(a, b *schema.Seed) int {
		return byURL(a.Domain, a.Host, a.URL, b.Domain, b.Host, b.URL)
	}))
	put(schema.DeadLetters, appendTable(j, "reduce", schema.DeadLetters, j.DeadLetters, func(a, b *schema.DeadLetter) int {
		return byURL(a.Domain, a.Host, a.URL, b.Domain, b.Host, b.URL)
	}))
	reasons := map[string]int64{}
	for _, f := range j.Fetches {
		reasons[f.Reason]++
	}
	rounds := []schema.RoundRow{{Round: int64(j.N), Kind: j.Kind, Spec: "{}", Submitted: j.Now, Ended: j.Now + 600_000,
		Outcome: "committed", Counts: reasons}}
	put(schema.Rounds, appendTable(j, "publish", schema.Rounds, rounds, func(a, b *schema.RoundRow) int { return 0 }))
	if j.warc != nil {
		j.b.Store[j.warcKey()] = j.archive.Bytes()
		j.edit.Part.WARC = []lsm.WARCFile{{Key: j.warcKey(), Bytes: int64(j.archive.Len())}}
	}
}

func byURL(d1, h1, u1, d2, h2, u2 string) int {
	return cmp.Or(cmp.Compare(d1, d2), cmp.Compare(h1, h2), cmp.Compare(u1, u2))
}
