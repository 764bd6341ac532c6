package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The group tests kill real processes. The seed makes the choice of victims
// repeatable, though not the moments at which they are where they are.
var (
	groupSeed    = flag.Uint64("group.seed", 1, "seed of the kills of TestKilledGroup")
	groupActions = flag.Int("group.actions", 6, "kills, stops and terminations of TestKilledGroup")
)

// daemon is a seined that is started again and again with the same words.
type daemon struct {
	program string
	args    []string
	log     string
	cmd     *exec.Cmd
	ended   chan error
}

func (d *daemon) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(d.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	d.cmd = exec.Command(d.program, d.args...)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, ended := d.cmd, make(chan error, 1)
	d.ended = ended
	go func() { ended <- cmd.Wait() }()
}

// end sends a signal and waits for the end; it returns the exit code, -1 if the
// signal ended it.
func (d *daemon) end(signal syscall.Signal) int {
	_ = d.cmd.Process.Signal(signal) // an error says that it has ended
	<-d.ended
	return d.cmd.ProcessState.ExitCode()
}

// cluster is a group of processes over one directory.
type cluster struct {
	t             *testing.T
	folder, store string
	seine, seined string
	coordinators  []*daemon
	workers       []*daemon
	urls          string
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// newCluster starts three coordinators and so many workers.
func newCluster(t *testing.T, folder, seine, seined string, workers int) *cluster {
	t.Helper()
	c := &cluster{t: t, folder: folder, store: filepath.Join(folder, "crawl"), seine: seine, seined: seined}
	t.Cleanup(c.stop)
	var first, urls []string
	for i := range 3 {
		first = append(first, fmt.Sprintf("n%d=%s", i+1, freeAddress(t)))
	}
	for i := range 3 {
		api := freeAddress(t)
		urls = append(urls, "http://"+api)
		_, raft, _ := strings.Cut(first[i], "=")
		d := c.coordinator(fmt.Sprintf("n%d", i+1), api, raft, "--bootstrap", strings.Join(first, ","))
		d.start(t)
		c.coordinators = append(c.coordinators, d)
	}
	c.urls = strings.Join(urls, ",")
	for i := range workers {
		name := fmt.Sprintf("w%d", i+1)
		d := &daemon{program: seined, log: filepath.Join(folder, name+".log"), args: []string{"worker",
			"--coordinator", c.urls, "--scratch", filepath.Join(folder, name)}}
		d.start(t)
		c.workers = append(c.workers, d)
	}
	return c
}

func (c *cluster) coordinator(id, api, raft string, how ...string) *daemon {
	return &daemon{program: c.seined, log: filepath.Join(c.folder, id+".log"),
		args: append([]string{"coordinator", "--id", id, "--data", filepath.Join(c.folder, id), "--store",
			c.store, "--listen", api, "--raft", raft}, how...)}
}

// stop ends what still runs, and shows the logs of a test that failed.
func (c *cluster) stop() {
	for _, d := range append(c.coordinators, c.workers...) {
		if d.cmd.ProcessState == nil {
			_ = d.cmd.Process.Signal(syscall.SIGCONT)
			_ = d.cmd.Process.Kill()
			<-d.ended
		}
	}
	if !c.t.Failed() {
		return
	}
	for _, d := range append(c.coordinators, c.workers...) {
		text, _ := os.ReadFile(d.log)
		c.t.Logf("%s ends:\n%s", filepath.Base(d.log), text[max(0, len(text)-1500):])
	}
}

// crawling is the command that crawls.
func (c *cluster) crawling(w served, urls string) *exec.Cmd {
	cmd := exec.Command(c.seine, append([]string{"crawl", "--coordinator", urls, "--scope", "any", "--delay",
		killDelay.String(), "--dns", w.dns, "--allow-network", "127.0.0.0/8"}, w.seeds...)...)
	cmd.Dir = c.folder
	return cmd
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

func (c *cluster) healthy(url string) bool {
	r, err := http.Get(url + "/healthz")
	if err != nil {
		return false
	}
	_ = r.Body.Close()
	return r.StatusCode == http.StatusOK
}

// awaitHealth waits until one of the nodes knows a leader.
func (c *cluster) awaitHealth(urls string) {
	c.t.Helper()
	for range 600 {
		for url := range strings.SplitSeq(urls, ",") {
			if c.healthy(url) {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatal("no leader after 30 s")
}

// check runs seine check.
func (c *cluster) check() {
	c.t.Helper()
	if out, err := exec.Command(c.seine, "check", "--store", c.store).CombinedOutput(); err != nil {
		c.t.Errorf("seine check: %v\n%s", err, out)
	}
}

// programs builds what the group tests run and crawls once in quiet: the truth.
func programs(t *testing.T) (folder, seine, seined, testweb string, truth map[string][]string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds three programs")
	}
	folder = t.TempDir()
	seine, testweb = build(t, folder, "seine/cmd/seine"), build(t, folder, "seine/cmd/testweb")
	seined = build(t, folder, "seine/cmd/seined")
	calm := filepath.Join(folder, "calm")
	if err := os.Mkdir(calm, 0o755); err != nil {
		t.Fatal(err)
	}
	web := serveWeb(t, testweb, calm, groupDNS)
	crawlProcess(t, seine, filepath.Join(calm, "crawl"), web, 0)
	web.end()
	return folder, seine, seined, testweb, rows(t, filepath.Join(calm, "crawl"))
}

const groupDNS = "127.0.0.1:5392"

// TestKilledGroup kills, stops and terminates coordinators and workers while a
// crawl runs, and compares what is left with a crawl that nobody disturbed.
func TestKilledGroup(t *testing.T) {
	folder, seine, seined, testweb, truth := programs(t)
	web := serveWeb(t, testweb, folder, groupDNS)
	defer web.end()
	c := newCluster(t, folder, seine, seined, 2)
	c.awaitHealth(c.urls)
	crawled := make(chan error, 1)
	go func() { crawled <- c.crawl(web, c.urls) }()
	kills := c.disturb(rand.New(rand.NewPCG(*groupSeed, 0)), *groupActions, crawled)
	if err := <-crawled; err != nil {
		t.Fatal(err)
	}
	web.end()
	c.check()
	all := hits(t, web.log)
	faults, repeats := judge(all)
	for _, fault := range faults {
		t.Error(fault)
	}
	// What a killed worker had not sealed is in its spool. Another worker that gets
	// the task has not: it asks again for what came within the sealing interval.
	if unsealed := busiest(all, 10); repeats > kills*unsealed {
		t.Errorf("%d kills of workers, %d repeats in %d requests", kills, repeats, len(all))
	}
	t.Logf("seed %d: %d workers killed, %d requests, %d of them repeats", *groupSeed, kills, len(all), repeats)
	sameRows(t, rows(t, c.store), truth)
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
// has ended, and says how many workers it killed.
func (c *cluster) disturb(random *rand.Rand, actions int, crawled chan error) (kills int) {
	all := append(append([]*daemon{}, c.coordinators...), c.workers...)
	for range actions {
		select {
		case err := <-crawled:
			crawled <- err
			return kills
		case <-time.After(time.Duration(700+random.IntN(900)) * time.Millisecond):
		}
		i := random.IntN(len(all))
		d := all[i]
		switch random.IntN(3) {
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
				c.t.Errorf("%s ended with code %d on SIGTERM", filepath.Base(d.log), code)
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
	folder, seine, seined, testweb, truth := programs(t)
	web := serveWeb(t, testweb, folder, groupDNS)
	defer web.end()
	c := newCluster(t, folder, seine, seined, 2)
	c.awaitHealth(c.urls)
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
	recovered := c.coordinator("r1", api, freeAddress(t), "--recover", "--quiet", "20s")
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
	fenced := 0
	for i, d := range old {
		select {
		case <-d.ended:
			d.ended <- nil
			if code := d.cmd.ProcessState.ExitCode(); code != 9 {
				t.Errorf("n%d of the old group ended with code %d, want 9", i+1, code)
			}
			fenced++
		case <-time.After(30 * time.Second): // it never heard of an epoch, and cannot lead
		}
	}
	if fenced <= len(old)/2 {
		t.Errorf("%d nodes of the old group ended, want most", fenced)
	}
	web.end()
	c.check()
	all := hits(t, web.log)
	faults, repeats := judge(all)
	for _, fault := range faults {
		t.Error(fault)
	}
	t.Logf("%d requests, %d of them repeats", len(all), repeats)
	if repeats > 10 {
		t.Errorf("%d repeats: sealed work was lost", repeats)
	}
	sameRows(t, rows(t, c.store), truth)
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
