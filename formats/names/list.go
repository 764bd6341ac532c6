package names

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"
	"strings"
)

// List answers which line of a list a host falls under.
//
// The table is open addressing with linear probing. A slot has the place of its
// line in the text, plus one, and eight bits of its hash: without them each probe
// would be a cache miss in the text.
type List struct {
	text   []byte // lines, each ended
	places []uint32
	tags   []uint8
	seeds  [2]maphash.Seed // of domains, of hosts
	hosts  bool            // some line stands for one host alone
	count  int
}

// Entry is a line of a list: the place of its first byte.
type Entry uint32

// New makes a list of text in the form of Parse, which it keeps.
func New(text []byte) (*List, error) {
	if len(text) > MaxBytes {
		return nil, ErrTooLarge
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return nil, errors.New("a list is damaged: its last line has no end")
	}
	l := &List{text: text, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	n := 0
	for at := 0; at < len(text); {
		end := at + bytes.IndexByte(text[at:], '\n')
		if end > at {
			n++
		}
		at = end + 1
	}
	l.places, l.tags = make([]uint32, n+n/2+1), make([]uint8, n+n/2+1)
	for at := 0; at < len(text); {
		end := at + bytes.IndexByte(text[at:], '\n')
		if end > at {
			l.add(at, text[at:end])
		}
		at = end + 1
	}
	return l, nil
}

// add takes a line in; of two that say the same the first counts.
func (l *List) add(at int, line []byte) {
	name, only := bytes.CutPrefix(line, []byte(hostMark))
	seed := 0
	if only {
		seed, l.hosts = 1, true
	}
	h := maphash.Bytes(l.seeds[seed], name)
	for i := l.slot(h); ; i = l.after(i) {
		place := l.places[i]
		if place == 0 {
			l.places[i], l.tags[i] = uint32(at)+1, uint8(h)
			l.count++
			return
		}
		if l.tags[i] == uint8(h) && bytes.Equal(l.line(place-1), line) {
			return
		}
	}
}

// slot spreads hashes over the table by their high bits; tags are the low ones.
func (l *List) slot(h uint64) int {
	hi, _ := bits.Mul64(h, uint64(len(l.places)))
	return int(hi)
}

func (l *List) after(i int) int {
	if i++; i < len(l.places) {
		return i
	}
	return 0
}

// line is the line that begins at a place.
func (l *List) line(at uint32) []byte {
	rest := l.text[at:]
	return rest[:bytes.IndexByte(rest, '\n')]
}

// Count is how many different names the list has.
func (l *List) Count() int { return l.count }

// Match finds the line that a host in normal form falls under: its own, else that
// of the longest domain above it.
func (l *List) Match(host string) (Entry, bool) {
	if l.hosts {
		if e, ok := l.find(1, hostMark, host); ok {
			return e, true
		}
	}
	for name := host; ; {
		if e, ok := l.find(0, "", name); ok {
			return e, true
		}
		dot := strings.IndexByte(name, '.')
		if dot < 0 {
			return 0, false
		}
		name = name[dot+1:]
	}
}

// find looks for the line that is mark and name.
func (l *List) find(seed int, mark, name string) (Entry, bool) {
	h := maphash.String(l.seeds[seed], name)
	for i := l.slot(h); ; i = l.after(i) {
		place := l.places[i]
		if place == 0 {
			return 0, false
		}
		if l.tags[i] != uint8(h) {
			continue
		}
		at := int(place - 1)
		mid := at + len(mark)
		end := mid + len(name)
		if end < len(l.text) && l.text[end] == '\n' && string(l.text[mid:end]) == name &&
			string(l.text[at:mid]) == mark {
			return Entry(at), true
		}
	}
}

// Line is the number of an entry's line in the person's file, from 1, and what it
// says. It counts lines: it is for people, not for every URL.
func (l *List) Line(e Entry) (number int, text string) {
	return 1 + bytes.Count(l.text[:e], []byte("\n")), string(l.line(uint32(e)))
}

// String says how large the list is.
func (l *List) String() string { return fmt.Sprintf("%d names", l.count) }
