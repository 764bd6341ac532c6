package robotstxt

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/temoto/robotstxt"
)

// slowMatch is the meaning of a pattern, by the book: every placing of every star is tried.
func slowMatch(pattern, path string, anchored bool) bool {
	if pattern == "" {
		return !anchored || path == ""
	}
	if pattern[0] == '*' {
		for i := 0; i <= len(path); i++ {
			if slowMatch(pattern[1:], path[i:], anchored) {
				return true
			}
		}
		return false
	}
	return path != "" && path[0] == pattern[0] && slowMatch(pattern[1:], path[1:], anchored)
}

// TestDecideEqualsSlowTwin compares with a search through all rules by the book.
func TestDecideEqualsSlowTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func(alphabet string, n int) string {
		var b strings.Builder
		for range rng.IntN(n) {
			b.WriteByte(alphabet[rng.IntN(len(alphabet))])
		}
		return b.String()
	}
	for round := range 3000 {
		var lines []string
		for range 1 + rng.IntN(8) {
			key := [...]string{"Allow", "Disallow"}[rng.IntN(2)]
			lines = append(lines, key+": /"+word("aab/*", 6)+[...]string{"", "", "$"}[rng.IntN(3)])
		}
		body, path := rules(lines...), "/"+word("aab/", 9)
		g := Parse([]byte(body)).Agent("x")
		var best *rule
		for _, list := range [][]rule{g.plain, g.wild} {
			for i := range list {
				if slowMatch(list[i].pattern, path, list[i].anchored) {
					best = better(best, &list[i])
				}
			}
		}
		want := best == nil || best.allow
		if got := g.Decide(path); got.Allowed != want {
			t.Fatalf("round %d: %q: got %+v, want %v in\n%s", round, path, got, want, body)
		}
	}
}

// TestAgainstTemoto takes a second opinion from another parser on the kinds of files that it reads
// rightly: plain rules of different lengths, a trailing star or dollar, byte order mark, line ends,
// merged groups, queries.
func TestAgainstTemoto(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	for round := range 1500 {
		seen := map[string]bool{}
		var b strings.Builder
		b.WriteString(pick("", "", "\uFEFF"))
		for range 1 + rng.IntN(3) {
			fmt.Fprintf(&b, "User-agent: %s\n", pick("*", "seine", "otherbot"))
			for range 1 + rng.IntN(4) {
				path := "/" + pick("a", "b", "ab", "a/b") + pick("", "/c", "?q=1", "c")
				if !seen[path] { // it errs on ties
					seen[path] = true
					fmt.Fprintf(&b, "%s: %s\n", pick("Allow", "Disallow"), path)
				} else {
					// A group without rules is read differently.
					fmt.Fprintf(&b, "Disallow: /%d\n", rng.IntN(1000)+round)
				}
			}
		}
		body := strings.ReplaceAll(b.String(), "\n", pick("\n", "\r\n", "\r"))
		theirs, err := robotstxt.FromBytes([]byte(body))
		if err != nil {
			t.Fatalf("temoto refuses %q: %v", body, err)
		}
		ours := Parse([]byte(body))
		for _, agent := range []string{"seine", "nobody"} {
			path := "/" + pick("a", "b", "ab", "a/b", "z") + pick("", "/c", "?q=1", "c/d", "?q=12")
			want := theirs.TestAgent(path, agent)
			if got := ours.Agent(agent).Decide(path); got.Allowed != want {
				t.Fatalf("%s %s: ours %+v, theirs %v in\n%s", agent, path, got, want, body)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(rules("Disallow: /a*b$", "Allow: /%7e?x=%2F", "Crawl-delay: 1e5")), "/~?x=/",
		"seine")
	f.Add([]byte("\xff\xfeU\x00s\x00"), "/%", "*")
	f.Add([]byte("\xef\xbb\xbfUser agent *\rDissallow : *#\x00"), "?#", "a/1")
	f.Fuzz(func(t *testing.T, body []byte, path, agent string) {
		file := Parse(body)
		g := file.Agent(agent)
		d := g.Decide(path)
		if again := Parse(body).Agent(agent).Decide(path); again != d {
			t.Errorf("%+v, then %+v", d, again)
		}
		if !g.Decide("/robots.txt").Allowed {
			t.Error("/robots.txt is forbidden")
		}
		if upper := file.Agent(strings.ToUpper(agent)).Decide(path); len(agent) > 0 &&
			isASCII(agent) && upper != d {
			t.Errorf("agent in upper case: %+v, want %+v", upper, d)
		}
		once := canonicalPath(path)
		if twice := canonicalPath(once); twice != once {
			t.Errorf("canonical form of %q: %q, then %q", path, once, twice)
		}
		if len(d.Rule) > len(body)*3 || (d.Line == 0) != (d.Rule == "") {
			t.Errorf("odd decision %+v", d)
		}
		if delay, ok := g.CrawlDelay(); delay < 0 || delay > MaxCrawlDelay || !ok && delay != 0 {
			t.Errorf("CrawlDelay = %v, %v", delay, ok)
		}
	})
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
