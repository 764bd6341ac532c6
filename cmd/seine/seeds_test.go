package main

import (
	"path/filepath"
	"strings"
	"testing"

	"seine/formats/schema"
	"seine/mapper/webtest"
)

// seedsWeb has three plain domains whose pages link to each other.
func seedsWeb() *webtest.Web {
	return webtest.New(webtest.Spec{Seed: 3, Plain: true, Domains: 3, Pages: 12, Sigma: 0.01, Links: 12})
}

const hourMS, dayMS = int64(3_600_000), int64(86_400_000)

// TestSeedTerms: interval, depth and scope of a seed hold for what is found from
// it, also from one round to the next, and nowhere else.
func TestSeedTerms(t *testing.T) {
	web := seedsWeb()
	store := filepath.Join(t.TempDir(), "crawl")
	seeds := web.Seeds(3)
	lines := strings.Join([]string{
		seeds[0] + " tag=near interval=6h depth=1 desk=politics",
		seeds[1] + " scope=host",
		seeds[2] + " depth=0 interval=3d"}, "\n")
	line{web: web}.run(t, crawlArgs(store, nil, "--scope", "any", "--seeds", file(t, "s.txt", lines))...).
		must(t, exitOK)
	deepest, found := map[string]int32{}, map[string]int{}
	for url, row := range known(t, store) {
		deepest[row.Seed], found[row.Seed] = max(deepest[row.Seed], row.Depth), found[row.Seed]+1
		if row.Reason != schema.OK {
			continue
		}
		want := map[string]int64{"near": 6 * hourMS, seeds[1]: 30 * dayMS, seeds[2]: 3 * dayMS}[row.Seed]
		if url == seeds[1] || strings.Count(url, "/") == 3 && strings.HasSuffix(url, "/") && row.Seed == seeds[1] {
			want = dayMS // a seed or a home page, as pages change
		}
		if row.Interval != want {
			t.Errorf("%s, found from %s, is looked at again after %d ms, want %d", url, row.Seed, row.Interval, want)
		}
		if row.Seed == seeds[1] && !strings.HasPrefix(url, seeds[1]) {
			t.Errorf("%s was found from %s, whose scope is its host", url, seeds[1])
		}
	}
	if deepest["near"] != 1 || found["near"] < 5 || deepest[seeds[1]] < 2 || found[seeds[2]] != 1 {
		t.Errorf("the deepest are %v, found are %v of each seed", deepest, found)
	}
	said := line{}.run(t, "seeds", "list", "--store", store).must(t, exitOK).out
	for _, want := range []string{seeds[0] + " tag=near interval=6h0m0s depth=1 desk=politics  #",
		seeds[1] + " scope=host  #", seeds[2] + " interval=72h0m0s depth=0  #"} {
		if !strings.Contains(said, want) {
			t.Errorf("seeds list does not say %q:\n%s", want, said)
		}
	}

	explains := func(url string, wants ...string) {
		t.Helper()
		said := line{}.run(t, "explain", url, "--store", store).must(t, exitOK).out
		for _, want := range wants {
			if !strings.Contains(said, want) {
				t.Errorf("explain %s does not say %q:\n%s", url, want, said)
			}
		}
	}
	explains(seeds[0], "of at most 1 (what its seed, near, asks for)", "each 6h0m0s (what its seed, near, asks for)")
	explains(seeds[1], "of at most 20 (max_depth of the settings)", "within 1h0m0s and 1440h0m0s (the settings)")
	explains(seeds[2], "of at most 0 (what its seed asks for)", "each 72h0m0s (what its seed asks for)")
	sheets := "for,max_depth,interval_max\n"
	for i, url := range seeds {
		sheets += "host:" + strings.Split(url, "/")[2] + "," + []string{"3,5d", "2,", "0,1d"}[i] + "\n"
	}
	line{}.run(t, "settings", "set", "sheets="+file(t, "t.csv", sheets), "--store", store).must(t, exitOK)
	explains(seeds[0], "of at most 1 (what its seed, near, asks for; its sheet allows 3, the smaller counts)",
		"each 6h0m0s (what its seed, near, asks for, which goes before its sheet)")
	explains(seeds[1], "of at most 2 (its sheet)", "(the settings)")
	line{}.run(t, "settings", "unset", "sheets", "--store", store).must(t, exitOK)

	// A seed that is known takes over what is said, and is due only with --now.
	before := known(t, store)[seeds[0]]
	line{}.run(t, "inject", "--store", store, seeds[0]+" tag=near interval=2h depth=default").must(t, exitOK)
	if row := known(t, store)[seeds[0]]; row.NextCrawl != before.NextCrawl {
		t.Errorf("injected again it is due at %d, before at %d", row.NextCrawl, before.NextCrawl)
	}
	line{}.run(t, "inject", "--store", store, "--now", seeds[0]+" tag=near").must(t, exitOK)
	line{web: web}.run(t, crawlArgs(store, nil)...).must(t, exitOK)
	row := known(t, store)[seeds[0]]
	if row.CrawlCount != 2 || row.Interval != 2*hourMS {
		t.Errorf("after inject --now it was asked %d times, its interval is %d ms", row.CrawlCount, row.Interval)
	}
	history := line{}.run(t, "settings", "history", "--store", store).must(t, exitOK).out
	if want := "seed near: interval=2h0m0s, was interval=6h0m0s depth=1"; !strings.Contains(history, want) {
		t.Errorf("history does not say %q:\n%s", want, history)
	}
	line{}.run(t, "check", "--store", store).must(t, exitOK)
}

