package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"seine/formats/weburl"
)

const (
	connections = 32
	agent       = "seine-bench/1"
)

// options are the command's flags.
type options struct {
	hosts   int
	runs    int
	mode    string
	side    string
	profile string
	serve   bool
}

func main() {
	var o options
	flag.IntVar(&o.hosts, "hosts", 80, "hosts, of 50 pages each")
	flag.IntVar(&o.runs, "runs", 3, "runs of each side")
	flag.StringVar(&o.mode, "mode", "both", "http, tls or both")
	flag.StringVar(&o.side, "side", "", "run one side alone: fetch, bare or least")
	flag.StringVar(&o.profile, "profile", "", "write a CPU profile of the fetch side to this file")
	flag.BoolVar(&o.serve, "serve", false, "be the server of another process (used by this program)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if o.serve {
		err = serve(os.Stdin, os.Stdout)
	} else {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1)
	}
}

// web is how the pages are reached: one server for all hosts.
type web struct {
	hosts int
	addr  string
	tls   *tls.Config // nil: plain HTTP
}

func (w *web) pages() int { return w.hosts * pagesAHost }

func (w *web) scheme() string {
	if w.tls != nil {
		return "https"
	}
	return "http"
}

func (w *web) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, w.addr)
}

func hostName(h int) string { return fmt.Sprintf("h%d.test", h) }

// run starts the server and measures what o asks for.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	if o.hosts < 1 || o.runs < 1 {
		return errors.New("-hosts and -runs must be at least 1")
	}
	suffixes, err := weburl.ParseSuffixes(weburl.EmbeddedSuffixes())
	if err != nil {
		return err
	}
	s, err := startServer()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	p := &profiler{path: o.profile}
	defer func() { err = errors.Join(err, p.close()) }()
	plain := &web{hosts: o.hosts, addr: s.plain}
	safe := &web{hosts: o.hosts, addr: s.safe, tls: &tls.Config{RootCAs: s.roots}}
	webs := map[string][]*web{"http": {plain}, "tls": {safe}, "both": {plain, safe}}[o.mode]
	if webs == nil {
		return fmt.Errorf("-mode %s: use http, tls or both", o.mode)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tside\tpages/s\tCPU µs/page\tpages/CPU s\tfetch is\t")
	for _, w := range webs {
		if err := compare(ctx, o, table, p, &seine{web: w, suffixes: suffixes}); err != nil {
			return err
		}
	}
	return table.Flush()
}

// spent is what a run took.
type spent struct{ wall, cpu time.Duration }

// compare lets the sides take turns on one web and prints their medians.
func compare(ctx context.Context, o options, out io.Writer, p *profiler, s *seine) error {
	sides := []struct {
		name string
		run  func() (spent, error)
	}{
		{"fetch", func() (spent, error) { return s.measure(ctx, p) }},
		{"bare", func() (spent, error) {
			return measure(func() error { return bare{web: s.web}.run(ctx) })
		}},
		{"least", func() (spent, error) {
			return measure(func() error { return bare{web: s.web, least: true}.run(ctx) })
		}},
	}
	took := map[string][]spent{}
	for range o.runs {
		for _, side := range sides {
			if o.side != "" && o.side != side.name {
				continue
			}
			spent, err := side.run()
			if err != nil {
				return fmt.Errorf("%s over %s: %w", side.name, s.web.scheme(), err)
			}
			took[side.name] = append(took[side.name], spent)
		}
	}
	pages := float64(s.web.pages())
	fetched := median(took["fetch"])
	for _, side := range sides {
		m := median(took[side.name])
		if m.cpu == 0 {
			continue
		}
		fmt.Fprintf(out, "%s\t%s\t%.0f\t%.0f\t%.0f\t%.0f %%\t\n", s.web.scheme(), side.name,
			pages/m.wall.Seconds(), float64(m.cpu.Microseconds())/pages, pages/m.cpu.Seconds(),
			100*m.cpu.Seconds()/max(fetched.cpu.Seconds(), 1e-9))
	}
	return nil
}

// median is the run whose CPU is in the middle.
func median(runs []spent) spent {
	if len(runs) == 0 {
		return spent{}
	}
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b spent) int { return int(a.cpu - b.cpu) })
	return runs[len(runs)/2]
}

// measure runs one side once the garbage of the one before is gone.
func measure(run func() error) (spent, error) {
	debug.FreeOSMemory()
	before, began := cpuTime(), time.Now()
	err := run()
	return spent{wall: time.Since(began), cpu: cpuTime() - before}, err
}

// measure runs a whole task; making its list and its store is not counted.
func (s *seine) measure(ctx context.Context, p *profiler) (took spent, err error) {
	task, err := s.prepare(ctx)
	if err != nil {
		return took, err
	}
	defer func() { err = errors.Join(err, task.remove()) }()
	return measure(func() error { return p.during(func() error { return task.run(ctx) }) })
}

// cpuTime is the user and system time of this process, all threads.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it takes nothing that could be wrong
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// profiler writes one CPU profile, of the first run of the fetch side in each
// file: a second run's samples would need a file of their own.
type profiler struct {
	path string
	file *os.File
}

func (p *profiler) during(run func() error) error {
	if p.path == "" || p.file != nil {
		return run()
	}
	runtime.GC()
	var err error
	if p.file, err = os.Create(p.path); err != nil {
		return fmt.Errorf("make the profile: %w", err)
	}
	if err := pprof.StartCPUProfile(p.file); err != nil {
		return fmt.Errorf("make the profile: %w", err)
	}
	defer pprof.StopCPUProfile()
	return run()
}

func (p *profiler) close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}
