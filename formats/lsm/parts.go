package lsm

import (
	"slices"

	"seine/formats/schema"
)

// partMost is the size in bytes, archives included, up to which settled parts are
// joined. A larger part is worth its few lines in the manifest.
const partMost = 256 << 20

// Settled says whether retention has taken of the part all that it takes by age:
// only pages and their archives, seeds and rounds are left, in which nothing
// changes but that versions of pages go.
func (p *Part) Settled() bool {
	for table, objects := range p.Tables {
		switch table {
		case schema.Pages, schema.Seeds, schema.Rounds:
		default:
			if len(objects) > 0 {
				return false
			}
		}
	}
	return true
}

// Bytes is the size of the part's objects and archives.
func (p *Part) Bytes() (n int64) {
	for _, objects := range p.Tables {
		for _, o := range objects {
			n += o.Bytes
		}
	}
	for _, w := range p.WARC {
		n += w.Bytes
	}
	return n
}

// PickParts says which settled parts a prune job joins: spans of their indexes, the
// oldest first. Every job adds a part, so without it the manifest, and small objects,
// would grow with the age of a crawl whose content does not. Sizes are tiered as
// those of runs are.
func PickParts(m *Manifest) (spans [][2]int) {
	for end := len(m.Parts); end > 0; {
		start := end
		for start > 0 && m.Parts[start-1].Settled() && m.Parts[start-1].Bytes() < partMost {
			start--
		}
		sizes := make([]int64, end-start)
		for i := range sizes {
			sizes[i] = sizeOf(m.Parts[start+i].Bytes())
		}
		for {
			from, to := tiered(sizes, partMost)
			if to == 0 {
				break
			}
			spans = append(spans, [2]int{start + from, start + to})
			sizes = sizes[:from]
		}
		end = min(start, end-1)
	}
	slices.Reverse(spans)
	return spans
}
