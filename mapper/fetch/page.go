package fetch

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"seine/formats/schema"
	"seine/formats/warc"
	"seine/formats/weburl"
	"seine/mapper/extract"
	"seine/mapper/http1"
	"seine/mapper/polite"
)

// send carries out one grant of the queue.
func (f *fetcher) send(ctx context.Context, g polite.Grant[int32]) (time.Time, polite.Outcome) {
	if ctx.Err() != nil {
		return time.Now(), polite.Outcome{Kind: polite.Unsent}
	}
	if g.Item >= 0 {
		return f.sendPage(ctx, g)
	}
	f.mu.Lock()
	x := f.extra[-g.Item-1]
	f.mu.Unlock()
	if x.sitemap != "" {
		return f.sendSitemap(ctx, g, x)
	}
	return f.sendRobots(ctx, x.authority)
}

// sendPage asks for a URL of the list, if robots.txt allows it.
func (f *fetcher) sendPage(ctx context.Context, g polite.Grant[int32]) (time.Time,
	polite.Outcome) {
	now, unsent := time.Now(), polite.Outcome{Kind: polite.Unsent}
	row := &f.rows[g.Item]
	u, err := normal(row.URL)
	if err != nil { // the lists are ours: only damage can do this
		return now, f.refuse(ctx, g.Item, schema.Malformed, "", err.Error())
	}
	if b := f.handles.Load().blocks.Find(u); b != nil {
		return now, f.refuseBlock(ctx, g.Item, b)
	}
	a := f.authorityOf(u)
	if f.leaveForContact(a, g.Item) {
		return now, unsent
	}
	if !f.fresh(a, now) {
		f.askRobots(g, a)
		return now, unsent
	}
	if reason, rule, detail := f.forbidden(a, u); reason != "" {
		return now, f.refuse(ctx, g.Item, reason, rule, detail)
	}
	o := f.outcomeOf(row, now)
	x := f.exchange(ctx, u, validators(row), o)
	if x.response != nil {
		defer x.response.Close()
	}
	switch {
	case x.ours, x.stale && f.once(g.Item):
		f.runner.With(func(q *polite.Queue[int32]) {
			q.AddFirst(g.Group, time.Time{}, 0, g.Item)
		})
		return x.at, x.manners
	case x.noContact:
		f.mu.Lock()
		a.noContact, f.noContact[g.Item] = true, true
		f.mu.Unlock()
		return x.at, x.manners
	case x.canceled:
		f.recordCut(ctx, o, x)
		return x.at, x.manners
	case x.stale:
		o.Fetch.Reason = schema.Reset
	}
	f.mu.Lock()
	a.followed = true
	f.mu.Unlock()
	if x.response != nil {
		defer f.holdBody()()
		f.judge(row, u, x, o)
	}
	o.Fetch.Final = true
	f.record(ctx, g.Item, o)
	return x.at, x.manners
}

// forbidden says why a URL is not asked for, if it is not: the end of its
// robots.txt, or the rule that forbids it.
func (f *fetcher) forbidden(a *authority, u weburl.Normal) (
	reason schema.Reason, rule, detail string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	decision := a.rules.Decide(u.Path)
	switch {
	case a.dead != "":
		return a.dead, "", "when its robots.txt was asked for"
	case decision.Allowed:
		return "", "", ""
	case decision.Rule != "":
		return schema.RobotsDenied, decision.Cite(a.name), ""
	}
	return schema.RobotsUnreachable, "", a.record.Outcome.String()
}

// leaveForContact leaves a URL whose authority may not be asked without a
// contact.
func (f *fetcher) leaveForContact(a *authority, item int32) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noContact[item] = f.noContact[item] || a.noContact
	return a.noContact
}

// contactless says whether an authority was found to need a contact.
func (f *fetcher) contactless(a *authority) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return a.noContact
}

// holdBody waits for a place among the bodies that may be in memory at once, and
// gives it back when done. A place is held until the outcome is in the spool, so
// that a full spool stops the reading of bodies, not only their parsing.
func (f *fetcher) holdBody() (done func()) {
	f.parsers <- struct{}{}
	return func() { <-f.parsers }
}

// once says whether an item was not asked again before.
func (f *fetcher) once(item int32) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.again[item]++
	return f.again[item] == 1
}

