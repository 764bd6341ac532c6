package robots

import (
	"strings"
	"testing"
	"time"

	"seine/formats/robotstxt"
	"seine/formats/schema"
)

var start = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

func TestPolicyByStatus(t *testing.T) {
	body := []byte("User-agent: *\nDisallow: /a\n")
	for _, c := range []struct {
		name    string
		fetch   Fetch
		outcome robotstxt.Outcome
		a, b    bool // whether /a and /b are allowed
		expires time.Duration
	}{
		{"200", Fetch{Status: 200, Body: body}, robotstxt.Parsed, false, true, 24 * time.Hour},
		{"206", Fetch{Status: 206, Body: body}, robotstxt.Parsed, false, true, 24 * time.Hour},
		{"200, broken off", Fetch{Status: 200, Body: body, Cut: true}, robotstxt.Parsed, false, true,
			10 * time.Minute},
		{"404", Fetch{Status: 404, Body: body}, robotstxt.AllowAll, true, true, 24 * time.Hour},
		{"401", Fetch{Status: 401}, robotstxt.AllowAll, true, true, 24 * time.Hour},
		{"403", Fetch{Status: 403}, robotstxt.AllowAll, true, true, 24 * time.Hour},
		{"410", Fetch{Status: 410}, robotstxt.AllowAll, true, true, 24 * time.Hour},
		{"too many redirects", Fetch{Status: 302}, robotstxt.AllowAll, true, true, 24 * time.Hour},
		{"429", Fetch{Status: 429}, robotstxt.Unreachable, false, false, 10 * time.Minute},
		{"429, Retry-After", Fetch{Status: 429, RetryAfter: 2 * time.Hour}, robotstxt.Unreachable, false,
			false, 2 * time.Hour},
		{"429, short Retry-After", Fetch{Status: 429, RetryAfter: time.Second}, robotstxt.Unreachable,
			false, false,
			10 * time.Minute},
		{"503, endless Retry-After", Fetch{Status: 503, RetryAfter: 1e6 * time.Hour}, robotstxt.Unreachable,
			false, false,
			24 * time.Hour},
		{"500 with rules", Fetch{Status: 500, Body: body}, robotstxt.Unreachable, false, false,
			10 * time.Minute},
		{"999", Fetch{Status: 999}, robotstxt.Unreachable, false, false, 10 * time.Minute},
		{"101", Fetch{Status: 101}, robotstxt.Unreachable, false, false, 10 * time.Minute},
		{"304 to nothing", Fetch{Status: 304}, robotstxt.Unreachable, false, false, 10 * time.Minute},
		{"no response", Fetch{}, robotstxt.Unreachable, false, false, 10 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Policy(c.fetch, Record{}, start)
			if r.Outcome != c.outcome || r.Status != c.fetch.Status || !r.FetchedAt.Equal(start) {
				t.Errorf("record %+v, want outcome %v", r, c.outcome)
			}
			if got := r.Expires.Sub(start); got != c.expires {
				t.Errorf("expires after %v, want %v", got, c.expires)
			}
			rules := r.Rules("seine")
			if a, b := rules.Decide("/a").Allowed, rules.Decide("/b").Allowed; a != c.a ||
				b != c.b {
				t.Errorf("/a, /b allowed: %v, %v; want %v, %v", a, b, c.a, c.b)
			}
			if !rules.Decide("/robots.txt").Allowed {
				t.Error("robots.txt may not be asked for again")
			}
		})
	}
}

func TestPolicyRetries(t *testing.T) {
	now, r := start, Record{}
	for i, want := range []time.Duration{10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
		24 * time.Hour} {
		r = Policy(Fetch{Status: 503}, r, now)
		if got := r.Expires.Sub(now); got != want || r.Failures != i+1 ||
			!r.UnreachableSince.Equal(start) {
			t.Fatalf("failure %d: wait %v, want %v; %+v", i+1, got, want, r)
		}
		now = r.Expires
	}
	for range 60 { // two months on, it is still forbidden
		r = Policy(Fetch{}, r, now)
		now = r.Expires
	}
	if r.Outcome != robotstxt.Unreachable || r.Rules("x").Decide("/").Allowed {
		t.Errorf("after two months: %+v", r)
	}
	r = Policy(Fetch{Status: 200}, r, now)
	if r.Failures != 0 || !r.UnreachableSince.IsZero() || !r.Rules("x").Decide("/").Allowed {
		t.Errorf("after success: %+v", r)
	}
	if r = Policy(Fetch{Status: 500}, r, now); r.Expires.Sub(now) != 10*time.Minute {
		t.Errorf("the next trouble starts with %v", r.Expires.Sub(now))
	}
}

