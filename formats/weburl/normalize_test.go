package weburl

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const hex32 = "0123456789abcdef0123456789abcdef"

// normalForms has the rules of NORMALIZE.md in their order.
var normalForms = []struct{ name, raw, want string }{
	{"R26 example", "HTTP://Example.com:80/Page?b=2&a=1&utm_source=x#frag",
		"http://example.com/Page?a=1&b=2"},

	{"1 case of scheme and host", "HTTPS://H.Test/X", "https://h.test/X"},
	{"2 IDNA", "http://BÜCHER.test/", "http://xn--bcher-kva.test/"},
	{"2 IPv4", "http://0x7f.1/", "http://127.0.0.1/"},
	{"2 IPv6", "http://[0:0::1]/", "http://[::1]/"},
	{"3 trailing dot", "http://h.test./x", "http://h.test/x"},
	{"3 trailing dot and port", "http://h.test.:81/x", "http://h.test:81/x"},
	{"4 default port", "https://h.test:443/", "https://h.test/"},
	{"4 other port", "https://h.test:0080/", "https://h.test:80/"},
	{"5 credentials", "http://u:p@h.test/", "http://h.test/"},
	{"5 fragment", "http://h.test/#!/a", "http://h.test/"},
	{"6 dots", "http://h.test/a/./b/../c", "http://h.test/a/c"},
	{"6 empty path", "http://h.test", "http://h.test/"},
	{"6 trailing slash kept", "http://h.test/a/", "http://h.test/a/"},
	{"6 none added", "http://h.test/a", "http://h.test/a"},
	{"6 empty segments kept", "http://h.test//a//b", "http://h.test//a//b"},

	{"7 upper-case escapes", "http://h.test/a%3d%3d?b=%2f%c3%bc",
		"http://h.test/a%3D%3D?b=%2F%C3%BC"},
	{"8 unreserved decoded", "http://h.test/%7Ejoe%2Dx?%61=%2E",
		"http://h.test/~joe-x?a=."},
	{"8 reserved kept", "http://h.test/a%2Fb%3Fc?d=%26%3D%2B",
		"http://h.test/a%2Fb%3Fc?d=%26%3D%2B"},
	{"9 lone percent", "http://h.test/100%", "http://h.test/100%25"},
	{"9 percent twice", "http://h.test/a%%b", "http://h.test/a%25%25b"},
	{"9 bad escape", "http://h.test/%zz?a=%u20AC", "http://h.test/%25zz?a=%25u20AC"},
	{"9 percent before an escape", "http://h.test/%%34%31", "http://h.test/%2541"},
	{"9 escaped percent stays once", "http://h.test/%2541?%2561", "http://h.test/%2541?%2561"},
	{"9 what RFC 3986 has not", "http://h.test/x[1]|y^?q=top||1 [b]",
		"http://h.test/x%5B1%5D%7Cy%5E?q=top%7C%7C1%20%5Bb%5D"},
	{"9 slash and question mark in a query", "http://h.test/i?/topic/1-x/&a?",
		"http://h.test/i?/topic/1-x/&a?"},
	{"9 plus stays", "http://h.test/a+b?c+d=%20", "http://h.test/a+b?c+d=%20"},
	{"9 escape split by a tab", "http://h.test/%4\t1", "http://h.test/A"},
	{"9 bytes of another charset", "http://h.test/?q=%e9", "http://h.test/?q=%E9"},

	{"10 sorted", "http://h.test/?c&b=2&a=1", "http://h.test/?a=1&b=2&c"},
	{"10 stable", "http://h.test/?b=2&a=z&b=1&a=y", "http://h.test/?a=z&a=y&b=2&b=1"},
	{"10 by bytes", "http://h.test/?b&B&a10&a9", "http://h.test/?B&a10&a9&b"},
	{"10 by decoded names", "http://h.test/?b&%61", "http://h.test/?a&b"},
	{"10 name without value", "http://h.test/?a&a=", "http://h.test/?a&a="},
	{"10 empty query", "http://h.test/?", "http://h.test/"},
	{"10 empty parameters", "http://h.test/?&&a&&", "http://h.test/?a"},
	{"10 nothing but empty", "http://h.test/?&", "http://h.test/"},
	{"10 semicolon parts nothing", "http://h.test/?b;a", "http://h.test/?b;a"},

	{"11 utm", "http://h.test/?utm_source=x&UTM_Medium=y&utm%5Fid=z", "http://h.test/"},
	{"11 clicks", "http://h.test/?gclid=1&fbclid=2&msclkid=3&x=4", "http://h.test/?x=4"},
	{"11 likeness is not enough", "http://h.test/?utm=1&xgclid=2&utms_a=3",
		"http://h.test/?utm=1&utms_a=3&xgclid=2"},
	{"12 session by name", "http://h.test/?PHPSESSID=a1&jsessionid=b", "http://h.test/"},
	{"12 session by name, no value", "http://h.test/?PHPSESSID", "http://h.test/?PHPSESSID"},
	{"12 session by value", "http://h.test/?sid=" + hex32, "http://h.test/"},
	{"12 session by UUID", "http://h.test/?sessionid=550e8400-e29b-41d4-a716-446655440000",
		"http://h.test/"},
	{"12 a number is none", "http://h.test/?sid=1234567890123456789",
		"http://h.test/?sid=1234567890123456789"},
	{"12 a word is none", "http://h.test/?session=opening-keynote-2024-in-hall-1",
		"http://h.test/?session=opening-keynote-2024-in-hall-1"},
	{"12 short is none", "http://h.test/?sid=ab12", "http://h.test/?sid=ab12"},
	{"13 path parameter", "http://h.test/a;jsessionid=1A2B.node1?x=1",
		"http://h.test/a?x=1"},
	{"13 upper case, in the middle", "http://h.test/a;JSESSIONID=1;v=2/b;v=3",
		"http://h.test/a;v=2/b;v=3"},
	{"13 twice", "http://h.test/a;jsessionid=1;jsessionid=2", "http://h.test/a"},
	{"13 never a dot segment", "http://h.test/a/..;jsessionid=1/b",
		"http://h.test/a/..;jsessionid=1/b"},
	{"13 other parameters", "http://h.test/a;p=1;q", "http://h.test/a;p=1;q"},
	{"14 no twins", "http://www.h.test/index.html", "http://www.h.test/index.html"},
}

