package main

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
)

// asServer makes the test's binary the server, as the command is its own.
const asServer = "-serve"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asServer {
		if err := serve(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

// TestSides runs every side once, over HTTP and over TLS. A side fails unless it
// has got every page.
func TestSides(t *testing.T) {
	var out bytes.Buffer
	profile := t.TempDir() + "/cpu"
	err := run(t.Context(), options{hosts: 2, runs: 1, mode: "both", profile: profile}, &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range []string{"http  fetch", "http   bare", "http  least", "https  fetch",
		"https   bare", "https  least"} {
		if !strings.Contains(out.String(), side) {
			t.Errorf("no line of %s in\n%s", side, out.String())
		}
	}
	if info, err := os.Stat(profile); err != nil || info.Size() == 0 {
		t.Errorf("the profile is %v, %v", info, err)
	}
}

func TestWrongOptions(t *testing.T) {
	for name, o := range map[string]options{"no hosts": {runs: 1, mode: "http"},
		"no runs": {hosts: 1, mode: "http"}, "a mode that is none": {hosts: 1, runs: 1, mode: "ftp"}} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), o, &bytes.Buffer{}); err == nil {
				t.Error("no error")
			}
		})
	}
}

// TestPage: the page that is measured is the page that is meant.
func TestPage(t *testing.T) {
	words := vocabulary()
	p := page(3, words)
	if n := bytes.Count(p, []byte("<a class")); n != anchors {
		t.Errorf("%d anchors", n)
	}
	if len(p) < 70_000 || len(p) > 90_000 {
		t.Errorf("%d bytes", len(p))
	}
	if !bytes.Equal(p, page(3, words)) || bytes.Equal(p, page(4, words)) {
		t.Error("pages are not told apart by their number alone")
	}
}
