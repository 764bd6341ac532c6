package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"seine/formats/layout"
	"seine/formats/weburl"
)

// shape is what a database is drawn from. Equal shapes give equal bytes.
type shape struct {
	Seed uint64 `json:"seed"`
	URLs int64  `json:"urls"`
}

// corpus is the web that a database knows a part of: any URL of it can be named
// without keeping any.
type corpus struct {
	shape
	domains []domain // by (partition, name)
	byName  map[string]int32
	popular []int32 // domains by falling size: the ranks of the Zipf distribution
}

// domain is a registered domain. Its URLs have numbers: those below urls are
// known from the start, all others are there to be found.
type domain struct {
	name      string
	partition uint16
	hosts     int
	urls      int
	id        uint64
}

// newCorpus draws domains of log-normal sizes around 60 URLs (σ = 1.8, so the
// mean is about 300) up to a hundredth of all; one in eight has several hosts.
func newCorpus(s shape) *corpus {
	c := &corpus{shape: s, byName: map[string]int32{}}
	r := rand.New(rand.NewPCG(s.Seed, 20))
	for left, id := s.URLs, uint64(1); left > 0; id++ {
		size := int64(math.Exp(r.NormFloat64()*1.8 + math.Log(60)))
		size = min(max(size, 1), max(s.URLs/100, 1), left)
		left -= size
		hosts := 1
		if r.IntN(8) == 0 {
			hosts = min(2+r.IntN(5), int(size))
		}
		name := word(r.Uint64()) + strconv.FormatUint(id, 36) + "." + tlds[r.IntN(len(tlds))]
		c.domains = append(c.domains, domain{name: name, partition: weburl.Partition(name),
			hosts: hosts, urls: int(size), id: id})
	}
	slices.SortFunc(c.domains, func(a, b domain) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.name, b.name))
	})
	for i := range c.domains {
		c.byName[c.domains[i].name] = int32(i)
		c.popular = append(c.popular, int32(i))
	}
	slices.SortStableFunc(c.popular, func(a, b int32) int {
		return cmp.Compare(c.domains[b].urls, c.domains[a].urls)
	})
	return c
}

// in gives the domains of a range.
func (c *corpus) in(r layout.Range) []domain {
	at := func(p uint16) int {
		i, _ := slices.BinarySearchFunc(c.domains, p, func(d domain, p uint16) int {
			return cmp.Compare(d.partition, p)
		})
		return i
	}
	return c.domains[at(r.Lo):at(r.Hi)]
}

// hash draws 64 bits for URL j of a domain, for one purpose.
func (c *corpus) hash(d *domain, j int, purpose uint64) uint64 {
	return mix(mix(mix(c.Seed^purpose*0x9e3779b97f4a7c15)^d.id) ^ uint64(j))
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hostOf is the number of the host that has URL j.
func (d *domain) hostOf(j int) int { return j % d.hosts }

func (d *domain) host(h int) string {
	if h == 0 {
		return "www." + d.name
	}
	return syllables[(d.id+uint64(h))%uint64(len(syllables))] + strconv.Itoa(h) + "." + d.name
}

// url is URL j of a domain in normal form; the first of each host is its home
// page.
func (c *corpus) url(d *domain, j int) string {
	host := d.host(d.hostOf(j))
	if j < d.hosts {
		return "https://" + host + "/"
	}
	x := c.hash(d, j, 1)
	section := syllables[x%8] + syllables[x>>3%3]
	x >>= 5
	switch d.id % 4 {
	case 0:
		return fmt.Sprintf("https://%s/%s/%s-%s-%d.html", host, section, word(x), word(x>>16), j)
	case 1:
		return fmt.Sprintf("https://%s/%s/20%02d/%02d/%s-%s-%x", host, section, 10+x%16, 1+x>>4%12,
			word(x>>8), word(x>>24), j)
	case 2:
		return fmt.Sprintf("https://%s/%s.php?id=%d&page=%d", host, section, j, x%50)
	}
	return fmt.Sprintf("https://%s/%s/%s/%s/%d/", host, section, word(x), word(x>>16), j)
}

var syllables = []string{"ka", "lo", "mi", "ter", "no", "sha", "ver", "di", "pro", "ne", "sol",
	"ba", "cen", "tra", "lin", "go", "wes", "ha", "ri", "ton", "fa", "lu", "mar", "que", "zen", "by"}

var tlds = []string{"com", "org", "net", "de", "co.uk", "fr", "io", "info"}

// word spells two or three syllables from the low bits of x.
func word(x uint64) string {
	n := uint64(len(syllables))
	s := syllables[x%n] + syllables[x>>5%n]
	if x>>10%2 == 0 {
		s += syllables[x>>11%n]
	}
	return s
}