// TestSeedsRemove: what was found from a removed seed stays; out of the scope of
// the others it ends as that when its turn comes. Injected again it is a seed.
func TestSeedsRemove(t *testing.T) {
	web := seedsWeb()
	store := filepath.Join(t.TempDir(), "crawl")
	seeds := web.Seeds(2)
	args := crawlArgs(store, []string{seeds[0] + " tag=one interval=1h", seeds[1]}, "--scope", "domain")
	line{web: web}.run(t, args...).must(t, exitOK)
	before := known(t, store)
	none := []string{"http://none.test/", "http://nor.test/a"}
	refused := line{}.run(t, "seeds", "remove", "--store", store, none[0], seeds[0], none[1], none[0])
	if err := refused.must(t, exitNoCrawl).err; !strings.Contains(err, "1 of the URLs named are "+
		"seeds, 2 are not: "+none[0]+" "+none[1]+"; nothing was removed") {
		t.Errorf("seeds remove of what is no seed says %q", err)
	}
	list := line{}.run(t, "seeds", "list", "--store", store).must(t, exitOK).out
	if !strings.Contains(list, seeds[0]) {
		t.Errorf("a refused removal took a seed; those left:\n%s", list)
	}
	said := line{}.run(t, "seeds", "remove", "--store", store, seeds[0]).must(t, exitOK).out
	if !strings.Contains(said, "1 seeds removed") || !strings.Contains(said, "ends as out_of_scope") {
		t.Errorf("seeds remove says %q", said)
	}
	list = line{}.run(t, "seeds", "list", "--store", store).must(t, exitOK).out
	if strings.Contains(list, seeds[0]) || !strings.Contains(list, seeds[1]) {
		t.Errorf("seeds list after the removal:\n%s", list)
	}
	was, is := before[seeds[0]], known(t, store)[seeds[0]]
	if is.UserSignal != 0 || is.Queued != was.Queued {
		t.Errorf("the removed seed is %+v, it was %+v", is, was)
	}
	asked := len(web.Log.Requests())
	line{web: web}.run(t, crawlArgs(store, nil, "--due-now", "--scope", "domain")...).must(t, exitOK)
	after, gone := known(t, store), 0
	for url, row := range before {
		is := after[url]
		if row.Domain == was.Domain {
			if gone++; is.Reason != schema.OutOfScope || is.Queued != 0 {
				t.Errorf("%s of the removed seed's domain is %s (%s)", url, is.CrawlStatus, is.Reason)
			}
		} else if is.Reason == schema.OutOfScope {
			t.Errorf("%s of another seed is out of scope", url)
		}
	}
	for _, q := range web.Log.Requests()[asked:] {
		if strings.HasSuffix(q.Host, was.Domain) {
			t.Errorf("%s%s was asked for", q.Host, q.Path)
		}
	}
	if gone < 5 || len(after) != len(before) {
		t.Errorf("%d URLs of the removed seed's domain; %d known, before %d", gone, len(after), len(before))
	}
	line{}.run(t, "check", "--store", store).must(t, exitOK)

	// The same command names it again, so it is a seed again.
	line{web: web}.run(t, args...).must(t, exitOK)
	if row := known(t, store)[seeds[0]]; row.CrawlCount != 2 || row.UserSignal != 1 || row.Interval != hourMS {
		t.Errorf("injected again it is %+v", row)
	}
}

func TestSeedsBadInput(t *testing.T) {
	_, store := aCrawl(t)
	for _, test := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"an interval that is none", []string{"inject", "http://a.test/ interval=soon"}, exitUsage, `"soon"`},
		{"too short", []string{"inject", "http://a.test/ interval=1s"}, exitUsage, "outside 1m"},
		{"a depth that is none", []string{"inject", "http://a.test/ depth=-1"}, exitUsage, "number of hops"},
		{"a scope of no kind", []string{"inject", "http://a.test/ scope=site"}, exitUsage, "domain, host, prefix"},
		{"a tag that contradicts itself", []string{"inject", "http://a.test/ tag=x depth=1",
			"http://b.test/ tag=x depth=2"}, exitUsage, "share interval"},
		{"remove nothing", []string{"seeds", "remove"}, exitUsage, "one of both"},
		{"remove both", []string{"seeds", "remove", "http://a.test/", "--tag", "x"}, exitUsage, "one of both"},
		{"remove what is no seed", []string{"seeds", "remove", "http://a.test/"}, exitNoCrawl,
			"http://a.test/; nothing was removed"},
		{"remove what is no URL", []string{"seeds", "remove", "mailto:a@b"}, exitUsage, "mailto"},
		{"remove a tag nobody has", []string{"seeds", "remove", "--tag", "x"}, exitNoCrawl, "no seed has the tag"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := line{}.run(t, append(test.args, "--store", store)...).must(t, test.code)
			if !strings.Contains(r.err, test.says) {
				t.Errorf("it says %q, want %q", r.err, test.says)
			}
		})
	}
}
