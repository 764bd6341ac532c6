package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"seine/coordinator/api"
	"seine/coordinator/leader"
	"seine/coordinator/raftnode"
	"seine/coordinator/state"
	"seine/formats/layout"
	"seine/formats/objstore"
	"seine/formats/objstore/mem"
	"seine/formats/rowfile"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/mapper/webtest"
)

// machine is one that runs an embedded node on a bucket that others reach, too.
type machine struct {
	t     *testing.T
	crawl *Crawl
	web   *webtest.Web
}

func newMachine(t *testing.T, base objstore.Store, web *webtest.Web, name string) *machine {
	t.Helper()
	local := filepath.Join(t.TempDir(), name)
	c, err := OpenCrawl(t.Context(), OnStore(base, "mem:", local), true)
	if err != nil {
		t.Fatal(err)
	}
	c.Codec = rowfile.Snappy
	return &machine{t, c, web}
}

// run uses the machine's node as long as use runs.
func (m *machine) run(use func(ctx context.Context, conn api.Conn) error) error {
	scratch, err := scratchOf(m.crawl, Options{})
	if err != nil {
		return err
	}
	return alone(m.t.Context(), m.crawl, Runners(m.crawl, scratch, Synthetic(m.web), Limits{}),
		func(ctx context.Context, _ *raftnode.Node, conn api.Conn) error { return use(ctx, conn) })
}

// upload stores seeds for an inject.
func (m *machine) upload(seeds []string) (key layout.Key) {
	m.t.Helper()
	var lines []byte
	for _, raw := range seeds {
		u, err := weburl.Normalize(raw, weburl.Options{})
		if err != nil {
			m.t.Fatal(err)
		}
		line, err := json.Marshal(jobs.Seed{URL: u.URL, Raw: raw, Host: u.Host,
			Domain: m.crawl.Suffixes.Domain(u.Host)})
		if err != nil {
			m.t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	sum := sha256.Sum256(lines)
	key = layout.Upload(hex.EncodeToString(sum[:]))
	if err := objstore.PutIfAbsent(m.t.Context(), m.crawl.Store, key, lines); err != nil {
		m.t.Fatal(err)
	}
	return key
}

// everything is all pages of a web's hosts.
func everything(web *webtest.Web) (all []string) {
	for _, h := range web.Hosts() {
		for p := range h.Pages {
			all = append(all, h.Scheme+"://"+h.Name+webtest.Path(p))
		}
	}
	return all
}

// TestTwoMachinesOnOneBucket: while one crawls a bucket, another is refused; when the second takes the
// crawl over, the first ends, and the second goes on with its round. No server is asked sooner for it.
func TestTwoMachinesOnOneBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 2 * time.Second
		web := webtest.New(webtest.Spec{Seed: 3, Domains: 4, Pages: 60, MaxHost: 80, Plain: true,
			Latency: 100 * time.Millisecond})
		base := mem.New()
		first, second := newMachine(t, base, web, "first"), newMachine(t, base, web, "second")
		set := settings.Settings{Contact: "https://example.org/", Scope: "any",
			Delay: settings.Duration(delay), AllowNetwork: []string{"127.0.0.0/8"},
			RoundDuration: settings.Duration(time.Hour)}
		if _, _, err := first.crawl.PutSettings(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		inject := state.Submission{RequestID: "i", Kind: jobs.KindInject,
			Inject: &jobs.Inject{Upload: first.upload(everything(web))}}
		round := state.Submission{RequestID: "r", Kind: jobs.KindRound,
			Round: &jobs.Round{OnFailed: "commit", Duration: time.Hour.Milliseconds()}}
		ended := make(chan error, 1)
		go func() {
			ended <- first.run(func(ctx context.Context, conn api.Conn) error {
				if _, err := run(ctx, conn, inject, nil); err != nil {
					return err
				}
				_, err := run(ctx, conn, round, nil)
				return err
			})
		}()
		time.Sleep(20 * time.Second)
		nothing := func(context.Context, api.Conn) error { return errors.New("it was let in") }
		if err := second.run(nothing); !errors.Is(err, leader.ErrHeld) {
			t.Errorf("a second machine: %v, want ErrHeld", err)
		}
		took := time.Now()
		before := len(web.Log.Requests())
		epoch, err := TakeOver(t.Context(), second.crawl, func(time.Duration) {})
		if err != nil || epoch != 3 {
			t.Fatalf("taken over in epoch %d, %v; want 3", epoch, err)
		}
		if err := <-ended; !errors.Is(err, leader.ErrStepDown) {
			t.Errorf("the first machine ended with %v, want ErrStepDown", err)
		}
		requests := web.Log.Requests()
		if last := requests[len(requests)-1].At.Sub(took); len(requests) == before ||
			last > leader.GuardTime+5*time.Second {
			t.Errorf("the first machine asked for the last time %v after it was taken over", last)
		}
		var job api.Job
		err = second.run(func(ctx context.Context, conn api.Conn) (err error) {
			for !job.Over() && err == nil {
				job, err = conn.Watch(ctx, state.JobRef{Job: 2}, job.Version)
			}
			return err
		})
		if err != nil || job.Outcome != state.Commit || job.Counts["pages"] < int64(before) {
			t.Errorf("the round ended as %q with %d pages, %v", job.Outcome, job.Counts["pages"], err)
		}
		for _, j := range web.Log.Manners(web, func(string) time.Duration { return delay },
			time.Millisecond) {
			if what := j.Faulty(); what != "" || j.Repeats > 1 { // one was in flight
				t.Errorf("%s: %s, %d repeats", j.Domain, what, j.Repeats)
			}
		}
		if err := first.run(nothing); !errors.Is(err, leader.ErrHeld) {
			t.Errorf("the first machine again: %v, want ErrHeld", err)
		}
		if err := second.run(func(context.Context, api.Conn) error { return nil }); err != nil {
			t.Errorf("the second machine again: %v", err)
		}
	})
}