func TestNormalizeRules(t *testing.T) {
	for _, c := range normalForms {
		t.Run(c.name, func(t *testing.T) {
			n, err := Normalize(c.raw, Options{})
			if err != nil || n.URL != c.want {
				t.Fatalf("Normalize(%q) = %q, %v, want %q", c.raw, n.URL, err, c.want)
			}
			again, err := Normalize(n.URL, Options{})
			if diff := cmp.Diff(n, again); err != nil || diff != "" {
				t.Errorf("normal form of %q is another (%v):\n%s", n.URL, err, diff)
			}
		})
	}
}

func TestNormalParts(t *testing.T) {
	cases := []struct {
		raw  string
		want Normal
	}{
		{"https://H.test.:8443/a?b=2&a", Normal{
			URL: "https://h.test:8443/a?a&b=2", Scheme: "https", Host: "h.test", Port: "8443",
			Authority: "h.test:8443", Path: "/a?a&b=2"}},
		{"http://[::1]/?", Normal{
			URL: "http://[::1]/", Scheme: "http", Host: "[::1]",
			Authority: "[::1]", Path: "/"}},
		{"http://h.test/a?b", Normal{
			URL: "http://h.test/a?b", Scheme: "http", Host: "h.test",
			Authority: "h.test", Path: "/a?b"}},
	}
	for _, c := range cases {
		got, err := Normalize(c.raw, Options{})
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("Normalize(%q), error %v:\n%s", c.raw, err, diff)
		}
	}
	if n := (URL{}).Normalize(Options{}); n != (Normal{}) {
		t.Errorf("the zero URL is %+v", n)
	}
}

func TestNormalizeOptions(t *testing.T) {
	const raw = "http://h.test/?utm_source=a&ref=b&REF=c&refer=d&PHPSESSID=e"
	cases := []struct {
		name string
		o    Options
		want string
	}{
		{"none", Options{}, "?REF=c&ref=b&refer=d"},
		{"keep one", Options{KeepParams: []string{"phpsessid"}},
			"?PHPSESSID=e&REF=c&ref=b&refer=d"},
		{"keep a family", Options{KeepParams: []string{"UTM_*"}},
			"?REF=c&ref=b&refer=d&utm_source=a"},
		{"drop one", Options{DropParams: []string{"ref"}}, "?refer=d"},
		{"drop a family", Options{DropParams: []string{"ref*"}}, ""},
		{"keep before drop", Options{KeepParams: []string{"refer"}, DropParams: []string{"*"}},
			"?refer=d"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n, err := Normalize(raw, c.o)
			if err != nil || n.Path != "/"+c.want {
				t.Errorf("path %q, error %v, want %q", n.Path, err, "/"+c.want)
			}
		})
	}
}

