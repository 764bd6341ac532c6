// Package lsmtest is a synthetic crawl database of any size for benchmarks: its
// known URLs in key order, and candidates drawn from them and beside them. All is
// a function of the seed, nothing is kept in memory but the hosts.
package lsmtest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
)

// Corpus is hosts with how many URLs each has.
type Corpus struct {
	seed  uint64
	hosts []host
	sum   []int64 // URLs of the hosts up to and with host i
}

type host struct {
	partition    uint16
	domain, name string
	urls         int
	id           uint64
}

// New returns a corpus of about n URLs. Domains have log-normal sizes around 60
// URLs, up to a hundredth of the corpus; one in eight has several hosts.
func New(seed uint64, n int) *Corpus {
	c := &Corpus{seed: seed}
	r := rand.New(rand.NewPCG(seed, 10))
	for left, id := n, uint64(0); left > 0; {
		size := int(math.Exp(r.NormFloat64()*1.8 + math.Log(60)))
		size = min(max(size, 1), max(n/100, 1), left)
		left -= size
		domain := fmt.Sprintf("%s%s%d.%s", word(r), word(r), id%1000, tld(r))
		hosts := 1
		if r.IntN(8) == 0 {
			hosts = min(1+r.IntN(6), size)
		}
		partition := uint16(r.IntN(layout.Partitions))
		for i := range hosts {
			name := "www." + domain
			if i > 0 {
				name = fmt.Sprintf("%s%d.%s", word(r), i, domain)
			}
			id++
			c.hosts = append(c.hosts, host{partition, domain, name, (size + i) / hosts, id})
		}
	}
	slices.SortFunc(c.hosts, func(a, b host) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.domain, b.domain),
			cmp.Compare(a.name, b.name))
	})
	c.hosts = slices.CompactFunc(c.hosts, func(a, b host) bool { return a.name == b.name })
	total := int64(0)
	for _, h := range c.hosts {
		total += int64(h.urls)
		c.sum = append(c.sum, total)
	}
	return c
}

// Len is the number of known URLs.
func (c *Corpus) Len() int64 { return c.sum[len(c.sum)-1] }

var syllables = []string{"ka", "lo", "mi", "ter", "no", "sha", "ver", "di", "pro", "ne", "sol", "ba",
	"cen", "tra", "lin", "go", "wes", "ha", "ri", "ton", "fa", "lu", "mar", "que", "zen", "by"}

func word(r *rand.Rand) string {
	s := ""
	for range 2 + r.IntN(2) {
		s += syllables[r.IntN(len(syllables))]
	}
	return s
}

func tld(r *rand.Rand) string {
	return []string{"com", "org", "net", "de", "co.uk", "fr", "io", "info"}[r.IntN(8)]
}

// path is the path of URL j of a host: sections, words, numbers, as sites have.
func (h *host) path(seed uint64, j int) string {
	r := rand.New(rand.NewPCG(seed^h.id*0x9e3779b97f4a7c15, uint64(j)))
	section := syllables[r.IntN(8)] + syllables[r.IntN(3)]
	switch h.id % 4 {
	case 0:
		return fmt.Sprintf("/%s/%s-%s-%s-%d.html", section, word(r), word(r), word(r), j)
	case 1:
		return fmt.Sprintf("/%s/20%02d/%02d/%s-%s-%x", section, 10+r.IntN(16), 1+r.IntN(12), word(r), word(r), j)
	case 2:
		return fmt.Sprintf("/%s.php?id=%d&%s=%d", section, j, syllables[r.IntN(4)], r.IntN(50))
	}
	return fmt.Sprintf("/%s/%s/%s/%d/", section, word(r), word(r), j)
}

func (c *Corpus) key(h *host, j int) lsm.Key {
	return lsm.Key{Partition: h.partition, Domain: h.domain, Host: h.name,
		URL: "https://" + h.name + h.path(c.seed, j)}
}

