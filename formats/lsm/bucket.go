package lsm

import (
	"slices"
	"strings"
	"unsafe"
)

// bucket is the keys of one partition, as they came.
type bucket struct {
	arena []byte
	urls  []url
}

// maxName is the longest domain or host in bytes.
const maxName = 1<<14 - 1

// A record's word says, until it is grouped, where its names are. The host is
// found within the URL, most of the time, and the domain at the host's end; else
// they are stored before the URL, domain first.
//
//	bits 0-13 length of the domain, 14-27 of the host,
//	28-43 place of the host in the URL plus 1 (0: stored), 44 domain is stored
const (
	nameBits   = 14
	placeShift = 2 * nameBits
	ownShift   = placeShift + 16
)

// add stores a key and returns how many bytes it took.
func (b *bucket) add(k Key) int64 {
	before := len(b.arena)
	// Doubling copies each byte about once; append alone grows large slices by a
	// quarter.
	if need := len(k.Domain) + len(k.Host) + len(k.URL); before+need > cap(b.arena) {
		b.arena = slices.Grow(b.arena, max(need, before, 4<<10))
	}
	if len(b.urls) == cap(b.urls) {
		b.urls = slices.Grow(b.urls, max(len(b.urls), 64))
	}
	word := uint64(len(k.Domain)) | uint64(len(k.Host))<<nameBits
	if !strings.HasSuffix(k.Host, k.Domain) {
		word |= 1 << ownShift
		b.arena = append(b.arena, k.Domain...)
	}
	if at := strings.Index(k.URL[:min(len(k.URL), 8)], "//"); at >= 0 && strings.HasPrefix(k.URL[at+2:], k.Host) {
		word |= uint64(at+3) << placeShift
	} else {
		b.arena = append(b.arena, k.Host...)
	}
	b.urls = append(b.urls, url{word: word, off: uint32(len(b.arena)), len: uint32(len(k.URL))})
	b.arena = append(b.arena, k.URL...)
	return int64(len(b.arena) - before)
}

// absorb takes the keys of another bucket.
func (b *bucket) absorb(o *bucket) {
	shift := uint32(len(b.arena))
	b.arena = append(b.arena, o.arena...)
	b.urls = slices.Grow(b.urls, len(o.urls))
	for _, u := range o.urls {
		u.off += shift
		b.urls = append(b.urls, u)
	}
}

// string is a piece of the arena, which does not change while keys are emitted.
func (b *bucket) string(off, n uint32) string {
	piece := b.arena[off : off+n]
	return unsafe.String(unsafe.SliceData(piece), len(piece))
}

func (b *bucket) text(u *url) string { return b.string(u.off, u.len) }

// names are the domain and host of an ungrouped record.
func (b *bucket) names(u *url) hostName {
	domain := uint32(u.word & maxName)
	host := uint32(u.word >> nameBits & maxName)
	at := u.off - host
	own := at
	if place := uint32(u.word >> placeShift & 0xffff); place > 0 {
		at, own = u.off+place-1, u.off
	}
	h := hostName{host: b.string(at, host)}
	if u.word>>ownShift == 1 {
		h.domain = b.string(own-domain, domain)
	} else {
		h.domain = h.host[host-domain:]
	}
	return h
}

// hostName is all of a key but partition and URL.
type hostName struct{ domain, host string }

// grouping is memory for one bucket at a time.
type grouping struct {
	ids   map[hostName]int32
	hosts []hostName
	order []int32
	at    []int
	ends  []int
	urls  []url
}

// group brings the records of each host together, in the order of hosts.
func (g *grouping) group(b *bucket) {
	if g.ids == nil {
		g.ids = map[hostName]int32{}
	}
	clear(g.ids)
	g.hosts, g.order, g.at, g.ends = g.hosts[:0], g.order[:0], g.at[:0], g.ends[:0]
	for i := range b.urls {
		name := b.names(&b.urls[i])
		id, ok := g.ids[name]
		if !ok {
			id = int32(len(g.hosts))
			g.ids[name] = id
			g.hosts, g.order, g.at = append(g.hosts, name), append(g.order, id), append(g.at, 0)
		}
		b.urls[i].host = id
		g.at[id]++
	}
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
	g.urls = slices.Grow(g.urls[:0], len(b.urls))[:len(b.urls)]
	for i := range b.urls {
		id := b.urls[i].host
		g.urls[g.at[id]] = b.urls[i]
		g.at[id]++
	}
}

// sorted emits the bucket's distinct keys in order.
func (b *bucket) sorted(partition uint16, g *grouping, emit func(Key) error) error {
	g.group(b)
	start := 0
	for i, id := range g.order {
		urls := g.urls[start:g.ends[i]]
		start = g.ends[i]
		b.sortURLs(urls)
		h := &g.hosts[id]
		last := ""
		for j := range urls {
			u := b.text(&urls[j])
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
