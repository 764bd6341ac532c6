package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestSickStore lets the S3 server of a cluster suffer from one illness after the other, each from
// the middle of a round on: nothing comes through, or nobody hears that it did. The crawl ends by
// itself, with the tables of a crawl without faults.
func TestSickStore(t *testing.T) {
	c, web, calm := processes(t, 7)
	defer web.end()
	c.settle.delay = stormDelay
	sick := c.onSickBucket(nil)
	c.startAll(2)
	c.must("settings", "set", "seal_interval=1s", "contact=nobody@example.org")
	crawled := make(chan error, 1)
	go func() { crawled <- c.crawl(web, c.urls) }()
	for i, illness := range []illness{away, hanging, forget} {
		c.awaitRequests(web.log, 20+40*i)
		sick.suffer(illness)
		await(t, fmt.Sprintf("a request that suffers from a store that is %s", illness), func() bool {
			return sick.suffered() > 0
		})
		time.Sleep(3 * time.Second)
		t.Logf("%s: %d requests suffered", illness, sick.suffer(well))
	}
	if err := <-crawled; err != nil {
		t.Fatal(err)
	}
	c.faultless(web, calm)
}

// TestFullStore fills the bucket of a cluster in the middle of a round, until the round can do
// nothing more: whoever waits for it hears why, by the exit code too, and what to do. With space
// again that works, and nothing has been lost.
func TestFullStore(t *testing.T) {
	c, web, calm := processes(t, 8)
	defer web.end()
	c.settle.delay = stormDelay
	sick := c.onSickBucket(nil)
	c.startAll(2)
	c.must("settings", "set", "seal_interval=1s", "contact=nobody@example.org")
	crawl := c.crawling(web, c.urls)
	var said bytes.Buffer
	crawl.Stdout, crawl.Stderr = &said, &said
	if err := crawl.Start(); err != nil {
		t.Fatal(err)
	}
	c.awaitRequests(web.log, 60)
	sick.suffer(full)
	err := crawl.Wait()
	if code := crawl.ProcessState.ExitCode(); code != exitStorage ||
		!strings.Contains(said.String(), "object store is full") {
		t.Errorf("a full store ends the crawl with %v, want exit status %d and the reason:\n%s", err,
			exitStorage, said.String())
	}
	c.check()
	sick.suffer(well)
	c.rerun(said.String())
	if err := c.crawl(web, c.urls); err != nil {
		t.Fatal(err)
	}
	c.faultless(web, calm)
}

var rerunAdvice = regexp.MustCompile("`seine round rerun ([0-9]+) --failed`")

// rerun does what a command that met a blocked round advises.
func (c *cluster) rerun(said string) {
	c.t.Helper()
	advice := rerunAdvice.FindStringSubmatch(said)
	if advice == nil {
		c.t.Fatalf("it does not say what to do:\n%s", said)
	}
	c.must("round", "rerun", advice[1], "--failed")
}

// faultless judges a crawl whose store was ill, but whose processes lived: its tables are those of
// a crawl without faults. What was asked for stays with its worker until it is sealed, so only a
// lease that lapses on a machine that is too busy makes a repeat.
func (c *cluster) faultless(web served, calm *undisturbed) {
	c.t.Helper()
	web.end()
	c.check()
	all := hits(c.t, web.log)
	faults, repeats := judge(all, c.settle.delay)
	for _, fault := range faults {
		c.t.Error(fault)
	}
	if most := busiest(all, 2); repeats > most {
		c.t.Errorf("%d repeats in %d requests, at most %d came in 2 s", repeats, len(all), most)
	}
	c.t.Logf("%d requests, %d of them repeats", len(all), repeats)
	sameRows(c.t, c.copied(), calm.under(c.settle.delay))
}
