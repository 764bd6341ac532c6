package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"seine/formats/lsm"
	"seine/formats/schema"
)

// heedWithin is how soon, in seconds, an order must be kept as the server sees it.
const heedWithin = 5

// steered is a crawl by the real command, in one round that other processes steer.
type steered struct {
	t     *testing.T
	seine string
	store string
	web   served
	crawl *exec.Cmd
	said  bytes.Buffer
	ended chan error
}

func (s *steered) command(args ...string) *exec.Cmd {
	c := exec.Command(s.seine, append(args, "--store", s.store)...)
	c.Dir = filepath.Dir(s.store)
	return c
}

// verb runs a command and returns the time when it had been carried out, s.
func (s *steered) verb(args ...string) float64 {
	s.t.Helper()
	if out, err := s.command(args...).CombinedOutput(); err != nil {
		s.t.Fatalf("seine %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return seconds()
}

func seconds() float64 { return float64(time.Now().UnixMicro()) / 1e6 }

// lasts is a time in which an order holds; the end of it, s.
func (s *steered) lasts(after time.Duration) float64 {
	time.Sleep(heedWithin*time.Second + after)
	return seconds()
}

// begin starts the crawl in the background.
func (s *steered) begin(args ...string) {
	s.t.Helper()
	s.crawl = s.command(append([]string{"crawl", "--dns", s.web.dns, "--allow-network", "127.0.0.0/8"}, args...)...)
	s.crawl.Stdout, s.crawl.Stderr = &s.said, &s.said
	if err := s.crawl.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan error, 1)
	go func() { s.ended <- s.crawl.Wait() }()
}

// until waits for requests that began after a time, as the log has them.
func (s *steered) until(after float64, ok func([]hit) bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if ok(between(hits(s.t, s.web.log), after, seconds())) {
			return
		}
		select {
		case err := <-s.ended:
			s.t.Fatalf("the crawl ended: %v\n%s", err, s.said.String())
		default:
		}
		if time.Now().After(end) {
			s.t.Fatal("the server waits in vain")
		}
	}
}

// between are the requests that began in a time, s.
func between(all []hit, from, to float64) (in []hit) {
	for _, h := range all {
		if h.start > from && h.start < to {
			in = append(in, h)
		}
	}
	return in
}

// TestOrdersAtTheServer gives every order of an operator to a crawl in the middle
// of a round, each by the real command, and judges by the server's log alone.
func TestOrdersAtTheServer(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	t.Parallel()
	folder := t.TempDir()
	s := &steered{t: t, seine: build(t, "seine/cmd/seine"), store: filepath.Join(folder, "crawl")}
	s.web = serve(t, build(t, "seine/cmd/testweb"), folder, 9, []string{"-seed", "5", "-domains", "4",
		"-pages", "600", "-max-host", "700", "-plain", "-page-bytes", "30000", "-latency", "20ms", "-count", "4"})
	defer s.web.end()
	s.begin(append([]string{"--scope", "any", "--delay", "5ms", "--rounds", "3", "--top-n", "150"}, s.web.seeds...)...)
	if err := <-s.ended; s.crawl.ProcessState.ExitCode() != exitWaiting {
		t.Fatalf("the first rounds: %v\n%s", err, s.said.String())
	}
	start, active := seconds(), 18*time.Second
	s.begin("--delay", "200ms", "--rounds", "1", "--top-n", "50000", "--round-time", active.String())
	defer func() { _ = s.crawl.Process.Kill() }()
	asked := func(n int) func([]hit) bool {
		return func(in []hit) bool {
			groups := map[string]bool{}
			for _, h := range in {
				groups[h.group()] = true
			}
			return len(groups) >= n
		}
	}
	s.until(start, asked(3))
	first := between(hits(t, s.web.log), start, seconds())[0]

	blocked := first.group()
	blockedAt := s.verb("block", blocked, "--reason", "they asked")
	cappedAt := s.verb("settings", "set", "domain_bandwidth=10KiB")
	cappedTo := s.lasts(2 * time.Second)
	s.verb("settings", "unset", "domain_bandwidth")
	slowedAt := s.verb("settings", "set", "delay=1500ms")
	slowedTo := s.lasts(3 * time.Second)
	pausedAt := s.verb("pause", "--reason", "tea")
	pausedTo := s.lasts(time.Second)
	s.verb("resume")
	s.until(pausedTo, asked(1))
	round := s.openRound()
	heldAt := s.verb("pause", strconv.Itoa(round))
	heldTo := s.lasts(11 * time.Second) // longer than a lease
	sealed := s.sealed()
	s.verb("resume")
	s.until(heldTo, asked(1))
	<-s.ended
	if s.crawl.ProcessState.ExitCode() != exitWaiting {
		t.Fatalf("the crawl: %v\n%s", s.crawl.ProcessState, s.said.String())
	}
	s.web.end()

	all := hits(t, s.web.log)
	sortHits(all)
	for what, in := range map[string][]hit{
		"what is blocked":        ofGroup(between(all, blockedAt+heedWithin, seconds()), blocked),
		"anything in a pause":    between(all, pausedAt+heedWithin, pausedTo),
		"anything, round paused": between(all, heldAt+heedWithin, heldTo),
	} {
		if len(in) > 0 {
			t.Errorf("%d requests to %s, the first to %s%s", len(in), what, in[0].host, in[0].path)
		}
	}
	s.judgeCap(between(all, cappedAt+heedWithin, cappedTo), 10<<10, cappedTo-cappedAt-heedWithin)
	s.judgeGaps(between(all, slowedAt+heedWithin, slowedTo), 1.5)
	// The round asked for as long as it was to, whatever the pauses took.
	last := all[len(all)-1].start - first.start
	if pauses := pausedTo - pausedAt + heldTo - heldAt - 2*heedWithin; last < active.Seconds()+1 ||
		last > active.Seconds()+pauses+6*heedWithin {
		t.Errorf("the round asked for %.1f s with its pauses of at least %.1f s; its time was %v", last, pauses, active)
	}
	s.judgeTables(round, blocked, sealed, len(between(all, start, heldTo)))
}

