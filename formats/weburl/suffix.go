package weburl

import (
	_ "embed"
	"fmt"
	"net/netip"
	"strings"
)

// embedded is the Public Suffix List that a new crawl pins; NORMALIZE.md says where it is from
// and how it is refreshed.
//
//go:embed public_suffix_list.dat
var embedded string

// EmbeddedSuffixes returns the text of the Public Suffix List that this build carries. A crawl
// stores it when it is created and reads its own ever after.
func EmbeddedSuffixes() []byte { return []byte(embedded) }

// What a rule of the list says of a name.
const (
	suffixRule      = 1 << iota // "com": the name is a public suffix
	suffixWildcard              // "*.ck": so is whatever stands right before the name
	suffixException             // "!www.ck": the name is not, though a wildcard says so
)

// Suffixes is a Public Suffix List, private section included.
type Suffixes struct {
	rules map[string]uint8
	depth int // labels of the longest rule
}

// ParseSuffixes reads the text of a Public Suffix List in the format of publicsuffix.org: a rule
// a line, comments after "//", UTF-8. Rules that are not ASCII are kept in punycode.
func ParseSuffixes(list []byte) (*Suffixes, error) {
	s := &Suffixes{rules: make(map[string]uint8, 12<<10)}
	number := 0
	for line := range strings.Lines(string(list)) {
		number++
		line, _, _ = strings.Cut(strings.TrimSpace(line), "//")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if err := s.add(fields[0]); err != nil {
			return nil, fmt.Errorf("public suffix list, line %d: %w", number, err)
		}
	}
	if len(s.rules) == 0 {
		return nil, fmt.Errorf("public suffix list of %d bytes has no rule", len(list))
	}
	return s, nil
}

func (s *Suffixes) add(rule string) error {
	kind := uint8(suffixRule)
	name := rule
	if rest, ok := strings.CutPrefix(rule, "!"); ok {
		kind, name = suffixException, rest
	} else if rest, ok := strings.CutPrefix(rule, "*."); ok {
		kind, name = suffixWildcard, rest
	} else if rule == "*" {
		return nil // what holds anyway
	}
	host, err := parseHost(name)
	if err != nil || strings.Contains(host, "*") {
		return fmt.Errorf("rule %q is not a domain name", shown(rule))
	}
	s.rules[host] |= kind
	s.depth = max(s.depth, strings.Count(host, ".")+2)
	return nil
}

// Domain returns the registered domain of a host: its public suffix and one label more. IP
// addresses, single labels and public suffixes are their own domain. The host is one of a URL or
// Normal; a trailing dot is dropped. The result is a suffix of the host.
func (s *Suffixes) Domain(host string) string {
	host = strings.TrimSuffix(host, ".")
	if isAddress(host) {
		return host
	}
	// end is where the label before the candidate ends; suffix where the best suffix starts.
	suffix := strings.LastIndexByte(host, '.') + 1
	above := uint8(0)
	for end, labels := len(host), 0; end > 0 && labels < s.depth; labels++ {
		start := strings.LastIndexByte(host[:end], '.') + 1
		rule := s.rules[host[start:]]
		if rule&suffixException != 0 {
			return host[start:]
		}
		if rule&suffixRule != 0 || above&suffixWildcard != 0 {
			suffix = start
		}
		above, end = rule, start-1
	}
	if suffix == 0 {
		return host
	}
	return host[strings.LastIndexByte(host[:suffix-1], '.')+1:]
}

func isAddress(host string) bool {
	if host == "" || host[0] == '[' {
		return true
	}
	last := host[len(host)-1]
	if (last < '0' || last > '9') && strings.IndexByte(host, ':') < 0 {
		return false
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}
