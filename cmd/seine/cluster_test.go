package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"seine/formats/objstore/storetest"
)

// daemon is a seined that is started again and again with the same words.
type daemon struct {
	program string
	args    []string
	env     []string // nil: the test's
	log     string
	cmd     *exec.Cmd
	ended   chan struct{}
}

func (d *daemon) name() string { return strings.TrimSuffix(filepath.Base(d.log), ".log") }

func (d *daemon) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(d.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	d.cmd = exec.Command(d.program, d.args...)
	d.cmd.Stdout, d.cmd.Stderr, d.cmd.Env = log, log, d.env
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, ended := d.cmd, make(chan struct{})
	d.ended = ended
	go func() {
		_ = cmd.Wait() // how it ended stands in its state
		close(ended)
	}()
}

// hasEnded says whether the process is no more.
func (d *daemon) hasEnded() bool {
	select {
	case <-d.ended:
		return true
	default:
		return false
	}
}

// end sends a signal and waits for the end; it returns the exit code, -1 if the
// signal ended it.
func (d *daemon) end(signal syscall.Signal) int {
	_ = d.cmd.Process.Signal(signal) // an error says that it has ended
	<-d.ended
	return d.cmd.ProcessState.ExitCode()
}

// cluster is a group of processes over one store.
type cluster struct {
	t             *testing.T
	folder, store string
	seine, seined string
	coordinators  []*daemon
	workers       []*daemon
	urls          string
	settle        settlement
}

// settlement is what the processes of a cluster have around them. The zero value is a machine
// with a folder and nobody else.
type settlement struct {
	env   []string                                        // of every process; nil: the test's
	store func(id string) string                          // as a process names it; nil: the cluster's
	wire  func(from, to, address string) (reached string) // an address as from sees it; nil: itself
	delay time.Duration                                   // of the crawl; 0: killDelay
	disk  func(id string) string                          // a process's own folder; nil: below the cluster's
}

// onBucket puts the crawl into a bucket of an S3 server that the test starts.
func (c *cluster) onBucket() storetest.Gateway {
	c.t.Helper()
	gateway := storetest.StartGateway(c.t)
	c.settle.env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(c.folder, "cache"))
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		c.settle.env = append(c.settle.env, name+"="+gateway.Env(name))
	}
	c.settle.store = func(string) string { return gateway.Address("crawl") }
	return gateway
}

// onSickBucket puts the crawl into a bucket of a server that can be ill. It is reached by the
// cluster's wires, if it has some.
func (c *cluster) onSickBucket(dice *rand.Rand) *sick {
	c.t.Helper()
	before, endpoint, _ := strings.Cut(c.onBucket().Address("crawl"), "endpoint=")
	endpoint, err := url.QueryUnescape(endpoint)
	if err != nil {
		c.t.Fatal(err)
	}
	sick, address := newSick(c.t, endpoint, dice)
	c.settle.store = func(id string) string {
		return before + "endpoint=" + url.QueryEscape("http://"+c.reached(id, "s3", address))
	}
	return sick
}

// copied are the rows of the cluster's store, wherever it is.
func (c *cluster) copied() map[string][]string {
	c.t.Helper()
	folder := filepath.Join(c.folder, "copied")
	c.run("copy", c.named(""), folder)
	return rows(c.t, folder)
}

// processes builds the programs and serves the web from a net of its own, for a test that
// runs beside others.
func processes(t *testing.T, net int) (*cluster, served, *undisturbed) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds three programs and kills them")
	}
	t.Parallel()
	calm, folder := calmCrawl(t), t.TempDir()
	c := &cluster{t: t, folder: folder, store: filepath.Join(folder, "crawl"),
		seine: build(t, "seine/cmd/seine"), seined: build(t, "seine/cmd/seined")}
	return c, serveWeb(t, build(t, "seine/cmd/testweb"), folder, net), calm
}

// freeAddress is an address that nobody listens at, and that the kernel gives to no connection that
// somebody opens: it keeps the ports above 32767 for those.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(22_000)))
		if err != nil {
			continue
		}
		defer l.Close()
		return l.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}

// reached is the address of to as from sees it.
func (c *cluster) reached(from, to, address string) string {
	if c.settle.wire == nil {
		return address
	}
	return c.settle.wire(from, to, address)
}

// reachedAll are the addresses of the coordinators' API as from sees them.
func (c *cluster) reachedAll(from string, api []string) string {
	var urls []string
	for i, address := range api {
		urls = append(urls, "http://"+c.reached(from, nodeID(i), address))
	}
	return strings.Join(urls, ",")
}

func nodeID(i int) string { return fmt.Sprintf("n%d", i+1) }

// disk is the folder that is a process's own.
func (c *cluster) disk(id string) string {
	if c.settle.disk == nil {
		return filepath.Join(c.folder, id)
	}
	return c.settle.disk(id)
}

