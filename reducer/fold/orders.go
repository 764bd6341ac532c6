package fold

import (
	"cmp"
	"slices"
	"strings"

	"seine/formats/lsm"
	"seine/formats/schema"
)

// clone gives strings memory of their own: what a row was read from may be a
// whole page of an object.
func clone(all ...*string) {
	for _, s := range all {
		*s = strings.Clone(*s)
	}
}

// compareFetches orders fetches by key, then by whole rows; it agrees with the
// order in which chunks are sealed.
func compareFetches(a, b *schema.Fetch) int {
	return cmp.Or(strings.Compare(a.Domain, b.Domain), strings.Compare(a.Host, b.Host),
		strings.Compare(a.URL, b.URL), strings.Compare(a.Kind, b.Kind),
		cmp.Compare(a.StartedAt, b.StartedAt), strings.Compare(a.Reason, b.Reason),
		strings.Compare(a.Attempt, b.Attempt), strings.Compare(a.Detail, b.Detail),
		strings.Compare(a.Rule, b.Rule), cmp.Compare(a.HTTPStatus, b.HTTPStatus),
		strings.Compare(a.RedirectTo, b.RedirectTo), cmp.Compare(a.Duration, b.Duration),
		cmp.Compare(a.TTFB, b.TTFB), cmp.Compare(a.Bytes, b.Bytes),
		cmp.Compare(a.Waited, b.Waited), strings.Compare(a.IP, b.IP),
		strings.Compare(a.BlobPath, b.BlobPath), cmp.Compare(a.BlobOffset, b.BlobOffset))
}

func ownFetch(row *schema.Fetch) schema.Fetch {
	r := *row
	clone(&r.Domain, &r.Host, &r.URL, &r.Attempt, &r.Kind, &r.Reason, &r.Detail, &r.Rule, &r.Change,
		&r.RedirectTo, &r.Redirect, &r.IP, &r.Protocol, &r.BlobPath)
	return r
}

func fetchBytes(r *schema.Fetch) int {
	return 384 + len(r.Domain) + len(r.Host) + len(r.URL) + len(r.Detail) + len(r.Rule) +
		len(r.RedirectTo) + len(r.BlobPath)
}

// comparePages orders pages by key. A URL has one in a round; the place tells
// two apart should there be two.
func comparePages(a, b *schema.Page) int {
	return cmp.Or(strings.Compare(a.Domain, b.Domain), strings.Compare(a.Host, b.Host),
		strings.Compare(a.URL, b.URL), cmp.Compare(a.CrawledAt, b.CrawledAt),
		strings.Compare(a.BlobPath, b.BlobPath), cmp.Compare(a.BlobOffset, b.BlobOffset))
}

func ownPage(row *schema.Page) schema.Page {
	r := *row
	clone(&r.Domain, &r.Host, &r.URL, &r.MIMEDeclared, &r.MIMEDetected, &r.Charset, &r.Language,
		&r.Title, &r.Text, &r.PayloadDigest, &r.Truncated, &r.Change, &r.Prior, &r.CanonicalURL,
		&r.ETag, &r.LastModified, &r.BlobPath)
	headers := make(map[string]string, len(r.Headers))
	for k, v := range r.Headers {
		headers[strings.Clone(k)] = strings.Clone(v)
	}
	r.Headers = headers
	return r
}

func pageBytes(r *schema.Page) int {
	n := 768 + len(r.URL) + len(r.Title) + len(r.Text) + len(r.Prior) + len(r.CanonicalURL)
	for k, v := range r.Headers {
		n += 64 + len(k) + len(v)
	}
	return n
}

// compareSources orders links by the page that they are on.
func compareSources(a, b *schema.Link) int {
	return cmp.Or(strings.Compare(a.SrcDomain, b.SrcDomain), strings.Compare(a.SrcHost, b.SrcHost),
		strings.Compare(a.SrcURL, b.SrcURL))
}

