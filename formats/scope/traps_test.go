package scope

import (
	"fmt"
	"strings"
	"testing"

	"seine/formats/weburl"
)

func TestTraps(t *testing.T) {
	long := strings.Repeat("x", 2048-len("http://h.test/"))
	cases := []struct {
		name, path string
		depth      int
		want       string
	}{
		{"plain", "/a/b/c.html?d=1", 1, Accepted},
		{"longest", "/" + long, 1, Accepted},
		{"too long", "/" + long + "x", 1, TooLong},
		{"deepest", "/", 20, Accepted},
		{"too deep", "/", 21, TrapDepth},
		{"most segments", "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/", 1, Accepted},
		{"too many segments", "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21", 1,
			TrapSegments},
		{"slashes without end", "/a" + strings.Repeat("/", 25) + "b", 1, TrapSegments},
		{"most parameters", "/?a&b&c&d&e&f&g&h&i&j", 1, Accepted},
		{"too many parameters", "/?a&b&c&d&e&f&g&h&i&j&k", 1, TrapParams},

		{"run of two", "/page/2/page/2", 1, Accepted},
		{"run of two, three times", "/page/2/page/2/page/2", 1, TrapRepeat},
		{"amid others", "/x/a/b/a/b/a/b/y.html", 1, TrapRepeat},
		{"last one cut short", "/a/b/a/b/a", 1, Accepted},
		{"one segment", "/a/a/a", 1, TrapRepeat},
		{"one segment twice", "/a/a/b", 1, Accepted},
		{"run of three", "/a/b/c/a/b/c/a/b/c", 1, TrapRepeat},
		{"scattered", "/a/1/a/2/a/3/a/4", 1, TrapRepeat},
		{"scattered, few", "/a/1/a/2/a/3", 1, Accepted},
		{"a date", "/2011/11/11/11", 1, Accepted},
		{"numbers beyond dates", "/1/1/1/1", 1, TrapRepeat},
		{"growing by a relative link", "/forum/fa/1/fa/1/fa/1/", 1, TrapRepeat},
		{"escaped slashes in the path", "/x/a%2Fb%2Fa%2Fb%2Fa%2Fb", 1, TrapRepeat},

		{"same parameter twice", "/?q=&q=", 1, Accepted},
		{"same parameter again and again", "/?q=&q=&q=", 1, TrapRepeat},
		{"same pair, others between", "/?a=1&b=1&a=1&b=2&a=1", 1, TrapRepeat},
		{"a list", "/?c[]=1&c[]=2&c[]=3&c[]=4", 1, Accepted},
		{"growing escape", "/?pos=7001%2F%2F", 1, Accepted},
		{"grown escape", "/?pos=7001%2F%2F%2F", 1, TrapRepeat},
		{"escaped thrice", "/?u=%252525", 1, TrapRepeat},
		{"escaped twice", "/?u=%2525", 1, Accepted},
		{"escaped percents", "/?u=%25%25%25", 1, TrapRepeat},
		{"escapes of a text", "/?q=%D0%B0%D0%B0%D0%B0%D0%B0", 1, Accepted},
		{"spaces", "/?q=a%20%20%20%20b", 1, Accepted},
		{"path in a query", "/index.php?/mv/1/mv/1/mv/1", 1, TrapRepeat},
		{"return to return", "/login?r=%2Flogin%2Flogin%2Flogin%2F", 1, TrapRepeat},
	}
	s := newScope(t, Config{Scope: Any})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if v := decide(t, s, "http://h.test"+c.path, c.depth); v.Code != c.want {
				t.Errorf("%s: %+v, want %s", c.path, v, c.want)
			}
		})
	}
}

// TestTrapsEnd follows pages that link to ever longer versions of themselves: each is given up
// after a bounded number of steps, and is under suspicion before that.
func TestTrapsEnd(t *testing.T) {
	type step func(path string, i int) string
	insert := func(path string, segment any) string {
		return strings.Replace(path, "?", fmt.Sprint(segment, "/?"), 1)
	}
	next := map[string]step{
		"query grows":   func(p string, _ int) string { return p + "&q=" },
		"escapes grow":  func(p string, _ int) string { return p + "%2F" },
		"percents grow": func(p string, _ int) string { return strings.Replace(p, "%", "%25", 1) },
		"path grows":    func(p string, _ int) string { return insert(p, "x") },
		"path alters":   func(p string, i int) string { return insert(p, i) },
		"parameters":    func(p string, i int) string { return fmt.Sprint(p, "&n", i, "=1") },
		"value grows":   func(p string, i int) string { return fmt.Sprint(p, "-", i) },
		"calendar":      func(_ string, i int) string { return fmt.Sprint("/cal?month=", i) },
		"any token":     func(_ string, i int) string { return fmt.Sprint("/?tok=", i*7919) },
	}
	s := newScope(t, Config{Scope: Any})
	for name, step := range next {
		t.Run(name, func(t *testing.T) {
			path, suspected := "/t/?a=%2F", false
			for i := 1; i < 200; i++ {
				path = step(path, i)
				v := decide(t, s, "http://h.test"+path, i)
				if !v.Accepted {
					if !suspected {
						t.Errorf("refused at step %d without suspicion: %+v", i, v)
					}
					return
				}
				suspected = suspected || v.Suspicion > 0
			}
			t.Error("never refused")
		})
	}
}