func TestNormalizeLength(t *testing.T) {
	raw := "http://h.test/" + strings.Repeat("|", 10)
	if _, err := Normalize(raw, Options{MaxLength: 44}); err != nil {
		t.Errorf("44 bytes where 44 are allowed: %v", err)
	}
	got := outcome(URL{}, second(Normalize(raw, Options{MaxLength: 43})))
	if got != "URL too long" {
		t.Errorf("44 bytes where 43 are allowed: %s", got)
	}
	long := "http://h.test/" + strings.Repeat("|", MaxInput/2)
	if got = outcome(URL{}, second(Normalize(long, Options{}))); got != "URL too long" {
		t.Errorf("a normal form that outgrows the limit: %s", got)
	}
}

func second(_ Normal, err error) error { return err }

// TestNormalIsNotCutShort resolves a very long href: whole or an error, in linear time.
func TestNormalIsNotCutShort(t *testing.T) {
	base := mustParse(t, "http://h.test/")
	ref := "/" + strings.Repeat("a/../%", 5000) + "end"
	u, err := base.Resolve(ref)
	if err != nil {
		t.Fatal(err)
	}
	if n := u.Normalize(Options{}); !strings.HasSuffix(n.URL, "end") {
		t.Errorf("cut short: %.40s…", n.URL)
	}
	if got := outcome(base.Resolve(strings.Repeat("a ", 5<<20))); got != "URL too long" {
		t.Errorf("10 MB of attribute: %.80s", got)
	}
}

func TestRedact(t *testing.T) {
	cases := []struct{ raw, want string }{
		{"http://u:p@h.test/a@b", "http://…@h.test/a@b"},
		{"//u:p@w@h.test", "//…@h.test"},
		{"u:p@h.test", "…@h.test"},
		{"h.test/x", "h.test/x"},
		{"http://h.test/@x", "http://h.test/@x"},
		{"", ""},
	}
	for _, c := range cases {
		if got := Redact(c.raw); got != c.want {
			t.Errorf("Redact(%q) = %q, want %q", c.raw, got, c.want)
		}
	}
	if got := Redact(strings.Repeat("x", 1000)); len(got) > 100 {
		t.Errorf("%d bytes are left", len(got))
	}
}

// TestRulesAreWrittenDown holds the list of names in NORMALIZE.md equal to the table.
func TestRulesAreWrittenDown(t *testing.T) {
	text, err := os.ReadFile("NORMALIZE.md")
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for _, word := range strings.FieldsFunc(string(text), func(r rune) bool {
		return r == ' ' || r == '\n' || r == '`' || r == ','
	}) {
		written[strings.TrimSuffix(word, "`.")] = true
	}
	for name := range params {
		if !written[name] && !written[name+"."] {
			t.Errorf("parameter %s is not in NORMALIZE.md", name)
		}
		if len(name) >= longestParam || name != strings.ToLower(name) {
			t.Errorf("parameter %s can never match", name)
		}
	}
	for _, prefix := range paramPrefixes {
		if !written[prefix] {
			t.Errorf("prefix %s is not in NORMALIZE.md", prefix)
		}
	}
	want := "version " + strconv.Itoa(NormalizerVersion) + "\n"
	if !strings.Contains(string(text), want) {
		t.Errorf("NORMALIZE.md does not describe %s", want)
	}
}

func TestSchemeTwin(t *testing.T) {
	for url, want := range map[string]string{
		"http://a.test/":        "https://a.test/",
		"https://a.test/b?c=:8": "http://a.test/b?c=:8",
		"http://a.test:8080/":   "",
		"https://a.test:80/x":   "",
		"http://[::1]/x":        "https://[::1]/x",
		"http://[::1]:81/x":     "",
		"https://a.test":        "http://a.test",
	} {
		if got := SchemeTwin(url); got != want {
			t.Errorf("SchemeTwin(%q) = %q, want %q", url, got, want)
		}
	}
}
