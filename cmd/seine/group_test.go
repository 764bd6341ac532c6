package main

import (
	"flag"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"
)

// The group tests kill real processes. The seed makes the choice of victims
// repeatable, though not the moments at which they are where they are.
var (
	groupSeed    = flag.Uint64("group.seed", 1, "seed of the kills of TestKilledGroup")
	groupActions = flag.Int("group.actions", 4, "kills, stops and terminations of TestKilledGroup")
)

// TestKilledGroup kills, stops and terminates coordinators and workers while a
// crawl runs, and compares what is left with a crawl that nobody disturbed.
func TestKilledGroup(t *testing.T) {
	c, web, calm := processes(t, 2)
	defer web.end()
	c.startAll(2)
	crawled := make(chan error, 1)
	go func() { crawled <- c.crawl(web, c.urls) }()
	kills := c.disturb(rand.New(rand.NewPCG(*groupSeed, 0)), *groupActions, crawled)
	if err := <-crawled; err != nil {
		t.Fatal(err)
	}
	web.end()
	c.check()
	all := hits(t, web.log)
	faults, repeats := judge(all, killDelay)
	for _, fault := range faults {
		t.Error(fault)
	}
	// What a killed worker had not sealed is in its spool. Another worker that gets
	// the task has not: it asks again for what came within the sealing interval.
	if unsealed := busiest(all, 10); repeats > kills*unsealed {
		t.Errorf("%d kills of workers, %d repeats in %d requests", kills, repeats, len(all))
	}
	t.Logf("seed %d: %d workers killed, %d requests, %d of them repeats", *groupSeed, kills, len(all), repeats)
	sameRows(t, rows(t, c.store), calm.rows)
}

// busiest is the largest number of requests within so many seconds.
func busiest(all []hit, seconds float64) (most int) {
	byStart := slices.Clone(all)
	sortHits(byStart)
	from := 0
	for i, h := range byStart {
		for h.start-byStart[from].start > seconds {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

// disturb does something to a random process every second or so until the crawl
// has ended, and says how many workers it killed: first it kills one, then a coordinator, then
// what comes.
func (c *cluster) disturb(random *rand.Rand, actions int, crawled chan error) (kills int) {
	all := c.all()
	for n := range actions {
		select {
		case err := <-crawled:
			crawled <- err
			return kills
		case <-time.After(time.Duration(700+random.IntN(900)) * time.Millisecond):
		}
		i, what := random.IntN(len(all)), random.IntN(3)
		switch n {
		case 0:
			i, what = len(c.coordinators)+random.IntN(len(c.workers)), 0
		case 1:
			i, what = random.IntN(len(c.coordinators)), 0
		}
		d := all[i]
		switch what {
		case 0:
			if d.end(syscall.SIGKILL); i >= len(c.coordinators) {
				kills++
			}
			d.start(c.t)
		case 1:
			_ = d.cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(1+random.IntN(3)) * time.Second)
			_ = d.cmd.Process.Signal(syscall.SIGCONT)
		default:
			if code := d.end(syscall.SIGTERM); code != 0 {
				c.t.Errorf("%s ended with code %d on SIGTERM", d.name(), code)
			}
			d.start(c.t)
		}
	}
	return kills
}

// TestRecoveredGroup kills every coordinator in the middle of a round: a new group
// goes on from the store with what is sealed, and of the old group, brought back, most
// nodes end because another epoch has begun; one that is left has no majority.
func TestRecoveredGroup(t *testing.T) {
	c, web, calm := processes(t, 3)
	defer web.end()
	c.startAll(2)
	first := c.crawling(web, c.urls)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	c.awaitRequests(web.log, 100)
	for _, d := range c.coordinators {
		d.end(syscall.SIGKILL)
	}
	_ = first.Process.Kill() // it would go on asking
	_ = first.Wait()
	api := freeAddress(t)
	recovered := c.coordinator("r1", api, freeAddress(t), "--recover")
	recovered.start(t)
	old := c.coordinators
	c.coordinators = append(slices.Clone(old), recovered)
	c.awaitHealth("http://" + api)
	for _, d := range c.workers { // they are told where the new group is
		d.end(syscall.SIGTERM)
		d.args[2] = "http://" + api
		d.start(t)
	}
	for _, d := range old {
		d.start(t)
	}
	if err := c.crawl(web, "http://"+api); err != nil {
		t.Error(err)
	}
	if fenced := awaitFenced(t, old); fenced <= len(old)/2 {
		t.Errorf("%d nodes of the old group ended, want most", fenced)
	}
	web.end()
	c.check()
	all := hits(t, web.log)
	faults, repeats := judge(all, killDelay)
	for _, fault := range faults {
		t.Error(fault)
	}
	t.Logf("%d requests, %d of them repeats", len(all), repeats)
	if repeats > 10 {
		t.Errorf("%d repeats: sealed work was lost", repeats)
	}
	sameRows(t, rows(t, c.store), calm.rows)
}

// awaitFenced counts the nodes of an old group that end, until most have; one that is left
// alone may never have heard of an epoch, and cannot lead.
func awaitFenced(t *testing.T, old []*daemon) (fenced int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		fenced = 0
		for i, d := range old {
			if !d.hasEnded() {
				continue
			}
			if code := d.cmd.ProcessState.ExitCode(); code != 9 {
				t.Errorf("n%d of the old group ended with code %d, want 9", i+1, code)
			}
			fenced++
		}
		if fenced > len(old)/2 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fenced
}
