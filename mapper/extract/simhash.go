package extract

import (
	"math/bits"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// shingle is how many words in a row make one feature.
const shingle = 3

// SimHash is the 64-bit sketch of M. Charikar, "Similarity estimation techniques from rounding
// algorithms" (STOC 2002), used as G. Manku, A. Jain and A. Das Sarma do in "Detecting
// near-duplicates for web crawling" (WWW 2007), who call two pages near-duplicates when at most 3
// of the 64 bits differ (HammingDistance).
//
// Features are runs of three words, each as often as it occurs; a text with fewer words is one
// feature. A word is a run of letters, digits and marks in lower case; a character of a script
// that does not divide words (Han, kana, Thai, Lao, Khmer, Myanmar) is a word by itself. A word's
// hash is XXH64; a feature's mixes its words' in order. Sketches are stored: none of this may
// change. A text without words has the sketch 0.
func SimHash(text string) uint64 {
	var v votes
	var window [shingle]uint64 // the last hashes, oldest first
	n := 0
	eachWord(text, func(h uint64) {
		copy(window[:], window[1:])
		window[shingle-1] = h
		if n++; n >= shingle {
			v.add(mixWords(window[:]))
		}
	})
	if n > 0 && n < shingle {
		v.add(mixWords(window[shingle-n:]))
	}
	return v.majority()
}

// HammingDistance is the number of bits in which two sketches differ, 0 to 64.
func HammingDistance(a, b uint64) int { return bits.OnesCount64(a ^ b) }

// mixWords hashes a sequence of word hashes; the finaliser is that of SplitMix64 (Steele, Lea and
// Flood 2014), which spreads every input bit over all 64.
func mixWords(words []uint64) uint64 {
	var h uint64
	for _, w := range words {
		h = bits.RotateLeft64(h, 21) ^ w
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

// votes counts, for each of 64 bit positions, the features that have it set. The counters are
// kept by bit plane (planes[k] holds bit k of all 64 counters), so that adding a feature is a
// ripple of word operations instead of 64 additions.
type votes struct {
	planes [32]uint64
	total  uint64
}

func (v *votes) add(h uint64) {
	v.total++
	for k := 0; h != 0 && k < len(v.planes); k++ {
		v.planes[k], h = v.planes[k]^h, v.planes[k]&h
	}
}

// majority has a bit set where more than half of the features had it.
func (v *votes) majority() uint64 {
	var out uint64
	for bit := range 64 {
		var count uint64
		for k, p := range v.planes {
			count |= (p >> bit & 1) << k
		}
		if 2*count > v.total {
			out |= 1 << bit
		}
	}
	return out
}

// eachWord calls f with the hash of each word of the text. Words are hashed as a whole, however
// long; only those in mixed case or longer than the scratch space are built piece by piece.
func eachWord(text string, f func(uint64)) {
	var d xxhash.Digest
	var buf [128]byte
	n, long := 0, false
	flush := func() {
		switch {
		case long:
			_, _ = d.Write(buf[:n]) // a Digest's Write never fails
			f(d.Sum64())
		case n > 0:
			f(xxhash.Sum64(buf[:n]))
		}
		n, long = 0, false
	}
	for _, r := range text {
		alone := false
		if r >= utf8.RuneSelf {
			alone = standsAlone(r)
		}
		if alone || !isWordRune(r) {
			flush()
			if !alone {
				continue
			}
		}
		if n > len(buf)-utf8.UTFMax {
			if !long {
				d.Reset()
			}
			long = true
			_, _ = d.Write(buf[:n])
			n = 0
		}
		n += utf8.EncodeRune(buf[n:], lowerRune(r))
		if alone {
			flush()
		}
	}
	flush()
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// standsAlone reports whether the script of a letter does not put spaces between words.
func standsAlone(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar) && unicode.IsLetter(r)
}
