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

// wordHasher gathers the bytes of one word, in lower case, in pieces when it is long.
type wordHasher struct {
	buf  [128]byte
	n    int // bytes in buf
	long bool
	d    xxhash.Digest // of the pieces before buf, when long
}

// spill makes room.
func (w *wordHasher) spill() {
	if !w.long {
		w.d.Reset()
		w.long = true
	}
	_, _ = w.d.Write(w.buf[:w.n]) // a Digest's Write never fails
	w.n = 0
}

// ascii takes in the ASCII letters and digits that s begins with, as many as there is room for
// beside another character, and says how many.
func (w *wordHasher) ascii(s string) int {
	into := w.buf[w.n : len(w.buf)-utf8.UTFMax+1]
	i := 0
	for i < len(s) && i < len(into) {
		c := asciiWord[s[i]]
		if c == 0 {
			break
		}
		into[i] = c
		i++
	}
	w.n += i
	return i
}

// end returns the hash of the word gathered, however long; ok is false when there is none.
func (w *wordHasher) end() (h uint64, ok bool) {
	switch {
	case w.long:
		w.spill()
		h, ok = w.d.Sum64(), true
	case w.n > 0:
		h, ok = xxhash.Sum64(w.buf[:w.n]), true
	}
	w.n, w.long = 0, false
	return h, ok
}

// eachWord calls f with the hash of each word of the text.
func eachWord(text string, f func(uint64)) {
	var w wordHasher
	flush := func() {
		if h, ok := w.end(); ok {
			f(h)
		}
	}
	for i := 0; i < len(text); {
		if w.n > len(w.buf)-utf8.UTFMax {
			w.spill()
		}
		if text[i] < utf8.RuneSelf {
			if n := w.ascii(text[i:]); n > 0 {
				i += n
				continue
			}
			i++
			if w.n > 0 || w.long {
				flush()
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		alone := standsAlone(r)
		if alone || !isWordRune(r) {
			flush()
		}
		if alone || isWordRune(r) {
			w.n += utf8.EncodeRune(w.buf[w.n:], lowerRune(r))
		}
		if alone {
			flush()
		}
	}
	flush()
}

// asciiWord maps the ASCII letters and digits to lower case, all other bytes to 0.
var asciiWord = func() (t [256]byte) {
	for c := range byte(utf8.RuneSelf) {
		if l := byte(lowerRune(rune(c))); 'a' <= l && l <= 'z' || '0' <= l && l <= '9' {
			t[c] = l
		}
	}
	return t
}()

// isWordRune is for what is not ASCII.
func isWordRune(r rune) bool {
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
