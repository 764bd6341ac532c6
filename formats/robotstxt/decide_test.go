package robotstxt

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// check is one file, one agent, one URL and the answer.
type check struct {
	name, body, agent, path string
	allowed                 bool
}

func run(t *testing.T, checks []check) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			got := Parse([]byte(c.body)).Agent(c.agent).Decide(c.path)
			if got.Allowed != c.allowed {
				t.Errorf("Decide(%q) = %+v, want allowed %v in\n%s", c.path, got, c.allowed, c.body)
			}
		})
	}
}

const all = "User-agent: *\n"

// rules makes a file of rules for everyone.
func rules(lines ...string) string { return all + strings.Join(lines, "\n") + "\n" }

func TestLongestMatch(t *testing.T) {
	run(t, []check{
		{"allow longer", rules("Disallow: /a", "Allow: /a/b"), "x", "/a/b/c", true},
		{"disallow longer", rules("Allow: /a", "Disallow: /a/b"), "x", "/a/b/c", false},
		{"tie, disallow first", rules("Disallow: /a", "Allow: /a"), "x", "/a", true},
		{"tie, allow first", rules("Allow: /a", "Disallow: /a"), "x", "/a", true},
		{"tie of wildcards", rules("Disallow: /*a", "Allow: /*b"), "x", "/ab", true},
		{"plain ties wildcard", rules("Disallow: /ab", "Allow: /*b"), "x", "/ab", true},
		{"wildcard longer than plain", rules("Allow: /p", "Disallow: /*.html"), "x", "/p.html",
			false},
		{"plain longer than wildcard", rules("Allow: /page.h", "Disallow: /*.htm"), "x",
			"/page.htm", true},
		{"rfc: allow /p, disallow /", rules("Allow: /p", "Disallow: /"), "x", "/page", true},
		{"rfc: folder ties folder", rules("Allow: /folder", "Disallow: /folder"), "x",
			"/folder/p", true},
		{"home only", rules("Allow: /$", "Disallow: /"), "x", "/", true},
		{"all but home", rules("Allow: /$", "Disallow: /"), "x", "/x", false},
		{"no rule matches", rules("Disallow: /a"), "x", "/b", true},
		{"prefix of many", rules("Allow: /a/b/", "Disallow: /a/b/c", "Disallow: /a/bb", "Allow: /"),
			"x", "/a/b/d", true},
		{"shorter prefix behind a neighbour", rules("Disallow: /a", "Allow: /abd"), "x", "/abe",
			false},
		{"case of paths", rules("Disallow: /A"), "x", "/a", true},
		{"empty disallow", rules("Disallow:"), "x", "/a", true},
		{"empty allow is no rule", rules("Allow:", "Disallow: /"), "x", "/a", false},
		{"no file", "", "x", "/a", true},
		{"empty path is the root", rules("Disallow: /$"), "x", "", false},
		{"fragment is cut", rules("Disallow: /a$"), "x", "/a#b", false},
	})
}

func TestWildcards(t *testing.T) {
	run(t, []check{
		{"middle", rules("Disallow: /*/private"), "x", "/a/private/b", false},
		{"middle, too few", rules("Disallow: /*/private"), "x", "/private", true},
		{"end of extension", rules("Disallow: /*.json$"), "x", "/a/b.json", false},
		{"not at end", rules("Disallow: /*.json$"), "x", "/a/b.json?x=1", true},
		{"twice, last counts", rules("Disallow: /*.json$"), "x", "/a.json/b.json", false},
		{"leading star", rules("Disallow: */test"), "x", "/test", false},
		{"leading star deep", rules("Disallow: */test"), "x", "/a/test1", false},
		{"star alone", rules("Disallow: *"), "x", "/a", false},
		{"anchored at the start", rules("Disallow: /path$"), "x", "/x/path", true},
		{"anchored exact", rules("Disallow: /path$"), "x", "/path", false},
		{"anchored longer", rules("Disallow: /path$"), "x", "/path/", true},
		{"trailing star", rules("Disallow: /fish*"), "x", "/fishheads", false},
		{"star then end", rules("Disallow: /a*$"), "x", "/abc", false},
		{"many stars", rules("Disallow: /**a***b"), "x", "/xxayyb", false},
		{"pieces in order", rules("Disallow: /*a*b*c"), "x", "/c/b/a", true},
		{"pieces do not overlap", rules("Disallow: /*aba*ba$"), "x", "/aba", true},
		{"star is empty", rules("Disallow: /a*b"), "x", "/ab", false},
		{"end piece overlaps", rules("Disallow: /a*a$"), "x", "/a", true},
		{"dollar inside is itself", rules("Disallow: /a$b"), "x", "/a$b", false},
		{"dollar inside is no end", rules("Disallow: /a$b"), "x", "/a", true},
		{"two dollars", rules("Disallow: /a$$"), "x", "/a$", false},
		{"dollar alone", rules("Disallow: $"), "x", "/", true},
		{"no slash, no match", rules("Disallow: foo"), "x", "/foo", true},
		{"no slash, star", rules("Disallow: *.php"), "x", "/a.php", false},
		{"question mark is itself", rules("Disallow: /a?c"), "x", "/abc", true},
		{"dot is itself", rules("Disallow: /a.c"), "x", "/abc", true},
		{"regexp signs are themselves", rules("Disallow: /a+(b)["), "x", "/a+(b)[", false},
	})
}

