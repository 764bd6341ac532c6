package scope

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"seine/formats/names"
	"seine/formats/weburl"
)

// The scopes of the seeds.
const (
	Domain = "domain" // the registered domains of the seeds; the default
	Host   = "host"   // the hosts of the seeds, at any port
	Prefix = "prefix" // what lies below the seeds
	Any    = "any"    // every http and https URL
)

// The codes of a verdict, as the links table records them.
const (
	Accepted     = "accepted"
	OutOfScope   = "out_of_scope"
	ByRule       = "rule"
	Scheme       = "scheme"
	TooLong      = "too_long"
	TrapSegments = "trap_segments"
	TrapParams   = "trap_params"
	TrapRepeat   = "trap_repeat"
	TrapDepth    = "trap_depth"
)

// Config is what a Scope is made of. The zero value is the domains of no seeds: nothing.
type Config struct {
	Scope string   // Domain, Host, Prefix or Any; "" is Domain
	Seeds []string // URLs as they were injected
	// Origins are seeds with terms of their own, by what Of is asked for.
	Origins map[string]Origin
	Rules   []Rule                 // in order; the first that matches decides
	Lists   map[string]*names.List // of "file:" rules, by path
	Limits  Limits
	// Depth, where it is set, gives the limit of hops for URLs that have one of their own.
	// Of it and a seed's own the smaller holds.
	Depth func(u weburl.Normal) (limit int, ok bool)
	// URLs is how seeds are normalised; it must be what links are normalised with.
	URLs weburl.Options
}

// Verdict is the answer for a URL.
type Verdict struct {
	Accepted bool
	Code     string // Accepted, or why not
	// Rule is what decided: the rule as written, "seed", "scope domain", "segments <= 20".
	Rule string
	// Suspicion is 0 for what looks like a page and nears 1 for what looks like a trap. What is
	// accepted is demoted by it; what is refused has 0.
	Suspicion float64
}

// Scope decides for one crawl's settings. It never changes.
type Scope struct {
	reason  string // "scope domain"
	area    *area
	seeds   map[string]struct{} // keys: without scheme
	rules   ruleSet
	traps   traps
	origins map[string]*Scope // of seeds with terms of their own
	depth   func(u weburl.Normal) (limit int, ok bool)
}

// faultsShown bounds how many bad seeds one error lists.
const faultsShown = 20

// New checks and compiles c. Every fault is in the error: each bad rule, limit and seed, though
// of bad seeds only the first 20. s may be nil unless the scope is Domain.
func New(c Config, s *weburl.Suffixes) (*Scope, error) {
	if c.Scope == "" {
		c.Scope = Domain
	}
	faults := c.kindFaults(s)
	if s == nil {
		s = &weburl.Suffixes{}
	}
	limits := c.Limits.withDefaults()
	if err := limits.validate(); err != nil {
		faults = append(faults, err)
	}
	rules, bad := newRuleSet(c.Rules, listOf(c.Lists))
	faults = append(faults, bad...)
	for _, f := range rules.files {
		if f.list == nil {
			faults = append(faults, fmt.Errorf("rule %q: the list was not read", c.Rules[f.index]))
		}
	}
	scope := &Scope{reason: "scope " + c.Scope, rules: rules, traps: newTraps(limits), depth: c.Depth,
		area: newArea(c.Scope == Any), seeds: make(map[string]struct{}, len(c.Seeds))}
	faults = append(faults, scope.addSeeds(c, s)...)
	faults = append(faults, scope.addOrigins(c, limits)...)
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return scope, nil
}

// kindFaults says which scopes there are not.
func (c Config) kindFaults(s *weburl.Suffixes) (faults []error) {
	kinds := []string{c.Scope}
	for _, o := range c.Origins {
		kinds = append(kinds, cmp.Or(o.Scope, c.Scope))
	}
	slices.Sort(kinds)
	for _, kind := range slices.Compact(kinds) {
		switch kind {
		case Domain, Host, Prefix, Any:
		default:
			faults = append(faults, fmt.Errorf("scope %q: use one of domain, host, prefix, any", kind))
		}
		if kind == Domain && s == nil {
			faults = append(faults, errors.New("scope domain needs a public suffix list"))
		}
	}
	return faults
}

