package catalogtest

import (
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/tasklog"
)

// Small is a crawl of an inject and three rounds, over a handful of sites:
//
//	example.org    www, blog: pages, one that changes, a broken link, a redirect chain
//	example.net    a copy of an example.org page
//	slow.test      answers slowly
//	dead.test      does not resolve: retried, then a dead letter
//	private.test   robots.txt forbids half of it
//	later.test     known from a link, never listed
func Small() *Builder {
	b := New()
	inject(b)
	first(b)
	second(b)
	third(b)
	return b
}

// The URLs of Small.
const (
	Home    = "https://www.example.org/"
	About   = "https://www.example.org/about?b=1&lang=en"
	Gone    = "https://www.example.org/gone"
	Old     = "http://example.org/old"
	Moved   = "https://example.org/moved"
	Blog    = "https://blog.example.org/"
	Copy    = "https://example.net/copy"
	Slow    = "http://slow.test:8080/"
	Dead    = "http://dead.test/"
	Private = "https://private.test/secret"
	Public  = "https://private.test/"
	Later   = "https://later.test/it's"
)

func inject(b *Builder) {
	j := b.Job("inject")
	for _, url := range []string{Home, Slow, Dead, Public} {
		j.New(url, 0, 1)
		r := j.whole[url]
		r.Inlinks, r.Seed, r.UserSignal = 0, url, 1
		j.whole[url] = r
		j.Seeds = append(j.Seeds, schema.Seed{Domain: r.Domain, Host: r.Host, URL: url, Raw: url,
			InjectedAt: j.Now, Metadata: map[string]string{"by": "test"}, Round: int64(j.N)})
	}
	j.Commit()
}

func first(b *Builder) {
	j := b.Job("round")
	for _, url := range []string{Home, Slow, Dead, Public} {
		j.List(url)
	}
	j.Page(Home, "the home page", About, Gone, Old, Blog, Later)
	j.Page(Slow, "slow but sure")
	j.Fetches[len(j.Fetches)-1].TTFB = 2500
	j.Fetch(Dead, schema.DNSNotFound, 0, func(f *schema.Fetch) { f.Detail = "no such name" })
	j.Page(Public, "public", Private)
	for _, url := range []string{About, Gone, Old, Blog, Later, Private} {
		j.New(url, 1, 0.6)
	}
	for _, r := range []schema.URL{b.URL(Home), b.URL(Slow), b.URL(Public)} {
		j.Hosts = append(j.Hosts, schema.Host{Partition: r.Partition, Domain: r.Domain, Host: r.Host, Latency: 40,
			Fetches: 1, Pages: 1, Bytes: 2000, LastAccessed: j.Now, Round: int64(j.N)})
	}
	r := b.URL(Public)
	j.Robots = []schema.Robots{{Partition: r.Partition, Domain: r.Domain, Authority: "https://private.test",
		Status: "rules", HTTPStatus: 200, Text: "User-agent: *\nDisallow: /secret\n", FetchedAt: j.Now,
		Expires: j.Now + Day, Sitemaps: []string{"https://private.test/sitemap.xml"}, Round: int64(j.N)}}
	j.Commit()
}

func second(b *Builder) {
	j := b.Job("round")
	for _, url := range []string{About, Gone, Old, Blog, Private} {
		j.List(url)
	}
	j.Page(About, "about us", Home, Later)
	j.Fetch(Gone, schema.NotFound, 404, nil)
	j.Fetch(Old, schema.Redirected, 301, func(f *schema.Fetch) { f.RedirectTo, f.Redirect = Moved, "301" })
	j.Page(Blog, "the blog", Gone, Copy, Home)
	j.Fetch(Private, schema.RobotsDenied, 0, func(f *schema.Fetch) {
		f.Rule = "https://private.test/robots.txt:2: Disallow: /secret"
	})
	j.New(Moved, 1, 0.6)
	j.New(Copy, 2, 0.5)
	j.Delta(Home, 2, 0)
	j.Delta(Later, 1, 900)
	j.Delta(Gone, 1, 0)
	j.Commit()
}

func third(b *Builder) {
	j := b.Job("round")
	for _, url := range []string{Home, Moved, Copy, Dead} {
		j.List(url)
	}
	j.Page(Home, "the home page, new edition", About, Blog, Later)
	j.Fetch(Moved, schema.Redirected, 302, func(f *schema.Fetch) { f.RedirectTo, f.Redirect = About, "302" })
	j.Page(Copy, "about us")
	j.Fetch(Dead, schema.DNSNotFound, 0, nil)
	dead := j.whole[Dead]
	dead.CrawlStatus, dead.Why = schema.Failed, schema.WhyRecrawl
	j.whole[Dead] = dead
	j.DeadLetters = []schema.DeadLetter{{Domain: "dead.test", Host: "dead.test", URL: Dead, Round: int64(j.N),
		At: j.Now, Reason: schema.DNSNotFound, FailCount: 2}}
	j.Delta(About, 1, 0)
	j.Delta(Blog, 1, 0)
	j.Delta(Later, 1, 0)
	j.Commit()
}

// OpenRound is what a fourth round would have in the store while it runs: a list
// of two URLs, one of which is in a sealed chunk. Its objects go to the store.
func OpenRound(b *Builder) ([]lsm.Object, []tasklog.Object) {
	j := b.Job("round")
	j.List(Later)
	j.List(Blog)
	j.Page(Later, "later", Home)
	j.parts()
	var chunk []tasklog.Object
	for _, kind := range []string{tasklog.Pages, tasklog.Fetches, tasklog.Links} {
		o := j.edit.Part.Tables[kind][0] // kinds and tables share their names
		chunk = append(chunk, tasklog.Object{Kind: kind, Key: o.Key, Size: o.Bytes, Rows: o.Rows})
	}
	return j.edit.Part.Tables[schema.Lists], chunk
}
