package weburl

import (
	"errors"
	"strings"
	"testing"
)

// outcome is what a test table holds for a result: the URL, or the class of the error.
func outcome(u URL, err error) string {
	for _, class := range []error{ErrScheme, ErrHost, ErrSyntax, ErrTooLong} {
		if errors.Is(err, class) {
			return strings.TrimSpace(class.Error() + " " + SchemeOf(err))
		}
	}
	if err != nil {
		return "an error of no class: " + err.Error()
	}
	return u.String()
}

const (
	refusedHost   = "invalid host"
	refusedSyntax = "not a URL"
	refusedScheme = "scheme is not http or https "
)

func mustParse(t testing.TB, raw string) URL {
	t.Helper()
	u, err := Parse(raw)
	if err != nil {
		t.Fatalf("Parse(%q): %v", raw, err)
	}
	return u
}

// hrefs is the table of the field cases: what browsers make of an href on
// http://h.test/dir/page?x=1. Credentials are gone, and that is the only difference.
var hrefs = []struct{ ref, want string }{
	{"?q=1", "http://h.test/dir/page?q=1"},
	{"", "http://h.test/dir/page?x=1"},
	{"#f", "http://h.test/dir/page?x=1"},
	{";p", "http://h.test/dir/;p"},
	{"//c.test/x", "http://c.test/x"},
	{"///c.test/x", "http://c.test/x"},
	{"\\\\c.test\\x", "http://c.test/x"},
	{"/a\\b", "http://h.test/a/b"},
	{"a b", "http://h.test/dir/a%20b"},
	{" /lead", "http://h.test/lead"},
	{"/trail ", "http://h.test/trail"},
	{"/a\nb", "http://h.test/ab"},
	{"/a\tb", "http://h.test/ab"},
	{"/100%", "http://h.test/100%25"},
	{"/%zz", "http://h.test/%25zz"},
	{"/%7Ejoe", "http://h.test/%7Ejoe"},
	{"/a%2fb", "http://h.test/a%2fb"},
	{"/a%2Fb", "http://h.test/a%2Fb"},
	{"/a/./b/../c", "http://h.test/a/c"},
	{"/a/%2e%2e/b", "http://h.test/b"},
	{"/a//b", "http://h.test/a//b"},
	{"http:x", "http://h.test/dir/x"},
	{"http:/x", "http://h.test/x"},
	{"http:///x", "http://x/"},
	{"HTTP://H.TEST:80/X", "http://h.test/X"},
	{"http://h.test:/", "http://h.test/"},
	{"http://h.test?q", "http://h.test/?q"},
	{"http://h.test./", "http://h.test./"},
	{"http://u:p@h.test/", "http://h.test/"},
	{"http://ex%41mple.test/", "http://example.test/"},
	{"http://bücher.test/ü?ü", "http://xn--bcher-kva.test/%C3%BC?%C3%BC"},
	{"http://xn--/", refusedHost},
	{"http://[::1]:80/", "http://[::1]/"},
	{"http://127.1/", "http://127.0.0.1/"},
	{"http://0x7f.1/", "http://127.0.0.1/"},
	{"http://2130706433/", "http://127.0.0.1/"},
	{"http://0300.0250.1/", "http://192.168.0.1/"},
	{"http://１２７.0.0.1/", "http://127.0.0.1/"},
	{"http://a_b.test/", "http://a_b.test/"},
	{"http://-a.test/", "http://-a.test/"},
	{"javascript:void(0)", refusedScheme + "javascript"},
	{"mailto:a@b", refusedScheme + "mailto"},
	{"data:text/html,x", refusedScheme + "data"},
	{"tel:123", refusedScheme + "tel"},
	{"index.php?/a/=/o/", "http://h.test/dir/index.php?/a/=/o/"},
	{"?a|b&c[]=1", "http://h.test/dir/page?a|b&c[]=1"},
	{"?q=a;b", "http://h.test/dir/page?q=a;b"},
	{"/a&b=1", "http://h.test/a&b=1"},
	{"http://h.test/😀", "http://h.test/%F0%9F%98%80"},
	{"/x?y=%u20AC", "http://h.test/x?y=%u20AC"},
	{"http://h.test:99999/", refusedSyntax},
	{"http://h.test:080/", "http://h.test/"},
	{"www.other.test/x", "http://h.test/dir/www.other.test/x"},
	{"http://", refusedHost},
	{"https:/evil.test", "https://evil.test/"},
	{"/\u00a0x", "http://h.test/%C2%A0x"},
	{"/a#b#c", "http://h.test/a"},
	{"?next=http://z.test/", "http://h.test/dir/page?next=http://z.test/"},
}

