package lsm

import (
	"math"
	"slices"

	"seine/formats/rowfile"
)

// Costs in nanoseconds on one core, as BenchmarkProbe measures them on a Zen 4: they decide between
// asking a filter and reading pages, nothing else hangs on them.
const (
	pageCost   = 77_000 // read, decode and look through a page of 1,024 keys
	filterCost = 47_000 // read and unpack the filter of 64 Ki rows
	testCost   = 130    // ask a filter for a key
	falseRate  = 0.01
)

// filterPays says whether asking the filter of a group is expected to cost less
// than looking through the pages at once. touched of its pages have candidates,
// n candidates in all, of which a fraction known is there.
func filterPays(touched, n int, known float64) bool {
	if touched == 0 {
		return false
	}
	pass := float64(n) * (known + (1-known)*falseRate)
	// Passing candidates fall on the touched pages as if thrown at random.
	left := float64(touched) * (1 - math.Pow(1-1/float64(touched), pass))
	return filterCost+float64(n)*testCost+left*pageCost < float64(touched)*pageCost
}

// prober finds the rows of a page whose string is a candidate's. Most rows are
// not: a slot chosen by a glance at a string's length and end is empty for them.
// Where many candidates share a slot, for URLs can end alike, a hash of the whole
// string tells them apart.
type prober struct {
	match  []string
	chosen []int32                 // into match
	slots  [1 << glanceBits]uint16 // index into chosen of the slot's last, plus 1
	next   []uint16                // of each chosen: the one before in its slot, plus 1
	whole  map[string]uint16       // indexes into chosen; empty: was not needed on this page
}

// glanceBits is for 32 slots a candidate, of which there are rarely more than 256
// to a page.
const glanceBits = 13

// glance is a slot for a string.
func glance[S string | []byte](s S) uint32 {
	h := uint64(len(s))
	if n := len(s); n >= 16 {
		h += word(s[n-8:])*0x9e3779b97f4a7c15 ^ word(s[n-16:])*0xc2b2ae3d27d4eb4f
	}
	return uint32(h * 0x9e3779b97f4a7c15 >> (64 - glanceBits))
}

// word is the first eight bytes of s.
func word[S string | []byte](s S) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// few is up to how many candidates of a slot are compared one by one.
const few = 4

// load prepares for a page with the chosen candidates.
func (p *prober) load(match []string, chosen []int32) {
	p.match, p.chosen = match, chosen
	clear(p.slots[:])
	p.next = slices.Grow(p.next[:0], len(chosen))[:len(chosen)]
	clear(p.whole)
	for k, i := range chosen {
		slot := &p.slots[glance(match[i])]
		p.next[k], *slot = *slot, uint16(k+1)
	}
}

// probe appends the rows that match and the candidates they match. With unique,
// it stops when every candidate was found.
func (p *prober) probe(page *rowfile.Strings, unique bool, rows []int64, which []int32) ([]int64, []int32) {
	found := 0
	from := page.Offsets[0]
	for i, to := range page.Offsets[1:] {
		s := page.Data[from:to]
		from = to
		slot := p.slots[glance(s)]
		if slot == 0 {
			continue
		}
		k := p.find(slot, s)
		if k < 0 {
			continue
		}
		rows, which = append(rows, page.Row+int64(i)), append(which, p.chosen[k])
		if found++; unique && found == len(p.chosen) {
			break
		}
	}
	return rows, which
}

// find gives a candidate of a slot that has the string, as index into chosen;
// -1: none.
func (p *prober) find(slot uint16, s []byte) int {
	for range few {
		if slot == 0 {
			return -1
		}
		if p.match[p.chosen[slot-1]] == string(s) {
			return int(slot) - 1
		}
		slot = p.next[slot-1]
	}
	if slot == 0 {
		return -1
	}
	if len(p.whole) == 0 {
		if p.whole == nil {
			p.whole = map[string]uint16{}
		}
		for k, i := range p.chosen {
			p.whole[p.match[i]] = uint16(k)
		}
	}
	if k, ok := p.whole[string(s)]; ok {
		return int(k)
	}
	return -1
}
