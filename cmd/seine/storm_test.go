package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A storm is a crawl by real processes on a real S3 server, with faults that a seed chooses. A long
// batch:
//
//	go test ./cmd/seine -run TestStorm -storm.runs 50 -storm.actions 60 -storm.longest 60s -timeout 0
var (
	stormSeed    = flag.Uint64("storm.seed", 1, "seed of the first storm; the others follow")
	stormRuns    = flag.Int("storm.runs", 1, "storms, at most 200")
	stormActions = flag.Int("storm.actions", 10, "faults of a storm, but for those of the store")
	stormLongest = flag.Duration("storm.longest", 4*time.Second, "how long a fault lasts at most")
)

// TestStorm kills, stops and terminates three coordinators and four workers, cuts, silences and
// slows the lines between any two of them and to the store, which fails now and then, too. Then
// every rule is checked from the server's log, and the tables are those of a crawl without faults.
func TestStorm(t *testing.T) {
	t.Parallel()
	for i := range *stormRuns {
		seed := *stormSeed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { brave(t, seed, 10+i) })
	}
}

// stormDelay makes fetching most of a storm's time.
const stormDelay = 150 * time.Millisecond

// storm is one of them.
type storm struct {
	*cluster
	dice  *rand.Rand
	wires *wires
	sick  *sick
	over  chan struct{} // the crawl has ended
	wait  sync.WaitGroup
	hurt  int // faults that a worker felt
}

func brave(t *testing.T, seed uint64, net int) {
	c, web, calm := processes(t, net)
	defer web.end()
	s := &storm{cluster: c, dice: rand.New(rand.NewPCG(seed, 1)), wires: newWires(t),
		over: make(chan struct{})}
	c.settle.delay = stormDelay
	s.onBucket()
	c.startAll(4)
	c.must("settings", "set", "seal_interval=1s", "contact=nobody@example.org")
	crawled := make(chan error, 1)
	go func() {
		defer close(s.over)
		crawled <- c.crawl(web, c.urls)
	}()
	c.awaitRequests(web.log, 10)
	s.rage(*stormActions)
	s.wait.Wait()
	s.wires.set(clear, func(string, string) bool { return true })
	faults := s.sick.suffer(well)
	if err := <-crawled; err != nil {
		t.Fatal(err)
	}
	web.end()
	c.check()
	all := hits(t, web.log)
	wrong, repeats := judge(all, stormDelay)
	for _, what := range wrong {
		t.Error(what)
	}
	// A worker that is lost has unsealed what came in a second, and some more while the store was away.
	if most := s.hurt * busiest(all, 5); repeats > most {
		t.Errorf("%d repeats, %d workers felt a fault: at most %d", repeats, s.hurt, most)
	}
	t.Logf("seed %d: %d faults of the store, %d that a worker felt, %d requests, %d of them repeats",
		seed, faults, s.hurt, len(all), repeats)
	sameRows(t, c.copied(), calm.under(stormDelay))
}

// onBucket puts the crawl on a moody S3 server, which each process reaches by a line of its own.
func (s *storm) onBucket() {
	s.settle.wire = s.wires.wire
	s.sick = s.onSickBucket(rand.New(rand.NewPCG(s.dice.Uint64(), 2)))
	s.sick.suffer(moody)
}

// run is a verb of seine that asks nobody but the store.
func (c *cluster) run(words ...string) {
	c.t.Helper()
	cmd := exec.Command(c.seine, words...)
	cmd.Env, cmd.Dir = c.settle.env, c.folder
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("seine %s: %v\n%s", strings.Join(words, " "), err, out)
	}
}

// must is a verb of seine that asks the coordinators.
func (c *cluster) must(words ...string) {
	c.t.Helper()
	if out, err := c.command(c.urls, words...).CombinedOutput(); err != nil {
		c.t.Fatalf("seine %s: %v\n%s", strings.Join(words, " "), err, out)
	}
}

// rage does something every second or so, until the crawl has ended or enough has been done.
func (s *storm) rage(actions int) {
	for range actions {
		select {
		case <-s.over:
			return
		case <-time.After(time.Duration(300+s.dice.IntN(900)) * time.Millisecond):
		}
		s.strike()
		for _, d := range s.all() {
			if d.hasEnded() { // as a service manager does
				s.t.Logf("%s has ended by itself with code %d", d.name(), d.cmd.ProcessState.ExitCode())
				d.start(s.t)
			}
		}
	}
}

func (s *storm) strike() {
	all := s.all()
	d := all[s.dice.IntN(len(all))]
	worker := d.name()[0] == 'w'
	if worker {
		s.hurt++
	}
	lasts := time.Duration(s.dice.Int64N(int64(*stormLongest)))
	action := s.dice.IntN(6)
	if action > 2 {
		s.disconnect(d.name(), lasts, action)
		return
	}
	s.t.Logf("%s is %s (%v)", d.name(), []string{"killed", "terminated", "suspended"}[action], lasts)
	switch action {
	case 0:
		d.end(syscall.SIGKILL)
		d.start(s.t)
	case 1:
		if code := d.end(syscall.SIGTERM); code != exitOK {
			s.t.Errorf("%s ended with code %d on SIGTERM", d.name(), code)
		}
		d.start(s.t)
	case 2:
		_ = d.cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(lasts)
		_ = d.cmd.Process.Signal(syscall.SIGCONT)
	}
}

// disconnect troubles the lines of a process: to the store, to one coordinator, or to all
// processes.
func (s *storm) disconnect(name string, lasts time.Duration, action int) {
	what := []trouble{cut, silent, slow}[s.dice.IntN(3)]
	other, chosen := "the others", func(from, to string) bool {
		return (from == name || to == name) && to != "s3"
	}
	switch action {
	case 3:
		other, chosen = "the store", linesOf(name, "s3")
	case 4:
		for other = name; other == name; {
			other = nodeID(s.dice.IntN(len(s.coordinators)))
		}
		chosen = linesOf(name, other)
	}
	s.t.Logf("the lines of %s and %s are %s for %v", name, other, what, lasts)
	s.trouble(what, lasts, chosen)
}

// trouble lasts a while, beside what comes next.
func (s *storm) trouble(what trouble, lasts time.Duration, chosen func(from, to string) bool) {
	s.wires.set(what, chosen)
	s.wait.Go(func() {
		time.Sleep(lasts)
		s.wires.set(clear, chosen)
	})
}
