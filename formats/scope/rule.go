package scope

import (
	"errors"
	"fmt"
	"strings"
)

// Rule is one line of the ordered rules.
type Rule struct {
	Include bool   // "+": let in; else "-": keep out
	Kind    string // KindDomain, KindHost, KindPrefix, KindRegexp or KindFile
	Value   string
	Line    int // where it was read, from 1; 0 if it is from no file
}

// The kinds of rule.
const (
	// KindDomain: the name and all names below it, be it a registered domain or a host.
	KindDomain = "domain"
	// KindHost: that host alone, at any port.
	KindHost = "host"
	// KindPrefix: what starts with it, scheme aside: "example.com/docs/". http and https are
	// not told apart, so that a redirect from one to the other does not leave the scope.
	KindPrefix = "prefix"
	// KindRegexp: an RE2 expression found anywhere in the normal form of the URL.
	KindRegexp = "regexp"
	// KindFile: a list of domains and hosts in a file (package names).
	KindFile = "file"
)

// String returns the rule as it is written: "-regexp:\.zip$".
func (r Rule) String() string {
	sign := "-"
	if r.Include {
		sign = "+"
	}
	return sign + r.Kind + ":" + r.Value
}

// ParseRule reads a rule: "+" or "-", a kind, ":" and a value, as in "+domain:example.com" or
// `-regexp:\.zip$`. The value itself is looked at by New.
func ParseRule(s string) (Rule, error) {
	text := strings.TrimSpace(s)
	if text == "" || text[0] != '+' && text[0] != '-' {
		return Rule{}, fmt.Errorf("rule %q: start it with + (crawl) or - (do not)", s)
	}
	kind, value, ok := strings.Cut(text[1:], ":")
	r := Rule{Include: text[0] == '+', Kind: strings.TrimSpace(kind),
		Value: strings.TrimSpace(value)}
	if !ok {
		return Rule{}, fmt.Errorf("rule %q: write it as %ckind:value, kind one of %s",
			s, text[0], kinds)
	}
	if err := r.checkKind(); err != nil {
		return Rule{}, err
	}
	return r, nil
}

// ParseRules reads a rule a line; blank lines and lines that start with "#" are skipped. Every
// fault is reported, each with its line.
func ParseRules(text string) ([]Rule, error) {
	var rules []Rule
	var faults []error
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		r, err := ParseRule(line)
		if err != nil {
			faults = append(faults, fmt.Errorf("line %d: %w", number, err))
			continue
		}
		r.Line = number
		rules = append(rules, r)
	}
	return rules, errors.Join(faults...)
}

const kinds = "domain, host, prefix, regexp, file"

func (r Rule) checkKind() error {
	switch r.Kind {
	case KindDomain, KindHost, KindPrefix, KindRegexp, KindFile:
	default:
		return fmt.Errorf("rule %q: unknown kind %q, use one of %s", r, r.Kind, kinds)
	}
	if r.Value == "" {
		return fmt.Errorf("rule %q: nothing after the colon", r)
	}
	return nil
}