// Known emits every known URL's row, in key order: three of four wait, one is
// fetched.
func (c *Corpus) Known(emit func(*schema.URL) error) error {
	r := rand.New(rand.NewPCG(c.seed, 11))
	var paths []string
	for i := range c.hosts {
		h := &c.hosts[i]
		paths = paths[:0]
		for j := range h.urls {
			paths = append(paths, h.path(c.seed, j))
		}
		slices.Sort(paths)
		last := ""
		for _, p := range paths {
			if p == last {
				continue
			}
			last = p
			row := c.row(r, h, p)
			if err := emit(&row); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	start = int64(1_760_000_000_000) // ms
	day   = int64(86_400_000)
)

func (c *Corpus) row(r *rand.Rand, h *host, path string) schema.URL {
	round := int64(1 + r.IntN(200))
	row := schema.URL{Partition: int32(h.partition), Domain: h.domain, Host: h.name,
		URL: "https://" + h.name + path, CrawlStatus: schema.Pending, Depth: int32(1 + r.IntN(6)),
		Priority: float32(r.IntN(200)) / 256, DiscoveredAt: start + round*600_000, Round: round,
		Inlinks: int64(r.ExpFloat64() * 2), Why: schema.WhyNew}
	row.Queued = round
	// Rank is priority less a hundredth a day of due, in 2^-32; priority and due
	// repeat, so do most ranks.
	row.QueuedRank = int64(row.Priority*256)<<24 - row.DiscoveredAt*429/86400
	if r.IntN(4) > 0 {
		return row
	}
	row.CrawlStatus, row.Reason, row.HTTPStatus, row.Why = schema.Completed, schema.OK, 200, schema.WhyRecrawl
	row.LastCrawled = row.DiscoveredAt + r.Int64N(600_000)
	row.Interval = day << r.IntN(6)
	row.NextCrawl = row.LastCrawled + row.Interval
	row.QueuedRank = int64(row.Priority*256)<<24 - row.NextCrawl*429/86400
	row.CrawlCount, row.ContentHash, row.SimHash = 1, r.Uint64(), r.Uint64()
	if r.IntN(3) == 0 {
		row.ETag = fmt.Sprintf("\"%x-%x\"", r.Uint32(), r.IntN(1<<16))
	}
	if r.IntN(3) == 0 {
		row.LastModified = "Mon, 06 Oct 2025 11:22:33 GMT"
	}
	row.BlobPath = fmt.Sprintf("rounds/%08d/fetch/%04d/a000001-0001/warc-%05d.warc.gz", round,
		h.partition/256, h.partition%8)
	row.BlobOffset, row.BlobLength = r.Int64N(256<<20), 2000+r.Int64N(30_000)
	return row
}

// Shape is a kind of candidates.
type Shape struct {
	N       int     // candidates
	Known   float64 // part of them that is known
	Domains float64 // part of the hosts that they are of
	Repeats float64 // exponent of the skew among a host's URLs: 1 is none
	Fresh   float64 // new URLs there are, for each known one of a host
}

// Candidates emits the candidates of a shape, in no order.
func (c *Corpus) Candidates(seed uint64, s Shape, emit func(lsm.Key) error) error {
	r := rand.New(rand.NewPCG(seed, 12))
	var hosts []int
	var sum []int64
	total := int64(0)
	for i := range c.hosts {
		if r.Float64() < s.Domains || len(c.hosts) == i+1 && len(hosts) == 0 {
			total += int64(c.hosts[i].urls)
			hosts, sum = append(hosts, i), append(sum, total)
		}
	}
	for range s.N {
		at, _ := slices.BinarySearch(sum, r.Int64N(total)+1)
		h := &c.hosts[hosts[at]]
		skewed := math.Pow(r.Float64(), s.Repeats)
		j := int(skewed * float64(h.urls))
		if r.Float64() >= s.Known {
			j = h.urls + int(skewed*(s.Fresh*float64(h.urls)+1))
		}
		if err := emit(c.key(h, j)); err != nil {
			return err
		}
	}
	return nil
}

// Shapes are the three of the benchmark, for k known URLs: many links into few
// domains, as many into all, and a thin batch of mostly new ones.
func Shapes(k int) map[string]Shape {
	return map[string]Shape{
		"narrow": {N: k / 4, Known: 0.8, Domains: 0.02, Repeats: 1.5, Fresh: 1},
		"wide":   {N: k / 4, Known: 0.8, Domains: 1, Repeats: 4, Fresh: 0.1},
		"thin":   {N: k / 100, Known: 0.05, Domains: 1, Repeats: 1, Fresh: 1},
	}
}
