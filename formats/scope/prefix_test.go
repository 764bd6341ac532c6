package scope

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"seine/formats/weburl"
)

// TestPrefixesMatchNaive compares the search with a walk over all entries.
func TestPrefixesMatchNaive(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, random.IntN(n))
		for i := range b {
			b[i] = "ab/"[random.IntN(3)]
		}
		return string(b)
	}
	for range 300 {
		var entries []prefixEntry
		for i := range random.IntN(20) {
			entries = append(entries, prefixEntry{text: word(6), order: i})
		}
		p := buildPrefixes(append([]prefixEntry(nil), entries...))
		for range 50 {
			key, want, wantOK := word(9), 0, false
			for _, e := range entries {
				if strings.HasPrefix(key, e.text) && (!wantOK || e.order < want) {
					want, wantOK = e.order, true
				}
			}
			if got, ok := p.match(key); got != want || ok != wantOK {
				t.Fatalf("match(%q) = %d, %t, want %d, %t, of %v",
					key, got, ok, want, wantOK, entries)
			}
		}
	}
}

// BenchmarkDecide is a decision among 100,000 prefixes and a few rules.
func BenchmarkDecide(b *testing.B) {
	c := Config{Scope: Prefix, Rules: rules(b, `-regexp:\.(zip|exe)$`, "-domain:ads.test")}
	for i := range 100_000 {
		c.Seeds = append(c.Seeds, fmt.Sprintf("http://h%d.test/docs/%d/", i%1000, i))
	}
	s := newScope(b, c)
	n, err := weburl.Normalize("http://h7.test/docs/1007/a/b/c.html?x=1&y=2", weburl.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if v := s.Decide(n, "h7.test", 3); !v.Accepted {
			b.Fatalf("%+v", v)
		}
	}
}