func TestPolicyNotModified(t *testing.T) {
	r := Policy(Fetch{Status: 200, Body: []byte("User-agent: *\nDisallow: /a\n")}, Record{}, start)
	later := start.Add(25 * time.Hour)
	r = Policy(Fetch{Status: 304}, r, later)
	if r.Rules("x").Decide("/a").Allowed || !r.Expires.Equal(later.Add(Lifetime)) {
		t.Errorf("%+v", r)
	}
}

func TestFresh(t *testing.T) {
	parsed := Policy(Fetch{Status: 200}, Record{}, start)
	gone := Policy(Fetch{Status: 500}, Record{}, start)
	for _, c := range []struct {
		name     string
		record   Record
		after    time.Duration
		followed bool
		want     bool
	}{
		{"never asked", Record{}, 0, false, false},
		{"in time", parsed, 23 * time.Hour, true, true},
		{"expired, used", parsed, 24 * time.Hour, true, false},
		{"expired, no page has followed", parsed, 72 * time.Hour, false, true},
		{"unreachable, in time", gone, 9 * time.Minute, false, true},
		{"unreachable, expired", gone, 10 * time.Minute, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.record.Fresh(start.Add(c.after), c.followed); got != c.want {
				t.Errorf("Fresh = %v, want %v", got, c.want)
			}
		})
	}
}

func TestParseRobotsTag(t *testing.T) {
	index, follow := Directives{NoIndex: true}, Directives{NoFollow: true}
	both := index.Or(follow)
	for _, c := range []struct {
		name   string
		values []string
		want   Directives
	}{
		{"meta, any case", []string{"NoFollow, noindex"}, both},
		{"none", []string{"NONE"}, both},
		{"all", []string{"all, index, follow"}, Directives{}},
		{"another agent", []string{"otherbot: nofollow"}, Directives{}},
		{"another agent, whole value", []string{"otherbot: nofollow, noindex"}, Directives{}},
		{"our agent", []string{"Seine: nofollow, noindex"}, both},
		{"our version", []string{"*: noindex"}, index},
		{"theirs and ours", []string{"otherbot: noindex, seine: nofollow"}, follow},
		{"another header is for all", []string{"otherbot: noindex", "nofollow"}, follow},
		{"prohibitions add up", []string{"noindex", "seine: nofollow"}, both},
		{"no going back", []string{"noindex", "seine: all"}, index},
		{"date", []string{"unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"}, index},
		{"date with a comma",
			[]string{"unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, nofollow"}, follow},
		{"limits", []string{"max-snippet:-1, max-image-preview:large, noindex"}, index},
		{"spaces for commas", []string{"noindex nofollow"}, both},
		{"semicolons", []string{"noindex; nofollow"}, both},
		{"rest", []string{"noarchive,nosnippet,noimageindex"},
			Directives{NoArchive: true, NoSnippet: true, NoImageIndex: true}},
		{"inside a word", []string{"noindexing, xnofollow"}, Directives{}},
		{"nothing", nil, Directives{}},
		{"signs", []string{",,:;: :,"}, Directives{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ParseRobotsTag(c.values, "seine/1.0"); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestRecordOf: what a row of robots says is what was written into it.
func TestRecordOf(t *testing.T) {
	row := schema.Robots{Status: "unreachable", HTTPStatus: 503, Failures: 2,
		FetchedAt: start.UnixMilli(), Expires: start.Add(time.Hour).UnixMilli(),
		FirstFail: start.Add(-time.Hour).UnixMilli()}
	r := RecordOf(&row)
	if r.Outcome != robotstxt.Unreachable || r.Status != 503 || r.Failures != 2 ||
		!r.FetchedAt.Equal(start) || r.Expires.Sub(start) != time.Hour ||
		start.Sub(r.UnreachableSince) != time.Hour {
		t.Errorf("record %+v", r)
	}
	row = schema.Robots{Status: "parsed", Text: "User-agent: *\nDisallow: /a"}
	if r = RecordOf(&row); r.Rules("x").Decide("/a").Allowed || !r.Expires.IsZero() {
		t.Errorf("record %+v", r)
	}
}

func FuzzParseRobotsTag(f *testing.F) {
	f.Add("seine: noindex, nofollow", "seine")
	f.Add("unavailable_after: 25 Jun 2027, none", "")
	f.Fuzz(func(t *testing.T, value, token string) {
		d := ParseRobotsTag([]string{value}, token)
		if both := ParseRobotsTag([]string{value, value}, token); both != d {
			t.Errorf("%+v, and said twice %+v", d, both)
		}
		if upper := ParseRobotsTag([]string{strings.ToUpper(value)}, token); isASCII(value) &&
			isASCII(token) && upper != d {
			t.Errorf("%+v, and in upper case %+v", d, upper)
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}
