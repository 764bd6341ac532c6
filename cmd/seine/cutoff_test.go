package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"seine/coordinator/api"
	"seine/jobs/worker"
)

// urls are all that the undisturbed crawl knew: as seeds, they make one long round.
func (u *undisturbed) urls(t *testing.T) (all []string) {
	t.Helper()
	for _, row := range u.rows["urls"] {
		var known struct{ URL string }
		if err := json.Unmarshal([]byte(row), &known); err != nil || known.URL == "" {
			t.Fatalf("a row of urls: %s (%v)", row, err)
		}
		all = append(all, known.URL)
	}
	return all
}

// longRound begins a crawl of one long round, and waits until it fetches.
func (c *cluster) longRound(web served, calm *undisturbed) (crawled chan error) {
	web.seeds = calm.urls(c.t)
	crawled = make(chan error, 1)
	go func() { crawled <- c.crawl(web, c.urls) }()
	c.awaitRequests(web.log, 40)
	return crawled
}

// verdict ends a crawl and judges it; it returns the requests in the order in which they began, and
// how many were repeats.
func (c *cluster) verdict(web served, crawled chan error) (all []hit, repeats int) {
	c.t.Helper()
	if err := <-crawled; err != nil {
		c.t.Fatal(err)
	}
	web.end()
	c.check()
	all = hits(c.t, web.log)
	wrong, repeats := judge(all, c.settle.delay)
	for _, what := range wrong {
		c.t.Error(what)
	}
	sortHits(all)
	return all, repeats
}

// within are the requests that began in a span of time.
func within(all []hit, from, to time.Time) (some []hit) {
	for _, h := range all {
		if h.start >= unix(from) && h.start < unix(to) {
			some = append(some, h)
		}
	}
	return some
}

// unix is a time as the access log writes it.
func unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// TestCutOffWorkersStopAsking: one worker is cut off from the coordinators, but not from the web,
// and the other is suspended. The first goes on asking for a while, and stops before its leases end;
// neither asks when it is back, before it has been granted tasks anew.
func TestCutOffWorkersStopAsking(t *testing.T) {
	c, web, calm := processes(t, 4)
	defer web.end()
	c.settle.delay = 400 * time.Millisecond
	lines := newWires(t)
	c.settle.wire = lines.wire
	c.startAll(2)
	crawled := c.longRound(web, calm)
	own := func(from, _ string) bool { return from == "w1" }
	at := time.Now()
	lines.set(silent, own)
	_ = c.workers[1].cmd.Process.Signal(syscall.SIGSTOP)
	back := at.Add(worker.LeaseTime + 2*time.Second)
	time.Sleep(time.Until(back))
	lines.set(clear, own)
	_ = c.workers[1].cmd.Process.Signal(syscall.SIGCONT)
	all, repeats := c.verdict(web, crawled)
	ends := at.Add(worker.LeaseTime - 3*time.Second + 100*time.Millisecond)
	if n := len(within(all, at.Add(time.Second), at.Add(6*time.Second))); n == 0 {
		t.Error("nobody asked while the leases lasted: nothing was tried")
	}
	if late := within(all, ends, back); len(late) > 0 {
		t.Errorf("%d requests after the leases had to be over: %.1f s after the last heartbeat", len(late),
			late[0].start-unix(at))
	}
	if n := len(within(all, back, back.Add(time.Minute))); n < 20 {
		t.Errorf("%d requests were left to be made: nothing was tried", n)
	}
	// What each had sealed counts; the suspended one seals what it has when it is back, or
	// another asks again.
	if repeats > 20 {
		t.Errorf("%d repeats", repeats)
	}
}

// TestLeadersAreLost: the leader is killed, and the next is suspended for a while. Another leads
// within 3 s, no fetch stops, and what the second believed when it came back did no harm: no URL is
// asked for twice.
func TestLeadersAreLost(t *testing.T) {
	c, web, calm := processes(t, 5)
	defer web.end()
	c.settle.delay = 200 * time.Millisecond
	c.startAll(2)
	crawled := c.longRound(web, calm)
	first := c.leader()
	killed := time.Now()
	first.end(syscall.SIGKILL)
	led := c.awaitLeader(killed)
	if took := led.Sub(killed); took > 3*time.Second {
		t.Errorf("another leads after %v", took)
	}
	first.start(t)
	time.Sleep(time.Second)
	second := c.leader()
	stopped := time.Now()
	_ = second.cmd.Process.Signal(syscall.SIGSTOP)
	if took := c.awaitLeader(stopped).Sub(stopped); took > 3*time.Second {
		t.Errorf("another leads %v after the second was suspended", took)
	}
	_ = second.cmd.Process.Signal(syscall.SIGCONT)
	all, repeats := c.verdict(web, crawled)
	if repeats > 0 {
		t.Errorf("%d URLs were asked for again, and no worker was lost", repeats)
	}
	for _, from := range []time.Time{killed, stopped} {
		last := unix(from)
		for _, h := range within(all, from, from.Add(3*time.Second)) {
			if h.start-last > 1 {
				t.Errorf("nothing was asked for during %.1f s without a leader", h.start-last)
			}
			last = h.start
		}
		if last == unix(from) {
			t.Error("nothing was asked for without a leader")
		}
	}
	sameRows(t, pagesOf(rows(t, c.store)), pagesOf(calm.rows))
}

var roundField = regexp.MustCompile(`"round":[0-9]+,?`)

// pagesOf are the pages alone, in whichever rounds they were fetched.
func pagesOf(rows map[string][]string) map[string][]string {
	var pages []string
	for _, row := range rows["pages"] {
		pages = append(pages, roundField.ReplaceAllString(row, ""))
	}
	slices.Sort(pages)
	return map[string][]string{"pages": pages}
}

// leader is the coordinator that leads, as one of the others says.
func (c *cluster) leader() *daemon {
	c.t.Helper()
	for range 200 {
		for url := range strings.SplitSeq(c.urls, ",") {
			if id := leaderBy(url); id != "" {
				for _, d := range c.coordinators {
					if d.name() == id {
						return d
					}
				}
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatal("nobody leads")
	return nil
}

func leaderBy(url string) string {
	r, err := asker.Get(url + api.PathGroup)
	if err != nil {
		return ""
	}
	defer r.Body.Close()
	var group api.Members
	if b, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(b, &group) != nil || r.StatusCode != http.StatusOK {
		return ""
	}
	for _, m := range group.Members {
		if m.Leader {
			return m.ID
		}
	}
	return ""
}

var leadsLine = regexp.MustCompile(`(?m)^time=(\S+) level=INFO msg="this coordinator leads" `)

// awaitLeader waits until a coordinator has begun to lead after a moment, and says when that was.
func (c *cluster) awaitLeader(after time.Time) (led time.Time) {
	c.t.Helper()
	for range 400 {
		for _, d := range c.coordinators {
			text, err := os.ReadFile(d.log)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				c.t.Fatal(err)
			}
			for _, m := range leadsLine.FindAllSubmatch(text, -1) {
				if led, err = time.Parse(time.RFC3339Nano, string(m[1])); err == nil && led.After(after) {
					return led
				}
			}
		}
		time.Sleep(25 * time.Millisecond)
	}
	c.t.Fatal("nobody leads after 10 s")
	return led
}
