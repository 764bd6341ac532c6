package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"seine/coordinator/client"
	"seine/coordinator/state"
	"seine/formats/schema"
	"seine/jobs"
	"seine/mapper/webtest"
)

// fullRoot names the environment variable that tells the test's child its mount point.
const fullRoot = "SEINE_TEST_FULL_ROOT"

// onOwnDisk runs a test on a disk of its own, of so many bytes, which the test may fill: in a child
// that has its own mount namespace. Where there can be none, the test says so, and is skipped.
func onOwnDisk(t *testing.T, size string, try func(t *testing.T, root string)) {
	t.Helper()
	if root := os.Getenv(fullRoot); root != "" {
		if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size="+size); err != nil {
			t.Skip("this system lets a test mount nothing:", err)
		}
		try(t, root)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	child.Env = append(os.Environ(), fullRoot+"="+t.TempDir())
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		t.Skipf("NOT RUN: %s needs a mount namespace: %v", t.Name(), err)
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	case bytes.Contains(out, []byte("--- SKIP: "+t.Name())):
		t.Skipf("NOT RUN: %s:\n%s", t.Name(), out)
	case !bytes.Contains(out, []byte("--- PASS: "+t.Name())):
		t.Errorf("the child has not run the test:\n%s", out)
	default:
		t.Logf("%s", out)
	}
}

// TestFullDisk crawls on a disk of 1 MiB: the verb must say what is wrong by its exit code and what
// to do, and nothing that was committed is lost.
func TestFullDisk(t *testing.T) { onOwnDisk(t, "1m", crawlFullDisk) }

func crawlFullDisk(t *testing.T, root string) {
	web := webtest.New(webtest.Spec{Seed: 3, Plain: true, Domains: 30, Pages: 40})
	store := filepath.Join(root, "crawl")
	r := line{web: web}.run(t, crawlArgs(store, web.Seeds(5))...).must(t, exitStorage)
	if !strings.Contains(r.err, "full") {
		t.Errorf("the error does not say that the disk is full:\n%s", r.err)
	}
	line{}.run(t, "check", "--store", store).must(t, exitOK)
	// With room, the same command goes on.
	if err := syscall.Mount("", root, "", syscall.MS_REMOUNT, "size=200m"); err != nil {
		t.Skip("this system lets a test remount nothing:", err)
	}
	line{web: web}.run(t, crawlArgs(store, web.Seeds(5), "--max-pages", "50")...)
	line{}.run(t, "check", "--store", store).must(t, exitOK)
}

