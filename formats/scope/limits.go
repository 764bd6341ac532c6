package scope

import (
	"errors"
	"fmt"
	"strconv"

	"seine/formats/weburl"
)

// Limits bound what one URL may look like. A zero field is the default.
type Limits struct {
	Length       int // bytes of the normal form; 2,048
	Segments     int // segments of the path; 20
	Params       int // parameters of the query; 10
	RepeatedRuns int // a run of segments this often in a row is a trap; 3, at least 2
	Depth        int // hops from a seed; 20; -1 is none: seeds only
}

// withDefaults fills the zero fields. The figures are the defaults of the design: browsers and
// servers agree on about 2,000 bytes, and real pages beyond the others are rare.
func (l Limits) withDefaults() Limits {
	fill := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&l.Length, 2048)
	fill(&l.Segments, 20)
	fill(&l.Params, 10)
	fill(&l.RepeatedRuns, 3)
	fill(&l.Depth, 20)
	return l
}

func (l Limits) validate() error {
	var faults []error
	least := func(name string, value, least int) {
		if value < least {
			faults = append(faults, fmt.Errorf("limit %s is %d, the least is %d",
				name, value, least))
		}
	}
	least("length", l.Length, len("http://a/"))
	least("segments", l.Segments, 1)
	least("params", l.Params, 1)
	least("repeated runs", l.RepeatedRuns, 2)
	least("depth", l.Depth, -1)
	return errors.Join(faults...)
}

// traps are limits made ready: what they say when they refuse is written once.
type traps struct {
	Limits
	length, segments, params, repeats, depth string
}

func newTraps(l Limits) traps {
	t := traps{
		Limits:   l,
		length:   fmt.Sprintf("length <= %d", l.Length),
		segments: fmt.Sprintf("segments <= %d", l.Segments),
		params:   fmt.Sprintf("params <= %d", l.Params),
		repeats:  fmt.Sprintf("repeats < %d", l.RepeatedRuns),
	}
	t.setDepth(l.Depth)
	return t
}

func (t *traps) setDepth(limit int) {
	t.Depth, t.depth = limit, "depth <= "+strconv.Itoa(max(limit, 0))
}

// judge returns the code and rule of the limit that u breaks, or "" and the suspicion, in
// thousandths, of one that breaks none.
func (t *traps) judge(u weburl.Normal, depth int) (code, rule string, suspicion int) {
	if len(u.URL) > t.Length {
		return TooLong, t.length, 0
	}
	if depth > max(t.Depth, 0) {
		return TrapDepth, t.depth, 0
	}
	s := measure(u.Path, t.RepeatedRuns)
	switch {
	case s.segments > t.Segments:
		return TrapSegments, t.segments, 0
	case s.params > t.Params:
		return TrapParams, t.params, 0
	case s.repeats >= t.RepeatedRuns:
		return TrapRepeat, t.repeats, 0
	}
	return "", "", t.suspect(s, len(u.URL), depth)
}

// suspect adds up, in thousandths, what makes a URL look like a trap while it is under every
// limit. Each sign takes its share of the trust that is left, so the sum stays below 1000; all
// is integer, so that every machine gets the same number.
func (t *traps) suspect(s shape, length, depth int) int {
	suspicion := 0
	add := func(share int) { suspicion += (1000 - suspicion) * share / 1000 }
	// From half a limit on, up to the given share at the limit.
	add(beyondHalf(length, t.Length) * 300 / 1000)
	add(beyondHalf(s.segments, t.Segments) * 500 / 1000)
	add(beyondHalf(s.params, t.Params) * 600 / 1000)
	add(beyondHalf(depth, t.Depth) * 300 / 1000)
	if s.repeats > 1 {
		add(800 * (s.repeats - 1) / (t.RepeatedRuns - 1))
	}
	if s.sameNames {
		add(200)
	}
	if s.dated && depth > 3 {
		add(300)
	}
	return suspicion
}

// beyondHalf returns how far n is from half of limit to limit, in thousandths.
func beyondHalf(n, limit int) int {
	half := limit / 2
	if n <= half || limit <= half {
		return 0
	}
	return min(1000, (n-half)*1000/(limit-half))
}
