package schema

// List is a URL that generate chose for a round, with the state that fetching
// it needs.
type List struct {
	Partition    int32   `parquet:"partition"`
	Domain       string  `parquet:"domain,delta"`
	Host         string  `parquet:"host,delta"`
	URL          string  `parquet:"url,delta"`
	Band         string  `parquet:"band,dict"`
	Priority     float32 `parquet:"priority,dict"`
	Depth        int32   `parquet:"depth,dict"`
	Seed         string  `parquet:"seed,optional,dict"`
	Due          int64   `parquet:"due,timestamp(millisecond:utc)"`
	Why          string  `parquet:"why,dict"`
	Rank         int64   `parquet:"rank"`
	Ticket       int64   `parquet:"ticket,dict"`
	Position     int32   `parquet:"position"` // order in its domain, from 0
	ETag         string  `parquet:"etag,optional"`
	LastModified string  `parquet:"last_modified,optional"`
	ContentHash  uint64  `parquet:"content_hash,optional"`
	SimHash      uint64  `parquet:"simhash,optional"`
	CrawlCount   int32   `parquet:"crawl_count,optional,dict"`
	FailCount    int32   `parquet:"fail_count,optional,dict"`
	LastCrawled  int64   `parquet:"last_crawled,optional,timestamp(millisecond:utc)"`
	BlobPath     string  `parquet:"html_blob_path,optional,dict"` // body that a 304 would confirm
	BlobOffset   int64   `parquet:"blob_offset,optional"`
	BlobLength   int64   `parquet:"blob_length,optional"`
	Round        int64   `parquet:"round,dict"`
}

// Fetch is a decision or an exchange. Exactly one final row of kind page ends
// each URL of a round that did not wait again.
type Fetch struct {
	Domain     string `parquet:"domain,delta"`
	Host       string `parquet:"host,delta"`
	URL        string `parquet:"url,delta"`
	Round      int64  `parquet:"round,dict"`
	Attempt    string `parquet:"attempt,optional,dict"`
	Final      bool   `parquet:"final"`
	Kind       string `parquet:"kind,dict"` // page, robots, sitemap
	StartedAt  int64  `parquet:"started_at,optional,timestamp(millisecond:utc)"`
	Reason     string `parquet:"reason,dict"`
	Detail     string `parquet:"detail,optional"`
	Rule       string `parquet:"rule,optional,dict"`
	HTTPStatus int32  `parquet:"http_status,optional,dict"`
	Change     string `parquet:"change,optional,dict"` // new, changed, same, not_modified
	RedirectTo string `parquet:"redirect_url,optional"`
	Redirect   string `parquet:"redirect_kind,optional,dict"` // 301, 302, 303, 307, 308
	IP         string `parquet:"ip,optional,dict"`
	SourceIP   string `parquet:"source_ip,optional,dict"` // the connection's own, where source addresses are set
	Protocol   string `parquet:"protocol,optional,dict"`
	DNS        int32  `parquet:"dns_ms,optional"`
	Connect    int32  `parquet:"connect_ms,optional"`
	TTFB       int32  `parquet:"ttfb_ms,optional"`
	Duration   int32  `parquet:"duration_ms,optional"`
	Waited     int64  `parquet:"waited_ms,optional"`
	Bytes      int64  `parquet:"bytes,optional"`
	RetryAt    int64  `parquet:"retry_at,optional,timestamp(millisecond:utc)"`
	BlobPath   string `parquet:"warc_path,optional,dict"`
	BlobOffset int64  `parquet:"warc_offset,optional"`
	BlobLength int64  `parquet:"warc_length,optional"`
}

// Page is a 2xx body.
type Page struct {
	Domain        string            `parquet:"domain,delta"`
	Host          string            `parquet:"host,delta"`
	URL           string            `parquet:"url,delta"`
	URLID         [16]byte          `parquet:"url_id,uuid"`
	PageID        [16]byte          `parquet:"page_id,uuid"` // MD5(url, round)
	Round         int64             `parquet:"round,dict"`
	CrawledAt     int64             `parquet:"crawled_at,timestamp(millisecond:utc)"`
	HTTPStatus    int32             `parquet:"http_status,dict"`
	Headers       map[string]string `parquet:"headers"`
	MIMEDeclared  string            `parquet:"mime_declared,optional,dict"`
	MIMEDetected  string            `parquet:"mime_detected,optional,dict"`
	Charset       string            `parquet:"charset,optional,dict"`
	Language      string            `parquet:"language,optional,dict"`
	Title         string            `parquet:"title,optional"`
	Text          string            `parquet:"text,optional"`
	ContentHash   uint64            `parquet:"content_hash,optional"` // of the text; null when empty
	PayloadDigest string            `parquet:"payload_digest"`        // sha1:BASE32, as in the WARC
	SimHash       uint64            `parquet:"simhash,optional"`
	Bytes         int64             `parquet:"bytes"`
	Truncated     string            `parquet:"truncated,optional,dict"`
	Change        string            `parquet:"change,dict"`
	Prior         string            `parquet:"prior,optional"` // place of the version before, as it was then
	CanonicalURL  string            `parquet:"canonical_url,optional"`
	NoIndex       bool              `parquet:"noindex"`
	NoFollow      bool              `parquet:"nofollow"`
	ETag          string            `parquet:"etag,optional"`
	LastModified  string            `parquet:"last_modified,optional"`
	BlobPath      string            `parquet:"html_blob_path,dict"`
	BlobOffset    int64             `parquet:"blob_offset"`
	BlobLength    int64             `parquet:"blob_length"`
}