func TestResolveHrefTable(t *testing.T) {
	base := mustParse(t, "http://h.test/dir/page?x=1")
	for _, c := range hrefs {
		t.Run(c.ref, func(t *testing.T) {
			if got := outcome(base.Resolve(c.ref)); got != c.want {
				t.Errorf("Resolve(%q) = %s, want %s", c.ref, got, c.want)
			}
		})
	}
}

// TestResolveKinds has other members of the kinds above, each by what the standard says.
func TestResolveKinds(t *testing.T) {
	const deep = "https://h.test:8443/a/b/c;p?x=1"
	cases := []struct{ name, base, ref, want string }{
		{"other port stays", deep, "d", "https://h.test:8443/a/b/d"},
		{"query keeps the path", deep, "?", "https://h.test:8443/a/b/c;p?"},
		{"up", deep, "../d", "https://h.test:8443/a/d"},
		{"up at the end", deep, "..", "https://h.test:8443/a/"},
		{"up beyond the root", deep, "../../../../d", "https://h.test:8443/d"},
		{"here", deep, ".", "https://h.test:8443/a/b/"},
		{"here and a query", deep, "./?q", "https://h.test:8443/a/b/?q"},
		{"dots that are names", deep, ".../..d/.e", "https://h.test:8443/a/b/.../..d/.e"},
		{"half escaped dots", deep, ".%2E/d", "https://h.test:8443/a/d"},
		{"escaped dot", deep, "%2e/d", "https://h.test:8443/a/b/d"},
		{"up over an empty segment", deep, "/a//../b", "https://h.test:8443/a/b"},
		{"backslash up", deep, "..\\d", "https://h.test:8443/a/d"},
		{"one backslash", deep, "\\d", "https://h.test:8443/d"},
		{"backslash in a query stays", deep, "?a\\b", "https://h.test:8443/a/b/c;p?a\\b"},
		{"slash and backslash", deep, "/\\o.test", "https://o.test/"},
		{"own scheme, relative", deep, "https:d", "https://h.test:8443/a/b/d"},
		{"other scheme, relative look", deep, "http:d.test", "http://d.test/"},
		{"own scheme, upper case", deep, "HTTPS:/d", "https://h.test:8443/d"},
		{"own scheme, backslashes", deep, "https:\\\\o.test\\d", "https://o.test/d"},
		{"scheme with a line break", deep, "ht\ntp://o.test/", "http://o.test/"},
		{"script in a line break", deep, "java\nscript:x", refusedScheme + "javascript"},
		{"script in upper case", deep, " JavaScript:x", refusedScheme + "javascript"},
		{"colon in a later segment", deep, "d/e:f", "https://h.test:8443/a/b/d/e:f"},
		{"digits are no scheme", deep, "80:x", "https://h.test:8443/a/b/80:x"},
		{"no letters before the colon", deep, ":x", "https://h.test:8443/a/b/:x"},
		{"quote in a query", deep, "?a='b'", "https://h.test:8443/a/b/c;p?a=%27b%27"},
		{"quote in a path", deep, "'b'", "https://h.test:8443/a/b/'b'"},
		{"braces", deep, "/{a}`^", "https://h.test:8443/%7Ba%7D%60%5E"},
		{"bytes that are no UTF-8", deep, "/caf\xe9?\xe9", "https://h.test:8443/caf%E9?%E9"},
		{"escapes of a query stay", deep, "?%41%zz%", "https://h.test:8443/a/b/c;p?%41%zz%"},
		{"question mark in a query", deep, "?a?b", "https://h.test:8443/a/b/c;p?a?b"},
		{"slash in a fragment", deep, "#/a?b", "https://h.test:8443/a/b/c;p?x=1"},
		{"nothing but space", deep, " \t\n ", "https://h.test:8443/a/b/c;p?x=1"},
		{"a NUL", deep, "a\x00b", "https://h.test:8443/a/b/a%00b"},
		{"at sign in a path", deep, "/@a", "https://h.test:8443/@a"},
		{"many at signs", deep, "http://u:p@w@o.test/", "http://o.test/"},
		{"nobody at", deep, "http://@/x", refusedHost},
		{"a port and no host", deep, "http://:80/x", refusedHost},
		{"a port that is a word", deep, "http://o.test:http/", refusedSyntax},
		{"two ports", deep, "http://o.test:80:80/", refusedSyntax},
		{"port zero", deep, "http://o.test:0/", "http://o.test:0/"},
		{"default port of the other", deep, "http://o.test:443/", "http://o.test:443/"},
		{"base without a path", "http://h.test", "x", "http://h.test/x"},
		{"root and dots", "http://h.test", "/..", "http://h.test/"},
		{"ftp", deep, "ftp://o.test/x", refusedScheme + "ftp"},
		{"file", deep, "file:///etc/passwd", refusedScheme + "file"},
		{"websocket", deep, "wss://o.test/x", refusedScheme + "wss"},
		{"scheme with signs", deep, "web+x.y-z:1", refusedScheme + "web+x.y-z"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := outcome(mustParse(t, c.base).Resolve(c.ref)); got != c.want {
				t.Errorf("%s: Resolve(%q) = %s, want %s", c.base, c.ref, got, c.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	cases := []struct{ raw, want string }{
		{"", refusedSyntax},
		{"/x", refusedSyntax},
		{"h.test/x", refusedSyntax},
		{"//h.test/x", refusedSyntax},
		{"http:h.test", "http://h.test/"},
		{"http:/h.test", "http://h.test/"},
		{"https:\\h.test", "https://h.test/"},
		{"h.test:80/x", refusedScheme + "h.test"},
		{"http://[::1", refusedHost},
		{"http://ex ample/", refusedHost},
		{"http://" + strings.Repeat("a", MaxInput), "URL too long"},
		{"data:," + strings.Repeat("a", MaxInput), refusedScheme + "data"},
		{"http://h.test/" + strings.Repeat("ü", MaxInput/3), "URL too long"},
	}
	for _, c := range cases {
		if got := outcome(Parse(c.raw)); got != c.want {
			t.Errorf("Parse(%.60q) = %.200s, want %s", c.raw, got, c.want)
		}
	}
}

func TestErrorsHideCredentials(t *testing.T) {
	for _, raw := range []string{
		"http://user:secret@/", "http://user:secret@a b/", "http://user:secret@h.test:x/",
	} {
		_, err := Parse(raw)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Parse(%q): error %v, want one that does not tell the password", raw, err)
		}
	}
}

// TestResolveQueryCharset is a page in Latin-1: its queries are too, its paths are not.
func TestResolveQueryCharset(t *testing.T) {
	latin1 := func(s string) []byte {
		var b []byte
		for _, r := range s {
			switch {
			case r < 0x100:
				b = append(b, byte(r))
			case r == '€':
				b = append(b, "&#8364;"...)
			default:
				b = append(b, '?')
			}
		}
		return b
	}
	base := mustParse(t, "http://h.test/é/page")
	cases := []struct{ ref, want string }{
		{"?q=é", "http://h.test/%C3%A9/page?q=%E9"},
		{"é?q=éa é", "http://h.test/%C3%A9/%C3%A9?q=%E9a%20%E9"},
		{"?q=€&r=1", "http://h.test/%C3%A9/page?q=%26#8364%3B&r=1"},
		{"?q=a", "http://h.test/%C3%A9/page?q=a"},
		{"#é", "http://h.test/%C3%A9/page"},
	}
	for _, c := range cases {
		// The standard escapes the "#" of a numeric reference as well.
		want := strings.Replace(c.want, "#", "%23", 1)
		if got := outcome(base.ResolveQuery(c.ref, latin1)); got != want {
			t.Errorf("ResolveQuery(%q) = %s, want %s", c.ref, got, want)
		}
	}
}

func TestAccessors(t *testing.T) {
	cases := []struct{ raw, scheme, host, port, path, query string }{
		{"https://h.test:8443/a/b?x=1#f", "https", "h.test", "8443", "/a/b", "x=1"},
		{"http://h.test", "http", "h.test", "", "/", ""},
		{"http://[1::0:2]:81?", "http", "[1::2]", "81", "/", ""},
		{"http://h.test/p", "http", "h.test", "", "/p", ""},
	}
	for _, c := range cases {
		u := mustParse(t, c.raw)
		got := [...]string{u.Scheme(), u.Host(), u.Port(), u.Path(), u.Query()}
		if want := [...]string{c.scheme, c.host, c.port, c.path, c.query}; got != want {
			t.Errorf("Parse(%q) has parts %q, want %q", c.raw, got, want)
		}
		if got, want := u.HasQuery(), strings.Contains(c.raw, "?"); got != want {
			t.Errorf("Parse(%q).HasQuery() = %t", c.raw, got)
		}
	}
	var zero URL
	if zero.Scheme()+zero.Host()+zero.Port()+zero.Path()+zero.Query()+zero.String() != "" {
		t.Error("the zero URL has parts")
	}
	if got := outcome(zero.Resolve("/x")); got != refusedSyntax {
		t.Errorf("the zero URL resolves /x to %s", got)
	}
}
