package fetch

import (
	"cmp"
	"context"
	"time"

	"seine/formats/robotstxt"
	"seine/formats/schema"
	"seine/formats/weburl"
	"seine/mapper/http1"
	"seine/mapper/polite"
	"seine/mapper/robots"
)

// authority is what the task knows of one scheme, host and port.
type authority struct {
	name      string // "https://a.test:8443"
	domain    string
	host      string
	group     string
	partition int32

	// Below: guarded by fetcher.mu.
	record    robots.Record
	rules     robotstxt.Rules
	followed  bool            // a page was asked for since robots.txt was
	dead      schema.Reason   // why nothing could be asked at all; "" unless so
	noContact bool            // its address is public, and no contact is set
	hop       string          // where robots.txt redirected to; "" before
	hops      int             // redirects followed so far
	source    string          // the URL that the rules were read from
	sitemaps  map[string]bool // asked for, or refused, in this task
}

func (f *fetcher) newAuthority(name string, row *schema.Robots, followed bool) *authority {
	a := &authority{name: name, sitemaps: map[string]bool{}, followed: followed}
	if u, err := weburl.Normalize(name+"/", weburl.Options{}); err == nil {
		a.host = u.Host
		a.domain = f.env.Suffixes.Domain(u.Host)
		a.partition = int32(weburl.Partition(a.domain))
		a.group = group(f.set.GroupByHost, a.domain, a.host)
	}
	if row != nil {
		a.record = robots.RecordOf(row)
		a.rules = a.record.Rules(f.token(a.group))
		a.dead = row.Reason
	}
	return a
}

// authorityOf finds or makes the authority of a URL.
func (f *fetcher) authorityOf(u weburl.Normal) *authority {
	name := u.Scheme + "://" + u.Authority
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.authorities[name]
	if a == nil {
		a = f.newAuthority(name, nil, false)
		f.authorities[name] = a
	}
	return a
}

// delayOf is the delay that an authority's robots.txt leads to.
func (f *fetcher) delayOf(a *authority) time.Duration {
	d := f.delay(a.group)
	if asked, ok := a.rules.Group.CrawlDelay(); ok {
		d = max(d, f.heeded(a.group, asked))
	}
	return d
}

// fresh says whether the authority's robots.txt decides, at now.
func (f *fetcher) fresh(a *authority, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return a.record.Outcome != robotstxt.Unknown && a.record.Fresh(now, a.followed)
}

// askRobots puts a granted page back behind its authority's robots.txt.
func (f *fetcher) askRobots(g polite.Grant[int32], a *authority) {
	item := f.addExtra(extra{authority: a})
	f.runner.With(func(q *polite.Queue[int32]) {
		q.PutBack(g)
		q.AddFirst(g.Group, time.Time{}, 0, item)
	})
}

// addExtra gives an extra item its number.
func (f *fetcher) addExtra(x extra) int32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.extra = append(f.extra, x)
	return -int32(len(f.extra))
}

