package fetch

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"seine/formats/schema"
	"seine/formats/settings"
)

// TestRobots has section B of the field's cases: a robots.txt and what it makes
// of the URLs of its host.
func TestRobots(t *testing.T) {
	star := "User-agent: *\n"
	for _, c := range []struct {
		name            string
		robots          reply
		allowed, denied []string // paths
		refusal         schema.Reason
	}{
		{"500 with a body forbids", status(500, "text/html", "<h1>User-agent: *</h1>"), nil,
			[]string{"/"},
			schema.RobotsUnreachable},
		{"503 forbids", status(503, "text/html", ""), nil, []string{"/"}, schema.RobotsUnreachable},
		{"429 forbids", status(429, "text/html", ""), nil, []string{"/"}, schema.RobotsUnreachable},
		{"404 allows", status(404, "text/html", star+"Disallow: /"), []string{"/"}, nil, ""},
		{"403 allows", status(403, "text/html", ""), []string{"/"}, nil, ""},
		{"a time-out forbids", reply{after: time.Hour}, nil, []string{"/", "/x"},
			schema.RobotsUnreachable},
		{"no answer forbids", reply{}, nil, []string{"/"}, schema.RobotsUnreachable},
		{"a closed header forbids", raw("HTTP/1.1 200 OK\r\nContent-"), nil, []string{"/"},
			schema.RobotsUnreachable},
		{"a BOM is read over", text("\ufeff" + star + "Disallow: /x"), []string{"/"}, []string{"/x"},
			""},
		{"UTF-16", text(utf16le(star + "Disallow: /x\n")), []string{"/"}, []string{"/x"}, ""},
		{"wildcards", text(star + "Disallow: /*/private\nDisallow: /*.json$\nDisallow: */test"),
			[]string{"/private", "/a.json?x"}, []string{"/a/private", "/a.json", "/test", "/b/test"}, ""},
		{"agents in a row share the rules", text(star + "User-agent: Other\nDisallow: /x"), nil,
			[]string{"/x"}, ""},
		{"our own group alone counts", text("User-agent: seine\nDisallow: /x\n\n" + star +
			"Disallow: /"),
			[]string{"/"}, []string{"/x"}, ""},
		{"our groups are merged",
			text("User-agent: Seine/2.0\nDisallow: /x\nUser-agent: o\nDisallow: /\n" +
				"User-agent: SEINE\n\nDisallow: /y"), []string{"/"}, []string{"/x", "/y"}, ""},
		{"a prefix of our name is another's", text("User-agent: sein\nDisallow: /"), []string{"/"},
			nil, ""},
		{"misspellings", text("User agent: *\nDissallow: /a\nDisallow : /b\nDisallow:/c"),
			[]string{"/"},
			[]string{"/a", "/b", "/c"}, ""},
		{"a query alone", text(star + "Disallow: /?blah"), []string{"/", "/?other"},
			[]string{"/?blah"}, ""},
		{"a query in the normal order", text(star + "Disallow: /*?a=2&b=1"), []string{"/"},
			[]string{"/x?b=1&a=2"}, ""},
		{"a query in the order of the link", text(star + "Disallow: /*?b=1&a=2"), []string{"/"},
			[]string{"/x?b=1&a=2"}, ""},
		{"rules before any agent", text("Disallow: /\n" + star + "Disallow: /x"), []string{"/"},
			[]string{"/x"}, ""},
		{"an HTML page as 200", html("<html><body>Disallow: /"), []string{"/"}, nil, ""},
		{"gzip without being asked twice", typed("text/plain", gzipped(star+"Disallow: /x"),
			"Content-Encoding: gzip"), []string{"/"}, []string{"/x"}, ""},
		{"percent-encodings are one", text(star + "Disallow: /%7ejoe\nDisallow: /caf\u00e9"),
			[]string{"/"},
			[]string{"/~joe", "/caf%C3%A9"}, ""},
		{"junk delays", text(star + "Crawl-delay: abc\nCrawl-delay: -1\nDisallow: /x"), []string{"/"},
			[]string{"/x"}, ""},
		{"a body cut short keeps its rules", raw("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" +
			star +
			"Disallow: /x\n"), []string{"/"}, []string{"/x"}, ""},
		{"an endless file is cut", reply{pieces: []string{"HTTP/1.1 200 OK\r\n\r\n" + star +
			"Disallow: /x\n",
			strings.Repeat("# filling\n", 7000)}, every: time.Millisecond, repeat: true}, []string{"/"},
			[]string{"/x"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript()
			s.replies["h.test/robots.txt"] = c.robots
			var list []string
			for _, p := range append(c.allowed, c.denied...) {
				list = append(list, "http://h.test"+p)
			}
			trial(t, s, settings.Settings{}, list, func(t *testing.T, w *world, l *left) {
				w.judgeRobots(t, s, l, c.allowed, c.denied, c.refusal)
			})
		})
	}
}