// compareLinks orders links by source, then by whole rows.
func compareLinks(a, b *schema.Link) int {
	return cmp.Or(compareSources(a, b), strings.Compare(a.DstURL, b.DstURL),
		strings.Compare(a.Kind, b.Kind), strings.Compare(a.Anchor, b.Anchor),
		strings.Compare(a.Href, b.Href), strings.Compare(a.Rel, b.Rel),
		strings.Compare(a.Verdict, b.Verdict), strings.Compare(a.Rule, b.Rule),
		strings.Compare(a.DstDomain, b.DstDomain), cmp.Compare(a.Round, b.Round))
}

func sortLinks(page []schema.Link) {
	slices.SortFunc(page, func(a, b schema.Link) int { return compareLinks(&a, &b) })
}

func ownLink(row *schema.Link) schema.Link {
	r := *row
	clone(&r.SrcDomain, &r.SrcHost, &r.SrcURL, &r.DstURL, &r.DstDomain, &r.Href, &r.Anchor, &r.Rel,
		&r.Kind, &r.Verdict, &r.Rule)
	return r
}

func linkBytes(r *schema.Link) int {
	return 256 + len(r.SrcDomain) + len(r.SrcHost) + len(r.SrcURL) + len(r.DstURL) + len(r.Href) +
		len(r.Anchor)
}

func robotsKey(r *schema.Robots) lsm.Key {
	return lsm.Key{Partition: uint16(r.Partition), Domain: r.Domain, URL: r.Authority}
}

// compareRobots orders robots by key, the newest last, then by whole rows.
func compareRobots(a, b *schema.Robots) int {
	return cmp.Or(robotsKey(a).Compare(robotsKey(b)), cmp.Compare(a.FetchedAt, b.FetchedAt),
		cmp.Compare(a.Expires, b.Expires), strings.Compare(a.Status, b.Status),
		cmp.Compare(a.HTTPStatus, b.HTTPStatus), cmp.Compare(a.Failures, b.Failures),
		strings.Compare(a.Text, b.Text))
}

func ownRobots(row *schema.Robots) schema.Robots {
	r := *row
	clone(&r.Domain, &r.Authority, &r.Status, &r.Text)
	r.Sitemaps = nil
	for _, s := range row.Sitemaps {
		r.Sitemaps = append(r.Sitemaps, strings.Clone(s))
	}
	return r
}

func robotsBytes(r *schema.Robots) int {
	n := 256 + len(r.Domain) + len(r.Authority) + len(r.Text)
	for _, s := range r.Sitemaps {
		n += 16 + len(s)
	}
	return n
}

// compareEvents orders discoveries by target, then source domain, then by whole
// rows.
func compareEvents(a, b *schema.Discovery) int {
	return cmp.Or(eventKey(a).Compare(eventKey(b)), strings.Compare(a.SrcDomain, b.SrcDomain),
		strings.Compare(a.Kind, b.Kind), cmp.Compare(a.Depth, b.Depth),
		cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Suspicion, b.Suspicion),
		strings.Compare(a.Seed, b.Seed))
}

func eventKey(d *schema.Discovery) lsm.Key {
	return lsm.Key{Partition: uint16(d.Partition), Domain: d.Domain, Host: d.Host, URL: d.URL}
}

func ownEvent(row *schema.Discovery) schema.Discovery {
	r := *row
	clone(&r.Domain, &r.Host, &r.URL, &r.SrcDomain, &r.Kind, &r.Seed)
	return r
}

func eventBytes(r *schema.Discovery) int {
	return 176 + len(r.Domain) + len(r.Host) + len(r.URL) + len(r.SrcDomain) + len(r.Seed)
}

func ownFrontier(row *schema.FrontierRow) schema.FrontierRow {
	r := *row
	clone(&r.Domain, &r.Host, &r.URL, &r.Why)
	return r
}

func compareLetters(a, b *schema.DeadLetter) int {
	return cmp.Or(strings.Compare(a.Domain, b.Domain), strings.Compare(a.Host, b.Host),
		strings.Compare(a.URL, b.URL))
}

func letterBytes(r *schema.DeadLetter) int {
	return 160 + len(r.Domain) + len(r.Host) + len(r.URL) + len(r.Detail)
}