func (s *Scope) addSeeds(c Config, suffixes *weburl.Suffixes) []error {
	var faults []error
	bad := 0
	add := func(seeds []string, kind string, areas ...*area) {
		for _, seed := range seeds {
			n, err := weburl.Normalize(seed, c.URLs)
			if err != nil {
				if bad++; bad <= faultsShown {
					faults = append(faults, fmt.Errorf("seed %q: %w", weburl.Redact(seed), err))
				}
				continue
			}
			s.seeds[key(n)] = struct{}{}
			for _, a := range areas {
				a.add(kind, n, suffixes)
			}
		}
	}
	add(c.Seeds, c.Scope, s.area)
	s.origins = make(map[string]*Scope, len(c.Origins))
	for _, name := range slices.Sorted(maps.Keys(c.Origins)) {
		o := c.Origins[name]
		own := s.area
		if o.Scope != "" {
			own = newArea(o.Scope == Any)
		}
		add(o.Seeds, cmp.Or(o.Scope, c.Scope), slices.Compact([]*area{s.area, own})...)
		s.origins[name] = &Scope{area: own}
	}
	s.area.build()
	for _, o := range s.origins {
		o.area.build()
	}
	if bad > faultsShown {
		faults = append(faults, fmt.Errorf("and %d more bad seeds", bad-faultsShown))
	}
	return faults
}

// seedPrefixes returns what lies below a seed. The last segment of /docs/guide is a directory as
// well as one may tell, that of /docs/guide.html a file whose siblings are meant, and with a
// query it is a page. The boundary is a whole segment: /docs does not hold /docs2.
func seedPrefixes(n weburl.Normal) []prefixEntry {
	path, _, hasQuery := strings.Cut(n.Path, "?")
	slash := strings.LastIndexByte(path, '/')
	if last := path[slash+1:]; last == "" || hasQuery || strings.IndexByte(last, '.') >= 0 {
		return []prefixEntry{{text: n.Authority + path[:slash+1]}}
	}
	return []prefixEntry{{text: n.Authority + path + "/"}, {text: n.Authority + path + "?"}}
}

// Decide answers for a URL in normal form. domain is its registered domain by the suffix list of
// New; depth is its hops from the nearest seed, 0 for a seed.
func (s *Scope) Decide(u weburl.Normal, domain string, depth int) Verdict {
	if u.Scheme != "http" && u.Scheme != "https" {
		return Verdict{Code: Scheme, Rule: u.Scheme}
	}
	rule := s.reason
	if i, ok := s.rules.match(u); ok {
		rule = s.rules.texts[i]
		if !s.rules.rules[i].Include {
			return Verdict{Code: ByRule, Rule: rule}
		}
	} else if s.isSeed(u) {
		rule = "seed"
	} else if !s.area.holds(u, domain) {
		return Verdict{Code: OutOfScope, Rule: rule}
	}
	traps := &s.traps
	if s.depth != nil {
		if limit, ok := s.depth(u); ok {
			own := *traps
			own.setDepth(limit)
			traps = &own
		}
	}
	code, limit, suspicion := traps.judge(u, depth)
	if code != "" {
		return Verdict{Code: code, Rule: limit}
	}
	return Verdict{Accepted: true, Code: Accepted, Rule: rule,
		Suspicion: float64(suspicion) / 1000}
}

// Place says where the rule stands that decides over a URL.
type Place struct {
	Rule int    // its number, from 1
	Line int    // of a "file:" rule: the line of the file, from 1; else 0
	Text string // what that line says
}

// Locate finds the rule that decides over a URL in normal form, for people; false if none does.
func (s *Scope) Locate(u weburl.Normal) (Place, bool) {
	i, ok := s.rules.match(u)
	if !ok {
		return Place{}, false
	}
	p := Place{Rule: i + 1}
	for _, f := range s.rules.files {
		if f.index != i {
			continue
		}
		if e, ok := f.list.Match(u.Host); ok {
			p.Line, p.Text = f.list.Line(e)
		}
	}
	return p, true
}

// isSeed tells a seed, or its twin at the other scheme: a seed that redirects from http to https
// is still the seed.
func (s *Scope) isSeed(u weburl.Normal) bool {
	_, ok := s.seeds[key(u)]
	return ok
}
