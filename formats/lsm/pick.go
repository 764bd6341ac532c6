package lsm

import (
	"math"
	"slices"
)

// The pick's constants. With them a row is rewritten about log₄ of the table's
// growth times, a lookup meets a handful of runs, and what no longer counts stays
// below a third of a table.
const (
	// pickRuns is how many runs of one tier are merged at least. Fewer would
	// rewrite rows more often, more would leave lookups more runs to ask.
	pickRuns = 4
	// pickRatio joins the next older run to a merge while it is no more than this
	// part, in percent, of what the merge has already.
	pickRatio = 120
	// pickMost is how many runs a table may have before its youngest are merged,
	// whatever their sizes.
	pickMost = 12
	// pickGarbage is the part, in percent, of rows that are superseded or deltas
	// from which on the whole table is merged.
	pickGarbage = 30
	// pickFloor is a size in bytes below which runs count as equal: merging them
	// costs a few requests, whatever they hold.
	pickFloor = 1 << 20
)

// Pick says what to compact: for each table, the ids of runs adjacent in age,
// oldest first, that should become one. It is a pure function of the manifest;
// nil says that there is nothing to do. The frontier's runs are never picked:
// only the jobs that write them may merge them.
//
// Sizes are tiered from the young end: beginning with each run in turn, youngest
// first, the next older run joins while it is no larger than what has joined
// already (by pickRatio); the first group of pickRuns is it. So runs grow by
// factors, and the oldest is touched only when the younger ones together have
// its size, or a third of the table no longer counts.
func Pick(m *Manifest) map[string][]string {
	var out map[string][]string
	for table, runs := range m.Tables {
		group := pickGroup(runs)
		if len(group) < 2 {
			continue
		}
		if out == nil {
			out = map[string][]string{}
		}
		for _, r := range group {
			out[table] = append(out[table], r.ID)
		}
	}
	return out
}

func pickGroup(runs []Run) []Run {
	if garbage(runs) {
		return runs
	}
	sizes := make([]int64, len(runs))
	for i, r := range runs {
		sizes[i] = sizeOf(r.Bytes())
	}
	if start, end := tiered(sizes, math.MaxInt64); end > 0 {
		return runs[start:end]
	}
	if len(runs) > pickMost {
		return cheapest(runs)
	}
	return nil
}

// tiered finds the youngest group of sizes, oldest first, that are of one tier and
// no more than most together; end is 0 if there is none.
func tiered(sizes []int64, most int64) (start, end int) {
	for end := len(sizes); end >= pickRuns; end-- {
		start, size := end-1, sizes[end-1]
		for start > 0 && sizes[start-1]*100 <= size*pickRatio && size+sizes[start-1] <= most {
			start--
			size += sizes[start]
		}
		if end-start >= pickRuns {
			return start, end
		}
	}
	return 0, 0
}

func sizeOf(bytes int64) int64 { return max(bytes, pickFloor) }

// garbage says whether so much of the table no longer counts that it should be
// rewritten whole: superseded rows, and deltas, which count only until folded.
func garbage(runs []Run) bool {
	var rows, dead int64
	for _, r := range runs {
		for _, o := range r.Objects {
			rows += o.Rows
			dead += o.SupersededRows + o.Deltas
		}
	}
	return len(runs) > 1 && bytesOf(runs) > int64(len(runs))*pickFloor && dead*100 > rows*pickGarbage
}

func bytesOf(runs []Run) (n int64) {
	for _, r := range runs {
		n += r.Bytes()
	}
	return n
}

// cheapest is the adjacent group of pickRuns with the fewest bytes, the youngest
// of equals.
func cheapest(runs []Run) []Run {
	best := len(runs) - pickRuns
	least := bytesOf(runs[best:])
	for at := best - 1; at >= 0; at-- {
		if n := bytesOf(runs[at : at+pickRuns]); n < least {
			best, least = at, n
		}
	}
	return slices.Clip(runs[best : best+pickRuns])
}
