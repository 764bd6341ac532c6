package lsm

import (
	"hash/maphash"
	"math"

	"seine/formats/rowfile"
)

// Costs in nanoseconds on one core, estimated from the libraries' rates, not
// measured on this code: they decide between asking a filter and reading pages,
// nothing else hangs on them.
const (
	pageCost   = 65_000 // read and decode a page of 1,024 keys
	filterCost = 40_000 // read and unpack the filter of 64 Ki rows
	testCost   = 220    // ask a filter for a key
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
// not: a bit set by a glance at a string's length and end turns most of them away,
// a hash table tells the rest.
type prober struct {
	seed    maphash.Seed
	ready   bool
	match   []string
	chosen  []int32 // into match
	table   []int32 // index into chosen, plus 1
	mask    uint64
	glances [glanceBits / 64]uint64
}

// glanceBits is 32 for each candidate, of which there are rarely more than 256
// to a page.
const glanceBits = 1 << 13

// glance is a bit for a string. Many URLs may end alike; then the table does all.
func glance[S string | []byte](s S) uint32 {
	h := uint64(len(s))
	if n := len(s); n >= 16 {
		h += word(s[n-8:])*0x9e3779b97f4a7c15 ^ word(s[n-16:])*0xc2b2ae3d27d4eb4f
	}
	return uint32(h * 0x9e3779b97f4a7c15 >> (64 - 13))
}

// word is the first eight bytes of s.
func word[S string | []byte](s S) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// few is up to how many candidates are compared without a hash table.
const few = 3

// load prepares for a page with the chosen candidates.
func (p *prober) load(match []string, chosen []int32) {
	p.match, p.chosen = match, chosen
	clear(p.glances[:])
	for _, i := range chosen {
		g := glance(match[i])
		p.glances[g/64] |= 1 << (g % 64)
	}
	if len(chosen) <= few {
		return
	}
	if !p.ready {
		p.seed, p.ready = maphash.MakeSeed(), true
	}
	size := 8
	for size < 2*len(chosen) {
		size *= 2
	}
	if cap(p.table) < size {
		p.table = make([]int32, size)
	}
	p.table = p.table[:size]
	clear(p.table)
	p.mask = uint64(size - 1)
	for k, i := range chosen {
		h := maphash.String(p.seed, match[i]) & p.mask
		for p.table[h] != 0 {
			h = (h + 1) & p.mask
		}
		p.table[h] = int32(k + 1)
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
		if g := glance(s); p.glances[g/64]>>(g%64)&1 == 0 {
			continue
		}
		k := p.find(s)
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

// find gives a candidate that has the string, as index into chosen; -1: none.
func (p *prober) find(s []byte) int {
	if len(p.chosen) <= few {
		for k, i := range p.chosen {
			if p.match[i] == string(s) {
				return k
			}
		}
		return -1
	}
	for h := maphash.Bytes(p.seed, s) & p.mask; p.table[h] != 0; h = (h + 1) & p.mask {
		k := int(p.table[h]) - 1
		if p.match[p.chosen[k]] == string(s) {
			return k
		}
	}
	return -1
}
