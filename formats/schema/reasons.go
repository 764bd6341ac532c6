package schema

// Reason is why a fetch ended as it did: the column `reason` of fetches.
type Reason = string

// Reasons. The table Policies says what each one does to the URL.
const (
	OK             Reason = "ok"
	NotModified    Reason = "not_modified"
	Redirected     Reason = "redirect"
	RedirectLoop   Reason = "redirect_loop"
	RedirectBad    Reason = "redirect_bad"
	Unauthorized   Reason = "http_401"
	Forbidden      Reason = "http_403"
	NotFound       Reason = "http_404"
	Gone           Reason = "http_410"
	ClientError    Reason = "http_4xx"
	TooMany        Reason = "http_429"
	ServerError    Reason = "http_5xx"
	Unavailable    Reason = "http_503"
	UnavailableFor Reason = "http_503_retry_after"
	OddStatus      Reason = "http_status"

	RobotsDenied      Reason = "robots_denied"
	RobotsUnreachable Reason = "robots_unreachable"
	RobotsUntil       Reason = "robots_wait" // asked again later in the round or the next

	OutOfScope Reason = "out_of_scope"
	RuleOut    Reason = "rule"
	Trap       Reason = "trap"
	Blocked    Reason = "blocked"
	SchemeTwin Reason = "scheme_twin" // known at the other of http and https
	TypeOut    Reason = "type_not_stored"
	DomainFull Reason = "domain_full" // of urls alone: discovered, and not queued yet

	DNSNotFound Reason = "dns_not_found"
	DNSTimeout  Reason = "dns_timeout"
	DNSFailed   Reason = "dns_failed"
	Private     Reason = "address_not_public"

	ConnectRefused Reason = "connect_refused"
	ConnectTimeout Reason = "connect_timeout"
	Unreachable    Reason = "unreachable"
	TLSCertificate Reason = "tls_certificate"
	TLSHandshake   Reason = "tls_handshake"
	Reset          Reason = "reset"
	Disconnected   Reason = "disconnected" // body cut short
	Timeout        Reason = "timeout"
	TooSlow        Reason = "too_slow"
	HeaderTooLarge Reason = "header_too_large"
	Malformed      Reason = "malformed_response"

	Crashed Reason = "parser_crashed" // killed its worker twice, set aside

	Untouched   Reason = "untouched"    // listed, not asked for: waits as before
	GroupRested Reason = "group_rested" // five connection failures in a row
	GroupBusy   Reason = "group_backoff"
	Stopped     Reason = "stopped" // hard stop or cancel
	NoContact   Reason = "no_contact"
)

// Due says when a URL is looked at again.
type Due string

// Rules of Due; their times are settings (DESIGN §10, §12).
const (
	DueInterval Due = "interval" // adaptive recrawl interval
	DueRetry    Due = "retry"    // 5 min, 30 min, 3 h ± 20 %, then dead
	DueRarely   Due = "rarely"   // max interval
	DueRefresh  Due = "refresh"  // at the robots refresh, doubling to 60 d
	DueAgain    Due = "again"    // waits again as before: same ticket
	DueGroup    Due = "group"    // when the group's back-off ends
	DueBlock    Due = "block"    // when the block ends; without an end it waits for nothing
	DueRoom     Due = "room"     // when half of its group's outstanding URLs are gone
	DueNever    Due = "never"    // waits for nothing
)

// Policy is what a reason does to its URL.
type Policy struct {
	Reason Reason
	Status string // crawl_status of the URL afterwards; "" leaves it
	Blame  bool   // counts against the URL (fail_count)
	Group  bool   // counts against the politeness group (error_count)
	Due    Due
	Final  bool // ends the URL's turn in the round with a final row
	Means  string
}

