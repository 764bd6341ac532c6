package weburl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// oddities are spellings that meet the rules from many sides; each is a seed of the fuzzers.
var oddities = []string{
	"HTTP://Example.com:80/Page?b=2&a=1&utm_source=x#frag", "http://h.test/a%2e/%2e%2e?%", "",
	"http://h.test/..;jsessionid=1/x", "http://h.test/;jsessionid=1;jsessionid=2", "//[::1]:80",
	"http://h.test/?utm_source", "http://h.test./?&=&a", "http://%41.0x7f./", "http://1..2/",
	"http://h.test/%%32%35", "?%%34%31=%3d", "a/./../b\\c", "http:x", "https:\\\\x\\y", "\x00 \t",
	"http://a\u00adb。test:0443", "/\xff?\xff", "#", ".", "..", "http://xn--/", "&&", "/a?b#c?d",
	"http://h.test/'?'", "/x?sid=550e8400-e29b-41d4-a716-446655440000", "http://h.test/a;b;c=/;d",
}

// FuzzNormalize holds that a normal form is its own normal form, and that its parts fit.
func FuzzNormalize(f *testing.F) {
	for _, raw := range oddities {
		f.Add(raw)
	}
	for _, c := range hrefs {
		f.Add(c.ref)
	}
	s := embeddedList(f)
	base := mustParse(f, "https://user@H.test:81/a/b;c/d?e=f&a")
	f.Fuzz(func(t *testing.T, raw string) {
		for _, parse := range []func(string) (URL, error){Parse, base.Resolve} {
			u, err := parse(raw)
			if err != nil {
				outcome(u, err)
				continue
			}
			checkNormal(t, s, u)
		}
	})
}

func checkNormal(t *testing.T, s *Suffixes, u URL) {
	n := u.Normalize(Options{})
	if len(n.URL) > MaxInput {
		return
	}
	again, err := Normalize(n.URL, Options{})
	if diff := cmp.Diff(n, again); err != nil || diff != "" {
		t.Fatalf("%q is not its own normal form (%v):\n%s", n.URL, err, diff)
	}
	if serial, err := Parse(u.String()); err != nil || serial.String() != u.String() {
		t.Fatalf("%q parses to %q, %v", u, serial, err)
	}
	authority := n.Host
	if n.Port != "" {
		authority += ":" + n.Port
	}
	if n.Authority != authority || n.URL != n.Scheme+"://"+n.Authority+n.Path {
		t.Fatalf("parts do not fit: %+v", n)
	}
	// A host may hold some odd signs, which the standard allows; what follows it may not.
	for i := range len(n.URL) {
		c := n.URL[i]
		inPath := i >= len(n.URL)-len(n.Path)
		if c <= ' ' || c >= 0x7f || inPath && strings.IndexByte("\"<>[]\\^`{|}#", c) >= 0 {
			t.Fatalf("%q has %q", n.URL, c)
		}
	}
	domain := s.Domain(n.Host)
	if !strings.HasSuffix(n.Host, domain) || domain == "" || s.Domain(domain) != domain {
		t.Fatalf("domain of %q is %q", n.Host, domain)
	}
	if rest := strings.TrimSuffix(n.Host, domain); rest != "" && !strings.HasSuffix(rest, ".") {
		t.Fatalf("domain %q starts inside a label of %q", domain, n.Host)
	}
}

// FuzzPlain holds the plain path and the parser of the standard equal.
func FuzzPlain(f *testing.F) {
	for _, raw := range oddities {
		f.Add(raw, raw)
	}
	for _, c := range hrefs {
		f.Add("http://h.test/dir/page?x=1", c.ref)
	}
	f.Fuzz(func(t *testing.T, rawBase, ref string) {
		want, wantErr := parse(nil, rawBase, nil)
		base, err := Parse(rawBase)
		if outcome(base, err) != outcome(want, wantErr) || base != want {
			t.Fatalf("Parse(%q) = %+v, %v, want %+v, %v", rawBase, base, err, want, wantErr)
		}
		if err != nil {
			return
		}
		want, wantErr = parse(&base, ref, nil)
		got, err := base.Resolve(ref)
		if outcome(got, err) != outcome(want, wantErr) || got.String() != want.String() {
			t.Fatalf("%q resolves %q to %q, %v, want %q, %v", base, ref, got, err, want, wantErr)
		}
		if got.plain && !want.plain {
			t.Fatalf("%q is not plain", got)
		}
		plain, n := got.Normalize(Options{}), URL{}
		n = want
		n.plain = false
		if diff := cmp.Diff(n.Normalize(Options{}), plain); err == nil && diff != "" {
			t.Fatalf("normal forms of %q differ:\n%s", got, diff)
		}
	})
}

// FuzzSuffixes holds that no list and no host brings Domain out of step.
func FuzzSuffixes(f *testing.F) {
	f.Add("com\n*.ck\n!www.ck", "a.www.ck")
	f.Add("b.a\n*.c.b.a", "..a..")
	f.Add("//x\n*\n!a", "[::1]")
	f.Fuzz(func(t *testing.T, list, host string) {
		s, err := ParseSuffixes([]byte(list))
		if err != nil {
			return
		}
		domain := s.Domain(host)
		if !strings.HasSuffix(strings.TrimSuffix(host, "."), domain) {
			t.Fatalf("Domain(%q) = %q", host, domain)
		}
	})
}
