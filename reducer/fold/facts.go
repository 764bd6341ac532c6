package fold

import (
	"cmp"
	"strings"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/weburl"
)

// What a fact is.
const (
	factSlot    int32 = iota // generate gave slots of a group away; no URL
	factRobots               // robots.txt of an authority of the group was read; no URL
	factRow                  // a decision or exchange
	factPage                 // the body that came with a final row
	factLeft                 // the URL waits again
	factRefused              // generate refused the URL
)

// Kinds of fetches rows: the column kind.
const kindPage = "page"

// fact is what the round found out about a URL or a group, as far as the tables
// take it in. Only the fields of its kind are set.
type fact struct {
	Partition int32  `parquet:"partition"`
	Domain    string `parquet:"domain,delta"`
	Host      string `parquet:"host,delta"`
	URL       string `parquet:"url,delta"`
	What      int32  `parquet:"what"`

	NextSlot   int64 `parquet:"next_slot"`   // factSlot
	CrawlDelay int64 `parquet:"crawl_delay"` // factRobots, ms
	WasDelay   int64 `parquet:"was_delay"`   // the authority's in the snapshot, ms

	Kind       string `parquet:"kind,dict"`
	Final      bool   `parquet:"final"`
	Asked      bool   `parquet:"asked"` // there was an exchange, if only a failed one
	Sent       bool   `parquet:"sent"`  // the server was reached, or dialled
	StartedAt  int64  `parquet:"started_at"`
	EndedAt    int64  `parquet:"ended_at"`
	Reason     string `parquet:"reason,dict"`
	Detail     string `parquet:"detail"`
	HTTPStatus int32  `parquet:"http_status"`
	Change     string `parquet:"change,dict"`
	RedirectTo string `parquet:"redirect_to"`
	TTFB       int32  `parquet:"ttfb"`
	Bytes      int64  `parquet:"bytes"`
	RetryAt    int64  `parquet:"retry_at"`

	ETag         string `parquet:"etag"`
	LastModified string `parquet:"last_modified"`
	ContentHash  uint64 `parquet:"content_hash"`
	SimHash      uint64 `parquet:"simhash"`
	CanonicalURL string `parquet:"canonical_url"`
	NoIndex      bool   `parquet:"noindex"`
	BlobPath     string `parquet:"blob_path,dict"`
	BlobOffset   int64  `parquet:"blob_offset"`
	BlobLength   int64  `parquet:"blob_length"`
}

func (f *fact) key() lsm.Key {
	return lsm.Key{Partition: uint16(f.Partition), Domain: f.Domain, Host: f.Host, URL: f.URL}
}

// compareFacts orders facts by key, then so that rows which differ in what
// counts never compare as equal.
func compareFacts(a, b *fact) int {
	return cmp.Or(a.key().Compare(b.key()), cmp.Compare(a.What, b.What),
		strings.Compare(a.Kind, b.Kind), cmp.Compare(a.StartedAt, b.StartedAt),
		strings.Compare(a.Reason, b.Reason), cmp.Compare(a.HTTPStatus, b.HTTPStatus),
		cmp.Compare(a.EndedAt, b.EndedAt), cmp.Compare(a.TTFB, b.TTFB),
		cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.RetryAt, b.RetryAt),
		strings.Compare(a.Detail, b.Detail), strings.Compare(a.RedirectTo, b.RedirectTo),
		strings.Compare(a.BlobPath, b.BlobPath), cmp.Compare(a.BlobOffset, b.BlobOffset),
		cmp.Compare(a.NextSlot, b.NextSlot), cmp.Compare(a.CrawlDelay, b.CrawlDelay),
		cmp.Compare(a.WasDelay, b.WasDelay))
}

func factBytes(f *fact) int {
	return 400 + len(f.Domain) + len(f.Host) + len(f.URL) + len(f.Detail) + len(f.RedirectTo) +
		len(f.ETag) + len(f.LastModified) + len(f.CanonicalURL) + len(f.BlobPath)
}

// rowFact is what the tables need of a row of fetches.
func rowFact(row *schema.Fetch, what int32) fact {
	f := fact{Partition: int32(weburl.Partition(row.Domain)), Domain: strings.Clone(row.Domain),
		Host: strings.Clone(row.Host), URL: strings.Clone(row.URL), What: what,
		Kind: strings.Clone(row.Kind), Final: row.Final, StartedAt: row.StartedAt,
		EndedAt: row.StartedAt + int64(row.Duration), Reason: strings.Clone(row.Reason),
		Detail: strings.Clone(row.Detail), HTTPStatus: row.HTTPStatus,
		Change: strings.Clone(row.Change), RedirectTo: strings.Clone(row.RedirectTo),
		TTFB: row.TTFB, Bytes: row.Bytes, RetryAt: row.RetryAt}
	f.Sent = row.HTTPStatus != 0 || dialled(row.Reason) && (row.IP != "" || row.Duration > 0)
	f.Asked = f.Sent || row.Kind != kindPage || row.DNS > 0 || row.Duration > 0
	return f
}

// dialled says whether a row of that reason, without a status, can come from a
// connection that was at least tried.
func dialled(reason schema.Reason) bool {
	switch reason {
	case schema.ConnectRefused, schema.ConnectTimeout, schema.Unreachable, schema.TLSCertificate,
		schema.TLSHandshake, schema.Reset, schema.Disconnected, schema.Timeout, schema.TooSlow,
		schema.HeaderTooLarge, schema.Malformed, schema.Blocked: // cut off in flight
		return true
	}
	return false
}

// pageFact is what the tables need of a row of pages.
func pageFact(row *schema.Page) fact {
	return fact{Partition: int32(weburl.Partition(row.Domain)), Domain: strings.Clone(row.Domain),
		Host: strings.Clone(row.Host), URL: strings.Clone(row.URL), What: factPage,
		Change: strings.Clone(row.Change), ETag: strings.Clone(row.ETag),
		LastModified: strings.Clone(row.LastModified), ContentHash: row.ContentHash,
		SimHash: row.SimHash, CanonicalURL: strings.Clone(row.CanonicalURL), NoIndex: row.NoIndex,
		BlobPath: strings.Clone(row.BlobPath), BlobOffset: row.BlobOffset,
		BlobLength: row.BlobLength}
}
