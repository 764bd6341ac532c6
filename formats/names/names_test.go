package names

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"seine/formats/weburl"
)

func list(t testing.TB, text string) *List {
	t.Helper()
	kept, _, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(kept)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestMatch(t *testing.T) {
	l := list(t, "\xef\xbb\xbf# bad ones\n\nA.test\n  host:www.b.test  \r\nsub.a.test # of a\n"+
		"Bücher.test\ndomain:c.test\na.test\n[::1]\nhost:10.0.0.1")
	for _, c := range []struct {
		host string
		line int // 0: none
		text string
	}{
		{"a.test", 3, "a.test"},
		{"x.a.test", 3, "a.test"},
		{"x.sub.a.test", 5, "sub.a.test"},
		{"xa.test", 0, ""},
		{"test", 0, ""},
		{"www.b.test", 4, "host:www.b.test"},
		{"b.test", 0, ""},
		{"x.www.b.test", 0, ""},
		{"xn--bcher-kva.test", 6, "xn--bcher-kva.test"},
		{"y.c.test", 7, "c.test"},
		{"[::1]", 9, "[::1]"},
		{"10.0.0.1", 10, "host:10.0.0.1"},
		{"", 0, ""},
	} {
		t.Run(c.host, func(t *testing.T) {
			e, ok := l.Match(c.host)
			if ok != (c.line > 0) {
				t.Fatalf("match: %v", ok)
			}
			if number, text := l.Line(e); ok && (number != c.line || text != c.text) {
				t.Errorf("line %d %q, want %d %q", number, text, c.line, c.text)
			}
		})
	}
	if l.Count() != 7 {
		t.Errorf("%d names, want 7: a.test stands twice", l.Count())
	}
}

func TestParseNamesBadLines(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "names no domain"},
		{"remarks only", "# a\n\n", "names no domain"},
		{"URL", "a.test\nhttp://b.test/\n", "line 2"},
		{"path", "\n\nb.test/x\n", "line 3"},
		{"port", "b.test:80", "leave out scheme, port"},
		{"two names", "a.test b.test", "one name a line"},
		{"hosts file", "0.0.0.0\tb.test", "one name a line"},
		{"empty label", "a..test", "line 1"},
		{"only a kind", "host:", "line 1"},
		{"long line", strings.Repeat("a", 5000), "longer than"},
		{"many", strings.Repeat("a b\n", 30), "and 20 more bad lines"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := Parse(strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestNewRefusesDamage(t *testing.T) {
	if _, err := New([]byte("a.test\nb.te")); err == nil {
		t.Error("a text that was cut off is taken")
	}
	l, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := l.Match("a.test"); ok {
		t.Error("an empty list matches")
	}
}

// TestMatchesNaive compares the table with a walk over the lines.
func TestMatchesNaive(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	name := func() string {
		labels := make([]string, 1+random.IntN(4))
		for i := range labels {
			labels[i] = string("abcd"[random.IntN(4)])
		}
		return strings.Join(labels, ".")
	}
	for range 200 {
		domains, hosts := map[string]bool{}, map[string]bool{}
		var text strings.Builder
		for range 1 + random.IntN(40) {
			if n := name(); random.IntN(3) == 0 {
				hosts[n] = true
				fmt.Fprintf(&text, "host:%s\n", n)
			} else {
				domains[n] = true
				fmt.Fprintf(&text, "%s\n", n)
			}
		}
		l := list(t, text.String())
		for range 60 {
			host := name()
			want := ""
			for d := range domains {
				if (host == d || strings.HasSuffix(host, "."+d)) && len(d) > len(want) {
					want = d
				}
			}
			if hosts[host] {
				want = "host:" + host
			}
			e, ok := l.Match(host)
			got := ""
			if ok {
				_, got = l.Line(e)
			}
			if got != want {
				t.Fatalf("%s of %q falls under %q, want %q", host, text.String(), got, want)
			}
		}
	}
}

// FuzzHost holds the short way to the long one: what is taken as it stands is
// what the normaliser makes of it.
func FuzzHost(f *testing.F) {
	for _, s := range []string{"a.test", "1.2", "0x7f.1", "a-.b", "xn--bcher-kva.test", "A.b", "a.b.",
		"ab--c.test", "a.0x1", "127.1", "a", "1.a", "a_b.test"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !plain(s) {
			return
		}
		u, err := weburl.Normalize("http://"+s+"/", weburl.Options{})
		if err != nil || u.Host != s {
			t.Errorf("%q is plain and its normal form is %q, %v", s, u.Host, err)
		}
	})
}
