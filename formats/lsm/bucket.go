package lsm

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"
	"unsafe"
)

// bucket is the keys of one partition, as they came: records one after the other
// in chunks, so that growing moves nothing and one bucket takes another's chunks.
type bucket struct {
	full [][]byte
	tail []byte // takes the next record
	n    int    // records
}

// A chunk is twice as large as the one before, within these bounds in bytes; more
// where one record needs more.
const (
	minChunk = 4 << 10
	maxChunk = 256 << 10
)

// maxName is the longest domain or host in bytes.
const maxName = 1<<14 - 1

// A record is a word, the length of the URL in four bytes (both little-endian), and
// the URL. The word says where the names are. The host is found within the URL,
// most of the time, and the domain at the host's end; else they are stored before
// the URL, domain first.
//
//	bits 0-13 length of the domain, 14-27 of the host,
//	28-43 place of the host in the URL plus 1 (0: stored), 44 domain is stored
const (
	nameBits   = 14
	placeShift = 2 * nameBits
	ownShift   = placeShift + 16

	recordHead = 8 + 4
)

// add stores a key and returns how many bytes it took.
func (b *bucket) add(k Key) int64 {
	need := recordHead + len(k.Domain) + len(k.Host) + len(k.URL)
	if cap(b.tail)-len(b.tail) < need {
		b.grow(need)
	}
	word := uint64(len(k.Domain)) | uint64(len(k.Host))<<nameBits
	domain, host := "", ""
	if !strings.HasSuffix(k.Host, k.Domain) {
		word |= 1 << ownShift
		domain = k.Domain
	}
	if at := authority(k.URL); strings.HasPrefix(k.URL[at:], k.Host) {
		word |= uint64(at+1) << placeShift
	} else {
		host = k.Host
	}
	t := binary.LittleEndian.AppendUint64(b.tail, word)
	t = binary.LittleEndian.AppendUint32(t, uint32(len(k.URL)))
	t = append(append(append(t, domain...), host...), k.URL...)
	took := len(t) - len(b.tail)
	b.tail = t
	b.n++
	return int64(took)
}

// authority is where the host of most URLs begins, by their scheme.
func authority(u string) int {
	const http, https = len("http://"), len("https://")
	switch {
	case len(u) >= https && u[https-1] == '/':
		return https
	case len(u) >= http:
		return http
	}
	return 0
}

// grow begins a chunk that has room for need bytes.
func (b *bucket) grow(need int) {
	if len(b.tail) > 0 {
		b.full = append(b.full, b.tail)
	}
	b.tail = make([]byte, 0, max(need, min(max(2*cap(b.tail), minChunk), maxChunk)))
}

// absorb takes the keys of another bucket.
func (b *bucket) absorb(o *bucket) {
	b.full = append(b.full, o.full...)
	if len(o.tail) > 0 {
		b.full = append(b.full, o.tail)
	}
	b.n += o.n
}

// text is bytes of a chunk as a string: a record does not change once it is there.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// record takes the first record off a chunk.
func record(c []byte) (u url, name hostName, rest []byte) {
	word := binary.LittleEndian.Uint64(c)
	n := int(binary.LittleEndian.Uint32(c[8:]))
	c = c[recordHead:]
	domain, host := int(word&maxName), int(word>>nameBits&maxName)
	if word>>ownShift == 1 {
		name.domain, c = text(c[:domain]), c[domain:]
	}
	place := int(word >> placeShift & 0xffff)
	if place == 0 {
		name.host, c = text(c[:host]), c[host:]
	} else {
		name.host = text(c[place-1 : place-1+host])
	}
	if word>>ownShift == 0 {
		name.domain = name.host[host-domain:]
	}
	return url{at: unsafe.SliceData(c[:n]), len: uint32(n)}, name, c[n:]
}

// hostName is all of a key but partition and URL.
type hostName struct{ domain, host string }

// grouping is memory for one bucket at a time.
type grouping struct {
	seed    maphash.Seed
	slots   []int32 // of an open hash table: numbers of hosts, plus 1
	hosts   []hostName
	order   []int32
	at      []int
	ends    []int
	urls    []url // as they came
	grouped []url // by host
}

// read takes the bucket's records apart and numbers their hosts.
func (g *grouping) read(b *bucket) {
	if g.slots == nil {
		g.seed, g.slots = maphash.MakeSeed(), make([]int32, 256)
	}
	clear(g.slots)
	g.hosts, g.order, g.at, g.ends = g.hosts[:0], g.order[:0], g.at[:0], g.ends[:0]
	g.urls = slices.Grow(g.urls[:0], b.n)
	for i := range len(b.full) + 1 {
		chunk := b.tail
		if i < len(b.full) {
			chunk = b.full[i]
		}
		for len(chunk) > 0 {
			u, name, rest := record(chunk)
			chunk = rest
			u.host = g.number(name)
			g.at[u.host]++
			g.urls = append(g.urls, u)
		}
	}
}

// number is a host's, a new one for a host that was not there.
func (g *grouping) number(name hostName) int32 {
	at := g.slot(name)
	if n := g.slots[at]; n != 0 {
		return n - 1
	}
	id := int32(len(g.hosts))
	g.hosts, g.order, g.at = append(g.hosts, name), append(g.order, id), append(g.at, 0)
	if 2*len(g.hosts) < len(g.slots) {
		g.slots[at] = id + 1
		return id
	}
	g.slots = make([]int32, 4*len(g.slots))
	for i := range g.hosts {
		g.slots[g.slot(g.hosts[i])] = int32(i) + 1
	}
	return id
}

// slot is where a host is, or belongs.
func (g *grouping) slot(name hostName) int {
	mask := len(g.slots) - 1
	at := int(maphash.String(g.seed, name.host)) & mask
	for n := g.slots[at]; n != 0 && g.hosts[n-1] != name; n = g.slots[at] {
		at = (at + 1) & mask
	}
	return at
}

// group brings the records of each host together, in the order of hosts.
func (g *grouping) group(b *bucket) {
	g.read(b)
	slices.SortFunc(g.order, func(x, y int32) int {
		if c := strings.Compare(g.hosts[x].domain, g.hosts[y].domain); c != 0 {
			return c
		}
		return strings.Compare(g.hosts[x].host, g.hosts[y].host)
	})
	next := 0
	for _, id := range g.order {
		n := g.at[id]
		g.at[id] = next
		next += n
		g.ends = append(g.ends, next)
	}
	g.grouped = slices.Grow(g.grouped[:0], len(g.urls))[:len(g.urls)]
	for _, u := range g.urls {
		g.grouped[g.at[u.host]] = u
		g.at[u.host]++
	}
}

// sorted emits the bucket's distinct keys in order.
func (b *bucket) sorted(partition uint16, g *grouping, emit func(Key) error) error {
	g.group(b)
	start := 0
	for i, id := range g.order {
		urls := g.grouped[start:g.ends[i]]
		start = g.ends[i]
		sortURLs(urls)
		h := &g.hosts[id]
		last := ""
		for j := range urls {
			u := urls[j].text()
			if j > 0 && u == last {
				continue
			}
			last = u
			if err := emit(Key{partition, h.domain, h.host, u}); err != nil {
				return err
			}
		}
	}
	return nil
}
