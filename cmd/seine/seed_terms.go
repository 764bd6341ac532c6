package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"seine/cmd/internal/node"
	"seine/formats/settings"
	"seine/jobs"
)

// unsaid, as the value of interval, depth or scope, takes a seed's own away.
const unsaid = "default"

// saidTerms are the terms that a seed, or a file for a tag, speaks of; the others
// stay as they are.
type saidTerms struct {
	interval *settings.Duration // 0: as pages change
	depth    *int               // 0: max_depth; -1: none
	scope    *string            // "": the crawl's
}

// set takes one key=value; false if the key is none of the terms.
func (t *saidTerms) set(key, value string) (meant bool, err error) {
	var terms settings.Terms
	switch key {
	case "interval":
		if value != unsaid {
			if err := terms.Interval.UnmarshalText([]byte(value)); err != nil {
				return true, fmt.Errorf("interval %w, or %s", err, unsaid)
			}
			if terms.Interval == 0 {
				return true, fmt.Errorf("interval 0 is none; write 1h, 7d, or %s", unsaid)
			}
		}
		t.interval = &terms.Interval
	case "depth":
		if value != unsaid {
			n, err := strconv.ParseUint(value, 10, 31)
			if err != nil {
				return true, fmt.Errorf("depth %q is no number of hops; write 0 for the seed alone, 2, or %s", value,
					unsaid)
			}
			if terms.Depth = int(n); n == 0 {
				terms.Depth = -1
			}
		}
		t.depth = &terms.Depth
	case "scope":
		if value != unsaid {
			terms.Scope = value
			if value == "" {
				return true, fmt.Errorf("scope is empty; write domain, host, prefix, any, or %s", unsaid)
			}
		}
		t.scope = &terms.Scope
	default:
		return false, nil
	}
	return true, terms.Validate()
}

// into notes in the seed what was said with it.
func (t saidTerms) into(seed *jobs.Seed) {
	var terms settings.Terms
	t.change(&terms)
	seed.Interval, seed.Depth, seed.Scope = terms.Interval.D().Milliseconds(), terms.Depth, terms.Scope
}

// change makes terms what is said.
func (t saidTerms) change(terms *settings.Terms) {
	if t.interval != nil {
		terms.Interval = *t.interval
	}
	if t.depth != nil {
		terms.Depth = *t.depth
	}
	if t.scope != nil {
		terms.Scope = *t.scope
	}
}

// seedOrigin is what the column seed of urls says of all that is found from a
// seed.
func seedOrigin(url, tag string) string {
	if tag != "" {
		return tag
	}
	return url
}

// say adds what one seed says to what the others said: seeds of one tag share
// their terms, so they must agree.
func (s *seedFile) say(seed jobs.Seed, said saidTerms) error {
	if said == (saidTerms{}) {
		return nil
	}
	origin := seedOrigin(seed.URL, seed.Tag)
	all := s.terms[origin]
	var before, now settings.Terms
	all.change(&before)
	for _, differs := range []bool{
		merge(&all.interval, said.interval), merge(&all.depth, said.depth), merge(&all.scope, said.scope)} {
		if differs && seed.Tag != "" {
			said.change(&now)
			return fmt.Errorf("seed %s says %q, others of the tag %s say %q: the seeds of a tag share interval, "+
				"depth and scope; say them once, or give it a tag of its own", seed.URL, now, seed.Tag, before)
		}
	}
	s.terms[origin] = all
	return nil
}

// merge takes over what is said; true if something else had been.
func merge[T comparable](all **T, said *T) (differs bool) {
	if said == nil {
		return false
	}
	differs = *all != nil && **all != *said
	*all = said
	return differs
}

// putTerms makes what the seeds say of interval, depth and scope a version of the
// settings; the job that brings the seeds takes it.
func (a *app) putTerms(ctx context.Context, c *node.Crawl, seeds *seedFile) error {
	if len(seeds.terms) == 0 {
		return nil
	}
	return a.changeTerms(ctx, c, func(terms map[string]settings.Terms) {
		for origin, said := range seeds.terms {
			of := terms[origin]
			said.change(&of)
			if terms[origin] = of; of == (settings.Terms{}) {
				delete(terms, origin)
			}
		}
	})
}

// changeTerms puts a version of the settings with other terms of seeds, if they
// are others.
func (a *app) changeTerms(ctx context.Context, c *node.Crawl,
	change func(terms map[string]settings.Terms)) error {
	_, _, err := c.ChangeSettings(ctx, func(newest settings.Settings) (settings.Change, error) {
		s := newest
		if s.Terms = maps.Clone(newest.Terms); s.Terms == nil {
			s.Terms = map[string]settings.Terms{}
		}
		if change(s.Terms); len(s.Terms) == 0 {
			s.Terms = nil
		}
		err := s.Fill().Validate()
		if err != nil {
			err = usagef("%w; nothing was injected", err)
		}
		return settings.Change{Settings: s, By: a.user(), At: nowMS()}, err
	})
	return err
}

// termChanges are the lines that lead from terms to others.
func termChanges(from, to map[string]settings.Terms) (lines []string) {
	for _, seed := range slices.Sorted(maps.Keys(to)) {
		if old, had := from[seed]; old != to[seed] {
			line := fmt.Sprintf("seed %s: %s", seed, to[seed])
			if had {
				line += ", was " + old.String()
			}
			lines = append(lines, line)
		}
	}
	for _, seed := range slices.Sorted(maps.Keys(from)) {
		if _, has := to[seed]; !has {
			lines = append(lines, fmt.Sprintf("seed %s: no terms of its own, was %s", seed, from[seed]))
		}
	}
	return lines
}