// Policies is the one table of reasons: status, blame and next due of each.
var Policies = []Policy{
	{OK, Completed, false, false, DueInterval, true, "a 2xx answer, stored"},
	{NotModified, Completed, false, false, DueInterval, true, "304: the body we hold is current"},
	{Redirected, Completed, false, false, DueInterval, true, "3xx with a usable Location: the target is a discovery"},
	{RedirectLoop, Failed, false, false, DueRarely, true, "redirects to itself"},
	{RedirectBad, Failed, false, false, DueRarely, true, "3xx without a usable Location"},
	{Unauthorized, Failed, false, false, DueRarely, true, "401: credentials wanted"},
	{Forbidden, Failed, false, false, DueRarely, true, "403"},
	{NotFound, Failed, false, false, DueRarely, true, "404"},
	{Gone, Failed, false, false, DueRarely, true, "410"},
	{ClientError, Failed, false, false, DueRarely, true, "another 4xx"},
	{TooMany, "", false, false, DueGroup, true, "429: the group backs off, the URL is not blamed"},
	{UnavailableFor, "", false, false, DueGroup, true, "503 with Retry-After: the group backs off"},
	{Unavailable, "", true, true, DueRetry, true, "503: the group backs off, the URL is retried"},
	{ServerError, "", true, true, DueRetry, true, "another 5xx"},
	{OddStatus, Failed, true, false, DueRarely, true, "a status outside 200-599"},

	{RobotsDenied, Failed, false, false, DueRefresh, true, "robots.txt forbids it"},
	{RobotsUnreachable, "", false, false, DueAgain, true, "robots.txt cannot be had: forbidden for now"},
	{RobotsUntil, "", false, false, DueAgain, true, "robots.txt is asked again later"},

	{OutOfScope, Failed, false, false, DueNever, true, "out of today's scope"},
	{RuleOut, Failed, false, false, DueNever, true, "a rule excludes it"},
	{Trap, Failed, false, false, DueNever, true, "looks like a trap"},
	{Blocked, Failed, false, false, DueBlock, true, "blocked on request"},
	{SchemeTwin, Completed, false, false, DueInterval, true, "the other of http and https has it: not asked for at both"},
	{DomainFull, Pending, false, false, DueRoom, true, "its domain has too many outstanding URLs: it waits for room"},
	{TypeOut, Completed, false, false, DueRarely, true, "of a type that is not stored"},

	{DNSNotFound, "", true, true, DueRetry, true, "the name does not exist"},
	{DNSTimeout, "", true, true, DueRetry, true, "no name server answered"},
	{DNSFailed, "", true, true, DueRetry, true, "the name servers failed"},
	{Private, Failed, false, true, DueRarely, true, "the address is not public"},

	{ConnectRefused, "", true, true, DueRetry, true, "connection refused"},
	{ConnectTimeout, "", true, true, DueRetry, true, "no connection in time"},
	{Unreachable, "", true, true, DueRetry, true, "no route to the address"},
	{TLSCertificate, "", true, true, DueRetry, true, "the certificate does not hold"},
	{TLSHandshake, "", true, true, DueRetry, true, "the TLS handshake failed"},
	{Reset, "", true, true, DueRetry, true, "the connection broke before an answer"},
	{Disconnected, "", true, true, DueRetry, true, "the body was cut short: stored truncated, tried again"},
	{Timeout, "", true, true, DueRetry, true, "no answer in time"},
	{TooSlow, "", true, true, DueRetry, true, "below the minimum rate"},
	{HeaderTooLarge, Failed, true, false, DueRarely, true, "the header is over its cap"},
	{Malformed, "", true, true, DueRetry, true, "no HTTP response that a browser would accept"},

	{Crashed, Failed, true, false, DueRarely, true, "parsing it killed the worker twice"},

	{Untouched, "", false, false, DueAgain, false, "the round ended before its turn"},
	{GroupRested, "", false, false, DueAgain, false, "its group rests after connection failures"},
	{GroupBusy, "", false, false, DueGroup, false, "its group backs off"},
	{Stopped, "", false, false, DueAgain, false, "the round was stopped"},
	{NoContact, "", false, false, DueAgain, false, "public addresses need a contact"},
}

// PolicyOf returns the policy of a reason; an unknown reason gives ok false.
func PolicyOf(r Reason) (p Policy, ok bool) {
	for i := range Policies {
		if Policies[i].Reason == r {
			return Policies[i], true
		}
	}
	return Policy{}, false
}

// Verdicts of a link: the column `verdict` of links. A trap's verdict is
// TrapPrefix and the rule's name; scope gives the others their rule.
const (
	Accepted       = "accepted"
	LinkOutOfScope = "out_of_scope"
	LinkRule       = "rule"
	LinkNoFollow   = "nofollow"
	TrapPrefix     = "trap_"
	LinkTooLong    = "too_long"
	LinkScheme     = "scheme"
	LinkBlocked    = "blocked"
	LinkEmbed      = "embed" // recorded, not followed
	LinkInvalid    = "invalid"
)

// Changes of a body: the column `change`.
const (
	ChangeNew         = "new"
	ChangeChanged     = "changed"
	ChangeSame        = "same"
	ChangeNotModified = "not_modified"
)

// Volatile names, for each table, the columns that may differ between two runs
// over the same web (DESIGN must 7): times, attempt, chunk and blob place.
var Volatile = map[string][]string{
	URLs: {"discovered_at", "last_crawled", "next_crawl", "interval_ms", "observed_ms",
		"html_blob_path", "blob_offset", "blob_length", "queued_rank"},
	Domains: {"last_accessed", "backoff_until", "next_slot", "asked_day", "asked"},
	Hosts:   {"latency_ms", "last_accessed"},
	RobotsT: {"fetched_at", "expires", "first_failure"},
	Waiting: {"timestamp", "rank"},
	Ready:   {"timestamp", "rank"},
	Lists: {"due", "rank", "position", "last_crawled", "html_blob_path", "blob_offset",
		"blob_length"},
	Pages: {"crawled_at", "prior", "html_blob_path", "blob_offset", "blob_length"},
	Fetches: {"attempt", "started_at", "dns_ms", "connect_ms", "ttfb_ms", "duration_ms",
		"waited_ms", "retry_at", "warc_path", "warc_offset", "warc_length", "ip"},
	Links:       {},
	Seeds:       {"injected_at"},
	DeadLetters: {"at"},
	Rounds:      {"spec", "submitted_at", "ended_at"},
}