func (w *world) judgeRobots(t *testing.T, s *script, l *left, allowed, denied []string,
	refusal schema.Reason) {
	t.Helper()
	if refusal == "" {
		refusal = schema.RobotsDenied
	}
	final := l.final(t)
	for _, p := range allowed {
		if f := final[normalOf(t, "http://h.test"+p)]; f.Reason != schema.NotFound {
			t.Errorf("%s ends as %s (%s), and was to be asked for", p, f.Reason, f.Detail)
		}
	}
	for _, p := range denied {
		f := final[normalOf(t, "http://h.test"+p)]
		if f.Reason != refusal || refusal == schema.RobotsDenied && f.Rule == "" {
			t.Errorf("%s ends as %s (rule %q), want %s", p, f.Reason, f.Rule, refusal)
		}
	}
	if n := len(s.requests()); n != 1+len(allowed) {
		t.Errorf("%d requests: %v", n, s.requests())
	}
	if len(l.robots) != 1 || len(l.of(kindRobots)) != 1 {
		t.Errorf("%d rows of robots, %d of its fetches", len(l.robots), len(l.of(kindRobots)))
	}
}

func normalOf(t *testing.T, url string) string {
	t.Helper()
	u, err := normal(url)
	if err != nil {
		t.Fatal(err)
	}
	return u.URL
}

// TestRobotsElsewhere: redirects of robots.txt, and hosts that are not there.
func TestRobotsElsewhere(t *testing.T) {
	for _, c := range []struct {
		name     string
		set      func(s *script)
		want     schema.Reason // of http://a.test/
		requests int
	}{
		{"the rules at the end of a redirect are for the first host", func(s *script) {
			s.replies["a.test/robots.txt"] = moved("http://big.test/hop/robots.txt")
			s.replies["big.test/hop/robots.txt"] = text("User-agent: *\nDisallow: /")
		}, schema.RobotsDenied, 2},
		{"a redirect to itself stops at once", func(s *script) {
			s.replies["a.test/robots.txt"] = moved("/robots.txt#x")
		}, schema.NotFound, 2},
		{"a loop of redirects stops", func(s *script) {
			s.replies["a.test/robots.txt"] = moved("/hop1")
			s.replies["a.test/hop1"] = moved("/hop2")
			s.replies["a.test/hop2"] = moved("/hop1")
		}, schema.NotFound, 7},
		{"a redirect to nowhere", func(s *script) {
			s.replies["a.test/robots.txt"] = moved("file:///etc/passwd")
		}, schema.NotFound, 2},
		{"a redirect to a private address", func(s *script) {
			s.replies["a.test/robots.txt"] = moved("http://10.0.0.1/hop")
		}, schema.RobotsUnreachable, 1},
		{"a redirect to a dead host", func(s *script) {
			s.replies["a.test/robots.txt"] = moved("http://dead.test/hop")
			s.refused["127.9.9.9:80"] = syscall.ECONNREFUSED
			s.names["dead.test"] = addrs("127.9.9.9")
		}, schema.RobotsUnreachable, 1},
		{"a host that refuses", func(s *script) {
			s.refused["127.9.9.9:80"] = syscall.ECONNREFUSED
			s.names["a.test"] = addrs("127.9.9.9")
		}, schema.ConnectRefused, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript()
			c.set(s)
			trial(t, s, settings.Settings{}, []string{"http://a.test/"}, func(t *testing.T, _ *world,
				l *left) {
				if got := l.outcome("http://a.test/"); got.Reason != c.want {
					t.Errorf("ends as %s (%s), want %s", got.Reason, got.Detail, c.want)
				}
				if n := len(s.requests()); n != c.requests {
					t.Errorf("%d requests: %v", n, s.requests())
				}
				if len(l.robots) != 1 || l.robots[0].Authority != "http://a.test" {
					t.Errorf("rows of robots %+v", l.robots)
				}
			})
		})
	}
}

