package scope

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/names"
	"seine/formats/weburl"
)

func suffixes(t testing.TB) *weburl.Suffixes {
	t.Helper()
	s, err := weburl.ParseSuffixes([]byte("com\nco.uk\ntest\ngithub.io\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func normal(t testing.TB, raw string) weburl.Normal {
	t.Helper()
	n, err := weburl.Normalize(raw, weburl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func newScope(t testing.TB, c Config) *Scope {
	t.Helper()
	s, err := New(c, suffixes(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func decide(t testing.TB, s *Scope, raw string, depth int) Verdict {
	t.Helper()
	n := normal(t, raw)
	return s.Decide(n, suffixes(t).Domain(n.Host), depth)
}

func rules(t testing.TB, lines ...string) []Rule {
	t.Helper()
	list, err := ParseRules(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestScopeOfSeeds(t *testing.T) {
	seeds := []string{"http://www.h.test/docs/guide?b=2&a=1", "https://a.co.uk/docs",
		"http://p.test:81/x/index.html", "http://joe.github.io/", "http://10.0.0.1/"}
	cases := []struct{ scope, url, want string }{
		{Domain, "http://www.h.test/", Accepted},
		{Domain, "https://other.h.test:8443/x", Accepted},
		{Domain, "http://h.test.com/", OutOfScope},
		{Domain, "http://xh.test/", OutOfScope},
		{Domain, "http://b.co.uk/", OutOfScope},
		{Domain, "http://ann.github.io/", OutOfScope},
		{Domain, "http://x.joe.github.io/", Accepted},
		{Domain, "http://10.0.0.1:81/", Accepted},
		{Domain, "http://10.0.0.2/", OutOfScope},
		{Host, "https://www.h.test/", Accepted},
		{Host, "http://p.test/", Accepted},
		{Host, "http://h.test/", OutOfScope},
		{Host, "http://x.www.h.test/", OutOfScope},
		{Prefix, "http://www.h.test/docs/", Accepted},
		{Prefix, "https://www.h.test/docs/other/page", Accepted},
		{Prefix, "http://www.h.test/docs", OutOfScope},
		{Prefix, "http://www.h.test/", OutOfScope},
		{Prefix, "http://a.co.uk/docs", Accepted},
		{Prefix, "http://a.co.uk/docs/x", Accepted},
		{Prefix, "http://a.co.uk/docs?x", Accepted},
		{Prefix, "http://a.co.uk/docs2", OutOfScope},
		{Prefix, "http://p.test:81/x/other.html", Accepted},
		{Prefix, "http://p.test/x/other.html", OutOfScope},
		{Any, "http://anything.com/", Accepted},
		{"", "http://other.h.test/", Accepted},
		{"", "http://anything.com/", OutOfScope},
	}
	for _, c := range cases {
		t.Run(c.scope+" "+c.url, func(t *testing.T) {
			s := newScope(t, Config{Scope: c.scope, Seeds: seeds})
			v := decide(t, s, c.url, 1)
			if v.Code != c.want || v.Accepted != (c.want == Accepted) {
				t.Errorf("%+v, want %s", v, c.want)
			}
		})
	}
}

// TestSeedsAreInScope has seeds in a form that is not normal: the same normaliser runs on seeds
// and links, else a seed would lie outside its own scope.
func TestSeedsAreInScope(t *testing.T) {
	seeds := []string{"HTTP://H.test:80/p?b=2&a=1#f", "http://h.test./q?utm_source=x"}
	for _, scope := range []string{Domain, Host, Prefix, Any} {
		s := newScope(t, Config{Scope: scope, Seeds: seeds})
		for _, seed := range append(seeds, "https://h.test/p?a=1&b=2") {
			if v := decide(t, s, seed, 0); !v.Accepted || v.Rule != "seed" {
				t.Errorf("scope %s, seed %s: %+v", scope, seed, v)
			}
		}
	}
	refusing := newScope(t, Config{Seeds: seeds, Rules: rules(t, "-regexp:/p")})
	if v := decide(t, refusing, seeds[0], 0); v.Code != ByRule {
		t.Errorf("a rule refuses a seed, got %+v", v)
	}
	short := newScope(t, Config{Seeds: seeds, Limits: Limits{Length: 14}})
	if v := decide(t, short, seeds[0], 0); v.Code != TooLong {
		t.Errorf("a limit refuses a seed, got %+v", v)
	}
}

func TestRules(t *testing.T) {
	cases := []struct {
		name  string
		rules []string
		url   string
		want  Verdict
	}{
		{"plus goes beyond the scope", []string{"+domain:o.test"}, "http://www.o.test/",
			Verdict{Accepted: true, Code: Accepted, Rule: "+domain:o.test"}},
		{"domain is the name itself", []string{"+domain:o.test"}, "http://o.test/",
			Verdict{Accepted: true, Code: Accepted, Rule: "+domain:o.test"}},
		{"domain is no part of a label", []string{"+domain:o.test"}, "http://xo.test/",
			Verdict{Code: OutOfScope, Rule: "scope domain"}},
		{"domain below the registered one", []string{"-domain:b.h.test"}, "http://a.b.h.test/",
			Verdict{Code: ByRule, Rule: "-domain:b.h.test"}},
		{"domain as written", []string{"-domain:BÜ.test"}, "http://bü.test/",
			Verdict{Code: ByRule, Rule: "-domain:BÜ.test"}},
		{"whole top level", []string{"-domain:com"}, "http://a.com/",
			Verdict{Code: ByRule, Rule: "-domain:com"}},
		{"host", []string{"-host:h.test"}, "http://h.test:81/",
			Verdict{Code: ByRule, Rule: "-host:h.test"}},
		{"host is not what is below", []string{"-host:h.test"}, "http://a.h.test/",
			Verdict{Accepted: true, Code: Accepted, Rule: "scope domain"}},
		{"host, an address", []string{"+host:[0::1]"}, "http://[::1]/",
			Verdict{Accepted: true, Code: Accepted, Rule: "+host:[0::1]"}},
		{"prefix", []string{"-prefix:h.test/a"}, "https://h.test/abc?d",
			Verdict{Code: ByRule, Rule: "-prefix:h.test/a"}},
		{"prefix with a scheme", []string{"-prefix:http://H.test/a/"}, "https://h.test/a/b",
			Verdict{Code: ByRule, Rule: "-prefix:http://H.test/a/"}},
		{"prefix with a query", []string{"-prefix:h.test/?a=1"}, "https://h.test/?a=12",
			Verdict{Code: ByRule, Rule: "-prefix:h.test/?a=1"}},
		{"prefix elsewhere", []string{"-prefix:h.test/a/"}, "https://h.test/a",
			Verdict{Accepted: true, Code: Accepted, Rule: "scope domain"}},
		{"regexp", []string{`-regexp:\.zip$`}, "http://h.test/x.zip",
			Verdict{Code: ByRule, Rule: `-regexp:\.zip$`}},
		{"regexp without case", []string{`-regexp:(?i)\.zip$`}, "http://h.test/x.ZIP",
			Verdict{Code: ByRule, Rule: `-regexp:(?i)\.zip$`}},
		{"first wins, plus", []string{"+prefix:h.test/a/b", "-prefix:h.test/a"},
			"http://h.test/a/b",
			Verdict{Accepted: true, Code: Accepted, Rule: "+prefix:h.test/a/b"}},
		{"first wins, minus", []string{"-prefix:h.test/a", "+prefix:h.test/a/b"},
			"http://h.test/a/b", Verdict{Code: ByRule, Rule: "-prefix:h.test/a"}},
		{"first wins over kinds", []string{"+regexp:/keep", "-host:h.test", "+domain:h.test"},
			"http://h.test/keep", Verdict{Accepted: true, Code: Accepted, Rule: "+regexp:/keep"}},
		{"regexp behind a host", []string{"-host:h.test", "+regexp:/keep"},
			"http://h.test/keep", Verdict{Code: ByRule, Rule: "-host:h.test"}},
		{"same value twice", []string{"-host:h.test", "+host:h.test"},
			"http://h.test/", Verdict{Code: ByRule, Rule: "-host:h.test"}},
		{"plus is not above the limits", []string{"+host:o.test"},
			"http://o.test/" + strings.Repeat("a/", 21), Verdict{Code: TrapSegments,
				Rule: "segments <= 20"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newScope(t, Config{Seeds: []string{"http://h.test/"}, Rules: rules(t, c.rules...)})
			got := decide(t, s, c.url, 1)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s:\n%s", c.url, diff)
			}
		})
	}
}

func TestOtherSchemes(t *testing.T) {
	s := newScope(t, Config{Scope: Any})
	v := s.Decide(weburl.Normal{Scheme: "ftp", URL: "ftp://h.test/"}, "h.test", 0)
	if diff := cmp.Diff(Verdict{Code: Scheme, Rule: "ftp"}, v); diff != "" {
		t.Error(diff)
	}
}

func TestParseRuleRefuses(t *testing.T) {
	cases := []struct{ text, want string }{
		{"", "start it with +"},
		{"domain:h.test", "start it with +"},
		{"+h.test", "+kind:value"},
		{"-domain:", "nothing after"},
		{"-dmain:h.test", `unknown kind "dmain"`},
		{"-file:", "nothing after"},
	}
	for _, c := range cases {
		if r, err := ParseRule(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("ParseRule(%q) = %v, %v, want an error with %q", c.text, r, err, c.want)
		}
	}
}

func TestParseRules(t *testing.T) {
	got, err := ParseRules("# what we want\n+ domain : h.test \n\n-regexp:a:b#c\n")
	want := []Rule{
		{Include: true, Kind: KindDomain, Value: "h.test", Line: 2},
		{Kind: KindRegexp, Value: "a:b#c", Line: 4},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v:\n%s", err, diff)
	}
	_, err = ParseRules("x\n+host:h.test\n-y:z\n")
	if err == nil || !strings.Contains(err.Error(), "line 1") ||
		!strings.Contains(err.Error(), "line 3") {
		t.Errorf("error %v, want both lines", err)
	}
}

func TestNewReportsEveryFault(t *testing.T) {
	_, err := New(Config{
		Scope: "galaxy",
		Seeds: append([]string{"mailto:a@b", "http://u:secret@/"},
			strings.Split(strings.Repeat("x,", 30), ",")...),
		Rules: []Rule{
			{Kind: KindRegexp, Value: "(", Line: 7}, {Kind: KindHost, Value: "h.test/x"},
			{Kind: KindHost, Value: "h.test:80"}, {Kind: KindPrefix, Value: "a b/"},
			{Kind: KindFile, Value: "x"}, {Kind: KindDomain},
		},
		Limits: Limits{Length: -1, RepeatedRuns: 1, Depth: -2},
	}, nil)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`scope "galaxy"`, `scheme "mailto"`, "…@/", "and 13 more bad seeds", "line 7",
		`"h.test/x" is not a host name`, `"h.test:80" is not`, "a b", "the list was not read",
		"nothing after", "length is -1", "repeated runs is 1", "depth is -2",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in the error", want)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Error("the error tells a password")
	}
	if _, err := New(Config{}, nil); err == nil {
		t.Error("scope domain without a suffix list is accepted")
	}
}

func TestFileRules(t *testing.T) {
	list := func(text string) *names.List {
		kept, _, err := names.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		l, err := names.New(kept)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	s := newScope(t, Config{Scope: Any,
		Rules: rules(t, "+host:good.bad.test", "- file:bad lists/bad.txt", "+file:good.txt",
			"-regexp:."),
		Lists: map[string]*names.List{"bad lists/bad.txt": list("# of spam\nbad.test\n\nhost:h.test\n"),
			"good.txt": list("h.test\ngood.test\n")}})
	for _, c := range []struct {
		url, code, rule string
		place           Place
	}{
		{"http://bad.test/", ByRule, "-file:bad lists/bad.txt", Place{2, 2, "bad.test"}},
		{"https://x.bad.test:81/y", ByRule, "-file:bad lists/bad.txt", Place{2, 2, "bad.test"}},
		{"http://good.bad.test/", Accepted, "+host:good.bad.test", Place{Rule: 1}},
		{"http://h.test/", ByRule, "-file:bad lists/bad.txt", Place{2, 4, "host:h.test"}},
		{"http://www.h.test/", Accepted, "+file:good.txt", Place{3, 1, "h.test"}},
		{"http://other.test/", ByRule, "-regexp:.", Place{Rule: 4}},
	} {
		v := decide(t, s, c.url, 1)
		if v.Code != c.code || v.Rule != c.rule {
			t.Errorf("%s: %+v, want %s by %s", c.url, v, c.code, c.rule)
		}
		if p, ok := s.Locate(normal(t, c.url)); !ok || p != c.place {
			t.Errorf("%s: decided by %+v, want %+v", c.url, p, c.place)
		}
	}
	if got := Files([]string{"+file:a", "-domain:x", "- file: b", "-file:a"}); !slices.Equal(got,
		[]string{"a", "b"}) {
		t.Errorf("files: %v", got)
	}
}
