package weburl

import (
	"net/url"
	"testing"
)

// The links of a page as they are, most of them plain, and the odd ones. A crawl resolves and
// normalises some 50 a page, so this and the parsing of HTML are what a page costs.
var (
	plainRefs = []string{
		"/wiki/Seine_fishing", "https://www.example.com/a/b/article-12345.html", "page-2.html",
		"?page=3", "#top", "/search?q=net&sort=date", "//cdn.example.com/lib/app.js",
		"/about/", "https://other.example.org/", "/static/img/logo.v2.png",
	}
	oddRefs = []string{
		"/a b/ü.html", "../up/./x", "/p%7ejoe/%2e%2e/x?b=2&a=1", "HTTP://Example.com:80/X#f",
		"\\\\h.test\\x", "/x;jsessionid=1A2B3C?utm_source=a&z=1", " /lead\n", "/100%",
		"http://bücher.test/", "/q?a|b&c[]=1",
	}
)

const benchBase = "https://www.example.com/dir/sub/page.html?x=1"

func benchmarkOurs(b *testing.B, refs []string) {
	base := mustParse(b, benchBase)
	b.ReportAllocs()
	for b.Loop() {
		for _, ref := range refs {
			u, err := base.Resolve(ref)
			if err != nil || u.Normalize(Options{}).URL == "" {
				b.Fatal(ref, err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(refs)), "ns/url")
}

// benchmarkNetURL resolves and prints, which is less than normalising.
func benchmarkNetURL(b *testing.B, refs []string) {
	base, err := url.Parse(benchBase)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, ref := range refs {
			// It refuses some of the odd ones; those cost what they cost.
			if u, err := base.Parse(ref); err == nil && u.String() == "" {
				b.Fatal(ref)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(refs)), "ns/url")
}

func BenchmarkPlain(b *testing.B) {
	b.Run("weburl", func(b *testing.B) { benchmarkOurs(b, plainRefs) })
	b.Run("neturl", func(b *testing.B) { benchmarkNetURL(b, plainRefs) })
}

func BenchmarkOdd(b *testing.B) {
	b.Run("weburl", func(b *testing.B) { benchmarkOurs(b, oddRefs) })
	b.Run("neturl", func(b *testing.B) { benchmarkNetURL(b, oddRefs) })
}

func BenchmarkDomain(b *testing.B) {
	s := embeddedList(b)
	hosts := []string{"www.example.com", "a.b.example.co.uk", "user.github.io", "192.168.0.1"}
	b.ReportAllocs()
	for b.Loop() {
		for _, host := range hosts {
			if s.Domain(host) == "" {
				b.Fatal(host)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(hosts)), "ns/host")
}
