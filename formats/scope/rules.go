package scope

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"seine/formats/names"
	"seine/formats/weburl"
)

// ruleSet finds the first of the ordered rules that matches: the least index that a lookup of
// each kind finds. All but regexps and files are one lookup, so that the number of rules does not
// count.
type ruleSet struct {
	rules    []Rule
	texts    []string // as Verdict.Rule shows them
	domains  map[string]int
	hosts    map[string]int
	prefixes prefixes
	regexps  []indexedRegexp // by index
	files    []indexedList   // by index
}

type indexedRegexp struct {
	index int
	re    *regexp.Regexp
}

type indexedList struct {
	index int
	list  *names.List
}

// CheckRules says what is wrong with rules as they are written: every fault. The files that they
// name are not looked at.
func CheckRules(texts []string) error {
	var rules []Rule
	var faults []error
	for _, text := range texts {
		r, err := ParseRule(text)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		rules = append(rules, r)
	}
	_, bad := newRuleSet(rules, func(string) *names.List { return nil })
	return errors.Join(append(faults, bad...)...)
}

// Files are the paths that "file:" rules among the texts name, in order, without repeats.
func Files(texts []string) (paths []string) {
	for _, text := range texts {
		r, err := ParseRule(text)
		if err == nil && r.Kind == KindFile && !slices.Contains(paths, r.Value) {
			paths = append(paths, r.Value)
		}
	}
	return paths
}

// listOf finds the lists of "file:" rules among those of a crawl.
func listOf(lists map[string]*names.List) func(path string) *names.List {
	return func(path string) *names.List { return lists[path] }
}

// newRuleSet compiles rules and returns every fault. list finds the list of a "file:" rule.
func newRuleSet(rules []Rule, list func(path string) *names.List) (ruleSet, []error) {
	s := ruleSet{rules: rules, domains: map[string]int{}, hosts: map[string]int{}}
	var faults []error
	var starts []prefixEntry
	for i, r := range rules {
		s.texts = append(s.texts, r.String())
		if r.Kind == KindFile {
			s.files = append(s.files, indexedList{i, list(r.Value)})
		}
		if err := s.add(i, r, &starts); err != nil {
			if r.Line > 0 {
				err = fmt.Errorf("line %d: %w", r.Line, err)
			}
			faults = append(faults, err)
		}
	}
	s.prefixes = buildPrefixes(starts)
	return s, faults
}

func (s *ruleSet) add(i int, r Rule, starts *[]prefixEntry) error {
	if err := r.checkKind(); err != nil {
		return err
	}
	first := func(m map[string]int, name string) {
		if _, ok := m[name]; !ok {
			m[name] = i
		}
	}
	switch r.Kind {
	case KindDomain, KindHost:
		host, err := names.Host(r.Value)
		if err != nil {
			return fmt.Errorf("rule %q: %w", r, err)
		}
		if r.Kind == KindDomain {
			first(s.domains, host)
		} else {
			first(s.hosts, host)
		}
	case KindPrefix:
		text, err := prefixValue(r.Value)
		if err != nil {
			return fmt.Errorf("rule %q: %w", r, err)
		}
		*starts = append(*starts, prefixEntry{text: text, order: i})
	case KindRegexp:
		re, err := regexp.Compile(r.Value)
		if err != nil {
			return fmt.Errorf("rule %q: %w; the syntax is RE2's", r, err)
		}
		s.regexps = append(s.regexps, indexedRegexp{i, re})
	}
	return nil
}

// prefixValue brings "host/path" or "http://host/path" to what key returns. Nothing is dropped
// from its query or sorted, for it is but the start of one.
func prefixValue(value string) (string, error) {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	path, query, hasQuery := strings.Cut(value, "?")
	u, err := weburl.Parse(path)
	if err != nil {
		return "", fmt.Errorf("%w; write it as host/path", err)
	}
	text := key(u.Normalize(weburl.Options{}))
	if hasQuery {
		text += "?" + query
	}
	return text, nil
}

// key is what prefixes are compared with: a URL without its scheme.
func key(u weburl.Normal) string { return u.URL[len(u.URL)-len(u.Path)-len(u.Authority):] }

// match returns the index of the first rule that matches.
func (s *ruleSet) match(u weburl.Normal) (index int, ok bool) {
	best := len(s.rules)
	if best == 0 {
		return 0, false
	}
	if i, ok := s.hosts[u.Host]; ok {
		best = min(best, i)
	}
	if len(s.domains) > 0 {
		for name := u.Host; ; {
			if i, ok := s.domains[name]; ok {
				best = min(best, i)
			}
			dot := strings.IndexByte(name, '.')
			if dot < 0 {
				break
			}
			name = name[dot+1:]
		}
	}
	if i, ok := s.prefixes.match(key(u)); ok {
		best = min(best, i)
	}
	for _, f := range s.files {
		if f.index >= best {
			break
		}
		if _, ok := f.list.Match(u.Host); ok {
			best = f.index
			break
		}
	}
	for _, r := range s.regexps {
		if r.index >= best {
			break
		}
		if r.re.MatchString(u.URL) {
			return r.index, true
		}
	}
	return best, best < len(s.rules)
}
