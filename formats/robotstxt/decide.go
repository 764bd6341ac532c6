package robotstxt

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Decision is the answer for one URL.
type Decision struct {
	Allowed bool
	Rule    string // the line that decided, as written; empty when none did
	Line    int    // its number in the file, from 1; 0 when no line decided
}

// Group is all that a file says to one product token. The zero Group allows everything. It is
// immutable.
type Group struct {
	plain    []rule // patterns without '*' and '$', sorted by pattern, one a pattern
	wild     []rule // the others, longest first, Allow before Disallow
	delay    time.Duration
	hasDelay bool
}

// rule is a line ready to be matched.
type rule struct {
	line
	pattern  string // canonical, without the final '$'
	anchored bool
}

// size is the pattern's length in bytes, by which rules win.
func (r *rule) size() int {
	if r.anchored {
		return len(r.pattern) + 1
	}
	return len(r.pattern)
}

// Agent returns the group for a product token: the merged groups that name it, in any case, or
// those of '*' when none does. A version ("Name/1.2") is cut on both sides. A group that names the
// token and has no rules allows everything. It sorts the rules: callers keep the Group.
func (f *File) Agent(token string) Group {
	token = ProductToken(token)
	if g, ok := f.merge(token); ok && token != "" {
		return g
	}
	g, _ := f.merge("*")
	return g
}

func (f *File) merge(agent string) (g Group, found bool) {
	for i := range f.blocks {
		b := &f.blocks[i]
		at := slices.Index(b.agents, agent)
		if at < 0 {
			continue
		}
		found = true
		for _, l := range b.rules {
			g.add(l)
		}
		for _, d := range b.delays {
			if seconds, ok := parseDelay(d.value); ok && at < d.agents {
				g.delay, g.hasDelay = max(g.delay, seconds), true
			}
		}
	}
	g.sort()
	return g, found
}

func (g *Group) add(l line) {
	r := rule{line: l}
	r.pattern, r.anchored = canonicalPattern(l.value)
	g.put(r)
	if sorted := sortedQuery(r.pattern); sorted != r.pattern {
		byName := r
		byName.pattern = sorted
		g.put(byName)
	}
	if open := openQuery(r.pattern); open != r.pattern {
		r.pattern = open
		// Found by the opened path only; see Decide. It sits with the wild ones, being rare.
		g.wild = append(g.wild, r)
	}
}

func (g *Group) put(r rule) {
	if r.anchored || strings.IndexByte(r.pattern, '*') >= 0 {
		g.wild = append(g.wild, r)
	} else {
		g.plain = append(g.plain, r)
	}
}

func (g *Group) sort() {
	allowFirst := func(a, b *rule) int {
		if a.allow != b.allow {
			if a.allow {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.number, b.number)
	}
	slices.SortFunc(g.wild, func(a, b rule) int {
		return cmp.Or(cmp.Compare(b.size(), a.size()), allowFirst(&a, &b))
	})
	slices.SortFunc(g.plain, func(a, b rule) int {
		return cmp.Or(strings.Compare(a.pattern, b.pattern), allowFirst(&a, &b))
	})
	g.plain = slices.CompactFunc(g.plain, func(a, b rule) bool { return a.pattern == b.pattern })
	g.plain, g.wild = slices.Clip(g.plain), slices.Clip(g.wild)
}

// Decide answers for a path with its query, percent-encoded as it will be sent ("/a?b"). A fragment
// is ignored.
func (g Group) Decide(pathAndQuery string) Decision {
	path, _, _ := strings.Cut(pathAndQuery, "#")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	path = canonicalPath(path)
	if path == "/robots.txt" {
		return Decision{Allowed: true}
	}
	best := g.match(path)
	if open := openQuery(path); open != path {
		best = better(best, g.match(open))
	}
	if best == nil {
		return Decision{Allowed: true}
	}
	return Decision{Allowed: best.allow, Rule: best.text, Line: best.number}
}

func (g Group) match(path string) *rule {
	best := g.longestPlain(path)
	for i := range g.wild {
		r := &g.wild[i]
		if best != nil && r.size() < best.size() {
			break
		}
		if r.matches(path) {
			return better(best, r)
		}
	}
	return best
}

// better is the rule that wins: the longer, then Allow, then the earlier.
func better(a, b *rule) *rule {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.size() != b.size():
		if a.size() > b.size() {
			return a
		}
		return b
	case a.allow != b.allow:
		if a.allow {
			return a
		}
		return b
	case a.number <= b.number:
		return a
	}
	return b
}

// longestPlain finds the longest pattern that the path begins with. If the greatest pattern not
// above the path is no prefix of it, then every pattern that is one is also a prefix of what the
// two share; so the search goes on with that shorter string.
func (g Group) longestPlain(path string) *rule {
	rest := path
	for rest != "" {
		i := sort.Search(len(g.plain), func(i int) bool { return g.plain[i].pattern > rest })
		if i == 0 {
			return nil
		}
		found := &g.plain[i-1]
		shared := commonPrefix(found.pattern, rest)
		if shared == len(found.pattern) {
			return found
		}
		rest = rest[:shared]
	}
	return nil
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// matches takes each piece between stars at its first place after the one before: if any placing
// works, that one does, so nothing is tried twice.
func (r *rule) matches(path string) bool {
	piece, rest, star := strings.Cut(r.pattern, "*")
	if !strings.HasPrefix(path, piece) {
		return false
	}
	path = path[len(piece):]
	if !star {
		return !r.anchored || path == ""
	}
	for {
		piece, rest, star = strings.Cut(rest, "*")
		if !star {
			if r.anchored {
				return strings.HasSuffix(path, piece)
			}
			return strings.Contains(path, piece)
		}
		at := strings.Index(path, piece)
		if at < 0 {
			return false
		}
		path = path[at+len(piece):]
	}
}

// MaxCrawlDelay is the longest Crawl-delay that is reported. More would say "never" by the way of
// an arithmetic overflow; who means never writes Disallow.
const MaxCrawlDelay = 30 * 24 * time.Hour

// CrawlDelay is the time that the group asks for between two requests: the longest of its
// Crawl-delay lines, at most MaxCrawlDelay. Values that are no plain number of seconds (empty,
// negative, "10s", "1,5", nan) are ignored. ok is false when no line gives one.
func (g Group) CrawlDelay() (d time.Duration, ok bool) { return g.delay, g.hasDelay }

func parseDelay(value string) (time.Duration, bool) {
	if value == "" || strings.Trim(value, "0123456789.eE+-") != "" ||
		value[0] != '.' && (value[0] < '0' || value[0] > '9') {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil && seconds == 0 { // a range error leaves +Inf, which is clamped
		return 0, false
	}
	if seconds >= MaxCrawlDelay.Seconds() {
		return MaxCrawlDelay, true
	}
	return time.Duration(seconds * float64(time.Second)), true
}