func ofGroup(all []hit, group string) (in []hit) {
	for _, h := range all {
		if h.group() == group {
			in = append(in, h)
		}
	}
	return in
}

// judgeCap holds the bytes of each group against a cap in bytes/s: what a bucket
// and the sockets hold comes on top.
func (s *steered) judgeCap(in []hit, limit int, took float64) {
	s.t.Helper()
	sums := map[string]int{}
	for _, h := range in {
		sums[h.group()] += h.bytes
	}
	for group, sum := range sums {
		if most := int(float64(limit)*took) + 80_000; sum > most {
			s.t.Errorf("%s sent %d bytes in %.1f s, at most %d may be", group, sum, took, most)
		}
	}
}

// judgeGaps holds the time between an answer of a group and its next request
// against a delay, s, from start to start: the end of an answer the server may note
// late.
func (s *steered) judgeGaps(in []hit, delay float64) {
	s.t.Helper()
	last, gaps := map[string]float64{}, 0
	for _, h := range in {
		if before, ok := last[h.group()]; ok {
			if gaps++; h.start-before < delay-0.005 {
				s.t.Errorf("%s%s came %.3f s after the request before", h.host, h.path, h.start-before)
			}
		}
		last[h.group()] = h.start
	}
	if gaps == 0 {
		s.t.Error("nothing was asked for twice while the delay was longer: it shows nothing")
	}
}

// openRound is the number of the round that runs.
func (s *steered) openRound() int {
	s.t.Helper()
	specs, err := filepath.Glob(filepath.Join(s.store, "rounds", "*", "fetch"))
	if err != nil || len(specs) == 0 {
		s.t.Fatalf("rounds: %v, %v", specs, err)
	}
	slices.Sort(specs)
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(specs[len(specs)-1])))
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// sealed is how many answers the chunks hold that the open round's logs name.
func (s *steered) sealed() (n int) {
	s.t.Helper()
	c, head, done := snapshot(s.t, s.store)
	defer done()
	l := &looking{Crawl: c, head: head}
	open, err := l.openRounds(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, o := range open.Chunks {
		if o.Kind != schema.Fetches {
			continue
		}
		err := readRows(s.t.Context(), l, lsm.Object{Key: o.Key, Bytes: o.Size}, []string{"http_status"},
			func(row *schema.Fetch) error {
				if row.HTTPStatus > 0 {
					n++
				}
				return nil
			})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return n
}

// judgeTables: what had been asked for when the round was held lay sealed in the
// store; one attempt did it all; what was blocked ended so.
func (s *steered) judgeTables(round int, blocked string, sealed, asked int) {
	s.t.Helper()
	if sealed < asked-1 { // the block may have cut one off
		s.t.Errorf("while the round was held %d answers lay sealed; the server had %d requests", sealed, asked)
	}
	n := 0
	for _, row := range known(s.t, s.store) {
		if row.Domain == blocked && row.Reason == schema.Blocked {
			n++
		}
	}
	if n == 0 {
		s.t.Error("no URL ended as blocked")
	}
	attempts, err := filepath.Glob(filepath.Join(s.store, "rounds", "*"+strconv.Itoa(round), "fetch", "*", "a*"))
	if err != nil || len(attempts) != 1 {
		s.t.Errorf("the round's fetch task was tried by %v, %v: its lease was not kept", attempts, err)
	}
	if out, err := s.command("check").CombinedOutput(); err != nil {
		s.t.Errorf("check: %v\n%s", err, out)
	}
}
