package twin

import (
	"math/big"
	"slices"

	"seine/formats/lsm"
	"seine/formats/schema"
)

// Quotas gives the quotas of the partitions by writing every row that waits
// down with its worth, and taking the best topN.
func Quotas(m *lsm.Manifest, now, topN int64, dueNow bool) map[uint16]int64 {
	worth := map[int64]map[uint16]int64{} // worth → partition → rows
	for _, run := range m.Frontier {
		for _, o := range run.Objects {
			for j, c := range o.Counts {
				from := int64(0)
				if o.Cursor != nil {
					from = o.Cursor[j]
				}
				for r := from; r < c; r++ {
					// The middle of row r of c lies in this sixteenth.
					mark := o.Marks[(2*r+1)*16/(2*c)]
					v := worthOf(run.Kind, mark, now, dueNow)
					if worth[v] == nil {
						worth[v] = map[uint16]int64{}
					}
					worth[v][o.Range.Lo+uint16(j)]++
				}
			}
		}
	}
	var values []int64
	for v := range worth {
		values = append(values, v)
	}
	slices.Sort(values)
	slices.Reverse(values)
	quotas := map[uint16]int64{}
	for _, v := range values {
		for p, n := range proportion(topN, worth[v]) {
			quotas[p] += n
			topN -= n
		}
	}
	return quotas
}

func worthOf(kind string, mark, now int64, dueNow bool) int64 {
	if kind == schema.Ready {
		return mark
	}
	if mark > now && !dueNow {
		return -1 << 63
	}
	return 4_320_000_000 - mark // a priority of one half
}

// proportion is the method of largest remainders, in fractions.
func proportion(total int64, weights map[uint16]int64) map[uint16]int64 {
	sum := int64(0)
	for _, w := range weights {
		sum += w
	}
	total = min(total, sum)
	shares, rest := map[uint16]int64{}, map[uint16]*big.Rat{}
	given := int64(0)
	for p, w := range weights {
		exact := new(big.Rat).Mul(big.NewRat(total, 1), big.NewRat(w, sum))
		floor := new(big.Int).Quo(exact.Num(), exact.Denom()).Int64()
		shares[p], rest[p] = floor, exact.Sub(exact, big.NewRat(floor, 1))
		given += floor
	}
	for ; given < total; given++ {
		best, found := uint16(0), false
		for p := uint16(0); p < 1024; p++ {
			if rest[p] != nil && (!found || rest[p].Cmp(rest[best]) > 0) {
				best, found = p, true
			}
		}
		shares[best]++
		rest[best] = big.NewRat(-1, 1)
	}
	return shares
}
