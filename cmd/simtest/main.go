// Command simtest runs the whole system in virtual time: coordinators, workers with the
// real tasks, one store and a synthetic web, all in this process, with faults that a seed
// decides: workers that die, drain, are stopped or sleep, lines that are cut or slow,
// clocks that are set by seconds or days, coordinators that are cut off with or without a
// worker, stopped, lost together, or followed by another group while they work or are
// stopped; a store that fails before or after it has written, is slow, or does not answer a
// worker. When a crawl has come to its end every rule that the store and the web's log can
// prove is checked, and the tables are compared with those of a crawl without faults.
//
// A seed fixes the web, every strike, and what becomes of each request and call; neither
// the order in which goroutines run nor anything that the system does changes that. It
// does not fix that order itself, nor what the system draws (Raft's timeouts), so a
// failure may take some repeats.
//
//	go run ./cmd/simtest -runs 1000
//	go run ./cmd/simtest -seed 17 -runs 1 -v
//	go run ./cmd/simtest -runs 50 -without lease     # must find a broken rule
//
// -without leaves out one of the fences, to prove that the simulation can see what they
// are for; then the command fails if nothing is found. -aim makes the same faults with the
// fence in its place. No other program can leave a fence out: what is broken is put in the
// place of what is whole by this one alone.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// options are the command line.
type options struct {
	seed    uint64
	runs    int
	fence   fence // what is left out, or aimed at
	measure bool
	talk    bool
}

func main() {
	testing.Init()
	var o options
	var without, aim string
	names := strings.Join(fenceNames(), ", ")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the first run; the others follow")
	flag.IntVar(&o.runs, "runs", 20, "how many runs")
	flag.StringVar(&without, "without", "", "leave out a fence: "+names)
	flag.StringVar(&aim, "aim", "", "make the faults that a fence is against, with the fence in place")
	flag.BoolVar(&o.measure, "measure", false, "with -without: make all runs, to count the broken")
	flag.BoolVar(&o.talk, "v", false, "tell the faults of each run")
	flag.Parse()
	left, ok := fenceOf(without)
	aimed, known := fenceOf(aim)
	if !ok || !known || without != "" && aim != "" || flag.NArg() > 0 || o.runs < 1 {
		fmt.Fprintf(os.Stderr, "simtest: -without or -aim is one of %s; -runs is at least 1; "+
			"no arguments\n", names)
		os.Exit(2)
	}
	if o.fence = left; aim != "" {
		o.fence = aimed.mended()
	}
	// Virtual time wants a *testing.T. It is made here, so that the command needs no
	// `go test`; Main prints PASS or FAIL and exits.
	whole := testing.InternalTest{Name: "simtest", F: func(t *testing.T) {
		if !o.all(t) {
			t.Fail()
		}
	}}
	everything := func(string, string) (bool, error) { return true, nil }
	testing.Main(everything, []testing.InternalTest{whole}, nil, nil)
}

func fenceNames() (names []string) {
	for _, f := range fences {
		names = append(names, f.name)
	}
	return names
}

// fenceOf finds a fence that can be left out; "" is none.
func fenceOf(name string) (f fence, known bool) {
	for _, f := range fences {
		if f.name == name {
			return f, true
		}
	}
	return fence{}, name == ""
}

// all makes the runs, and says whether they ended as they should.
func (o options) all(t *testing.T) bool {
	broken, leftOut := 0, !o.fence.whole()
	for i := range o.runs {
		seed := o.seed + uint64(i)
		found, was := simulate(t, seed, o.fence, o.talk)
		if len(found) == 0 {
			fmt.Printf("seed %d: all rules held: %d faults in %v, %d pages\n", seed, was.faults,
				was.took.Round(time.Second), len(was.pages))
			continue
		}
		broken++
		fmt.Printf("seed %d: BROKEN\n  %s\n", seed, strings.Join(found, "\n  "))
		if leftOut && !o.measure {
			fmt.Printf("without %s a rule breaks, and it was seen\n", o.fence.name)
			return true
		}
	}
	fmt.Printf("%d of %d runs broke a rule\n", broken, o.runs)
	return (broken > 0) == leftOut
}
