package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/mapper/http1"
	"seine/mapper/polite"
	"seine/mapper/resolve"
)

// answer is how an exchange ended: with a response, or with a reason.
type answer struct {
	response *http1.Response
	reason   schema.Reason // without a response
	at       time.Time     // of its last byte, or of giving up
	manners  polite.Outcome
	started  time.Time
	public   bool // the address is public
	// nothingSent: it failed before a byte of the request left.
	nothingSent bool
	unconnected bool // there was no connection: another address may have one
	canceled    bool // stopped from outside: no outcome
	cut         bool // canceled when the server may have seen the request
	stale       bool // a kept connection was dead: ask again in a new slot
	ours        bool // this machine had no room for a connection: ask again in a new slot
	noContact   bool
	block       *settings.Block // it is blocked, or was cut off by a block
}

func (x *answer) status() int {
	if x.response == nil {
		return 0
	}
	return x.response.Status
}

// exchange asks for one URL: name, address, limits of the address, request. It
// fills in what o.Fetch says of the way. The caller closes the response.
func (f *fetcher) exchange(ctx context.Context, u weburl.Normal, header http1.Header,
	o *outcome) *answer {
	x := &answer{started: time.Now()}
	defer func() {
		if x.at.IsZero() {
			x.at = time.Now()
		}
		f.describe(&o.Fetch, x)
	}()
	if err := f.lease.Gate(); err != nil {
		f.stopQueue() // it never opens again: without this, the queue would grant for ever
		return x.cancel()
	}
	ctx, land, block := f.takeOff(ctx, u, o.Fetch.Kind)
	if block != nil {
		return x.blocked(block)
	}
	defer land()
	usable := f.addresses(ctx, u, o, x)
	x.started = time.Now()
	for i, e := range usable {
		f.try(ctx, u, header, o, x, e)
		// A connection that did not come about has asked for nothing: the host's next
		// address may have it, as long as the time for connecting lasts.
		if !x.unconnected || i+1 == len(usable) ||
			time.Since(x.started) >= f.set.ConnectTimeout.D() {
			break
		}
		*x, o.Fetch.Detail = answer{started: x.started}, ""
	}
	return x
}

// try asks one address.
func (f *fetcher) try(ctx context.Context, u weburl.Normal, header http1.Header, o *outcome,
	x *answer, e endpoint) {
	if x.public = e.public; x.public { // an allowed network is the operator's own
		release, err := f.env.Addresses.Acquire(ctx, e.addr)
		if err != nil {
			x.cancelBy(ctx)
			return
		}
		defer release()
	}
	port := u.Port
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	o.Fetch.IP = e.addr.String()
	req := &http1.Request{Scheme: u.Scheme, Host: u.Authority,
		ServerName: strings.Trim(u.Host, "[]"), Addr: net.JoinHostPort(e.addr.String(), port),
		Target: u.Path, Header: header, Pool: u.Scheme + "://" + u.Authority + " " + e.addr.String(),
		Gate: f.lease.Gate, Pace: f.pace(&o.Fetch)}
	if o.Fetch.Kind == kindSitemap {
		req.MaxBody = max(maxSitemapBytes, f.set.MaxBody)
	}
	f.dress(req, u, o.Fetch.Kind)
	var err error
	if x.response, err = f.client.Do(ctx, req); err != nil {
		f.failed(ctx, x, err, &o.Fetch)
		return
	}
	x.at = x.response.EndOfAnswer
	x.manners = f.mannersOf(x)
}

