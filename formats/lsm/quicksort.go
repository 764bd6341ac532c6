package lsm

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
)

// Multikey quicksort (Bentley and Sedgewick 1997) over URLs, with eight bytes of
// each cached beside its place (as burstsort and string sample sort do): most
// comparisons are of two integers. URLs of a host share a long beginning, which is
// skipped once for all; sorting by the first eight bytes would compare nothing.

// insertion is the size up to which insertion sort is faster.
const insertion = 12

func sortURLs(g []url) {
	if len(g) < 2 {
		return
	}
	depth := common(g)
	load(g, depth)
	quicksort(g, depth)
}

// common is the length of the beginning that all of g share.
func common(g []url) int {
	first := g[0].text()
	n := len(first)
	for i := 1; i < len(g) && n > 0; i++ {
		u := g[i].text()
		n = min(n, len(u))
		if u[:n] == first[:n] {
			continue
		}
		at := 0
		for u[at] == first[at] {
			at++
		}
		n = at
	}
	return n
}

// load caches the eight bytes from depth on; beyond the end are zeros.
func load(g []url, depth int) {
	for i := range g {
		rest := g[i].bytes()[min(uint32(depth), g[i].len):]
		if len(rest) >= 8 {
			g[i].word = binary.BigEndian.Uint64(rest)
			continue
		}
		var b [8]byte
		copy(b[:], rest)
		g[i].word = binary.BigEndian.Uint64(b[:])
	}
}

// quicksort sorts by the cached word, and runs of one word by what follows it.
// After many splits, which only contrived pivots cause, a plain sort ends it.
func quicksort(g []url, depth int) {
	for splits := 2 * bits.Len(uint(len(g))); len(g) > insertion && splits > 0; splits-- {
		lt, gt := partition3(g, pivot(g))
		quicksort(g[:lt], depth)
		deeper(g[lt:gt], depth)
		g = g[gt:]
	}
	slices.SortFunc(g, func(a, b url) int {
		switch {
		case a.word < b.word:
			return -1
		case a.word > b.word:
			return 1
		}
		return strings.Compare(a.text(), b.text())
	})
}

// deeper sorts URLs that agree up to and in the cached word.
func deeper(g []url, depth int) {
	if len(g) < 2 {
		return
	}
	longest := 0
	for i := range g {
		longest = max(longest, int(g[i].len))
	}
	depth += 8
	if longest <= depth {
		// Ended within the word: zeros beyond the end, or bytes of zero, which only
		// the lengths tell apart.
		slices.SortFunc(g, func(a, b url) int { return int(a.len) - int(b.len) })
		return
	}
	load(g, depth)
	if slices.ContainsFunc(g, func(u url) bool { return int(u.len) < depth }) {
		slices.SortFunc(g, func(a, b url) int { return strings.Compare(a.text(), b.text()) })
		return
	}
	quicksort(g, depth)
}

// pivot is the median of three, of nine where it matters.
func pivot(g []url) uint64 {
	n := len(g)
	if n < 128 {
		return median(g[0].word, g[n/2].word, g[n-1].word)
	}
	e := n / 8
	return median(median(g[0].word, g[e].word, g[2*e].word),
		median(g[n/2-e].word, g[n/2].word, g[n/2+e].word),
		median(g[n-1-2*e].word, g[n-1-e].word, g[n-1].word))
}

func median(a, b, c uint64) uint64 { return max(min(a, b), min(max(a, b), c)) }

// partition3 brings smaller words before lt and greater ones from gt on.
func partition3(g []url, p uint64) (lt, gt int) {
	gt = len(g)
	for i := 0; i < gt; {
		switch w := g[i].word; {
		case w < p:
			g[i], g[lt] = g[lt], g[i]
			lt++
			i++
		case w > p:
			gt--
			g[i], g[gt] = g[gt], g[i]
		default:
			i++
		}
	}
	return lt, gt
}
