package weburl

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func embeddedList(t testing.TB) *Suffixes {
	t.Helper()
	s, err := ParseSuffixes(EmbeddedSuffixes())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPublishedVectors runs the test vectors that are published with the list. Where they have
// null, no domain can be registered, the host is its own domain here.
func TestPublishedVectors(t *testing.T) {
	s := embeddedList(t)
	text, err := os.ReadFile("testdata/test_psl.txt")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^checkPublicSuffix\('([^']+)', (null|'[^']+')\);`)
	vectors := line.FindAllStringSubmatch(string(text), -1)
	if len(vectors) < 70 {
		t.Fatalf("only %d vectors read", len(vectors))
	}
	for _, v := range vectors {
		host, err := parseHost(v[1])
		if err != nil {
			if v[2] != "null" {
				t.Errorf("%s is no host: %v", v[1], err)
			}
			continue
		}
		want := host
		if v[2] != "null" {
			if want, err = parseHost(strings.Trim(v[2], "'")); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.Domain(host); got != want {
			t.Errorf("Domain(%q) = %q, want %q", host, got, want)
		}
	}
}

func TestDomain(t *testing.T) {
	s, err := ParseSuffixes([]byte(`
// ===BEGIN ICANN DOMAINS===
com
uk  a comment after a space
co.uk
*.ck
!www.ck
中国
*
// ===BEGIN PRIVATE DOMAINS===
github.io
*.compute.cloud.com
a.b.c.d.e.com
`))
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct{ name, host, want string }{
		{"registered", "example.com", "example.com"},
		{"below", "a.b.example.com", "example.com"},
		{"two labels of suffix", "www.example.co.uk", "example.co.uk"},
		{"one label of suffix", "www.example.uk", "example.uk"},
		{"suffix itself", "co.uk", "co.uk"},
		{"top level itself", "com", "com"},
		{"wildcard", "a.b.c.ck", "b.c.ck"},
		{"wildcard's own suffix", "c.ck", "c.ck"},
		{"above the wildcard", "ck", "ck"},
		{"exception", "a.www.ck", "www.ck"},
		{"exception itself", "www.ck", "www.ck"},
		{"private", "joe.github.io", "joe.github.io"},
		{"private below", "x.joe.github.io", "joe.github.io"},
		{"private suffix itself", "github.io", "github.io"},
		{"private wildcard", "a.b.x.compute.cloud.com", "b.x.compute.cloud.com"},
		{"above a private wildcard", "x.cloud.com", "cloud.com"},
		{"unlisted", "a.example.test", "example.test"},
		{"punycode", "a.b.xn--fiqs8s", "b.xn--fiqs8s"},
		{"longest rule", "z.y.a.b.c.d.e.com", "y.a.b.c.d.e.com"},
		{"single label", "localhost", "localhost"},
		{"trailing dot", "a.example.com.", "example.com"},
		{"IPv4", "192.168.0.1", "192.168.0.1"},
		{"IPv6", "[2001:db8::1]", "[2001:db8::1]"},
		{"IPv6 bare", "2001:db8::1", "2001:db8::1"},
		{"digits that are no address", "1.2.3.4.com", "4.com"},
		{"nothing", "", ""},
		{"leading dot", ".com", ".com"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := s.Domain(c.host); got != c.want {
				t.Errorf("Domain(%q) = %q, want %q", c.host, got, c.want)
			}
		})
	}
}

func TestParseSuffixesRefuses(t *testing.T) {
	cases := []struct{ name, list, want string }{
		{"empty", "", "no rule"},
		{"comments only", "// com\n\n", "no rule"},
		{"not a name", "com\nco uk\na..b\n", "line 3"},
		{"wildcard inside", "com\na.*.b\n", "line 2"},
		{"html", "<html>\n", "line 1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseSuffixes([]byte(c.list))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestEmbeddedList fails when a refresh brings a list that was cut short or lost a section.
func TestEmbeddedList(t *testing.T) {
	s := embeddedList(t)
	if len(s.rules) < 9000 {
		t.Errorf("%d rules, want 9,000 at least", len(s.rules))
	}
	for host, want := range map[string]string{
		"www.bbc.co.uk": "bbc.co.uk", "www.city.kobe.jp": "city.kobe.jp",
		"a.user.github.io": "user.github.io", "a.example.com": "example.com",
	} {
		if got := s.Domain(host); got != want {
			t.Errorf("Domain(%q) = %q, want %q", host, got, want)
		}
	}
}

func TestPartitionAndID(t *testing.T) {
	// md5("example.com") = 5ababd603b22780302dd8d83498e5172: 0x7803 & 1023 = 3.
	if got := Partition("example.com"); got != 3 {
		t.Errorf("Partition(example.com) = %d, want 3", got)
	}
	// md5("") = d41d8cd98f00b204e9800998ecf8427e
	if got := ID(""); got[0] != 0xd4 || got[15] != 0x7e {
		t.Errorf("ID of nothing is %x", got)
	}
}