func TestSuspicionOrder(t *testing.T) {
	s := newScope(t, Config{Scope: Any})
	// Each looks more like a trap than the one before.
	paths := []string{"/a/b", "/?a&b&c&d&e&f", "/?a&b&c&d&e&f&g&h", "/page/2/page/2",
		"/page/2/page/2?a&b&c&d&e&f&g&h&i&j"}
	last := -1.0
	for _, path := range paths {
		v := decide(t, s, "http://h.test"+path, 1)
		if !v.Accepted || v.Suspicion <= last || v.Suspicion >= 1 {
			t.Errorf("%s: %+v, suspicion wanted above %v", path, v, last)
		}
		last = v.Suspicion
	}
	v := decide(t, s, "http://h.test/news/2024/05/17/a-title-of-nine-words.html?id=1", 3)
	if v.Suspicion != 0 {
		t.Errorf("a usual page is under suspicion: %+v", v)
	}
}

func TestLimitsAreSettings(t *testing.T) {
	cases := []struct {
		limits Limits
		path   string
		depth  int
		want   string
	}{
		{Limits{Depth: -1}, "/", 0, Accepted},
		{Limits{Depth: -1}, "/", 1, TrapDepth},
		{Limits{Depth: 1}, "/", 1, Accepted},
		{Limits{Segments: 1}, "/a/", 1, Accepted},
		{Limits{Segments: 1}, "/a/b", 1, TrapSegments},
		{Limits{Params: 1}, "/?a&b", 1, TrapParams},
		{Limits{RepeatedRuns: 2}, "/a/b/a/b", 1, TrapRepeat},
		{Limits{RepeatedRuns: 4}, "/a/b/a/b/a/b", 1, Accepted},
		{Limits{Length: 15}, "/aa", 1, TooLong},
	}
	for _, c := range cases {
		s := newScope(t, Config{Scope: Any, Limits: c.limits})
		if v := decide(t, s, "http://h.test"+c.path, c.depth); v.Code != c.want {
			t.Errorf("%+v, %s at depth %d: %+v, want %s", c.limits, c.path, c.depth, v, c.want)
		}
	}
}

// FuzzDecide holds that a verdict does not depend on who asks, and that what is accepted is
// under every limit.
func FuzzDecide(f *testing.F) {
	f.Add("http://h.test/a/b/a/b?q=&q=", 3, "-regexp:b$")
	f.Add("http://o.test/%2F%2F?%25%2525/25", 0, "+host:o.test")
	f.Add("https://x.h.test/////?&&/", 20, "-prefix:x.h.test//")
	list := suffixes(f)
	f.Fuzz(func(t *testing.T, raw string, depth int, line string) {
		n, err := weburl.Normalize(raw, weburl.Options{})
		if err != nil {
			return
		}
		c := Config{Seeds: []string{"http://h.test/"}}
		if r, err := ParseRule(line); err == nil {
			c.Rules = []Rule{r}
			if again, err := ParseRule(r.String()); err != nil || again != r {
				t.Fatalf("%q reads back as %v, %v", r, again, err)
			}
		}
		one, err := New(c, list)
		if err != nil {
			return
		}
		other, err := New(c, list)
		if err != nil {
			t.Fatal(err)
		}
		domain := list.Domain(n.Host)
		v := one.Decide(n, domain, depth)
		if v != other.Decide(n, domain, depth) || v.Accepted != (v.Code == Accepted) {
			t.Fatalf("%+v, then %+v", v, other.Decide(n, domain, depth))
		}
		if v.Suspicion < 0 || v.Suspicion >= 1 || v.Rule == "" {
			t.Fatalf("%+v", v)
		}
		if !v.Accepted {
			return
		}
		path, query, _ := strings.Cut(n.Path, "?")
		if len(n.URL) > 2048 || depth > 20 || strings.Count(path, "/") > 21 ||
			strings.Count(query, "&") > 9 || strings.Contains(n.Path, "/a/b/a/b/a/b/") {
			t.Fatalf("%q at depth %d is accepted", n.URL, depth)
		}
	})
}