func TestQueries(t *testing.T) {
	run(t, []check{
		{"only that query", rules("Disallow: /?blah"), "x", "/?blah=1", false},
		{"not the site", rules("Disallow: /?blah"), "x", "/page", true},
		{"any query", rules("Disallow: /*?"), "x", "/a?b", false},
		{"any query, none there", rules("Disallow: /*?"), "x", "/a", true},
		{"order is kept", rules("Disallow: /*?b=1&a=2"), "x", "/p?b=1&a=2", false},
		{"normal order", rules("Disallow: /*?b=1&a=2"), "x", "/p?a=2&b=1", false},
		{"normal order, from the start", rules("Disallow: /p?b=1&a=2"), "x", "/p?a=2&b=1&c", false},
		{"normal order, to the end", rules("Disallow: /p?b&a$"), "x", "/p?a&b&c", true},
		{"other order", rules("Disallow: /*?a=2&b=1"), "x", "/p?b=1&a=2", true},
		{"a star in the query", rules("Disallow: /*?b=*&a=2"), "x", "/p?a=2&b=1", true},
		{"parameter inside", rules("Disallow: /*&sid="), "x", "/p?a=1&sid=2", false},
		{"slash in the query", rules("Disallow: /*/x"), "x", "/p?a=/x", false},
		{"rfc: raw rule, encoded URL", rules("Disallow: /b?z=http://f.b"), "x",
			"/b?z=http%3A%2F%2Ff.b", false},
		{"rfc: encoded rule, raw URL", rules("Disallow: /b?z=http%3A%2F%2Ff.b"), "x",
			"/b?z=http://f.b", false},
		{"encoded slash without question mark", rules("Disallow: /*%2Fb"), "x", "/p?a%2Fb", false},
		{"encoded ampersand is data", rules("Disallow: /p?a&b"), "x", "/p?a%26b", true},
	})
}

func TestPercentEncoding(t *testing.T) {
	run(t, []check{
		{"rule %7E, path ~", rules("Disallow: /%7Ejoe"), "x", "/~joe", false},
		{"rule ~, path %7e", rules("Disallow: /~joe"), "x", "/%7ejoe", false},
		{"rule ü, path upper", rules("Disallow: /ü"), "x", "/%C3%BC", false},
		{"rule ü, path lower", rules("Disallow: /ü"), "x", "/%c3%bc", false},
		{"rule lower, path ü", rules("Disallow: /%c3%bc"), "x", "/ü", false},
		{"rule lower, path upper", rules("Disallow: /%c3%bc"), "x", "/%C3%BC", false},
		{"letter encoded in the path", rules("Disallow: /foo"), "x", "/%66%6F%6f", false},
		{"letter encoded in the rule", rules("Disallow: /%62%61%7A"), "x", "/baz", false},
		{"latin-1 byte", rules("Disallow: /caf\xe9"), "x", "/caf%E9", false},
		{"slash stays apart", rules("Disallow: /a/b"), "x", "/a%2Fb", true},
		{"encoded slash in any case", rules("Disallow: /a%2fb"), "x", "/a%2Fb", false},
		{"space", rules("Disallow: /a b"), "x", "/a%20b", false},
		{"pipe", rules("Disallow: /a|b"), "x", "/a%7Cb", false},
		{"bracket", rules("Disallow: /a[1]"), "x", "/a%5B1%5D", false},
		{"parenthesis", rules("Disallow: /a%28b%29"), "x", "/a(b)", false},
		{"encoded star is a star in the URL", rules("Disallow: /a%2A"), "x", "/a*b", false},
		{"encoded star is no wildcard", rules("Disallow: /a%2Ab"), "x", "/axb", true},
		{"encoded dollar is no end", rules("Disallow: /a%24"), "x", "/a", true},
		{"encoded dollar is a dollar", rules("Disallow: /a%24"), "x", "/a$b", false},
		{"lone percent", rules("Disallow: /100%"), "x", "/100%25", false},
		{"not hex", rules("Disallow: /%zz"), "x", "/%25zz", false},
		{"not decoded twice", rules("Disallow: /%2541"), "x", "/A", true},
		{"equal lengths once canonical", rules("Disallow: /%7Ea", "Allow: /~a"), "x", "/~a", true},
	})
}

