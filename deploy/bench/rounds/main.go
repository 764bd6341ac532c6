// Command rounds measures what a round costs beside databases of different
// sizes: a round must cost what it is worth, not what the database weighs
// (DESIGN §2, must 5).
//
//	rounds build  -urls N -o DIR           a crawl of N known URLs, by a seed
//	rounds run    -store DIR -rounds 16    rounds on a copy of it, measured
//	rounds report DIR...                   the last runs compared with the targets
//
// build writes a store that `seine check` accepts: urls in three runs of
// unlike age (three of four URLs wait, one was fetched), with delta rows and
// superseded rows; domains of log-normal sizes, hosts, robots, and a frontier
// whose tickets match. It streams: memory follows the largest domain.
//
// run lets the product's own generate, fold, publish and compact work on a copy
// made of hard links, which is safe because no object ever changes. Only
// fetching is made up (see web): 10,000 pages a round, each with 60 distinct
// links, 85 % into its own domain and the rest Zipf-distributed over all
// domains. Nothing is cached between tasks: every footer, filter and page is
// asked of the store, whose requests and bytes are counted. Figures are kept in
// DIR.rounds.json, after every round.
//
// Rows decoded are those of pages that were unpacked, a page of three columns once,
// of all Parquet objects that the tasks read.
//
// Requests, bytes and rows are exact and repeat for a seed; times and memory are
// those of the machine, with one task at a time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/pprof"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "rounds:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: rounds build -urls N -o DIR | run -store DIR | report DIR...")

func command(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	switch args[0] {
	case "build":
		return buildCommand(ctx, args[1:], out)
	case "run":
		return runCommand(ctx, args[1:], out)
	case "report":
		return reportCommand(args[1:], out)
	}
	return errUsage
}

func buildCommand(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	urls := flags.Int64("urls", 1_000_000, "about how many known URLs")
	seed := flags.Uint64("seed", 1, "what the crawl is drawn from")
	dir := flags.String("o", "", "folder of the new store")
	threads := flags.Int("threads", 2, "ranges written side by side")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" || *urls < 1000 || flags.NArg() > 0 {
		return errUsage
	}
	return build(ctx, *dir, shape{Seed: *seed, URLs: *urls}, *threads, out)
}

func runCommand(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	store := flags.String("store", "", "folder of a store that build made; it stays as it is")
	load := load{Pages: 10_000, Links: 60}
	flags.IntVar(&load.Rounds, "rounds", 16, "rounds to run")
	flags.Int64Var(&load.Pages, "pages", load.Pages, "pages a round")
	flags.IntVar(&load.Links, "links", load.Links, "distinct links a page")
	flags.BoolVar(&load.Compact, "compact", false, "at the end merge all of urls, not measured")
	memory := flags.Int64("memory", 2<<30, "limit of the Go heap in bytes, as GOMEMLIMIT")
	profile := flags.String("cpuprofile", "", "write a CPU profile, its samples labelled by stage")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *store == "" || load.Rounds < 1 || flags.NArg() > 0 {
		return errUsage
	}
	debug.SetMemoryLimit(*memory)
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return fmt.Errorf("profile: %w", err)
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return errors.Join(fmt.Errorf("profile: %w", err), f.Close())
		}
		defer func() {
			pprof.StopCPUProfile()
			err = errors.Join(err, f.Close())
		}()
	}
	r, err := run(ctx, *store, *store+".running", load, out)
	if err != nil {
		return err
	}
	return r.print(out)
}

func reportCommand(dirs []string, out io.Writer) error {
	if len(dirs) == 0 {
		return errUsage
	}
	var all []*result
	for _, dir := range dirs {
		r, err := loadResult(dir)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	return compareSizes(all, out)
}