// sendRobots asks for robots.txt, or for the next hop towards it.
func (f *fetcher) sendRobots(ctx context.Context, a *authority) (time.Time, polite.Outcome) {
	f.mu.Lock()
	target, hops, earlier := a.hop, a.hops, a.record
	f.mu.Unlock()
	if now := time.Now(); target == "" && f.fresh(a, now) {
		return now, polite.Outcome{Kind: polite.Unsent} // several waited for it, and it has come
	}
	if target == "" {
		target = a.name + "/robots.txt"
	}
	u, err := normal(target)
	if err != nil {
		return time.Now(), polite.Outcome{Kind: polite.Unsent}
	}
	o := f.beginExtra(a, kindRobots, target)
	x := f.exchange(ctx, u, nil, o)
	if x.block != nil && hops == 0 {
		// Its pages are blocked as well, and end so at their turn; of the file
		// nothing was learned.
		f.recordCut(ctx, o, x)
		return x.at, x.manners
	}
	if x.noContact {
		f.mu.Lock()
		a.noContact = true
		f.mu.Unlock()
		return x.at, x.manners
	}
	switch {
	case x.stale || x.ours:
		f.againFirst(a, extra{authority: a})
		return x.at, x.manners
	case x.canceled:
		f.recordCut(ctx, o, x)
		return x.at, x.manners
	}
	if x.response != nil {
		defer f.holdBody()()
	}
	if hop, ok := redirectTarget(x.response, u); ok && hop != u.URL && hops < robots.MaxRedirects {
		o.Fetch.Reason, o.Fetch.RedirectTo = schema.Redirected, hop
		f.mu.Lock()
		a.hop, a.hops = hop, hops+1
		f.mu.Unlock()
		f.recordExtra(ctx, o, x)
		f.againFirst(a, extra{authority: a})
		return x.at, x.manners
	}
	if hops > 0 && x.manners.Kind == polite.ConnectFailure {
		x.manners.Kind = polite.Failed // it was another's host that is not there
	}
	f.decided(a, robots.Policy(robotsFetch(x), earlier, x.at), x)
	o.Fetch.Final = true
	o.Robots = a.row(int64(f.task.Spec.Job))
	f.recordExtra(ctx, o, x)
	f.learned(a)
	return x.at, x.manners
}

// robotsFetch is the end of an exchange for robots.txt as policy sees it. One
// that broke before the first byte of the file told nothing.
func robotsFetch(x *answer) robots.Fetch {
	r := x.response
	if r == nil {
		return robots.Fetch{}
	}
	cut := r.Truncated != "" && r.Truncated != http1.TruncatedLength
	if cut && r.Body.Size() == 0 {
		return robots.Fetch{RetryAfter: x.manners.RetryAfter}
	}
	return robots.Fetch{Status: r.Status, Body: readUpTo(r.Body, robotstxt.MaxBytes+1), Cut: cut,
		RetryAfter: x.manners.RetryAfter}
}

// decided stores what robots.txt came down to.
func (f *fetcher) decided(a *authority, r robots.Record, x *answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Outcome == robotstxt.Parsed || r.Outcome == robotstxt.AllowAll {
		if ttl := f.set.RobotsTTL.D(); ttl < robots.Lifetime {
			r.Expires = r.FetchedAt.Add(ttl)
		}
	}
	a.record, a.rules = r, r.Rules(f.token(a.group))
	a.dead = ""
	if x.response == nil && x.nothingSent && a.hops == 0 {
		a.dead = x.reason // no name, no connection: the pages' own end, too
	}
	a.source = cmp.Or(a.hop, a.name+"/robots.txt")
	a.followed, a.hop, a.hops = false, "", 0
}

// learned applies a new robots.txt to the queue: its delay, its sitemaps.
func (f *fetcher) learned(a *authority) {
	delay := f.delayOf(a)
	f.runner.With(func(q *polite.Queue[int32]) { q.SetDelay(a.group, delay) })
	if a.record.Outcome == robotstxt.Parsed {
		for _, raw := range a.record.File().Sitemaps() {
			f.addSitemap(a, a.source, raw, 0)
		}
	}
}

// againFirst queues an item in front of its group.
func (f *fetcher) againFirst(a *authority, x extra) {
	item := f.addExtra(x)
	f.runner.With(func(q *polite.Queue[int32]) { q.AddFirst(a.group, time.Time{}, 0, item) })
}

// row is the authority as the table robots keeps it.
func (a *authority) row(round int64) *schema.Robots {
	r := a.record
	var delay time.Duration
	if asked, ok := a.rules.Group.CrawlDelay(); ok {
		delay = asked
	}
	return &schema.Robots{Partition: a.partition, Domain: a.domain, Authority: a.name,
		Status: r.Outcome.String(), HTTPStatus: int32(r.Status), Reason: a.dead,
		Text: string(r.Text), CrawlDelay: delay.Milliseconds(),
		FetchedAt: toMS(r.FetchedAt), Expires: toMS(r.Expires), Failures: int32(r.Failures),
		FirstFail: toMS(r.UnreachableSince), Sitemaps: r.File().Sitemaps(), Round: round}
}
