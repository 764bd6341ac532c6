package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seine/formats/schema"
)

// TestFileRules: a list that is named while nothing runs keeps away what is known
// already, in the next round, though the file is gone by then; and the answer says
// which line.
func TestFileRules(t *testing.T) {
	web, store := aCrawl(t)
	domain := domainOf(t, waiting(t, store))
	asked := func() (n int) {
		for _, r := range web.Log.Requests() {
			if r.Domain == domain {
				n++
			}
		}
		return n
	}
	before := asked()
	path := file(t, "bad.txt", "# bad\n\n"+strings.ToUpper(domain)+"\n")
	set := line{}.run(t, "settings", "set", "rules=- file:"+path, "--store", store).must(t, exitOK)
	if !strings.Contains(set.out, "1 lines") {
		t.Errorf("set says\n%s", set.out)
	}
	if r := (line{}).run(t, "settings", "set", "rules=- file:"+path, "--store", store).must(t,
		exitOK); !strings.Contains(r.out, "says so already") {
		t.Errorf("the same list again: %s", r.out)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	// Another change does not ask for the file again.
	line{}.run(t, "settings", "set", "retries=1", "--store", store).must(t, exitOK)
	line{web: web}.run(t, crawlArgs(store, nil)...).must(t, exitOK)
	if n := asked(); n != before {
		t.Errorf("%d requests to what the list keeps out", n-before)
	}
	out := ""
	for u, row := range known(t, store) {
		if row.Domain == domain && row.Reason == schema.RuleOut {
			out = u
		}
	}
	if out == "" {
		t.Fatal("no known URL ended by the rule")
	}
	r := line{}.run(t, "explain", out, "--store", store).must(t, exitOK)
	for _, want := range []string{"! rule", "-file:" + path, "rule 1 of 1", "by line 3 of the file: " + domain,
		"settings set"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("explain does not say %q:\n%s", want, r.out)
		}
	}
	line{}.run(t, "check", "--store", store).must(t, exitOK)
}

// TestChangedList: a file that has changed since makes a version of its own when
// its rule is set again.
func TestChangedList(t *testing.T) {
	_, store := aCrawl(t)
	path := file(t, "bad.txt", "a.test\n")
	line{}.run(t, "settings", "set", "rules=-file:"+path, "--store", store).must(t, exitOK)
	if err := os.WriteFile(path, []byte("a.test\nb.test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := line{}.run(t, "settings", "set", "rules=-file:"+path, "--store", store).must(t, exitOK)
	if !strings.Contains(r.out, "version 3") || !strings.Contains(r.out, "2 lines") {
		t.Errorf("set says\n%s", r.out)
	}
	for u, stops := range map[string]bool{"http://b.test/": true, "http://c.test/": false} {
		r := line{}.run(t, "explain", u, "--store", store).must(t, exitOK)
		if strings.Contains(r.out, "! rule") != stops {
			t.Errorf("explain %s says\n%s", u, r.out)
		}
	}
	r = line{}.run(t, "settings", "unset", "rules", "--store", store).must(t, exitOK)
	if show := (line{}).run(t, "settings", "show", "--store", store); strings.Contains(show.out, path) {
		t.Errorf("the file is kept for nothing:\n%s", show.out)
	}
}

func TestBadLists(t *testing.T) {
	_, store := aCrawl(t)
	for _, test := range []struct{ name, path, says string }{
		{"not there", filepath.Join(t.TempDir(), "none.txt"), "not there"},
		{"a folder", t.TempDir(), "no plain file"},
		{"bad lines", file(t, "l.txt", "a.test\nhttp://b.test/x\n"), "line 2"},
		{"empty", file(t, "e.txt", "# nothing\n"), "names no domain"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := line{}.run(t, "settings", "set", "rules=-file:"+test.path, "--store", store).must(t, exitUsage)
			if !strings.Contains(r.err, test.says) || !strings.Contains(r.err, test.path) {
				t.Errorf("it does not say %q: %s", test.says, r.err)
			}
			fresh := filepath.Join(t.TempDir(), "fresh")
			r = line{}.run(t, crawlArgs(fresh, []string{"http://a.test/"}, "--rules",
				"-file:"+test.path)...).must(t, exitUsage)
			if _, err := os.Stat(fresh); err == nil {
				t.Error("something was written")
			}
		})
	}
}
