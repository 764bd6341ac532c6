package extract

import (
	"unicode"
	"unicode/utf8"
)

// asciiSpace is HTML's white space.
const asciiSpace = " \t\n\f\r"

// collapser gathers text: runs of white space become one space, block boundaries one newline,
// neither stands at an end, and what nobody sees (controls, soft hyphens, zero-width spaces) goes.
type collapser struct {
	buf     []byte
	max     int  // bytes
	gap     byte // what separates the next character from buf: 0, ' ' or '\n'
	cut     bool // something found no place
	sawNUL  bool
	oneLine bool // block boundaries are spaces
}

// breakLine marks a block boundary.
func (c *collapser) breakLine() {
	if c.oneLine {
		c.space()
	} else if len(c.buf) > 0 {
		c.gap = '\n'
	}
}

func (c *collapser) space() {
	if c.gap == 0 && len(c.buf) > 0 {
		c.gap = ' '
	}
}

// write appends text, which must be valid UTF-8.
func (c *collapser) write(b []byte) {
	for i := 0; i < len(b) && !c.cut; {
		switch ch := b[i]; {
		case ch > ' ' && ch < 0x7f:
			j := i + 1
			for j < len(b) && b[j] > ' ' && b[j] < 0x7f {
				j++
			}
			c.append(b[i:j])
			i = j
		case ch < utf8.RuneSelf:
			c.control(ch)
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			c.rune(r, b[i:i+n])
			i += n
		}
	}
}

func (c *collapser) control(ch byte) {
	switch ch {
	case ' ', '\t', '\n', '\f', '\r', '\v':
		c.space()
	case 0:
		c.sawNUL = true
	}
}

func (c *collapser) rune(r rune, b []byte) {
	switch {
	case unicode.IsSpace(r):
		c.space()
	case unicode.IsControl(r), invisible(r):
	default:
		c.append(b)
	}
}

// invisible characters say where a line may break; they make equal texts differ.
func invisible(r rune) bool {
	return r == 0xAD || r == 0x200B || r == 0x2060 || r == 0xFEFF
}

// append adds a run without white space, as much of it as fits in whole characters.
func (c *collapser) append(b []byte) {
	room := c.max - len(c.buf)
	if c.gap != 0 {
		room--
	}
	if len(b) > room {
		c.cut = true
		b = cutRunes(b, max(room, 0))
		if len(b) == 0 {
			return
		}
	}
	if c.gap != 0 {
		c.buf = append(c.buf, c.gap)
		c.gap = 0
	}
	c.buf = append(c.buf, b...)
}

// cutRunes is the longest prefix of at most n bytes that ends between two characters.
func cutRunes(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return b[:n]
}

func (c *collapser) reset() {
	c.buf, c.gap, c.cut = c.buf[:0], 0, false
}

func (c *collapser) String() string { return string(c.buf) }
