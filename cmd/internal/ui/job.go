package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"seine/coordinator/api"
	"seine/formats/schema"
	"seine/jobs"
)

// Tally is how the URLs of a round ended, as far as it is known.
type Tally struct {
	Selected  int64            `json:"selected"`
	Fetched   int64            `json:"fetched"`
	Refused   int64            `json:"refused"`
	Failed    int64            `json:"failed"`
	Untouched int64            `json:"untouched"`
	ByReason  map[string]int64 `json:"by_reason"`
	Extra     map[string]int64 `json:"extra"` // robots.txt and sitemaps, by reason
	Bytes     int64            `json:"bytes"`
	// Sources are the requests that were answered, by our address, where settings name
	// source addresses.
	Sources map[string]int64 `json:"sources,omitempty"`
}

// pagePrefix begins the counts of a fetch task that are outcomes of listed URLs.
const pagePrefix = "page "

// refused are the reasons by which nothing was asked for: the crawl's own rules
// or the site's.
var refused = []string{schema.RobotsDenied, schema.OutOfScope, schema.RuleOut, schema.Trap,
	schema.Blocked, schema.SchemeTwin, schema.Private}

func (t *Tally) add(reason string, n int64) {
	policy, known := schema.PolicyOf(reason)
	if !known || n == 0 {
		return
	}
	t.ByReason[reason] += n
	switch {
	case !policy.Final:
		t.Untouched += n
	case slices.Contains(refused, reason):
		t.Refused += n
	case policy.Status == schema.Completed:
		t.Fetched += n
	default:
		t.Failed += n
	}
}

func newTally() Tally {
	return Tally{ByReason: map[string]int64{}, Extra: map[string]int64{}}
}

// Ended tallies the counts of a round that has ended: those of generate begin
// with "generate_", those of fetch with "fetch_".
func Ended(counts map[string]int64) Tally {
	t := newTally()
	t.Selected = counts["generate_selected"] + counts["generate_refused"]
	t.Bytes = counts["fetch_bytes"]
	for name, n := range counts {
		if reason, ok := strings.CutPrefix(name, "generate_refused_"); ok {
			t.add(reason, n)
		}
		rest, ok := strings.CutPrefix(name, "fetch_")
		if !ok {
			continue
		}
		if source, ok := strings.CutPrefix(rest, jobs.CountFrom); ok {
			if t.Sources == nil {
				t.Sources = map[string]int64{}
			}
			t.Sources[source] += n
		} else if reason, ok := strings.CutPrefix(rest, pagePrefix); ok {
			t.add(reason, n)
		} else if strings.Contains(rest, " ") && n > 0 {
			t.Extra[rest] += n
		}
	}
	return t
}

// Running tallies the stages of an open round. What waits for its turn counts
// as nothing yet.
func Running(job api.Job) (t Tally, done int64) {
	t = newTally()
	for _, s := range job.Stages {
		switch s.Stage {
		case jobs.StageGenerate:
			t.Selected = s.Counts["selected"] + s.Counts["refused"]
			done += s.Counts["refused"]
			for name, n := range s.Counts {
				if reason, ok := strings.CutPrefix(name, "refused_"); ok {
					t.add(reason, n)
				}
			}
		case jobs.StageFetch:
			t.Bytes = s.Counts["bytes"]
			waiting := s.Counts["waiting"]
			for name, n := range s.Counts {
				t.add(strings.TrimPrefix(name, pagePrefix), n)
			}
			got := t.Fetched + t.Refused + t.Failed + t.Untouched
			if waiting > 0 { // what an earlier attempt did is not in the counts
				got = max(got, t.Selected-waiting)
			}
			done = min(got, t.Selected)
		}
	}
	return t, done
}

// Reasons lists counts by reason, the most frequent first, at most n of them;
// n <= 0 lists all.
func Reasons(by map[string]int64, n int) string {
	names := make([]string, 0, len(by))
	for name := range by {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(by[b], by[a]), strings.Compare(a, b))
	})
	var parts []string
	for i, name := range names {
		if n > 0 && i == n {
			parts = append(parts, fmt.Sprintf("%d more reasons", len(names)-n))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d", name, by[name]))
	}
	return strings.Join(parts, ", ")
}

// Rate is pages a second, "" when it means nothing yet.
func Rate(pages int64, d time.Duration) string {
	if pages <= 0 || d < 100*time.Millisecond {
		return ""
	}
	r := float64(pages) / d.Seconds()
	if r < 10 {
		return fmt.Sprintf("%.1f pages/s", r)
	}
	return fmt.Sprintf("%.0f pages/s", r)
}

// Bytes prints a size.
func Bytes(n int64) string {
	const units = "KMGTP"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1024, 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	return fmt.Sprintf("%.1f %ciB", f, units[i])
}

// Span prints a duration as a person says it.
func Span(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < 48*time.Hour:
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}
