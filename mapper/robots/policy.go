package robots

import (
	"time"

	"seine/formats/robotstxt"
	"seine/formats/schema"
)

const (
	// Lifetime is how long an answer is used: the 24 hours of RFC 9309 (2.4).
	Lifetime = 24 * time.Hour
	// MaxRedirects is how many redirects are followed for robots.txt; the answer at their end
	// belongs to the authority first asked, and to no other.
	MaxRedirects = 5
)

// retries are the times after which an unreachable robots.txt is asked for again; the last repeats.
var retries = [...]time.Duration{10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}

// Fetch is the end of an exchange for robots.txt, redirects followed.
type Fetch struct {
	Status     int           // of the last response; 0: none came (DNS, connection, time-out, TLS)
	Body       []byte        // up to MaxBytes+1 bytes, content-coding removed
	Cut        bool          // the connection broke inside the body
	RetryAfter time.Duration // from the response; 0: none
}

// Record is what is kept of an authority's robots.txt.
type Record struct {
	Outcome          robotstxt.Outcome
	Status           int       // of the last response, 0 when none came
	Text             []byte    // as received, at most MaxBytes+1 bytes; only when Parsed
	FetchedAt        time.Time // of the last try
	Expires          time.Time // when to ask again
	Failures         int       // tries in a row that found it unreachable
	UnreachableSince time.Time // the first of those
}

// RecordOf is the record that a row of the table robots keeps.
func RecordOf(row *schema.Robots) Record {
	return Record{Outcome: robotstxt.OutcomeOf(row.Status), Status: int(row.HTTPStatus),
		Text: []byte(row.Text), FetchedAt: fromMS(row.FetchedAt), Expires: fromMS(row.Expires),
		Failures: int(row.Failures), UnreachableSince: fromMS(row.FirstFail)}
}

// fromMS is a time of the tables; zero is never.
func fromMS(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Policy makes the record that follows from a fetch, given the earlier one (zero if none).
//
//   - 2xx is parsed. So is a body that broke off: what came is obeyed, and it is asked for again
//     after the first retry interval.
//   - 304 renews an earlier text; without one it is as good as unreachable.
//   - Other 3xx (too many redirects, or leading nowhere) and 4xx, 401 and 403 among them: allow
//     all.
//   - 429, 5xx, other statuses and no response: disallow all; asked again after 10 minutes, 1 hour,
//     6 hours, then daily, never before a Retry-After.
//
// RFC 9309 permits assuming that there are no rules once a file was unreachable for 30 days, and
// using an expired copy meanwhile. Neither is done: a site that cannot say what it wants is left
// alone and asked daily.
func Policy(f Fetch, earlier Record, now time.Time) Record {
	r := Record{Status: f.Status, FetchedAt: now, Expires: now.Add(Lifetime)}
	switch {
	case f.Status >= 200 && f.Status < 300:
		r.Outcome, r.Text = robotstxt.Parsed, robotstxt.Text(f.Body)
		if f.Cut {
			r.Expires = now.Add(retries[0])
		}
	case f.Status == 304 && earlier.Outcome == robotstxt.Parsed:
		r.Outcome, r.Text = robotstxt.Parsed, earlier.Text
	case f.Status >= 300 && f.Status < 500 && f.Status != 304 && f.Status != 429:
		r.Outcome = robotstxt.AllowAll
	default:
		r.Outcome = robotstxt.Unreachable
		r.Failures = earlier.Failures + 1
		r.UnreachableSince = earlier.UnreachableSince
		if r.UnreachableSince.IsZero() {
			r.UnreachableSince = now
		}
		wait := retries[min(r.Failures, len(retries))-1]
		r.Expires = now.Add(max(wait, min(f.RetryAfter, Lifetime)))
	}
	return r
}

// Fresh tells whether the record may still be used at now. A record that no page has followed yet
// stays valid beyond its time (followed false): with a Crawl-delay longer than a round, robots.txt
// would else take every slot and no page would ever be fetched. An unreachable one always expires.
func (r Record) Fresh(now time.Time, followed bool) bool {
	if r.Outcome == robotstxt.Unknown {
		return false
	}
	return now.Before(r.Expires) || !followed && r.Outcome != robotstxt.Unreachable
}

// File returns the rules that the record's text holds; none unless it was parsed.
func (r Record) File() *robotstxt.File { return robotstxt.Parse(r.Text) }

// Rules parses the record for a product token.
func (r Record) Rules(token string) robotstxt.Rules {
	return robotstxt.RulesOf(r.Outcome, r.Text, token)
}