// fill fills the disk at root to its last byte; free gives the space back.
func fill(t *testing.T, root string) (free func()) {
	t.Helper()
	path := filepath.Join(root, "ballast")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for piece := make([]byte, 1<<20); len(piece) > 0; {
		if _, err := f.Write(piece); err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		} else if err != nil {
			piece = piece[:len(piece)/2]
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// plenty is a site of many pages, which counts how often each is asked for.
type plenty struct {
	root  string
	mu    sync.Mutex
	asked map[string]int
}

const plentyPages = 120

func newPlenty(t *testing.T) *plenty {
	p := &plenty{asked: map[string]int{}}
	p.root = "http://" + serveLocal(t, p)
	return p
}

// ServeHTTP implements http.Handler.
func (p *plenty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	p.mu.Lock()
	p.asked[r.URL.Path]++
	p.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	for i := range plentyPages {
		fmt.Fprintf(w, "<a href=/%d>the page %d of many that say the same in %s</a>\n", i, i, r.URL.Path)
	}
}

// count is how many pages have been asked for, and how many of them more than once.
func (p *plenty) count() (pages, repeats int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.asked {
		if n > 1 {
			repeats++
		}
	}
	return len(p.asked), repeats
}

// await waits until so many pages have been asked for.
func (p *plenty) await(t *testing.T, pages int) {
	t.Helper()
	await(t, fmt.Sprint(pages, " pages"), func() bool {
		n, _ := p.count()
		return n >= pages
	})
}

// judge says what is wrong after a crawl of the site: every page is known and fetched, and at most
// so many of them were asked for again.
func (p *plenty) judge(c *cluster, repeats int) {
	c.t.Helper()
	c.check()
	pages, again := p.count()
	if pages != plentyPages+1 || again > repeats {
		c.t.Errorf("%d pages asked for, %d of them again; want %d and at most %d", pages, again,
			plentyPages+1, repeats)
	}
	fetched := 0
	for _, row := range known(c.t, c.store) {
		if row.Reason == schema.OK && row.CrawlCount == 1 {
			fetched++
		}
	}
	if fetched != plentyPages+1 {
		c.t.Errorf("%d pages are fetched, want %d", fetched, plentyPages+1)
	}
}

// fullCluster starts a cluster of which one process has its folder on the disk at root, and a site
// for it.
func fullCluster(t *testing.T, root, id string, workers int) (*cluster, *plenty) {
	folder := t.TempDir()
	c := &cluster{t: t, folder: folder, store: filepath.Join(folder, "crawl"),
		seine: build(t, "seine/cmd/seine"), seined: build(t, "seine/cmd/seined")}
	c.settle.disk = func(of string) string {
		if of == id {
			return filepath.Join(root, id)
		}
		return filepath.Join(folder, of)
	}
	c.startAll(workers)
	return c, newPlenty(t)
}

// plentifully is the command that crawls the site.
func (c *cluster) plentifully(p *plenty) (crawl *exec.Cmd, said *bytes.Buffer) {
	said = new(bytes.Buffer)
	crawl = c.command(c.urls, "crawl", "--delay", "50ms", "--allow-network", "127.0.0.0/8", p.root+"/")
	crawl.Stdout, crawl.Stderr = said, said
	return crawl, said
}

// TestFullScratch fills the scratch disk of a cluster's worker in the middle of a round. The
// command says what is full and what to do, and that works: only the page whose answer came when
// there was no room for it is asked for again.
func TestFullScratch(t *testing.T) { onOwnDisk(t, "32m", crawlFullScratch) }

func crawlFullScratch(t *testing.T, root string) {
	c, web := fullCluster(t, root, "w1", 1)
	crawl, said := c.plentifully(web)
	if err := crawl.Start(); err != nil {
		t.Fatal(err)
	}
	web.await(t, plentyPages/4)
	free := fill(t, root)
	err := crawl.Wait()
	lacks := func(want string) bool { return !strings.Contains(said.String(), want) }
	if err == nil || lacks(syscall.ENOSPC.Error()) || lacks(root) || lacks("at worker") {
		t.Errorf("a full scratch disk ends the crawl with %v, want whose disk is full:\n%s", err, said)
	}
	c.check()
	free()
	c.rerun(said.String())
	crawl, said = c.plentifully(web)
	if err := crawl.Run(); err != nil {
		t.Fatalf("seine crawl: %v\n%s", err, said)
	}
	web.judge(c, 1)
}

// TestFullCoordinator fills the disk of the coordinator that leads. It ends with the reason as soon
// as its log takes no more, and so it does when it is started on the full disk; the group and the
// crawl go on without it. With space it comes back.
func TestFullCoordinator(t *testing.T) { onOwnDisk(t, "64m", crawlFullCoordinator) }

func crawlFullCoordinator(t *testing.T, root string) {
	c, web := fullCluster(t, root, "n1", 1)
	leads := c.coordinators[0]
	c.members("transfer", leads.name())
	crawl, said := c.plentifully(web)
	if err := crawl.Start(); err != nil {
		t.Fatal(err)
	}
	web.await(t, plentyPages/4)
	free := fill(t, root)
	c.fillLog(leads)
	leads.endsFull(t)
	leads.start(t)
	leads.endsFull(t)
	if err := crawl.Wait(); err != nil {
		t.Errorf("seine crawl: %v\n%s", err, said)
	}
	free()
	leads.start(t)
	await(t, "n1 leads again", func() bool {
		_, err := c.command(c.urls, "member", "transfer", leads.name()).CombinedOutput()
		return err == nil && c.leader() == leads
	})
	web.judge(c, 0)
}

// fillLog fills two files of the coordinators' log, or less if one of them ends before. It submits
// rounds with very long names and cancels them while they wait.
func (c *cluster) fillLog(until *daemon) {
	c.t.Helper()
	conn, err := client.New(c.urls, client.Options{Patience: 10 * time.Second})
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i < 40 && !until.hasEnded(); i++ {
		s := state.Submission{RequestID: fmt.Sprint(i, strings.Repeat("x", 500_000)),
			Kind: jobs.KindRound, Round: &jobs.Round{}}
		if _, err := conn.Submit(c.t.Context(), s); err == nil {
			_ = conn.Cancel(c.t.Context(), state.Cancel{JobRef: state.JobRef{RequestID: s.RequestID}})
		} // what is refused is in the log as well
	}
}

// endsFull waits until a process has ended because of its full disk.
func (d *daemon) endsFull(t *testing.T) {
	t.Helper()
	await(t, d.name()+" has ended", d.hasEnded)
	text, err := os.ReadFile(d.log)
	last := text[bytes.LastIndexByte(bytes.TrimSpace(text), '\n')+1:]
	code := d.cmd.ProcessState.ExitCode()
	if err != nil || code != exitFailed || !bytes.Contains(last, []byte("the disk is full")) {
		t.Errorf("%s ended with code %d, want %d and its full disk as the reason (%v):\n%s", d.name(), code,
			exitFailed, err, text[max(0, len(text)-3000):])
	}
}
