package scope

import (
	"slices"
	"strings"
)

// prefixes answers which of many prefixes a key starts with, by one binary search. Every prefix
// of a key is its greatest entry not above the key, or stands above that entry in a chain of
// prefixes: what lies between a prefix of the key and the key starts with that prefix as well.
type prefixes struct {
	entries []prefixEntry // sorted by text, no text twice
}

type prefixEntry struct {
	text  string
	order int // the least order with which the text was added
	// parent is the longest other entry that text starts with, or -1; first is the least order
	// of the entry and all above it.
	parent, first int
}

// build sorts entries and links them; they must have text and order.
func buildPrefixes(entries []prefixEntry) prefixes {
	slices.SortFunc(entries, func(a, b prefixEntry) int {
		if c := strings.Compare(a.text, b.text); c != 0 {
			return c
		}
		return a.order - b.order
	})
	entries = slices.CompactFunc(entries, func(a, b prefixEntry) bool { return a.text == b.text })
	for i := range entries {
		e := &entries[i]
		e.parent, e.first = i-1, e.order
		for e.parent >= 0 && !strings.HasPrefix(e.text, entries[e.parent].text) {
			e.parent = entries[e.parent].parent
		}
		if e.parent >= 0 {
			e.first = min(e.order, entries[e.parent].first)
		}
	}
	return prefixes{entries}
}

// match returns the least order among the entries that key starts with.
func (p prefixes) match(key string) (order int, ok bool) {
	i, found := slices.BinarySearchFunc(p.entries, key, func(e prefixEntry, key string) int {
		return strings.Compare(e.text, key)
	})
	if !found {
		i--
	}
	for i >= 0 && !strings.HasPrefix(key, p.entries[i].text) {
		i = p.entries[i].parent
	}
	if i < 0 {
		return 0, false
	}
	return p.entries[i].first, true
}
