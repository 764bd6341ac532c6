package main

import (
	"testing"

	"seine/formats/layout"
	"seine/formats/weburl"
)

// TestURLsAreInNormalForm: rows of urls are, and each names another page; known
// ones, and those that links find later.
func TestURLsAreInNormalForm(t *testing.T) {
	suffixes, err := weburl.ParseSuffixes(weburl.EmbeddedSuffixes())
	if err != nil {
		t.Fatal(err)
	}
	c := newCorpus(shape{Seed: 7, URLs: 20_000})
	seen := map[string]bool{}
	for i := range c.domains {
		d := &c.domains[i]
		for j := range d.urls + 20 {
			url := c.url(d, j)
			n, err := weburl.Normalize(url, weburl.Options{})
			if err != nil || n.URL != url {
				t.Fatalf("%s has normal form %s, %v", url, n.URL, err)
			}
			if n.Host != d.host(d.hostOf(j)) || suffixes.Domain(n.Host) != d.name {
				t.Fatalf("%s: host %s of %s, want %s of %s", url, n.Host, suffixes.Domain(n.Host),
					d.host(d.hostOf(j)), d.name)
			}
			if seen[url] {
				t.Fatalf("%s is there twice", url)
			}
			seen[url] = true
		}
	}
}

func TestCorpusHasItsSize(t *testing.T) {
	c := newCorpus(shape{Seed: 3, URLs: 100_000})
	total, fetched, largest := 0, 0, 0
	for i := range c.domains {
		d := &c.domains[i]
		total, largest = total+d.urls, max(largest, d.urls)
		for j := range d.urls {
			if c.pastOf(d, j).fetched {
				fetched++
			}
		}
	}
	if total != 100_000 || largest > 1000 {
		t.Errorf("%d URLs, %d in a domain; want 100000, at most 1000", total, largest)
	}
	if fetched < 24_000 || fetched > 26_000 {
		t.Errorf("%d of 100000 are fetched, want a quarter", fetched)
	}
	n := 0
	for _, r := range layout.Split(3) {
		n += len(c.in(r))
	}
	if n != len(c.domains) {
		t.Errorf("ranges hold %d of %d domains", n, len(c.domains))
	}
}