// Link is one link as found, with what was decided about it.
type Link struct {
	SrcDomain string `parquet:"src_domain,delta"`
	SrcHost   string `parquet:"src_host,delta"`
	SrcURL    string `parquet:"src_url,delta"`
	DstURL    string `parquet:"dst_url,optional"`
	DstDomain string `parquet:"dst_domain,optional,dict"`
	Href      string `parquet:"href,optional"` // as written, where it is not dst_url
	Anchor    string `parquet:"anchor,optional"`
	Rel       string `parquet:"rel,optional,dict"`
	Kind      string `parquet:"kind,dict"`
	Verdict   string `parquet:"verdict,dict"`
	Rule      string `parquet:"rule,optional,dict"`
	Round     int64  `parquet:"round,dict"`
}

// Discovery is a followed link by its target: what crosses from fetch to
// reduce. A task keeps one a (target, source domain, kind of source visit).
type Discovery struct {
	Partition int32   `parquet:"partition"`
	Domain    string  `parquet:"domain,delta"`
	Host      string  `parquet:"host,delta"`
	URL       string  `parquet:"url,delta"`
	SrcDomain string  `parquet:"src_domain,dict"`
	Kind      string  `parquet:"kind,dict"`
	Depth     int32   `parquet:"depth,dict"`    // of the target, by this link
	Priority  float32 `parquet:"priority,dict"` // of the source
	Suspicion float32 `parquet:"suspicion,optional,dict"`
	Seed      string  `parquet:"seed,optional,dict"`
	First     bool    `parquet:"first"` // the source's first fetch: counts as an inlink
}

// DeadLetter is a URL given up, with its reasons.
type DeadLetter struct {
	Domain     string `parquet:"domain,delta"`
	Host       string `parquet:"host,delta"`
	URL        string `parquet:"url,delta"`
	Round      int64  `parquet:"round,dict"`
	At         int64  `parquet:"at,timestamp(millisecond:utc)"`
	Reason     string `parquet:"reason,dict"`
	Detail     string `parquet:"detail,optional"`
	HTTPStatus int32  `parquet:"http_status,optional,dict"`
	FailCount  int32  `parquet:"fail_count"`
}

// Seed is a seed as injected, or as removed. Interval, depth and scope are what
// was said with it; those in force are the terms of its tag or URL in the settings.
type Seed struct {
	Domain     string            `parquet:"domain,delta"`
	Host       string            `parquet:"host,delta"`
	URL        string            `parquet:"url,delta"`
	Raw        string            `parquet:"raw"`
	InjectedAt int64             `parquet:"injected_at,timestamp(millisecond:utc)"`
	Priority   float32           `parquet:"priority,optional"`
	Tag        string            `parquet:"tag,optional,dict"`
	Interval   int64             `parquet:"interval_ms,optional"` // ms between looks
	Depth      int32             `parquet:"depth,optional"`       // hops that are followed; -1: none
	Scope      string            `parquet:"scope,optional,dict"`  // domain, host, prefix, any
	Removed    bool              `parquet:"removed,optional"`     // it is no seed any more
	Metadata   map[string]string `parquet:"metadata"`
	Round      int64             `parquet:"round,dict"`
}

// RoundRow is a job as it ended.
type RoundRow struct {
	Round     int64            `parquet:"round"`
	Kind      string           `parquet:"kind,dict"`
	Spec      string           `parquet:"spec"` // JSON
	Submitted int64            `parquet:"submitted_at,timestamp(millisecond:utc)"`
	Ended     int64            `parquet:"ended_at,timestamp(millisecond:utc)"`
	Outcome   string           `parquet:"outcome,dict"`
	Counts    map[string]int64 `parquet:"counts"` // by reason and by name
}