// addresses resolves the host and picks what may be dialled; none where x says why.
func (f *fetcher) addresses(ctx context.Context, u weburl.Normal, o *outcome,
	x *answer) []endpoint {
	found, err := f.env.Resolver.Lookup(ctx, strings.Trim(u.Host, "[]"))
	o.Fetch.DNS = int32(found.Took.Milliseconds())
	if err != nil {
		x.nothingSent = true
		x.manners.Kind = polite.ConnectFailure
		switch {
		case ctx.Err() != nil:
			x.cancelBy(ctx)
		case errors.Is(err, resolve.ErrNotFound):
			// Nobody was troubled: a domain of a thousand dead names is no reason to
			// rest its living ones.
			x.reason, x.manners.Kind = schema.DNSNotFound, polite.Unsent
		case errors.Is(err, resolve.ErrTimeout):
			x.reason = schema.DNSTimeout
		default:
			x.reason = schema.DNSFailed
		}
		o.Fetch.Detail = bounded(err.Error(), 200)
		return nil
	}
	usable := endpoints(found.Addrs, f.allow)
	if len(usable) == 0 {
		x.reason, x.nothingSent, x.manners.Kind = schema.Private, true, polite.Unsent
		o.Fetch.IP = found.Addrs[0].String()
		return nil
	}
	isPublic := func(e endpoint) bool { return e.public }
	if f.set.Contact == "" {
		if usable = slices.DeleteFunc(usable, isPublic); len(usable) == 0 {
			x.noContact, x.nothingSent, x.manners.Kind = true, true, polite.Unsent
			return nil
		}
	}
	g := group(f.set.GroupByHost, o.Fetch.Domain, o.Fetch.Host)
	if slices.ContainsFunc(usable, isPublic) && f.delay(g) < publicFloor {
		f.runner.With(func(q *polite.Queue[int32]) { q.SetDelay(g, publicFloor) })
	}
	return usable
}

// blocked ends an exchange that a block forbids, before a request left.
func (x *answer) blocked(b *settings.Block) *answer {
	x.block, x.reason, x.nothingSent, x.manners.Kind = b, schema.Blocked, true, polite.Unsent
	return x
}

// cancelBy ends an exchange whose context has ended: by a block, or from outside.
func (x *answer) cancelBy(ctx context.Context) *answer {
	var cut *blockedError
	if errors.As(context.Cause(ctx), &cut) {
		return x.blocked(&cut.Block)
	}
	return x.cancel()
}

func (x *answer) cancel() *answer {
	x.canceled, x.manners.Kind = true, polite.Unsent
	return x
}

// reasons of the transport's codes.
var reasons = map[http1.Code]schema.Reason{
	http1.CodeDial:           schema.Unreachable,
	http1.CodeConnectRefused: schema.ConnectRefused,
	http1.CodeConnectTimeout: schema.ConnectTimeout,
	http1.CodeUnreachable:    schema.Unreachable,
	http1.CodeCertificate:    schema.TLSCertificate,
	http1.CodeHandshake:      schema.TLSHandshake,
	http1.CodeReset:          schema.Reset,
	http1.CodeEOF:            schema.Reset,
	http1.CodeFirstByte:      schema.Timeout,
	http1.CodeTotal:          schema.Timeout,
	http1.CodeTooSlow:        schema.TooSlow,
	http1.CodeHeaderTooLarge: schema.HeaderTooLarge,
	http1.CodeMalformed:      schema.Malformed,
	http1.CodeRequest:        schema.Malformed,
}

// failed says what an exchange without a response means.
func (f *fetcher) failed(ctx context.Context, x *answer, err error, row *schema.Fetch) {
	x.at = time.Now()
	var e *http1.Error
	if !errors.As(err, &e) {
		if ctx.Err() != nil {
			x.cancel()
			return
		}
		f.seal.fail(fmt.Errorf("ask for %s: %w", row.URL, err)) // no room on scratch
		x.cancel()
		x.cut, x.manners.Kind = true, polite.Failed
		return
	}
	row.Detail = bounded(e.Error(), 200)
	switch {
	case e.Code == http1.CodeCanceled || e.Code == http1.CodeGate || errors.Is(err,
		jobs.ErrLeaseLost):
		x.cancelBy(ctx)
		if x.cut = e.Sent; x.cut { // the server may have seen it: the slot is used
			x.nothingSent = false
			x.manners.Kind = polite.Failed
		}
		return
	case !e.Sent && exhausted(err):
		x.ours, x.manners.Kind = true, polite.Failed
		return
	case e.Code == http1.CodeStale:
		x.stale, x.manners.Kind = true, polite.Failed
		return
	}
	x.reason = reasons[e.Code]
	if x.reason == "" {
		x.reason = schema.Malformed
	}
	x.nothingSent, x.unconnected = !e.Sent, !e.Sent && e.Phase == http1.PhaseDial
	x.manners.Kind = polite.Failed
	if !e.Sent {
		x.manners.Kind = polite.ConnectFailure
	}
}

