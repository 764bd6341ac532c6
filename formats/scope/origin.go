package scope

import (
	"cmp"
	"fmt"

	"seine/formats/weburl"
)

// Origin is what a seed, or all seeds of a tag, ask for what is found from them.
type Origin struct {
	Seeds []string // URLs as they were injected; not among those of Config
	// Scope is that of these seeds alone; "": what is found from them is judged by the scope of
	// all seeds.
	Scope string
	Depth int // hops from the seed; 0: as Limits say; -1: none
}

// addOrigins makes the scopes of what is found from seeds with terms of their own; addSeeds has
// given them their areas.
func (s *Scope) addOrigins(c Config, limits Limits) (faults []error) {
	for name, own := range s.origins {
		o := c.Origins[name]
		l := limits
		l.Depth = cmp.Or(o.Depth, limits.Depth)
		if err := l.validate(); err != nil {
			faults = append(faults, fmt.Errorf("seed %s: %w", name, err))
		}
		own.reason = "scope " + cmp.Or(o.Scope, c.Scope)
		own.seeds, own.rules, own.traps, own.depth = s.seeds, s.rules, newTraps(l), s.depth
		if o.Depth != 0 && s.depth != nil {
			own.depth = func(u weburl.Normal) (int, bool) {
				limit, ok := s.depth(u)
				return min(limit, max(o.Depth, 0)), ok
			}
		}
	}
	return faults
}

// Of is the scope of what was found from a seed: origin is the seed's tag or URL, as urls says it.
// Where the seed has no terms of its own it is s itself.
func (s *Scope) Of(origin string) *Scope {
	if own, ok := s.origins[origin]; ok {
		return own
	}
	return s
}

// area is what lies in the scope of seeds. It is written by add, made ready by build, and then
// read only.
type area struct {
	any      bool
	domains  map[string]struct{}
	hosts    map[string]struct{}
	starts   []prefixEntry // until build
	prefixes prefixes
}

func newArea(all bool) *area {
	return &area{any: all, domains: map[string]struct{}{}, hosts: map[string]struct{}{}}
}

// add lets in what a seed's scope holds. That of a seed of scope Any goes for what is found from it
// alone, so it adds nothing here.
func (a *area) add(kind string, seed weburl.Normal, suffixes *weburl.Suffixes) {
	switch kind {
	case Domain:
		a.domains[suffixes.Domain(seed.Host)] = struct{}{}
	case Host:
		a.hosts[seed.Host] = struct{}{}
	case Prefix:
		a.starts = append(a.starts, seedPrefixes(seed)...)
	}
}

func (a *area) build() {
	if len(a.starts) > 0 {
		a.prefixes, a.starts = buildPrefixes(a.starts), nil
	}
}

// holds says whether a URL in normal form lies in the area.
func (a *area) holds(u weburl.Normal, domain string) bool {
	if a.any {
		return true
	}
	if _, ok := a.domains[domain]; ok {
		return true
	}
	if _, ok := a.hosts[u.Host]; ok {
		return true
	}
	if len(a.prefixes.entries) == 0 {
		return false
	}
	_, ok := a.prefixes.match(key(u))
	return ok
}
