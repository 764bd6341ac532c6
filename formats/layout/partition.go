package layout

import "fmt"

// Partitions is the number of partitions of every crawl, laptop or cluster.
const Partitions = 1024

// Range is the partitions [Lo, Hi) that a task works on.
type Range struct {
	Lo uint16 `json:"lo"`
	Hi uint16 `json:"hi"`
}

// All is the range of all partitions.
var All = Range{0, Partitions}

// Holds says whether partition p lies in the range.
func (r Range) Holds(p uint16) bool { return r.Lo <= p && p < r.Hi }

// Overlaps says whether the two ranges share a partition.
func (r Range) Overlaps(o Range) bool { return r.Lo < o.Hi && o.Lo < r.Hi }

// Len is the number of partitions in the range.
func (r Range) Len() int { return int(r.Hi) - int(r.Lo) }

func (r Range) String() string { return fmt.Sprintf("%d-%d", r.Lo, r.Hi-1) }

// Split cuts all partitions into n contiguous ranges whose lengths differ by at
// most one; n is brought into [1, Partitions].
func Split(n int) []Range {
	n = max(1, min(n, Partitions))
	ranges := make([]Range, n)
	for i := range ranges {
		ranges[i] = Range{uint16(i * Partitions / n), uint16((i + 1) * Partitions / n)}
	}
	return ranges
}
