package extract

import "math/bits"

// HammingDistance is the number of bits in which two sketches differ, 0 to 64.
func HammingDistance(a, b uint64) int { return bits.OnesCount64(a ^ b) }
