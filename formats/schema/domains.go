package schema

// Domain is a politeness group: a registered domain, or by setting one host.
type Domain struct {
	Partition    int32  `parquet:"partition"`
	Domain       string `parquet:"domain,delta"`
	Host         string `parquet:"host,optional,delta"` // set when each host is a group
	Delay        int64  `parquet:"delay_ms"`            // in force
	DelayWhy     string `parquet:"delay_why,optional,dict"`
	CrawlDelay   int64  `parquet:"crawl_delay_ms,optional"` // robots.txt's, as read
	LastAccessed int64  `parquet:"last_accessed,optional,timestamp(millisecond:utc)"`
	BackoffUntil int64  `parquet:"backoff_until,optional,timestamp(millisecond:utc)"`
	Backoffs     int32  `parquet:"backoffs,optional"`    // back-offs in a row
	ErrorCount   int32  `parquet:"error_count,optional"` // failed exchanges in a row
	NextSlot     int64  `parquet:"next_slot,optional,timestamp(millisecond:utc)"`
	Known        int64  `parquet:"known"`
	Pending      int64  `parquet:"pending"`
	Held         int64  `parquet:"held,optional"` // of pending, those kept back as domain_full
	Pages        int64  `parquet:"pages"`
	AskedDay     int64  `parquet:"asked_day,optional,timestamp(millisecond:utc)"` // the day (UTC) of the newest request for a page
	Asked        int64  `parquet:"asked,optional"`                                // requests for pages on that day
	Failed       int64  `parquet:"failed"`
	NearDup      int64  `parquet:"near_duplicates,optional"` // new pages that were near-duplicates
	Round        int64  `parquet:"round,dict"`
}

// Host is a host's counts and latency.
type Host struct {
	Partition    int32  `parquet:"partition"`
	Domain       string `parquet:"domain,delta"`
	Host         string `parquet:"host,delta"`
	Latency      int64  `parquet:"latency_ms,optional"` // EWMA of time to first byte
	Fetches      int64  `parquet:"fetches"`
	Pages        int64  `parquet:"pages"`
	Failed       int64  `parquet:"failed"`
	Bytes        int64  `parquet:"bytes"`
	LastAccessed int64  `parquet:"last_accessed,optional,timestamp(millisecond:utc)"`
	Round        int64  `parquet:"round,dict"`
}

// Robots is the robots.txt of an authority (scheme, host, port), e.g.
// "https://a.test:8443".
type Robots struct {
	Partition  int32    `parquet:"partition"`
	Domain     string   `parquet:"domain,delta"`
	Authority  string   `parquet:"authority,delta"`
	Status     string   `parquet:"status,dict"` // rules, allow_all, unreachable, …
	HTTPStatus int32    `parquet:"http_status,optional"`
	Reason     string   `parquet:"reason,optional,dict"` // why nothing could be asked at all
	Text       string   `parquet:"robots_txt,optional"`
	CrawlDelay int64    `parquet:"crawl_delay_ms,optional"` // for our agent, as read
	FetchedAt  int64    `parquet:"fetched_at,optional,timestamp(millisecond:utc)"`
	Expires    int64    `parquet:"expires,optional,timestamp(millisecond:utc)"`
	Failures   int32    `parquet:"failures,optional"` // unreachable in a row
	FirstFail  int64    `parquet:"first_failure,optional,timestamp(millisecond:utc)"`
	Sitemaps   []string `parquet:"sitemaps,list"`
	Round      int64    `parquet:"round,dict"`
}
