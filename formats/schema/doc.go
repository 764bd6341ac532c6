// Package schema is what the tables of a crawl mean: a Go struct for the rows
// of every table, the reason codes, and which columns are volatile.
//
// Struct tags give the Parquet column names; formats/rowfile turns them into
// files. Times are milliseconds since 1970 UTC; zero is "never" and is stored
// as null. A column that is `optional` stores its zero value as null.
//
// Every run table is sorted by (partition, domain, host, url); domain is the
// registered domain, partition its hash (weburl.Partition). Rows that a task
// writes sort by whole rows where keys repeat, so that the same facts give the
// same bytes. The package is pure.
package schema

// Tables kept as sorted runs.
const (
	URLs     = "urls"
	Domains  = "domains"
	Hosts    = "hosts"
	RobotsT  = "robots"
	Waiting  = "waiting" // frontier rows sorted by (partition, due, …)
	Ready    = "ready"   // frontier rows sorted by (partition, rank descending, …)
	Frontier = "frontier"
)

// Tables that only grow: a round adds its objects, sorted by (domain, host, url).
const (
	Lists       = "lists"
	Pages       = "pages"
	Fetches     = "fetches"
	Links       = "links"
	Seeds       = "seeds"
	DeadLetters = "dead_letters"
	Rounds      = "rounds"
)

// Blocks is a view, not a table: what is blocked is said by the settings.
const Blocks = "blocks"

// Objects that live between the tasks of one round.
const (
	Discoveries = "discoveries" // links by target, from fetch to reduce
	Events      = "events"      // a fetch task's discoveries, merged
	Superseded  = "superseded"  // rows of older runs that a run replaces
	WARC        = "warc"
)

// Crawl statuses of a URL (REQUIREMENTS R31).
const (
	Pending    = "PENDING"
	InProgress = "IN_PROGRESS" // only the view shows it
	Completed  = "COMPLETED"
	Failed     = "FAILED"
)

// Why a URL waits: the column `why` of urls, frontier and lists.
const (
	WhyNew     = "new"       // never asked for
	WhySlot    = "slot"      // its domain had no room; due at the domain's next slot
	WhyBackoff = "backoff"   // its domain backs off
	WhyDay     = "pages_day" // its domain has had its pages of the day; due on another
	WhyRetry   = "retry"     // it failed and is tried again
	WhyRecrawl = "recrawl"   // it is looked at again
)

// Bands of a list row's priority.
const (
	High   = "HIGH"   // > 0.9
	Medium = "MEDIUM" // 0.5 to 0.9
	Low    = "LOW"    // < 0.5
)
