package generate

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/sheet"
	"seine/reducer/task"
)

// slowDelay is the delay in ms beyond which a group gets one URL a round
// (DESIGN §12).
const slowDelay = 300_000

// daysMost is how far ahead URLs wait that a day has no room for: the bound may be
// lifted, and what is due too early only waits once more.
const daysMost = 30

// group is a politeness group at work: what of the round's time its listed URLs
// take, and by path prefix which they are.
type group struct {
	key      lsm.Key          // Host only where each host is a group
	delay    int64            // ms
	nextSlot int64            // ms since 1970; 0: none given away
	backoff  int64            // ms since 1970
	budget   int64            // ms of the round
	hosts    map[string]int64 // latency in ms by host

	pages    int64 // URLs that may be listed
	asked    int64 // pages asked for today
	perDay   int64 // pages that may be; 0: no bound
	listed   int64 // URLs
	used     int64 // ms of the budget that the listed URLs take
	crowded  bool  // more candidates came than the budget holds
	prefixes map[string]*prefix
	largest  []*prefix // of those with the most listed URLs; nil: not known
	deferred int64
}

// prefix is a group's listed URLs below one first path segment of one host, by
// their numbers in pop order.
type prefix struct {
	listed []int32
	costs  []int64
}

// newGroup sets a group up from its row in domains, the zero row if it has none, and
// its sheets. now is in ms, duration is the round's.
func newGroup(key lsm.Key, row schema.Domain, s settings.Settings, v sheet.Values, now,
	duration int64) *group {
	g := &group{key: key, nextSlot: row.NextSlot, backoff: row.BackoffUntil,
		budget: duration, hosts: map[string]int64{}, prefixes: map[string]*prefix{}}
	g.delay = v.Manners(s.Delay.D(), time.Duration(row.CrawlDelay)*time.Millisecond).Milliseconds()
	g.pages, g.perDay = v.Pages(s)
	if g.pages == 0 {
		g.pages = math.MaxInt64
	}
	if g.perDay > 0 {
		if row.AskedDay == task.Day(now) {
			g.asked = min(row.Asked, g.perDay)
		}
		g.pages = min(g.pages, g.perDay-g.asked)
	}
	if row.Pages >= 50 && 2*row.NearDup > row.Pages {
		// Its new pages are mostly near-duplicates, as a trap's are: it loses the more the more
		// are, up to all but the one URL that admit always takes.
		g.budget = g.budget * 2 * max(row.Pages-row.NearDup, 0) / row.Pages
	}
	if g.delay > slowDelay {
		g.budget = 0
	}
	return g
}

// cost is what a request to a host takes of the group's time, ms.
func (g *group) cost(host string) int64 { return max(g.delay+g.hosts[host], 1) }

// admit takes candidate number n, or not. A group takes what fits into its
// budget, and at least one. When it is full, a candidate of a path prefix with
// at least two URLs less than the largest one takes the place of the largest
// one's last: the same as going round the prefixes, without knowing the
// candidates before. evicted is that URL's number, or -1.
func (g *group) admit(n int32, host, url string) (ok bool, evicted int32) {
	cost := g.cost(host)
	p := g.prefixes[pathPrefix(host, url)]
	if g.listed < g.pages && (g.used == 0 || g.used+cost <= g.budget) {
		g.list(p, n, cost, host, url)
		return true, -1
	}
	g.crowded = true
	if g.listed == 0 {
		return false, -1
	}
	count := 0
	if p != nil {
		count = len(p.listed)
	}
	big := g.big()
	last := len(big.listed) - 1
	freed := big.costs[last]
	if len(big.listed) < count+2 || g.used-freed+cost > g.budget {
		return false, -1
	}
	evicted = big.listed[last]
	big.listed, big.costs = big.listed[:last], big.costs[:last]
	g.used -= freed
	g.listed--
	g.largest = g.largest[:len(g.largest)-1]
	g.list(p, n, cost, host, url)
	return true, evicted
}

func (g *group) list(p *prefix, n int32, cost int64, host, url string) {
	if p == nil {
		p = &prefix{}
		g.prefixes[pathPrefix(host, url)] = p
	}
	p.listed, p.costs = append(p.listed, n), append(p.costs, cost)
	g.used += cost
	g.listed++
	if len(g.largest) > 0 && len(p.listed) >= len(g.largest[0].listed) {
		g.largest = nil
	}
}

// big is the prefix with the most listed URLs, of several the one whose last
// came last. Sizes only fall once a group is full, so the list of the largest
// is used up before it is made again.
func (g *group) big() *prefix {
	if len(g.largest) == 0 {
		most := 0
		for _, p := range g.prefixes {
			most = max(most, len(p.listed))
		}
		g.largest = nil
		for _, p := range g.prefixes {
			if len(p.listed) == most {
				g.largest = append(g.largest, p)
			}
		}
		slices.SortFunc(g.largest, func(a, b *prefix) int {
			return cmp.Compare(a.listed[most-1], b.listed[most-1])
		})
	}
	return g.largest[len(g.largest)-1]
}

// order gives the numbers of the listed URLs in the order of fetching: as
// popped; where there were more candidates than room, round the prefixes.
func (g *group) order() []int32 {
	type place struct {
		turn int
		n    int32
	}
	var places []place
	for _, p := range g.prefixes {
		for turn, n := range p.listed {
			if !g.crowded {
				turn = 0
			}
			places = append(places, place{turn, n})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.n, b.n))
	})
	order := make([]int32, len(places))
	for i, p := range places {
		order[i] = p.n
	}
	return order
}

// slot gives away the group's next slot: one cost after those given away
// before, the first one cost from now. So when the round is over, about as many
// of the deferred are due as the next one has room for. With a bound on the pages of
// a day, it is not before the day whose turn it is: as many on each as it may have.
func (g *group) slot(now int64, host string) (due int64, why string) {
	if g.deferred == 0 {
		g.nextSlot = max(g.nextSlot, now)
	}
	before := g.asked + g.listed + g.deferred
	g.deferred++
	g.nextSlot += g.cost(host)
	if g.perDay > 0 {
		day := min(before/g.perDay, daysMost)
		if start := task.Day(now) + day*task.DayMS; start > g.nextSlot {
			return start, schema.WhyDay
		}
	}
	return g.nextSlot, schema.WhySlot
}

// pathPrefix is what a huge domain's share goes round: the host and the first
// segment of the path, if that is a directory.
func pathPrefix(host, url string) string {
	_, rest, _ := strings.Cut(url, "://")
	at := strings.IndexByte(rest, '/')
	if at < 0 {
		return host
	}
	path, _, _ := strings.Cut(rest[at+1:], "?")
	segment, _, directory := strings.Cut(path, "/")
	if !directory {
		return host
	}
	return host + "/" + segment
}
