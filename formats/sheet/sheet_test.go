package sheet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"seine/formats/settings"
	"seine/formats/weburl"
)

func suffixes(t testing.TB) *weburl.Suffixes {
	t.Helper()
	s, err := weburl.ParseSuffixes([]byte("test\nco.test\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// table makes a table of CSV, by way of the form that is kept.
func table(t testing.TB, text string) *Table {
	t.Helper()
	b := &Builder{Suffixes: suffixes(t)}
	if err := b.ReadCSV(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	kept, _, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	sheets, err := Open(kept)
	if err != nil {
		t.Fatal(err)
	}
	return sheets
}

func normal(t testing.TB, raw string) weburl.Normal {
	t.Helper()
	u, err := weburl.Normalize(raw, weburl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestMostSpecificWins(t *testing.T) {
	sheets := table(t, "for,delay,max_body,boost,follow\n"+
		"# of a domain\n"+
		"A.test,2s,,0.25,\n"+
		"host:www.a.test,,1MiB,0.5,\n"+
		"domain:sub.a.test,,,0.125,\n"+
		"www.a.test/big/,,50MiB,,false\n"+
		"www.a.test/big/one,,2KiB,,true\n")
	for _, c := range []struct{ url, want string }{
		{"http://a.test/", "delay=2s boost=0.25"},
		{"http://x.a.test/", "delay=2s boost=0.25"},
		{"https://y.sub.a.test/", "delay=2s boost=0.125"},
		{"http://www.a.test/", "delay=2s boost=0.5 max_body=1048576"},
		{"https://www.a.test/big/x", "delay=2s boost=0.5 follow=false max_body=52428800"},
		{"http://www.a.test/big/one/2", "delay=2s boost=0.5 follow=true max_body=2048"},
		{"http://www.a.test/bigger", "delay=2s boost=0.5 max_body=1048576"},
		{"http://b.test/", ""},
	} {
		v := sheets.For(normal(t, c.url))
		if got := v.Describe(); got != c.want {
			t.Errorf("%s: %q, want %q", c.url, got, c.want)
		}
	}
	var lines []string
	for _, d := range sheets.Decisions(normal(t, "http://www.a.test/big/one/2")) {
		lines = append(lines, fmt.Sprintf("%d %s %s", d.Line, d.What, d.Describe()))
	}
	want := []string{"7 prefix:www.a.test/big/one follow=true max_body=2048", "4 host:www.a.test boost=0.5",
		"3 domain:a.test delay=2s"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	group := sheets.Group("a.test")
	if got := group.Describe(); got != "delay=2s boost=0.25" {
		t.Errorf("the group: %q", got)
	}
	var none *Table
	if v := none.For(normal(t, "http://a.test/")); !v.Empty() || none.Count() != 0 {
		t.Error("no table has sheets")
	}
}

func TestEveryFieldIsRead(t *testing.T) {
	yaml := `
- for: a.test
  delay: 2s
  crawl_delay_cap: 1m
  pages_round: 10
  pages_day: 100
  max_outstanding: 500
  max_depth: 3
  interval_first: 2d
  interval_min: 1h
  interval_max: 9d
  boost: -0.5
  types: [text/html, Text/Plain]
  follow: false
  embeds: false
  max_body: 1MiB
  agent: other
  headers: {X-From: me, Accept-Language: "de;q=0.9"}
`
	csv := `for,delay,crawl_delay_cap,pages_round,pages_day,max_outstanding,max_depth,interval_first,` +
		"interval_min,interval_max,boost,types,follow,embeds,max_body,agent,headers\n" +
		`a.test,2s,60s,10,100,500,3,48h,60m,9d,-0.5,"text/html,text/plain",FALSE,0,1048576,other,` +
		`"X-From: me` + "\n" + `Accept-Language: de;q=0.9"`
	b := &Builder{Suffixes: suffixes(t)}
	if err := b.ReadYAML(strings.NewReader(yaml)); err != nil {
		t.Fatal(err)
	}
	kept, n, err := b.Encode()
	if err != nil || n != 1 {
		t.Fatal(n, err)
	}
	sheets, err := Open(kept)
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	want := Values{Delay: 2 * time.Second, CrawlDelayCap: time.Minute, PagesRound: 10, PagesDay: 100,
		Outstanding: 500, Depth: 3, IntervalFirst: 2 * day, IntervalMin: time.Hour, IntervalMax: 9 * day, Boost: -0.5,
		Types: []string{"text/html", "text/plain"}, MaxBody: 1 << 20, Agent: "other",
		Headers: [][2]string{{"X-From", "me"}, {"Accept-Language", "de;q=0.9"}}}
	for name, s := range map[string]*Table{"YAML": sheets, "CSV": table(t, csv)} {
		v := s.Group("a.test")
		if diff := cmp.Diff(want, v, cmpopts.IgnoreUnexported(Values{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for f := range fields {
			if !v.Has(f) {
				t.Errorf("%s: %s is not set", name, f)
			}
		}
		set := v.Intervals(settings.Settings{}.Fill())
		if err := set.Validate(); err != nil || set.IntervalSeed.D() != 2*day || set.IntervalMax.D() != 9*day {
			t.Errorf("%s: intervals: %v %+v", name, err, set)
		}
		if d := v.Manners(time.Second, day); d != time.Minute {
			t.Errorf("%s: a Crawl-delay of a day is heeded as %v", name, d)
		}
		if d := v.Manners(time.Second, 0); d != 2*time.Second {
			t.Errorf("%s: the delay is %v", name, d)
		}
	}
}

func TestBadSheets(t *testing.T) {
	for _, c := range []struct{ name, csv, want string }{
		{"empty", "", "no sheet"},
		{"no rows", "for,delay\n", "no sheet"},
		{"unknown column", "for,speed\na.test,1\n", `line 1: column "speed"`},
		{"no key", "delay\n1s\n", `no column "for"`},
		{"a column twice", "for,delay,delay\na.test,1s,2s\n", "twice"},
		{"no name", "for,delay\n,1s\n", `line 2: no "for"`},
		{"no settings", "for,delay\na.test,\n", "line 2: domain:a.test: it sets nothing"},
		{"out of range", "for,delay\na.test,1s\nb.test,2d\n", "line 3: delay: 48h0m0s is outside"},
		{"no duration", "for,delay\na.test,soon\n", "line 2: delay"},
		{"no number", "for,pages_day\na.test,-1\n", "pages_day: -1 is outside"},
		{"boost", "for,boost\na.test,2\n", "outside -1 to 1"},
		{"boost that is none", "for,boost\na.test,NaN\n", "outside"},
		{"yes or no", "for,follow\na.test,perhaps\n", "neither true nor false"},
		{"type", "for,types\na.test,html\n", "no MIME type"},
		{"agent", "for,agent\na.test,My Bot/1\n", "no product token"},
		{"cookie", "for,headers\na.test,cookie: a=b\n", "credentials"},
		{"authorization", "for,headers\na.test,Authorization: x\n", "credentials"},
		{"host", "for,headers\na.test,Host: x\n", "the crawl's own"},
		{"hop by hop", "for,headers\na.test,Transfer-Encoding: chunked\n", "the crawl's own"},
		{"conditional", "for,headers\na.test,If-None-Match: x\n", "the crawl's own"},
		{"user agent", "for,headers\na.test,User-Agent: x\n", "set agent instead"},
		{"no header", "for,headers\na.test,x\n", "write Name: value"},
		{"header with a line's end", `for,headers` + "\n" + `a.test,"[""X-A: b\r\nX-C: d""]"`, "printable"},
		{"contradiction", "for,interval_min,interval_max\na.test,2d,1d\n", "is above interval_max"},
		{"cap below delay", "for,delay,crawl_delay_cap\na.test,5s,1s\n", "below delay"},
		{"round above day", "for,pages_round,pages_day\na.test,5,1\n", "above pages_day"},
		{"twice", "for,delay\na.test,1s\n# x\nA.TEST,2s\n", "line 4: domain:a.test has a sheet on line 2"},
		{"delay of a prefix", "for,delay\na.test/x,1s\n", "not for a prefix"},
		{"delay of a host", "for,delay\nhost:www.a.test,1s\n", "set it for a.test, or set group_by_host"},
		{"pages of a subdomain", "for,pages_day\nwww.a.test,9\n", "set it for a.test"},
		{"agent of a host", "for,agent\nhost:a.test,x\n", "group_by_host"},
		{"no name that is one", "for,delay\na b,1s\n", "name a DOMAIN"},
		{"fields", "for,delay\na.test,1s,2s\n", "line 2"},
		{"quote", "for,delay\n\"a.test,1s\n", "line 2"},
		{"junk", "PAR1\x00\x01\xff\n", `no column "for"`},
		{"a million rows of one name", "for,delay\n" + strings.Repeat("a.test,1s\n", 1_000_000),
			"a.test has a sheet on line 2 already"},
		{"many", "for,delay\n" + strings.Repeat("a.test,x\n", 30), "and 20 more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &Builder{Suffixes: suffixes(t)}
			err := b.ReadCSV(strings.NewReader(c.csv))
			if err == nil {
				_, _, err = b.Encode()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestBadYAML(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "- for: a.test\n  speed: 1\n", `line 1: "speed"`},
		{"second item", "- for: a.test\n  delay: 1s\n- for: b.test\n  delay: 99d\n", "line 3: delay"},
		{"a mapping", "a.test: {delay: 1s}\n", "write a list"},
		{"no mapping", "- a.test\n", "line 1: a sheet is a mapping"},
		{"nested", "- for: a.test\n  types: [[a]]\n", "list of texts"},
		{"a key twice", "- for: a.test\n  delay: 1s\n  delay: 2s\n", "twice"},
		{"broken", "- [", "line"},
		{"empty", "", "no sheet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &Builder{Suffixes: suffixes(t)}
			err := b.ReadYAML(strings.NewReader(c.text))
			if err == nil {
				_, _, err = b.Encode()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestIntervalsNeverCross: a sheet that sets one bound moves the other one.
func TestIntervalsNeverCross(t *testing.T) {
	for _, column := range []string{"interval_min", "interval_max"} {
		for _, value := range []string{"1m", "1000d"} {
			v := table(t, "for,"+column+"\na.test,"+value+"\n").Group("a.test")
			if err := v.Intervals(settings.Settings{}.Fill()).Validate(); err != nil {
				t.Errorf("%s=%s: %v", column, value, err)
			}
		}
	}
}

// TestGroupsOfHosts: where each host is a group, a host has a delay of its own.
func TestGroupsOfHosts(t *testing.T) {
	b := &Builder{Suffixes: suffixes(t), ByHost: true}
	if err := b.ReadCSV(strings.NewReader("for,delay\na.test,1s\nhost:www.a.test,3s\nwww.b.a.test,2s\n")); err != nil {
		t.Fatal(err)
	}
	kept, _, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	sheets, err := Open(kept)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]time.Duration{"www.a.test": 3 * time.Second, "x.a.test": time.Second,
		"x.www.b.a.test": 2 * time.Second} {
		if v := sheets.Group(host); v.Delay != want {
			t.Errorf("%s: %v, want %v", host, v.Delay, want)
		}
	}
}

// TestForMatchesNaive compares the table with a walk over all sheets.
func TestForMatchesNaive(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	label := func() string { return string("ab"[random.IntN(2)]) }
	host := func() string {
		return strings.Join([]string{label(), label(), "test"}[random.IntN(2):], ".")
	}
	path := func() string {
		p := "/"
		for range random.IntN(4) {
			p += string("ab/"[random.IntN(3)])
		}
		return strings.ReplaceAll(p, "//", "/")
	}
	for range 300 {
		type sheet struct {
			kind, name string
			values     map[Field]string
		}
		var all []sheet
		seen := map[string]bool{}
		var csv strings.Builder
		csv.WriteString("for,max_depth,max_body,boost\n")
		for range 1 + random.IntN(12) {
			s := sheet{"domain", host(), map[Field]string{Depth: fmt.Sprint(random.IntN(100))}}
			switch random.IntN(3) {
			case 0:
				s.kind = "host"
			case 1:
				s.kind, s.name = "prefix", s.name+path()
			}
			if seen[s.kind+s.name] {
				continue
			}
			seen[s.kind+s.name] = true
			if random.IntN(2) == 0 {
				s.values[MaxBody] = fmt.Sprint(2048 + random.IntN(100))
			}
			if random.IntN(2) == 0 {
				delete(s.values, Depth)
				s.values[Boost] = fmt.Sprint(float64(random.IntN(8)) / 8)
			}
			all = append(all, s)
			fmt.Fprintf(&csv, "%s:%s,%s,%s,%s\n", s.kind, s.name, s.values[Depth], s.values[MaxBody], s.values[Boost])
		}
		sheets := table(t, csv.String())
		for range 20 {
			u := normal(t, "http://"+host()+path())
			weight := func(s sheet) int { // kind, then length
				return map[string]int{"domain": 0, "host": 1000, "prefix": 2000}[s.kind] + len(s.name)
			}
			best := map[Field]sheet{}
			for _, s := range all {
				falls := s.kind == "domain" && (u.Host == s.name || strings.HasSuffix(u.Host, "."+s.name)) ||
					s.kind == "host" && u.Host == s.name ||
					s.kind == "prefix" && strings.HasPrefix(u.Host+u.Path, s.name)
				for f := range s.values {
					if old, ok := best[f]; falls && (!ok || weight(s) > weight(old)) {
						best[f] = s
					}
				}
			}
			var want []string
			for f := range fields {
				if s, ok := best[f]; ok {
					want = append(want, f.String()+"="+s.values[f])
				}
			}
			v := sheets.For(u)
			if got := v.Describe(); got != strings.Join(want, " ") {
				t.Fatalf("%s: %q, want %q, of\n%s", u.URL, got, strings.Join(want, " "), csv.String())
			}
		}
	}
}

// FuzzOpen: damage is an error, never a panic; what is read can be asked.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("seine sheets 1\n=\tdelay=2s\tboost=0.5\n0\t2\tdomain:a.test\n0\t3\tprefix:a.test/x\n"))
	f.Add([]byte("seine sheets 1\n0\t2\tdomain:a.test\n"))
	f.Add([]byte("seine sheets 1\n=\tdelay=2s"))
	u := weburl.Normal{URL: "http://a.test/x", Scheme: "http", Host: "a.test", Authority: "a.test", Path: "/x"}
	f.Fuzz(func(t *testing.T, text []byte) {
		sheets, err := Open(slices.Clone(text))
		if err != nil {
			return
		}
		v := sheets.For(u)
		var joined Values
		for _, d := range sheets.Decisions(u) {
			joined.take(&d.Values)
		}
		if v.encode() != joined.encode() {
			t.Errorf("joined %q, by parts %q", v.encode(), joined.encode())
		}
	})
}
