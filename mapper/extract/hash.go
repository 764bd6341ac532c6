package extract

import (
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// ContentHash is the 64-bit xxHash (XXH64, seed 0) of a text in lower case with every run of white
// space as one space and none at the ends, so that it does not change when only markup, case or
// line breaks do. Equal hashes mean the same words; it is no defence against forgery.
func ContentHash(text string) uint64 {
	var d xxhash.Digest
	d.Reset()
	var chunk [512]byte
	n := 0
	gap, any := false, false
	for i := 0; i < len(text); {
		if l := asciiInk[text[i]]; l != 0 && n < len(chunk)-1-utf8.UTFMax { // most of most texts
			if gap {
				chunk[n] = ' '
				n++
			}
			gap, any = false, true
			chunk[n] = l
			n++
			i++
			continue
		}
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		i += size
		if r == ' ' || r == '\n' || (r < ' ' || r >= utf8.RuneSelf) && unicode.IsSpace(r) {
			gap = any
			continue
		}
		if n > len(chunk)-1-utf8.UTFMax {
			_, _ = d.Write(chunk[:n]) // a Digest's Write never fails
			n = 0
		}
		if gap {
			chunk[n] = ' '
			n++
		}
		gap, any = false, true
		if r = lowerRune(r); r < utf8.RuneSelf {
			chunk[n] = byte(r)
			n++
		} else {
			n += utf8.EncodeRune(chunk[n:], r)
		}
	}
	_, _ = d.Write(chunk[:n])
	return d.Sum64()
}

func lowerRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(r)
}

// asciiInk maps the visible ASCII characters to lower case, all other bytes to 0.
var asciiInk = func() (t [256]byte) {
	for c := byte('!'); c < 0x7f; c++ {
		t[c] = byte(lowerRune(rune(c)))
	}
	return t
}()
