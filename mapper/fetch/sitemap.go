package fetch

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"seine/formats/schema"
	"seine/formats/weburl"
	"seine/mapper/extract"
	"seine/mapper/polite"
)

// Bounds on the sitemaps of one authority in one round, and on indexes of
// indexes: each takes a slot of its group.
const (
	maxSitemaps     = 50
	maxSitemapLevel = 2
	// maxSitemapBytes is the largest sitemap that sitemaps.org allows, unpacked: ten
	// times what is kept of a page.
	maxSitemapBytes = 50 << 20
)

// addSitemap queues a sitemap that robots.txt or an index names. Only those of
// the same politeness group are read: another's has its own owner.
func (f *fetcher) addSitemap(a *authority, base, raw string, level int) {
	from, err := weburl.Parse(base)
	if err != nil {
		return
	}
	resolved, err := from.Resolve(raw)
	if err != nil {
		return
	}
	u := resolved.Normalize(weburl.Options{})
	if !f.follows(u) {
		return
	}
	domain := f.env.Suffixes.Domain(u.Host)
	f.mu.Lock()
	ok := group(f.set.GroupByHost, domain, u.Host) == a.group && len(a.sitemaps) < maxSitemaps &&
		!a.sitemaps[u.URL] && level <= maxSitemapLevel && len(u.URL) <= f.set.MaxURLLength
	if ok {
		a.sitemaps[u.URL] = true
	}
	f.mu.Unlock()
	if ok {
		f.againFirst(a, extra{authority: a, sitemap: u.URL, level: level})
	}
}

// sendSitemap asks for a sitemap, if the robots.txt of its authority allows it.
func (f *fetcher) sendSitemap(ctx context.Context, g polite.Grant[int32], x extra) (time.Time,
	polite.Outcome) {
	now := time.Now()
	u, err := normal(x.sitemap)
	if err != nil {
		return now, polite.Outcome{Kind: polite.Unsent}
	}
	a := f.authorityOf(u)
	unsent := polite.Outcome{Kind: polite.Unsent}
	switch {
	case f.handles.Load().blocks.Find(u) != nil, f.contactless(a), slices.Contains(f.task.Suspects, x.sitemap):
		return now, unsent
	case !f.fresh(a, now):
		// Put back, it would stand before the robots.txt that it waits for.
		f.againFirst(a, extra{authority: a})
		f.againFirst(a, x)
		return now, unsent
	}
	o := f.beginExtra(x.authority, kindSitemap, x.sitemap)
	o.Fetch.Domain, o.Fetch.Host = a.domain, a.host
	// Not First: a sitemap is read again and again, and is nobody else's word.
	o.Source = source{Priority: 0.5, Seed: "sitemap"}
	f.mu.Lock()
	decision := a.rules.Decide(u.Path)
	f.mu.Unlock()
	if !decision.Allowed {
		o.Fetch.Reason, o.Fetch.Rule, o.Fetch.StartedAt = schema.RobotsDenied, decision.Rule, toMS(now)
		f.recordExtra(ctx, o, &answer{at: now, started: now})
		return now, unsent
	}
	res := f.exchange(ctx, u, nil, o)
	switch {
	case res.stale || res.ours:
		f.againFirst(x.authority, x)
		return res.at, res.manners
	case res.canceled:
		f.recordCut(ctx, o, res)
		return res.at, res.manners
	case res.noContact:
		return res.at, res.manners
	}
	if res.response != nil {
		defer f.holdBody()()
	}
	f.readSitemap(x, u, res, o)
	f.recordExtra(ctx, o, res)
	return res.at, res.manners
}

// readSitemap turns a sitemap's entries into links, and queues what it names.
func (f *fetcher) readSitemap(x extra, u weburl.Normal, res *answer, o *outcome) {
	r := res.response
	if r == nil {
		return
	}
	o.Fetch.Reason = reasonOf(r.Status, res.manners.RetryAfter > 0)
	if redirects(r.Status) {
		o.Fetch.Reason = schema.RedirectBad
		if target, ok := redirectTarget(r, u); ok {
			o.Fetch.Reason, o.Fetch.RedirectTo = schema.Redirected, target
			f.addSitemap(x.authority, u.URL, target, x.level+1)
		}
		return
	}
	if r.Status < 200 || r.Status > 299 {
		return
	}
	o.Fetch.Reason = schema.OK
	body, err := r.Body.Bytes()
	if err != nil {
		o.Fetch.Reason, o.Fetch.Detail = schema.Disconnected, bounded(err.Error(), 200)
		return
	}
	s, err := f.parseSitemap(u, contentType(r), body)
	if err != nil {
		o.Fetch.Reason, o.Fetch.Detail = schema.Crashed, bounded(err.Error(), 200)
		return
	}
	for _, entry := range s.URLs {
		l := f.link(o, entry.Loc, extract.KindSitemap, 1, false)
		if l.Verdict == schema.Accepted && l.DstDomain != x.authority.domain {
			// sitemaps.org: who does not own a site cannot submit its pages.
			l.Verdict, l.Rule = schema.LinkOutOfScope, "another site's sitemap"
		}
		l.Rel = bounded(entry.LastMod, 64)
		o.links = append(o.links, l)
	}
	for _, next := range s.Sitemaps {
		f.addSitemap(x.authority, u.URL, next, x.level+1)
	}
	o.Fetch.Detail = s.Format + " of " + strconv.Itoa(len(s.URLs)+len(s.Sitemaps)) + " entries"
	if r.Fault != nil {
		o.Fetch.Reason = faultReason(r.Fault)
	}
}

// parseSitemap reads a sitemap; a panic of the parser is the sitemap's end.
func (f *fetcher) parseSitemap(u weburl.Normal, kind string,
	body []byte) (s extract.SitemapResult, err error) {
	defer f.parsing(u.URL)()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the parser failed: %v", v)
		}
	}()
	return extract.Sitemap(body, kind, u.URL, extract.Limits{SitemapBytes: maxSitemapBytes}), nil
}