// TestCrawlDelays: what robots.txt asks for is the gap that the server sees.
func TestCrawlDelays(t *testing.T) {
	for _, c := range []struct {
		value string
		gap   time.Duration
		pages int // of three
	}{
		{"2", 2 * time.Second, 3}, {"0.5", time.Second, 3}, {"-1", time.Second, 3}, {"abc",
			time.Second, 3},
		{"2.5", 2500 * time.Millisecond, 3}, {"300", 300 * time.Second, 3}, {"301", 301 * time.Second,
			1},
		{"1800", 30 * time.Minute, 1},
	} {
		t.Run(c.value, func(t *testing.T) {
			s := newScript()
			s.replies["h.test/robots.txt"] = text("User-agent: *\nCrawl-delay: " + c.value)
			list := []string{"http://h.test/1", "http://h.test/2", "http://h.test/3"}
			trial(t, s, settings.Settings{}, list, func(t *testing.T, w *world, l *left) {
				w.auditManners(s, c.gap)
				if n := len(s.requests()); n != 1+c.pages {
					t.Errorf("%d requests: %v", n, s.requests())
				}
				if gap := s.log[1].at.Sub(s.log[0].end); gap > c.gap+100*time.Millisecond {
					t.Errorf("waited %v", gap)
				}
			})
		})
	}
}

// TestTwoAuthoritiesShareADelay: each has its own robots.txt, the group the
// longer delay.
func TestTwoAuthoritiesShareADelay(t *testing.T) {
	s := newScript()
	s.replies["www.h.test/robots.txt"] = text("User-agent: *\nCrawl-delay: 5\nDisallow: /x")
	s.replies["h.test:8080/robots.txt"] = text("User-agent: *\nCrawl-delay: 3\nDisallow: /y")
	list := []string{"http://www.h.test/x", "http://www.h.test/y", "http://h.test:8080/x",
		"http://h.test:8080/y"}
	trial(t, s, settings.Settings{}, list, func(t *testing.T, w *world, l *left) {
		if n := len(s.requests()); n != 4 {
			t.Errorf("requests %v", s.requests())
		}
		w.auditManners(s, 5*time.Second)
		for u, want := range map[string]schema.Reason{list[0]: schema.RobotsDenied,
			list[1]: schema.NotFound,
			list[2]: schema.NotFound, list[3]: schema.RobotsDenied} {
			if got := l.outcome(u); got.Reason != want {
				t.Errorf("%s ends as %s", u, got.Reason)
			}
		}
	})
}

// TestXRobotsTag: another protocol than robots.txt, in other columns.
func TestXRobotsTag(t *testing.T) {
	for header, want := range map[string][2]bool{
		"X-Robots-Tag: otherbot: nofollow, noindex": {false, false},
		"X-Robots-Tag: seine: NoFollow":             {false, true},
		"x-robots-tag: NoIndex":                     {true, false},
		"X-Robots-Tag: none":                        {true, true},
	} {
		t.Run(header, func(t *testing.T) {
			s := newScript()
			s.replies["h.test/"] = html("<a href=/x>x</a>", header)
			trial(t, s, settings.Settings{}, []string{"http://h.test/"}, func(t *testing.T, _ *world,
				l *left) {
				p, ok := l.page("http://h.test/")
				if !ok || p.NoIndex != want[0] || p.NoFollow != want[1] {
					t.Errorf("page %v: noindex %v, nofollow %v", ok, p.NoIndex, p.NoFollow)
				}
				if followed := len(l.events) == 1; followed == want[1] {
					t.Errorf("followed %v", followed)
				}
			})
		})
	}
}
