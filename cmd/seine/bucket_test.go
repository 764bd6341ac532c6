package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/objstore/storetest"
	"seine/formats/schema"
	"seine/mapper/webtest"
)

// bucket starts an S3 server and sets the environment of its clients, this machine's
// folder of the crawl among it. It returns the store's address.
func bucket(t *testing.T) string {
	t.Helper()
	gateway := storetest.StartGateway(t)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, gateway.Env(name))
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return gateway.Address("team/crawl")
}

// TestCrawlOnABucket crawls into a bucket, looks at it with the verbs that look, and
// crawls it again.
func TestCrawlOnABucket(t *testing.T) {
	store := bucket(t)
	web := webtest.New(webtest.Spec{Seed: 3, Domains: 6, Pages: 10, MaxHost: 30, Plain: true})
	line{web: web}.run(t, crawlArgs(store, web.Seeds(3), "--rounds", "2")...).must(t, exitWaiting)
	r := line{web: web}.run(t, crawlArgs(store, web.Seeds(3))...).must(t, exitOK)
	if !strings.Contains(r.out, "nothing is due") {
		t.Errorf("it does not say why it ends:\n%s", r.out)
	}
	mannerly(t, web)
	var fetched schema.URL
	for _, row := range known(t, store) {
		if row.Reason == schema.OK && (fetched.URL == "" || row.URL < fetched.URL) {
			fetched = row
		}
	}
	for _, test := range []struct{ name, says, args string }{
		{"status", "URLs known", "status"},
		{"inspect", fetched.URL, "inspect urls --limit 1000000"},
		{"url", "COMPLETED", "url " + fetched.URL},
		{"page", "<html", "page " + fetched.URL},
		{"host", fetched.Host, "host " + fetched.Host},
		{"explain", "fetched: ok", "explain " + fetched.URL},
		{"check", "", "check --read-data"},
		{"rounds", "fetched", "round list"},
		{"requests", "coordinator", "round show 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			args := append(strings.Fields(test.args), "--store", store)
			r := line{}.run(t, args...).must(t, exitOK)
			if !strings.Contains(r.out, test.says) {
				t.Errorf("%s does not say %q:\n%s%s", test.args, test.says, r.out, r.err)
			}
		})
	}
}

// TestIdleRoundOnABucket counts what a round costs for which nothing is due.
func TestIdleRoundOnABucket(t *testing.T) {
	store := bucket(t)
	web := webtest.New(webtest.Spec{Seed: 3, Domains: 2, Pages: 5, MaxHost: 10, Plain: true})
	line{web: web}.run(t, crawlArgs(store, web.Seeds(1))...).must(t, exitOK)
	r := line{web: web}.run(t, "round", "submit", "--store", store, "--json").must(t, exitOK)
	var s roundSummary
	if err := json.Unmarshal([]byte(r.out), &s); err != nil {
		t.Fatalf("%v\n%s", err, r.out)
	}
	if s.Selected != 0 || s.Requests == 0 || s.Requests > idleRequests {
		t.Errorf("an idle round asked %d times, at most %d are promised: %+v", s.Requests, idleRequests,
			s.Cost)
	}
}

// idleRequests is what DESIGN.md promises of a round for which nothing is due.
const idleRequests = 20

// TestCopyToABucketAndBack cuts a crawl in a folder, copies it into a bucket, goes on
// there, and copies it back: as if it had never moved.
func TestCopyToABucketAndBack(t *testing.T) {
	store := bucket(t)
	web := webtest.New(webtest.Spec{Seed: 3, Domains: 6, Pages: 10, MaxHost: 30, Plain: true})
	laptop, back := filepath.Join(t.TempDir(), "crawl"), filepath.Join(t.TempDir(), "back")
	line{web: web}.run(t, crawlArgs(laptop, web.Seeds(3), "--rounds", "2")...).must(t, exitWaiting)
	line{}.run(t, "copy", "--verify", laptop, store).must(t, exitOK)
	line{web: web}.run(t, crawlArgs(store, web.Seeds(3))...).must(t, exitOK)
	mannerly(t, web)
	r := line{}.run(t, "copy", store, back, "--json").must(t, exitOK)
	if !strings.Contains(r.out, `"copied":`) {
		t.Errorf("no report:\n%s", r.out)
	}
	line{}.run(t, "check", "--read-data", "--store", back).must(t, exitOK)
	if diff := cmp.Diff(rows(t, store), rows(t, back)); diff != "" {
		t.Errorf("the tables differ (-bucket +folder):\n%s", diff)
	}
	r = line{}.run(t, "copy", laptop, back).must(t, exitUsage)
	if !strings.Contains(r.err, "it is at snapshot") {
		t.Errorf("an older state is copied over a newer one:\n%s", r.err)
	}
}

// TestBucketOfAnotherMachine: a bucket's crawl belongs to the machine that began its epoch, and
// another is told what it can do.
func TestBucketOfAnotherMachine(t *testing.T) {
	store := bucket(t)
	web := webtest.New(webtest.Spec{Seed: 3, Domains: 2, Pages: 5, MaxHost: 10, Plain: true})
	args := crawlArgs(store, web.Seeds(1))
	line{web: web}.run(t, args...).must(t, exitOK)
	line{web: web}.run(t, args...).must(t, exitOK) // it is ours
	own := os.Getenv("XDG_CACHE_HOME")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, args := range [][]string{args, {"inject", "--store", store, "http://example.org/"}} {
		if r := (line{web: web}).run(t, args...).must(t, exitInUse); !strings.Contains(r.err, "seine takeover") {
			t.Errorf("%s does not say what to do:\n%s", args[0], r.err)
		}
	}
	line{}.run(t, "status", "--store", store).must(t, exitOK) // reading asks nobody
	t.Setenv("XDG_CACHE_HOME", own)
	line{web: web}.run(t, args...).must(t, exitOK)
	folder := filepath.Join(t.TempDir(), "crawl")
	line{web: web}.run(t, crawlArgs(folder, web.Seeds(1))...).must(t, exitOK)
	line{}.run(t, "takeover", "--store", folder).must(t, exitUsage)
}
