package scope

import (
	"errors"
	"fmt"
	"strings"

	"seine/formats/names"
	"seine/formats/weburl"
)

// Blocks answers which of many blocks keeps a URL away. The zero value blocks
// nothing. It never changes and may be asked by many goroutines.
type Blocks struct {
	set ruleSet
}

// ParsePlace reads what a block or a sheet is for, "domain:example.com", "host:…" or
// "prefix:…", or the bare name as a person types it: a name is a domain (with
// all below it), what has a path is a prefix, a URL is the prefix that it is.
// It returns the whole form.
func ParsePlace(text string) (string, error) {
	kind, value, ok := strings.Cut(text, ":")
	switch {
	case ok && (kind == KindDomain || kind == KindHost || kind == KindPrefix):
	case strings.Contains(text, "/"):
		kind, value = KindPrefix, text
	default:
		kind, value = KindDomain, text
	}
	what := kind + ":" + value
	var err error
	switch {
	case value == "":
		err = errors.New("nothing after the colon")
	case kind == KindPrefix:
		value, err = prefixValue(value)
	default:
		value, err = names.Host(value)
	}
	if err != nil {
		return "", fmt.Errorf("%q: %w; name a DOMAIN, host:HOST or HOST/PATH", what, err)
	}
	return kind + ":" + value, nil
}

// ParseBlock reads what a block is for, by ParsePlace.
func ParseBlock(text string) (string, error) {
	what, err := ParsePlace(text)
	if err != nil {
		return "", fmt.Errorf("block %w", err)
	}
	return what, nil
}

// Key is what prefixes are compared with: a URL in normal form without its scheme.
func Key(u weburl.Normal) string { return key(u) }

// NewBlocks compiles blocks in the form of ParseBlock.
func NewBlocks(whats []string) (*Blocks, error) {
	rules := make([]Rule, len(whats))
	for i, what := range whats {
		rules[i].Kind, rules[i].Value, _ = strings.Cut(what, ":")
		if k := rules[i].Kind; k != KindDomain && k != KindHost && k != KindPrefix {
			return nil, fmt.Errorf("block %q: none of domain:, host:, prefix:", what)
		}
	}
	set, faults := newRuleSet(rules, listOf(nil))
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("blocks: %w", err)
	}
	return &Blocks{set}, nil
}

// Match returns the index of the first block that holds for a URL in normal
// form.
func (b *Blocks) Match(u weburl.Normal) (index int, ok bool) {
	if b == nil {
		return 0, false
	}
	return b.set.match(u)
}
