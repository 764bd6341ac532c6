// Command scaling measures how pages a second grow with workers: one coordinator, 1, 2, 4 and 8
// worker processes of 50 connections each, and a web of some 4,000 hosts in another process that
// answers each request after 200 ms. So 50 connections ask for 250 pages a second at most, and more
// workers for as many times more, as long as the CPU lasts: what is used of it is printed too.
//
//	scaling DIR     DIR takes the programs, the crawls and the server's log
//
// Each number of workers gets a crawl of its own. A first round reads every robots.txt and every
// home page; the second one is measured, at the server, from when it had 10 % of the round's
// requests to when it had 90 %. The limit is what so many connections can do at the answers' own
// time, as the server has it. It needs the right to listen on port 80.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// options are the command line.
type options struct {
	dir, store     string
	workers        string
	hosts, seconds int
	connections    int
	latency, delay time.Duration
	pagesRound     int
	pageBytes      int
}

func main() {
	var o options
	flag.StringVar(&o.store, "store", "",
		"s3://BUCKET/PREFIX for the crawls, a new one each run (default: folders in DIR)")
	flag.StringVar(&o.workers, "workers", "1,2,4,8", "numbers of workers")
	flag.IntVar(&o.hosts, "hosts", 4000, "hosts of the web, about")
	flag.IntVar(&o.connections, "connections", 50, "of a worker")
	flag.DurationVar(&o.latency, "latency", 200*time.Millisecond, "of an answer")
	flag.DurationVar(&o.delay, "delay", 100*time.Millisecond, "between two requests to a domain")
	flag.IntVar(&o.pagesRound, "pages-round", 20,
		"pages of a domain in a round; 0: no bound, and its end belongs to a few large domains")
	flag.IntVar(&o.seconds, "seconds", 20, "that a measured round takes at least")
	flag.IntVar(&o.pageBytes, "page-bytes", 2000, "size of a page, about")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if o.dir = flag.Arg(0); flag.NArg() == 1 {
		err = o.run(ctx)
	} else {
		err = errors.New("usage: scaling [flags] DIR")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scaling:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) (err error) {
	if o.dir, err = filepath.Abs(o.dir); err == nil { // "." would not name programs
		err = os.MkdirAll(o.dir, 0o755)
	}
	if err == nil { // testweb appends
		err = os.RemoveAll(o.path("access.log"))
	}
	if err != nil {
		return fmt.Errorf("make the folder of the crawls: %w", err)
	}
	for _, program := range []string{"seine", "seined", "testweb"} {
		c := exec.CommandContext(ctx, "go", "build", "-o", o.path(program), "seine/cmd/"+program)
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", program, err, out)
		}
	}
	// Each fifth domain has two to four hosts besides its own.
	web, err := o.start("testweb", "web.log", "ready", "-plain", "-domains", strconv.Itoa(o.hosts*5/8),
		"-latency", o.latency.String(), "-page-bytes", strconv.Itoa(o.pageBytes), "-dns", dns, "-log",
		o.path("access.log"), "-seeds", o.path("seeds"), "-count", strconv.Itoa(2*o.hosts))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, web.end()) }()
	seeds, err := os.ReadFile(o.path("seeds"))
	if err != nil {
		return fmt.Errorf("read the seeds: %w", err)
	}
	fmt.Printf("%d hosts, %v to an answer, %v between two, %d connections a worker\n",
		bytes.Count(seeds, []byte("\n")), o.latency, o.delay, o.connections)
	fmt.Println("workers  pages  seconds  pages/s  each, of one  ms an answer  of the limit  " +
		"CPU: workers  web  all")
	one := 0.0
	for text := range strings.SplitSeq(o.workers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-workers: %q is no positive number", text)
		}
		r, err := o.measure(ctx, web, n)
		if err != nil {
			return fmt.Errorf("%d workers: %w", n, err)
		}
		if one == 0 {
			one = r.rate() / float64(n)
		}
		limit := float64(n*o.connections) / r.answer
		fmt.Printf("%7d %6d %8.1f %8.0f %13.2f %13.0f %12.0f%% %13.2f %4.2f %4.2f\n", n, r.pages,
			r.seconds, r.rate(), r.rate()/float64(n)/one, 1000*r.answer, 100*r.rate()/limit, r.workers,
			r.web, r.machine)
	}
	return nil
}