// exhausted says whether a connection failed for want of something that this
// machine has not, or too little of: no server is to blame for that.
func exhausted(err error) bool {
	for _, lack := range []error{http1.ErrWay, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.EADDRNOTAVAIL} {
		if errors.Is(err, lack) {
			return true
		}
	}
	return false
}

// mannersOf says what a response means for its group. A server that refuses and
// says for how long is heard whatever the status.
func (f *fetcher) mannersOf(x *answer) polite.Outcome {
	r := x.response
	after, asked := polite.ParseRetryAfter(r.Header.Get("Retry-After"), x.at)
	switch {
	case r.Status == 429, r.Status == 503, r.Status >= 400 && asked:
		o := polite.Outcome{Kind: polite.BackOff}
		if asked {
			o.RetryAfter = after
		}
		return o
	case r.Status >= 500, r.Fault != nil:
		return polite.Outcome{Kind: polite.Failed}
	}
	return polite.Outcome{Kind: polite.OK}
}

// describe writes the exchange's facts into its row.
func (f *fetcher) describe(row *schema.Fetch, x *answer) {
	row.StartedAt = toMS(x.started)
	// Rounded so that started_at + duration_ms is never before the end: manners are counted from it.
	row.Duration = int32(toMS(x.at.Add(time.Millisecond-1)) - row.StartedAt)
	row.Waited = max(x.started.Sub(f.started).Milliseconds(), 0)
	row.Reason = x.reason
	if r := x.response; r != nil {
		row.HTTPStatus = int32(r.Status)
		row.Protocol = r.Proto
		if own, err := netip.ParseAddrPort(r.LocalAddr); err == nil && len(f.set.SourceAddrs) > 0 {
			row.SourceIP = own.Addr().Unmap().String()
		}
		row.Connect = int32((r.Connect + r.TLS).Milliseconds())
		row.TTFB = int32(r.TTFB.Milliseconds())
		row.Bytes = r.RawBody.Size()
	}
	switch {
	case x.block != nil:
		blockedRow(row, x.block)
		if row.Kind == kindRobots {
			row.RetryAt = 0
		}
	case x.manners.Kind == polite.BackOff:
		row.RetryAt = toMS(x.at.Add(f.pauseOf(row, x)))
	case x.cut:
		row.RetryAt = toMS(x.at.Add(f.delayNow(row) + time.Millisecond))
	}
}

// pace says how long to wait after bytes of an answer, by the caps on bandwidth.
func (f *fetcher) pace(row *schema.Fetch) func(n int) time.Duration {
	if f.env.Bandwidth == nil {
		return nil
	}
	g := group(f.set.GroupByHost, row.Domain, row.Host)
	return func(n int) time.Duration { return f.env.Bandwidth.Take(g, n) }
}

// pauseOf is how long the group will pause after this answer.
func (f *fetcher) pauseOf(row *schema.Fetch, x *answer) time.Duration {
	if x.manners.RetryAfter > 0 {
		return x.manners.RetryAfter
	}
	var pause time.Duration
	f.runner.With(func(q *polite.Queue[int32]) {
		pause = q.State(group(f.set.GroupByHost, row.Domain, row.Host)).Pause
	})
	return min(max(2*pause, time.Minute), polite.MaxRetryAfter)
}

// delayNow is the delay in force for a row's group.
func (f *fetcher) delayNow(row *schema.Fetch) (d time.Duration) {
	f.runner.With(func(q *polite.Queue[int32]) {
		d = q.Delay(group(f.set.GroupByHost, row.Domain, row.Host))
	})
	return d
}

// redirectTarget resolves a redirect's Location to its normal form.
func redirectTarget(r *http1.Response, from weburl.Normal) (string, bool) {
	if r == nil || !redirects(r.Status) {
		return "", false
	}
	location := r.Header.Get("Location")
	base, err := weburl.Parse(from.URL)
	if err != nil || location == "" {
		return "", false
	}
	u, err := base.Resolve(location)
	if err != nil {
		return "", false
	}
	return u.Normalize(weburl.Options{}).URL, true
}

func redirects(status int) bool {
	switch status {
	case 300, 301, 302, 303, 307, 308:
		return true
	}
	return false
}

func bounded(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "?")
}
