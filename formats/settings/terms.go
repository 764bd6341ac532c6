package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"seine/formats/scope"
)

// Terms are what a seed, or all seeds of one tag, ask for themselves and for all
// that is found from them: what carries the seed's tag, or its URL, in the column
// seed of urls. They are put by `seine inject`.
type Terms struct {
	// Interval is how often a page is looked at again, whatever it changes; 0: as
	// the page changes.
	Interval Duration `json:"interval,omitempty"`
	// Depth is how many hops from the seed are followed, in place of max_depth; 0: as
	// max_depth says; -1: none, the seeds alone.
	Depth int `json:"depth,omitempty"`
	// Scope is that of these seeds: domain, host, prefix, any; "": the crawl's.
	Scope string `json:"scope,omitempty"`
}

// MaxTerms is how many tags and URLs may have terms of their own: every task of a
// round holds them. Seeds that share a tag share its terms.
const MaxTerms = 10_000

// String writes the terms as a seeds file has them: "interval=1h0m0s depth=2".
func (t Terms) String() string {
	var parts []string
	if t.Interval != 0 {
		parts = append(parts, "interval="+t.Interval.D().String())
	}
	if t.Depth != 0 {
		parts = append(parts, fmt.Sprintf("depth=%d", max(t.Depth, 0)))
	}
	if t.Scope != "" {
		parts = append(parts, "scope="+t.Scope)
	}
	return strings.Join(parts, " ")
}

// Validate says what is wrong with terms.
func (t Terms) Validate() error {
	switch {
	case t.Interval != 0 && (t.Interval.D() < time.Minute || t.Interval.D() > 3650*day):
		return fmt.Errorf("interval %v is outside 1m to 3650d", t.Interval.D())
	case t.Depth < -1 || t.Depth > 1_000_000:
		return fmt.Errorf("depth %d is outside 0 to 1000000", t.Depth)
	case t.Scope != "" && !slices.Contains([]string{scope.Domain, scope.Host, scope.Prefix, scope.Any}, t.Scope):
		return fmt.Errorf("scope %q is none of domain, host, prefix, any", t.Scope)
	}
	return nil
}

func (s Settings) termFaults() (faults []error) {
	if n := len(s.Terms); n > MaxTerms {
		faults = append(faults, fmt.Errorf("%d seeds have an interval, depth or scope of their own, at most %d "+
			"may: give seeds that agree one tag", n, MaxTerms))
	}
	for _, seed := range slices.Sorted(maps.Keys(s.Terms)) {
		if err := s.Terms[seed].Validate(); err != nil {
			faults = append(faults, fmt.Errorf("seed %s: %w", seed, err))
		}
	}
	return faults
}