func TestRobotsTxtItself(t *testing.T) {
	g := Parse([]byte(rules("Disallow: /"))).Agent("x")
	if !g.Decide("/robots.txt").Allowed {
		t.Error("/robots.txt is forbidden")
	}
	if g.Decide("/robots.txt.bak").Allowed || g.Decide("/a/robots.txt").Allowed {
		t.Error("another file passes for /robots.txt")
	}
}

func TestDecisionNamesItsLine(t *testing.T) {
	body := "# head\r\n\r\nUser-agent: *\r\nDisallow : /a   # why\r\nallow:/a/ü*\rDisallow: /*.x$"
	g := Parse([]byte(body)).Agent("seine")
	for _, c := range []struct {
		path string
		want Decision
	}{
		{"/a/b", Decision{false, "Disallow : /a", 4}},
		{"/a/%C3%BC1", Decision{true, "allow:/a/ü*", 5}},
		{"/q.x", Decision{false, "Disallow: /*.x$", 6}},
		{"/q", Decision{Allowed: true}},
	} {
		if got := g.Decide(c.path); got != c.want {
			t.Errorf("Decide(%q) = %+v, want %+v", c.path, got, c.want)
		}
	}
}

func TestCrawlDelay(t *testing.T) {
	for _, c := range []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"5", 5 * time.Second, true}, {"0.5", 500 * time.Millisecond, true}, {"0", 0, true},
		{".25", 250 * time.Millisecond, true}, {"3.", 3 * time.Second, true},
		{"3600", time.Hour, true}, {"1e9", MaxCrawlDelay, true}, {"1e30", MaxCrawlDelay, true},
		{"1e999", MaxCrawlDelay, true}, {"99999999999999999999", MaxCrawlDelay, true},
		{"5 # seconds", 5 * time.Second, true},
		{"", 0, false}, {"-1", 0, false}, {"abc", 0, false}, {"10s", 0, false}, {"1,5", 0, false},
		{"nan", 0, false}, {"inf", 0, false}, {"0x10", 0, false}, {"1 2", 0, false}, {"e5", 0,
			false},
		{"+5", 0, false}, {"1e", 0, false}, {"1.2.3", 0, false},
	} {
		t.Run(c.value, func(t *testing.T) {
			f := Parse([]byte(rules("Crawl-delay: "+c.value, "Disallow: /a")))
			d, ok := f.Agent("x").CrawlDelay()
			if d != c.want || ok != c.ok {
				t.Errorf("CrawlDelay = %v, %v; want %v, %v", d, ok, c.want, c.ok)
			}
			if f.Agent("x").Decide("/a").Allowed {
				t.Error("the value spoils the rules beside it")
			}
		})
	}
}

func TestCrawlDelayBelongsToItsAgents(t *testing.T) {
	f := Parse([]byte("User-agent: bing\nCrawl-delay: 30\n\nUser-agent: *\nDisallow: /t\n\n" +
		"User-agent: a\nUser-agent: b\nCrawl-delay: 2\nDisallow: /x\nCrawl-delay: 7\n"))
	for agent, want := range map[string]time.Duration{"bing": 30, "seine": 0, "a": 7, "b": 7} {
		if d, _ := f.Agent(agent).CrawlDelay(); d != want*time.Second {
			t.Errorf("%s: CrawlDelay = %v, want %vs", agent, d, int(want))
		}
	}
	if f.Agent("bing").Decide("/t").Allowed {
		t.Error("Crawl-delay ended the group")
	}
}

// TestNoBlowUp decides over a file and a path that make backtracking matchers take for ever: about
// 10^15 steps if pieces were tried at every place. The step count is what the test's time-out sees.
func TestNoBlowUp(t *testing.T) {
	var b strings.Builder
	b.WriteString(all)
	for i := 0; b.Len() < 449_000; i++ {
		fmt.Fprintf(&b, "Disallow: /%s%db$\n", strings.Repeat("*a", 20), i)
	}
	g := Parse([]byte(b.String())).Agent("x")
	path := "/" + strings.Repeat("a", 2048)
	for range 20 {
		if !g.Decide(path).Allowed {
			t.Fatal("no rule ends in a")
		}
	}
	if g.Decide(path + "7b").Allowed {
		t.Fatal("the eighth rule matches")
	}
}
