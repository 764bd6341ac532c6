// Command simtest runs the whole system in virtual time: three coordinators, workers
// with the real tasks, one store and a synthetic web, all in this process, with faults
// at times that a seed decides: workers that die, lines that are cut, clocks that jump,
// coordinators that are cut off, lost together, or followed by another group while they
// work, a store that fails before or after it has written, or does not answer a worker.
// When a crawl has come to its end every rule that the store and the web's log can prove
// is checked, and the tables are compared with those of a crawl without faults. A run that
// fails is repeated with its seed: it fixes web and faults, but not the order in which
// goroutines run at one moment, so a failure may take some repeats.
//
//	go run ./cmd/simtest -runs 1000
//	go run ./cmd/simtest -seed 17 -runs 1 -v
//	go run ./cmd/simtest -runs 50 -without lease     # must find a broken rule
//
// -without leaves out one of the fences, to prove that the simulation can see what they
// are for; then the command fails if nothing is found.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// options are the command line.
type options struct {
	seed    uint64
	runs    int
	without string
	talk    bool
}

func main() {
	testing.Init()
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the first run; the others follow")
	flag.IntVar(&o.runs, "runs", 20, "how many runs")
	flag.StringVar(&o.without, "without", "", "leave out a fence: "+strings.Join(fenceNames(), ", "))
	flag.BoolVar(&o.talk, "v", false, "tell the faults of each run")
	flag.Parse()
	if _, known := fences[o.without]; o.without != "" && !known || flag.NArg() > 0 || o.runs < 1 {
		fmt.Fprintf(os.Stderr, "simtest: -without is one of %s, -runs at least 1; no arguments\n",
			strings.Join(fenceNames(), ", "))
		os.Exit(2)
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

func fenceNames() []string { return slices.Sorted(maps.Keys(fences)) }

// all makes the runs, and says whether they ended as they should.
func (o options) all(t *testing.T) bool {
	broken := 0
	for i := range o.runs {
		seed := o.seed + uint64(i)
		found, was := simulate(t, seed, o.without, o.talk)
		if len(found) == 0 {
			fmt.Printf("seed %d: all rules held: %d faults in %v, %d pages\n", seed, was.faults,
				was.took.Round(time.Second), len(was.pages))
			continue
		}
		broken++
		fmt.Printf("seed %d: BROKEN\n  %s\n", seed, strings.Join(found, "\n  "))
		if o.without != "" {
			fmt.Printf("without %s a rule breaks, and it was seen\n", o.without)
			return true
		}
	}
	fmt.Printf("%d of %d runs broke a rule\n", broken, o.runs)
	return (broken > 0) == (o.without != "")
}
