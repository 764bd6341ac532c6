// Package webtest is a synthetic web: thousands of hosts with log-normal
// sizes, grown from a seed, that answer as the open web does. Hosts are fast,
// slow, dead, refusing or failing; every kind of robots.txt is there; pages
// redirect, vanish, fail, change, repeat each other and trap crawlers.
//
// Nothing is stored: what a URL answers is a function of the seed, the URL, the
// request and the time. So the package also knows the truth: Truth walks the
// model as a perfect crawler would and says what each URL must end as. Every
// request is logged with its times as the server saw them; Log.Manners judges
// them.
//
// A Web answers over any net.Conn: Dial gives connections in memory (net.Pipe,
// for virtual time), Serve answers on a listener (cmd/testweb). It is safe for
// concurrent use.
package webtest

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"net/netip"
	"sort"
	"strings"
	"time"
)

// Spec is what a web is grown from. The zero value of a field is its default.
type Spec struct {
	Seed    uint64
	Domains int     // registered domains; default 30
	Pages   float64 // median pages a host; default 20
	Sigma   float64 // of the log-normal of sizes; default 1
	MaxHost int     // pages of the largest host; default 2,000
	Huge    int     // domains of HugeHosts hosts each; default 0
	// HugeHosts is the number of hosts of a huge domain; default 500.
	HugeHosts int
	Links     int  // links of a page besides its children; default 6
	PageBytes int  // size of an HTML page, about; default 2,000
	Plain     bool // only healthy hosts and plain pages
	TLS       bool // every second domain is served over https
	Latency   time.Duration
	// Epoch is the time from which pages change; default 2026-01-01.
	Epoch time.Time
	// Net moves the hosts to other addresses, from 127.(1+Net).0.0 on, so that several small
	// webs can be served side by side; at most 126.
	Net int
}

func (s Spec) fill() Spec {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	set(&s.Domains, 30)
	set(&s.MaxHost, 2000)
	set(&s.HugeHosts, 500)
	set(&s.Links, 6)
	set(&s.PageBytes, 2000)
	if s.Pages == 0 {
		s.Pages = 20
	}
	if s.Sigma == 0 {
		s.Sigma = 1
	}
	if s.Epoch.IsZero() {
		s.Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return s
}

// Health is how a host behaves as a whole.
type Health string

// Healths of hosts.
const (
	Fine      Health = "fine"
	Slow      Health = "slow"      // 2 s to the first byte
	NoName    Health = "no_name"   // its name does not resolve
	Refused   Health = "refused"   // nothing listens
	Silent    Health = "silent"    // accepts and never answers
	Failing   Health = "failing"   // every page is a 500
	Throttled Health = "throttled" // now and then 429 with Retry-After
)

// Host is one host of the web.
type Host struct {
	Name, Domain, Scheme string
	Pages                int
	Health               Health
	Robots               RobotsKind
	Addr                 netip.Addr
	rank                 int
}

// URL is the address of one of the host's paths, in normal form.
func (h *Host) URL(path string) string { return h.Scheme + "://" + h.Name + path }

// Web is a grown web.
type Web struct {
	spec  Spec
	hosts []*Host // by rank: hosts[0] is linked to most
	names map[string]*Host
	Log   *Log
}

// New grows the web of a spec.
func New(spec Spec) *Web {
	w := &Web{spec: spec.fill(), names: map[string]*Host{}, Log: &Log{}}
	for d := range w.spec.Domains + w.spec.Huge {
		domain := fmt.Sprintf("d%04d.test", d)
		n := 1
		if h := w.hash("hosts", domain); h%5 == 0 {
			n = 2 + int(h>>8%3)
		}
		if d >= w.spec.Domains {
			n = w.spec.HugeHosts
		}
		for i := range n {
			w.grow(domain, d, i)
		}
	}
	sort.SliceStable(w.hosts, func(i, j int) bool {
		return w.hash("rank", w.hosts[i].Name) < w.hash("rank", w.hosts[j].Name)
	})
	for i, h := range w.hosts {
		h.rank = i
		h.Addr = netip.AddrFrom4([4]byte{127, byte(1 + w.spec.Net + i>>16&0x3f), byte(i >> 8), byte(i)})
	}
	return w
}

func (w *Web) grow(domain string, d, i int) {
	name := domain
	if i > 0 {
		name = fmt.Sprintf("h%03d.%s", i, domain)
	}
	h := &Host{Name: name, Domain: domain, Scheme: "http", Health: Fine, Robots: RobotsRules}
	if w.spec.TLS && d%2 == 1 {
		h.Scheme = "https"
	}
	h.Pages = w.size(name)
	if !w.spec.Plain {
		h.Health = w.health(name)
		h.Robots = w.robotsKind(name)
	}
	w.hosts = append(w.hosts, h)
	w.names[name] = h
}

// size draws from a log-normal by Box and Muller's transform.
func (w *Web) size(name string) int {
	u := w.unit("size1", name)
	v := w.unit("size2", name)
	normal := math.Sqrt(-2*math.Log(1-u)) * math.Cos(2*math.Pi*v)
	n := int(w.spec.Pages * math.Exp(w.spec.Sigma*normal))
	return max(1, min(n, w.spec.MaxHost))
}

func (w *Web) health(name string) Health {
	switch p := w.unit("health", name); {
	case p < 0.80:
		return Fine
	case p < 0.85:
		return Slow
	case p < 0.89:
		return NoName
	case p < 0.92:
		return Refused
	case p < 0.94:
		return Silent
	case p < 0.97:
		return Failing
	}
	return Throttled
}

// Hosts lists the hosts, most linked first. The slice is the web's own.
func (w *Web) Hosts() []*Host { return w.hosts }

// Host finds a host by name.
func (w *Web) Host(name string) (*Host, bool) {
	h, ok := w.names[strings.ToLower(name)]
	return h, ok
}

// Seeds are the home pages of n healthy hosts, most linked first.
func (w *Web) Seeds(n int) []string {
	var seeds []string
	for _, h := range w.hosts {
		if len(seeds) < n && (h.Health == Fine) && h.Robots.allowsRoot() {
			seeds = append(seeds, h.URL("/"))
		}
	}
	return seeds
}

// Lookup is the web's name service: the address of a host, or none.
func (w *Web) Lookup(name string) (netip.Addr, bool) {
	h, ok := w.Host(name)
	if !ok || h.Health == NoName {
		return netip.Addr{}, false
	}
	return h.Addr, true
}

// hash is the source of all chance: equal for equal seed and words.
func (w *Web) hash(words ...string) uint64 {
	f := fnv.New64a()
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], w.spec.Seed)
	f.Write(b[:])
	for _, word := range words {
		f.Write([]byte(word))
		f.Write([]byte{0})
	}
	// FNV mixes its last bytes badly into the high bits: finish as SplitMix64 does.
	x := f.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit is a number in [0, 1) drawn by the words.
func (w *Web) unit(words ...string) float64 { return float64(w.hash(words...)>>11) / (1 << 53) }
