package generate

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/reducer/task"
)

const (
	// popFactor and popFloor bound the work of a task: what it may pop (and
	// move) for each URL of its quota, and at least (DESIGN §7).
	popFactor = 16
	popFloor  = 65_536
	// marks is the number of rank marks that an object of the frontier has.
	marks = 16
	// notDue is the value of rows that are not due: below every rank.
	notDue = math.MinInt64
)

// Quotas says how many URLs each partition may list, so that the best of the
// whole crawl go first: an object of the frontier is taken as 16 slices, each
// as good as its mark; the best slices are taken until topN is reached, the
// last ones in proportion. The sum is topN, or all that waits if that is less.
// now is in ms; dueNow takes rows that are not due for due.
//
// Ready slices are worth their rank. Waiting ones are worth the rank that a
// priority of one half would have; those not due come after all others, where
// they make up for estimates that are too low.
func Quotas(m *lsm.Manifest, now int64, topN int64, dueNow bool) []int64 {
	all := slicesOf(m, now, dueNow)
	slices.SortStableFunc(all, func(a, b slice) int { return cmp.Compare(b.value, a.value) })
	quotas := make([]int64, layout.Partitions)
	left := max(topN, 0)
	for len(all) > 0 && left > 0 {
		n := 1
		for n < len(all) && all[n].value == all[0].value {
			n++
		}
		counts := make([]int64, layout.Partitions)
		for _, s := range all[:n] {
			s.count(counts)
		}
		all = all[n:]
		for p, share := range apportion(left, counts) {
			quotas[p] += share
			left -= share
		}
	}
	return quotas
}

// slice is the i-th sixteenth of each partition of an object.
type slice struct {
	object *lsm.QueueObject
	i      int64
	value  int64 // rank, or notDue
}

func slicesOf(m *lsm.Manifest, now int64, dueNow bool) []slice {
	var all []slice
	for r := range m.Frontier {
		run := &m.Frontier[r]
		for o := range run.Objects {
			object := &run.Objects[o]
			for i, mark := range object.Marks {
				value := mark
				if run.Kind == schema.Waiting {
					value = waitingValue(mark, now, dueNow)
				}
				if i < marks {
					all = append(all, slice{object, int64(i), value})
				}
			}
		}
	}
	return all
}

func waitingValue(due, now int64, dueNow bool) int64 {
	if due > now && !dueNow {
		return notDue
	}
	return task.Rank(0.5, due)
}

// count adds what the slice has left in each partition. Row r of c belongs to
// the slice that its middle lies in, so a partition with one row has it in the
// middle, neither best nor worst.
func (s slice) count(counts []int64) {
	for j, c := range s.object.Counts {
		from := (2*c*s.i + marks - 1) / (2 * marks)
		to := (2*c*(s.i+1) + marks - 1) / (2 * marks)
		from = max(from, cursorOf(s.object, j))
		if to > from {
			counts[int(s.object.Range.Lo)+j] += to - from
		}
	}
}

func cursorOf(o *lsm.QueueObject, j int) int64 {
	if j < len(o.Cursor) {
		return o.Cursor[j]
	}
	return 0
}

// apportion gives total away in proportion to weights, none more than its
// weight: all of them if total covers them, else floors and then one each by
// largest remainder, the lower index first.
func apportion(total int64, weights []int64) []int64 {
	sum := int64(0)
	for _, w := range weights {
		sum += w
	}
	if sum <= total {
		return slices.Clone(weights)
	}
	return scale(total, sum, weights)
}

// scale gives total away in proportion to weights, whose sum is sum > 0.
func scale(total, sum int64, weights []int64) []int64 {
	shares := make([]int64, len(weights))
	rests := make([]uint64, len(weights))
	order := make([]int, len(weights))
	left := total
	for i, w := range weights {
		high, low := bits.Mul64(uint64(total), uint64(w))
		share, rest := bits.Div64(high, low, uint64(sum))
		shares[i], rests[i], order[i] = int64(share), rest, i
		left -= shares[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rests[b], rests[a]) })
	for _, i := range order[:left] {
		shares[i]++
	}
	return shares
}

// limits says how many rows of each partition of r a task may pop, and how many
// it may move: 16 for each URL of the quota; and where that leaves room below
// 65,536, the rest in proportion to what waits, so that a partition of rows
// that come to nothing is got through all the same.
func limits(m *lsm.Manifest, quotas []int64, r layout.Range) []int64 {
	left := remaining(m)
	quota, waits := int64(0), int64(0)
	for p := range left {
		if !r.Holds(uint16(p)) {
			left[p] = 0
			continue
		}
		quota += quotas[p]
		waits += left[p]
	}
	bound := make([]int64, layout.Partitions)
	if slack := popFloor - popFactor*quota; slack > 0 && waits > 0 {
		bound = scale(slack, waits, left)
	}
	for p := int(r.Lo); p < int(r.Hi); p++ {
		bound[p] += popFactor * quotas[p]
	}
	return bound
}

// remaining is the number of frontier rows of each partition not yet consumed.
func remaining(m *lsm.Manifest) []int64 {
	left := make([]int64, layout.Partitions)
	for r := range m.Frontier {
		for o := range m.Frontier[r].Objects {
			object := &m.Frontier[r].Objects[o]
			for j, c := range object.Counts {
				left[int(object.Range.Lo)+j] += c - cursorOf(object, j)
			}
		}
	}
	return left
}
