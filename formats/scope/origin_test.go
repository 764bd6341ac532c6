package scope

import (
	"strings"
	"testing"
)

// TestOrigins: what is found from a seed with terms of its own is judged by them, all else by the
// seeds together; rules and the seeds themselves stand above both.
func TestOrigins(t *testing.T) {
	s := newScope(t, Config{Scope: Domain, Seeds: []string{"http://plain.test/"},
		Rules: rules(t, "-prefix:www.host.test/secret", "+host:ruled.test"),
		Origins: map[string]Origin{
			"deep":  {Depth: 30, Seeds: []string{"http://deep.test/"}},
			"alone": {Depth: -1, Seeds: []string{"http://alone.test/"}},
			"host":  {Scope: Host, Depth: 2, Seeds: []string{"http://www.host.test/", "http://two.test/"}},
			"docs":  {Scope: Prefix, Seeds: []string{"http://docs.test/guide/"}},
			"wide":  {Scope: Any, Seeds: []string{"http://wide.test/"}},
			"gone":  {Scope: Host},
		}})
	cases := []struct {
		origin, url string
		depth       int
		want        string
	}{
		{"", "http://www.plain.test/x", 1, Accepted},
		{"", "http://deep.test/x", 1, Accepted}, // its seed has the crawl's scope
		{"", "http://www.host.test/x", 1, Accepted},
		{"", "http://shop.host.test/x", 1, OutOfScope},
		{"", "http://docs.test/guide/x", 1, Accepted},
		{"", "http://docs.test/blog", 1, OutOfScope},
		{"", "http://wide.test/", 1, Accepted}, // a seed
		{"", "http://wide.test/x", 1, OutOfScope},
		{"", "http://plain.test/x", 21, TrapDepth},
		{"unknown", "http://plain.test/x", 1, Accepted},
		{"deep", "http://deep.test/x", 30, Accepted},
		{"deep", "http://deep.test/x", 31, TrapDepth},
		{"deep", "http://plain.test/x", 25, Accepted},
		{"deep", "http://elsewhere.test/", 1, OutOfScope},
		{"alone", "http://alone.test/", 0, Accepted},
		{"alone", "http://alone.test/x", 1, TrapDepth},
		{"host", "http://two.test/x", 2, Accepted},
		{"host", "http://two.test/x", 3, TrapDepth},
		{"host", "http://www.two.test/x", 1, OutOfScope},
		{"host", "http://plain.test/x", 1, OutOfScope},
		{"host", "http://plain.test/", 1, Accepted}, // a seed
		{"host", "http://www.host.test/secret/x", 1, ByRule},
		{"host", "http://ruled.test/", 1, Accepted},
		{"docs", "https://docs.test/guide/x", 1, Accepted},
		{"docs", "http://docs.test/guides", 1, OutOfScope},
		{"wide", "http://elsewhere.test/", 20, Accepted},
		{"wide", "http://www.host.test/secret/x", 1, ByRule},
		{"gone", "http://www.host.test/x", 1, OutOfScope},
	}
	for _, c := range cases {
		if v := decide(t, s.Of(c.origin), c.url, c.depth); v.Code != c.want {
			t.Errorf("%s at depth %d, found from %q: %+v, want %s", c.url, c.depth, c.origin, v, c.want)
		}
	}
	if v := decide(t, s.Of("docs"), "http://docs.test/guide/x", 1); v.Rule != "scope prefix" {
		t.Errorf("let in by %q, want the seed's scope", v.Rule)
	}
}

func TestBadOrigins(t *testing.T) {
	for says, o := range map[string]Origin{
		`scope "site"`:              {Scope: "site"},
		"seed news: limit depth is": {Depth: -2},
		`seed "mailto:a"`:           {Seeds: []string{"mailto:a"}},
	} {
		_, err := New(Config{Scope: Any, Origins: map[string]Origin{"news": o}}, suffixes(t))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: error %v, want one that says %q", o, err, says)
		}
	}
}