// named is the store as a process names it.
func (c *cluster) named(id string) string {
	if c.settle.store == nil {
		return c.store
	}
	return c.settle.store(id)
}

// startAll starts three coordinators and so many workers, and waits for a leader.
func (c *cluster) startAll(workers int) {
	c.t.Helper()
	c.t.Cleanup(c.stop)
	var raft, api []string
	for range 3 {
		raft, api = append(raft, freeAddress(c.t)), append(api, freeAddress(c.t))
	}
	for i := range raft {
		id := nodeID(i)
		var group []string // as this node reaches it
		for j, address := range raft {
			from := id
			if i == j { // how the others reach it, whoever they are
				from = ""
			}
			group = append(group, nodeID(j)+"="+c.reached(from, nodeID(j), address))
		}
		d := c.coordinator(id, api[i], raft[i], "--bootstrap", strings.Join(group, ","))
		d.start(c.t)
		c.coordinators = append(c.coordinators, d)
	}
	c.urls = c.reachedAll("", api)
	for i := range workers {
		name := fmt.Sprintf("w%d", i+1)
		d := &daemon{program: c.seined, log: filepath.Join(c.folder, name+".log"), env: c.settle.env,
			args: []string{"worker", "--coordinator", c.reachedAll(name, api), "--scratch",
				c.disk(name), "--store", c.named(name)}}
		d.start(c.t)
		c.workers = append(c.workers, d)
	}
	c.awaitHealth(c.urls)
}

func (c *cluster) coordinator(id, api, raft string, how ...string) *daemon {
	d := &daemon{program: c.seined, log: filepath.Join(c.folder, id+".log"), env: c.settle.env,
		args: append([]string{"coordinator", "--id", id, "--data", c.disk(id), "--store",
			c.named(id), "--listen", api, "--raft", raft}, how...)}
	return d
}

// all are the processes, the coordinators first.
func (c *cluster) all() []*daemon {
	return append(append([]*daemon{}, c.coordinators...), c.workers...)
}

// stop ends what still runs, and shows the logs of a test that failed.
func (c *cluster) stop() {
	for _, d := range c.all() {
		if !d.hasEnded() {
			_ = d.cmd.Process.Signal(syscall.SIGCONT)
			d.end(syscall.SIGKILL)
		}
	}
	if !c.t.Failed() {
		return
	}
	for _, d := range c.all() {
		text, _ := os.ReadFile(d.log)
		c.t.Logf("%s ends:\n%s", d.name(), text[max(0, len(text)-1500):])
	}
}

// command is a verb of seine that asks the coordinators.
func (c *cluster) command(urls string, words ...string) *exec.Cmd {
	args := []string{words[0], "--coordinator", urls, "--store", c.named("")}
	cmd := exec.Command(c.seine, append(args, words[1:]...)...)
	cmd.Dir, cmd.Env = c.folder, c.settle.env
	return cmd
}

// crawling is the command that crawls.
func (c *cluster) crawling(w served, urls string) *exec.Cmd {
	delay := killDelay
	if c.settle.delay != 0 {
		delay = c.settle.delay
	}
	return c.command(urls, append([]string{"crawl", "--scope", "any", "--delay", delay.String(),
		"--dns", w.dns, "--allow-network", "127.0.0.0/8"}, w.seeds...)...)
}

// crawl runs the crawl to its end, again when the coordinators were away for too
// long.
func (c *cluster) crawl(w served, urls string) error {
	for try := 0; ; try++ {
		var out bytes.Buffer
		cmd := c.crawling(w, urls)
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		if err == nil || cmd.ProcessState.ExitCode() != exitInUse || try == 10 {
			if err != nil {
				err = fmt.Errorf("seine crawl: %w\n%s", err, out.String())
			}
			return err
		}
	}
}

// awaitHealth waits until one of the nodes knows a leader.
func (c *cluster) awaitHealth(urls string) {
	c.t.Helper()
	var last error
	for range 600 {
		for url := range strings.SplitSeq(urls, ",") {
			if last = c.healthy(url); last == nil {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatalf("no leader after 30 s: %v", last)
}

// asker asks for health.
var asker = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func (c *cluster) healthy(url string) error {
	r, err := asker.Get(url + "/healthz")
	if err != nil {
		return err
	}
	if r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, r.Status)
	}
	return errors.Join(err, r.Body.Close())
}

// check runs seine check.
func (c *cluster) check() {
	c.t.Helper()
	cmd := exec.Command(c.seine, "check", "--store", c.named(""))
	cmd.Env = c.settle.env
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Errorf("seine check: %v\n%s", err, out)
	}
}

// awaitRequests waits until the web has been asked so often.
func (c *cluster) awaitRequests(log string, n int) {
	c.t.Helper()
	for range 1200 {
		text, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			c.t.Fatal(err)
		}
		if bytes.Count(text, []byte("\n")) >= n {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	c.t.Fatalf("not %d requests after 30 s", n)
}