const dns = "127.0.0.1:5391"

// crawlStore is the store of the crawl in a folder.
func (o options) crawlStore(folder string) string {
	if o.store == "" {
		return o.path(folder + "/store")
	}
	return o.store + "/" + folder
}

func (o options) path(name string) string { return filepath.Join(o.dir, name) }

// result is what a measured round did between 10 % and 90 % of its requests.
type result struct {
	pages                 int
	seconds               float64
	answer                float64 // seconds from a request to the end of its answer, on average
	workers, web, machine float64 // CPUs in use, on average
}

func (r result) rate() float64 { return float64(r.pages) / r.seconds }

// measure runs a crawl with n workers.
func (o options) measure(ctx context.Context, web *process, n int) (r result, err error) {
	folder := fmt.Sprintf("crawl-%d", n)
	if err := os.RemoveAll(o.path(folder)); err != nil {
		return r, fmt.Errorf("remove the crawl of an earlier run: %w", err)
	}
	if err := os.MkdirAll(o.path(folder), 0o755); err != nil {
		return r, fmt.Errorf("make the crawl's folder: %w", err)
	}
	const api, raft = "127.0.0.1:7790", "127.0.0.1:7791"
	coordinator, err := o.start("seined", folder+"/coordinator.log", "", "coordinator", "--id", "n1",
		"--data", o.path(folder+"/n1"), "--store", o.crawlStore(folder), "--listen", api,
		"--raft", raft, "--bootstrap", "n1="+raft)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, coordinator.end()) }()
	var workers []*process
	for i := range n {
		name := fmt.Sprintf("%s/w%d", folder, i+1)
		w, err := o.start("seined", name+".log", "", "worker", "--coordinator", "http://"+api,
			"--scratch", o.path(name), "--connections", strconv.Itoa(o.connections))
		if err != nil {
			return r, err
		}
		defer func() { _ = w.end() }() // it has nothing left to seal
		workers = append(workers, w)
	}
	top := int(float64(o.seconds*n*o.connections) / o.latency.Seconds())
	settings := []string{"--scope", "any", "--delay", o.delay.String(), "--dns", dns,
		"--allow-network", "127.0.0.0/8", "--top-n", strconv.Itoa(max(top, 2*o.hosts)),
		"--round-time", "10m", "--pages-round", strconv.Itoa(o.pagesRound)}
	if err := o.crawl(ctx, folder, api, append(settings, "--seeds", o.path("seeds"))...); err != nil {
		return r, err
	}
	used, err := watch(web, workers)
	if err != nil {
		return r, err
	}
	began := time.Now()
	err = o.crawl(ctx, folder, api, "--top-n", strconv.Itoa(top))
	samples, sampleErr := used.stop()
	if err = errors.Join(err, sampleErr); err != nil {
		return r, err
	}
	all, err := requests(o.path("access.log"), began)
	if err != nil {
		return r, err
	}
	if len(all) < 100 {
		return r, fmt.Errorf("the measured round made %d requests only", len(all))
	}
	all = all[len(all)/10 : len(all)*9/10]
	from, to := all[0].end, all[len(all)-1].end
	r.pages, r.seconds = len(all), to-from
	for _, a := range all {
		r.answer += a.took / float64(len(all))
	}
	r.workers, r.web, r.machine = samples.between(from, to)
	return r, nil
}

// stoppedByLimit is the exit code of seine when --rounds ended it.
const stoppedByLimit = 8

// crawl runs one round.
func (o options) crawl(ctx context.Context, folder, api string, words ...string) error {
	args := append([]string{"crawl", "--coordinator", "http://" + api, "--store",
		o.crawlStore(folder), "--rounds", "1"}, words...)
	c := exec.CommandContext(ctx, o.path("seine"), args...)
	out, err := c.CombinedOutput()
	if err != nil && c.ProcessState.ExitCode() != stoppedByLimit {
		return fmt.Errorf("seine crawl: %w\n%s", err, out)
	}
	return nil
}