// refuse ends a URL that is not asked for.
func (f *fetcher) refuse(ctx context.Context, item int32, r schema.Reason, rule,
	detail string) polite.Outcome {
	o := f.outcomeOf(&f.rows[item], time.Now())
	o.Fetch.Reason, o.Fetch.Rule, o.Fetch.Detail, o.Fetch.Final = r, rule, detail, true
	f.record(ctx, item, o)
	return polite.Outcome{Kind: polite.Unsent}
}

// validators makes the request conditional when a body is held.
func validators(row *schema.List) http1.Header {
	var h http1.Header
	if row.BlobPath == "" {
		return nil
	}
	if row.ETag != "" {
		h = append(h, [2]string{"If-None-Match", row.ETag})
	}
	if row.LastModified != "" {
		h = append(h, [2]string{"If-Modified-Since", row.LastModified})
	}
	return h
}

// judge turns a response into the outcome: reason, page, links, archive.
func (f *fetcher) judge(row *schema.List, u weburl.Normal, x *answer, o *outcome) {
	r := x.response
	o.Web = f.archived(u, x, o)
	switch {
	case r.Status == 304 && row.BlobPath != "":
		o.Fetch.Reason, o.Fetch.Change = schema.NotModified, schema.ChangeNotModified
		o.Web.Revisit = &warc.Original{URI: row.URL, Date: fromMS(row.LastCrawled)}
	case redirects(r.Status):
		f.redirected(u, x, o)
	case r.Status >= 200 && r.Status < 300:
		f.parse(row, u, x, o)
	default:
		o.Fetch.Reason = reasonOf(r.Status, x.manners.RetryAfter > 0)
	}
}

// reasonOf is the reason of a status that gives no page.
func reasonOf(status int, retryAfter bool) schema.Reason {
	switch status {
	case 401:
		return schema.Unauthorized
	case 403:
		return schema.Forbidden
	case 404:
		return schema.NotFound
	case 410:
		return schema.Gone
	case 429:
		return schema.TooMany
	case 503:
		if retryAfter {
			return schema.UnavailableFor
		}
		return schema.Unavailable
	}
	switch {
	case status >= 400 && status < 500:
		return schema.ClientError
	case status >= 500 && status < 600:
		return schema.ServerError
	}
	return schema.OddStatus
}

// redirected records where a redirect leads.
func (f *fetcher) redirected(u weburl.Normal, x *answer, o *outcome) {
	r := x.response
	o.Fetch.Redirect = strconv.Itoa(r.Status)
	location := bounded(r.Header.Get("Location"), 2048)
	target, ok := redirectTarget(r, u)
	switch {
	case !ok:
		o.Fetch.Reason, o.Fetch.RedirectTo = schema.RedirectBad, location
		o.Fetch.Detail = "no usable Location"
		return
	case target == u.URL:
		o.Fetch.Reason, o.Fetch.RedirectTo = schema.RedirectLoop, target
		return
	}
	o.Fetch.Reason, o.Fetch.RedirectTo = schema.Redirected, target
	// A redirect is the same page in another place: depth and priority go along.
	l := f.link(o, target, extract.KindRedirect, o.Source.Depth, false)
	if location != target {
		l.Href = location
	}
	o.Fetch.Detail = ""
	if l.Verdict != schema.Accepted {
		o.Fetch.Detail = "its target is " + l.Verdict
	}
	o.links = append(o.links, l)
}

// archived takes the bytes of an exchange for the WARC.
func (f *fetcher) archived(u weburl.Normal, x *answer, o *outcome) *exchange {
	r := x.response
	body, err := r.RawBody.Bytes()
	if err != nil {
		body = nil // scratch failed; the row still says what came
	}
	e := &exchange{Date: x.started.UTC(), IP: o.Fetch.IP, Truncated: r.RawTruncated,
		request: r.RawRequest, header: r.RawHeader, body: body}
	e.Protocols, e.Cipher = r.Spoken()
	if err != nil {
		e.Truncated = http1.TruncatedUnspecified
	}
	return e
}

// readUpTo reads at most n bytes of a body.
func readUpTo(s *http1.Spool, n int64) []byte {
	b, err := io.ReadAll(io.LimitReader(s.Reader(), n))
	if err != nil && !errors.Is(err, io.EOF) {
		return b
	}
	return b
}
