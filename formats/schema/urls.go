package schema

// URL is a row of urls: a known URL and its state. A delta row (Delta) only
// adds to an older whole row: Inlinks is added, Depth lowers, and when Queued
// is set, Queued, QueuedRank, Priority replace the older ones.
type URL struct {
	Partition int32  `parquet:"partition"`
	Domain    string `parquet:"domain,delta"`
	Host      string `parquet:"host,delta"`
	URL       string `parquet:"url,delta"`
	Delta     bool   `parquet:"delta"`

	CrawlStatus string  `parquet:"crawl_status,optional,dict"`
	Reason      string  `parquet:"reason,optional,dict"`
	HTTPStatus  int32   `parquet:"http_status,optional,dict"`
	Priority    float32 `parquet:"priority,dict"`
	Depth       int32   `parquet:"depth,dict"`
	Seed        string  `parquet:"seed,optional,dict"`

	DiscoveredAt int64  `parquet:"discovered_at,optional,timestamp(millisecond:utc),dict"`
	LastCrawled  int64  `parquet:"last_crawled,optional,timestamp(millisecond:utc)"`
	NextCrawl    int64  `parquet:"next_crawl,optional,timestamp(millisecond:utc)"`
	Why          string `parquet:"why,optional,dict"`
	CrawlCount   int32  `parquet:"crawl_count,optional,dict"`
	FailCount    int32  `parquet:"fail_count,optional,dict"` // failures in a row

	Interval int64 `parquet:"interval_ms,optional,dict"` // in force, adaptive
	Visits   int32 `parquet:"visits,optional,dict"`      // later visits whose change is known
	Changes  int32 `parquet:"changes,optional,dict"`     // of these, how many found a change
	Observed int64 `parquet:"observed_ms,optional"`      // sum of the gaps between those visits

	ETag         string `parquet:"etag,optional"`
	LastModified string `parquet:"last_modified,optional"`
	ContentHash  uint64 `parquet:"content_hash,optional"`
	SimHash      uint64 `parquet:"simhash,optional"`
	CanonicalURL string `parquet:"canonical_url,optional"`
	RedirectURL  string `parquet:"redirect_url,optional"`
	DuplicateOf  string `parquet:"duplicate_of,optional"`

	Inlinks    int64   `parquet:"inlinks,optional,dict"`
	PageRank   float32 `parquet:"pagerank,optional"`
	UserSignal float32 `parquet:"user_signal,optional,dict"`
	NoIndex    bool    `parquet:"noindex"`

	BlobPath   string `parquet:"html_blob_path,optional,dict"` // place of the newest body
	BlobOffset int64  `parquet:"blob_offset,optional"`
	BlobLength int64  `parquet:"blob_length,optional"`

	Queued     int64 `parquet:"queued,optional,dict"` // ticket; 0: waits for nothing
	QueuedRank int64 `parquet:"queued_rank,optional"`
	Round      int64 `parquet:"round,dict"` // job that wrote the row
}

// FrontierRow is a URL that waits, in the order that Due (waiting) or Rank
// (ready) gives. It is live iff Ticket equals the URL's Queued.
type FrontierRow struct {
	Partition int32   `parquet:"partition"`
	Domain    string  `parquet:"domain,delta"`
	Host      string  `parquet:"host,delta"`
	URL       string  `parquet:"url,delta"`
	Priority  float32 `parquet:"priority,dict"`
	Depth     int32   `parquet:"depth,dict"`
	Due       int64   `parquet:"timestamp,timestamp(millisecond:utc)"`
	Rank      int64   `parquet:"rank"`
	Ticket    int64   `parquet:"ticket,dict"`
	Why       string  `parquet:"why,dict"`
}

// SupersededRow names a row of an older object that a younger whole row
// replaces. Deltas that were folded into the younger row are named too.
type SupersededRow struct {
	Object string `parquet:"object,dict"` // key of the older object
	Row    int64  `parquet:"row,delta"`   // its row number, from 0
}
