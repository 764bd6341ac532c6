// Command dedup makes the databases of the dedup benchmark and runs Seine's side
// of it; compare.py runs DuckDB's on the same files.
//
//	dedup gen DIR N            N known URLs and the three kinds of candidates
//	dedup run DIR THREADS [KIND]  time of each kind, best of three, in seconds, and CPU time
//
// SEINE_CPUPROFILE=FILE writes a CPU profile of run, its samples labelled by kind.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"

	"seine/formats/lsm"
	"seine/formats/lsm/lsmtest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dedup:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 3 || len(args) == 4 && args[0] == "run" {
		n, err := strconv.Atoi(args[2])
		if err != nil || n < 1 {
			return fmt.Errorf("%q is no positive number", args[2])
		}
		switch args[0] {
		case "gen":
			return generate(args[1], n)
		case "run":
			kinds := []string{"narrow", "wide", "thin"}
			if len(args) == 4 {
				kinds = args[3:]
			}
			return measure(args[1], n, kinds)
		}
	}
	return fmt.Errorf("usage: dedup gen DIR N | dedup run DIR THREADS [KIND]")
}

func generate(dir string, n int) error {
	c := lsmtest.New(1, n)
	began := time.Now()
	o, err := c.WriteKnown(filepath.Join(dir, "known.parquet"))
	if err != nil {
		return err
	}
	fmt.Printf("known: %d URLs, %.1f + %.1f bytes a URL, %.2f M rows/s with making them\n", o.Rows,
		float64(o.Bytes)/float64(o.Rows), float64(o.SidecarBytes)/float64(o.Rows),
		float64(o.Rows)/time.Since(began).Seconds()/1e6)
	for name, shape := range lsmtest.Shapes(n) {
		if err := c.WriteCandidates(filepath.Join(dir, name+".parquet"), 2, shape); err != nil {
			return err
		}
	}
	return nil
}

func measure(dir string, threads int, kinds []string) error {
	ctx := context.Background()
	if path := os.Getenv("SEINE_CPUPROFILE"); path != "" {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return errors.Join(err, f.Close())
		}
		defer pprof.StopCPUProfile()
	}
	known, err := lsmtest.OpenKnown(ctx, filepath.Join(dir, "known.parquet"))
	if err != nil {
		return err
	}
	runs := []lsm.Run{{ID: "r1", Objects: []lsm.Object{known}}}
	for _, name := range kinds {
		if err := clean(filepath.Join(dir, name+".new-*")); err != nil {
			return err
		}
		best, cpu := time.Hour, time.Hour
		var n int64
		var stats *lsm.Stats
		for range 3 {
			stats = new(lsm.Stats)
			began, used := time.Now(), processTime()
			pprof.Do(ctx, pprof.Labels("kind", name), func(ctx context.Context) {
				n, err = lsmtest.Dedup(ctx, filepath.Join(dir, name+".parquet"), runs,
					filepath.Join(dir, name+".new"), threads, stats)
			})
			if err != nil {
				return err
			}
			best, cpu = min(best, time.Since(began)), min(cpu, processTime()-used)
		}
		fmt.Printf("%s threads=%d seconds=%.3f cpu=%.3f new=%d pages=%d rows=%d bytes=%d requests=%d\n", name, threads,
			best.Seconds(), cpu.Seconds(), n, stats.KeyPages.Load(), stats.Rows.Load(),
			stats.Bytes.Load()+stats.SidecarBytes.Load(), stats.Requests.Load()+stats.SidecarRequests.Load())
	}
	return nil
}

// clean removes what a run with other threads left.
func clean(pattern string) error {
	old, err := filepath.Glob(pattern)
	for _, path := range old {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// processTime is the CPU time used so far: on a busy machine the fairer figure.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
