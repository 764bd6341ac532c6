package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"seine/cmd/internal/audit"
	"seine/coordinator/api"
	"seine/coordinator/raftnode"
	"seine/coordinator/state"
	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/mem"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/mapper/webtest"
	"seine/reducer/prune"
	"seine/reducer/sweep"
	"seine/reducer/task"
)

const day = 24 * time.Hour

// nightly is a crawl in a bubble that runs for a few minutes of each day.
type nightly struct {
	t     *testing.T
	crawl *Crawl
	web   *webtest.Web
}

// nightlyWeb is a small web whose pages change from an epoch on.
func nightlyWeb(epoch time.Time) webtest.Spec {
	return webtest.Spec{Seed: 5, Domains: 4, Pages: 5, MaxHost: 12, Links: 4,
		Latency: 50 * time.Millisecond, Epoch: epoch}
}

func newNightly(t *testing.T, set settings.Settings) *nightly {
	t.Helper()
	n := &nightly{t: t, web: webtest.New(nightlyWeb(time.Now()))}
	c, err := OpenCrawl(t.Context(), OnStore(mem.New(), "mem:", t.TempDir()), true)
	if err != nil {
		t.Fatal(err)
	}
	c.Codec, n.crawl = rowfile.Snappy, c
	if _, _, err := c.PutSettings(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	return n
}

// submit does jobs one after the other, and what upkeep follows them.
func (n *nightly) submit(submissions ...state.Submission) {
	n.t.Helper()
	c := n.crawl
	err := alone(n.t.Context(), c, Runners(c, c.Store.Local, Synthetic(n.web), Limits{}),
		func(ctx context.Context, _ *raftnode.Node, conn api.Conn) error {
			for _, s := range submissions {
				job, err := run(ctx, conn, s, nil)
				if err != nil {
					return err
				}
				if job.Outcome != state.Commit {
					return fmt.Errorf("job %d ended as %s: %s", job.Job, job.Outcome, job.Error)
				}
			}
			for { // the upkeep that came due
				status, err := conn.Status(ctx)
				if err != nil || status.Idle {
					return err
				}
				time.Sleep(time.Second)
			}
		})
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *nightly) seeds() {
	n.t.Helper()
	var lines []byte
	for _, raw := range n.web.Seeds(6) {
		u, err := weburl.Normalize(raw, weburl.Options{})
		if err != nil {
			n.t.Fatal(err)
		}
		line, err := json.Marshal(jobs.Seed{URL: u.URL, Domain: n.crawl.Suffixes.Domain(u.Host), Host: u.Host,
			Raw: raw})
		if err != nil {
			n.t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	sum := sha256.Sum256(lines)
	key := layout.Upload(hex.EncodeToString(sum[:]))
	if err := objstore.PutIfAbsent(n.t.Context(), n.crawl.Store, key, lines); err != nil {
		n.t.Fatal(err)
	}
	n.submit(state.Submission{RequestID: "inject", Kind: jobs.KindInject, Inject: &jobs.Inject{Upload: key}})
}

// headBytes is more than an expired commit has, and less than any other.
const headBytes = 250

// held is what the store holds.
type held struct {
	objects, bytes int64 // but for specs and commits
	commits        int64 // bytes
	heads          int64 // how many of the commits have expired
}

func (n *nightly) held() (h held) {
	n.t.Helper()
	err := n.crawl.Store.List(n.t.Context(), "", "", func(i objstore.Info) error {
		if _, err := layout.ParseSpec(i.Key); err == nil {
			return nil
		}
		if strings.HasPrefix(i.Key, layout.CommitPrefix) {
			h.commits += i.Size
			if i.Size < headBytes {
				h.heads++
			}
			return nil
		}
		h.objects, h.bytes = h.objects+1, h.bytes+i.Size
		return nil
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return h
}

// check reads all of a snapshot.
func (n *nightly) check(m *lsm.Manifest) {
	n.t.Helper()
	c := n.crawl
	report, err := audit.Run(n.t.Context(), audit.Crawl{Store: c.Store, Open: c.Store.Open,
		Source: c.Env("").Source(), Suffixes: c.Suffixes}, m, audit.Options{ReadData: true})
	if err != nil {
		n.t.Fatal(err)
	}
	for _, f := range report.Findings {
		n.t.Errorf("snapshot %d: %v", m.N, f)
	}
}

func (n *nightly) head() *lsm.Manifest {
	n.t.Helper()
	head, err := n.crawl.Head(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	return head
}

// TestTwoMonths: a crawl of a web that changes, a round or two a night for two
// months, under retention: what it holds does not grow with its age, what it holds is
// right, and it goes on from a snapshot that is kept.
func TestTwoMonths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		span := func(d time.Duration) settings.Duration { return settings.Duration(d) }
		n := newNightly(t, settings.Settings{Contact: "https://example.org/", Scope: "any", Delay: span(time.Second),
			AllowNetwork: []string{"127.0.0.0/8"}, RoundDuration: span(time.Hour), IntervalFirst: span(day),
			IntervalSeed: span(day), IntervalMin: span(day), IntervalMax: span(9 * day), Retention: span(7 * day),
			KeepFetches: span(6 * day), KeepLinks: span(3 * day), KeepVersions: 2})
		n.seeds()
		var nights []held
		for night := range 60 {
			n.night(fmt.Sprint(night))
			nights = append(nights, n.held())
		}
		n.bounded(nights[20:40], nights[40:])
		head := n.head()
		n.check(head)
		if counts := n.counts(head, jobs.KindPrune); counts[prune.CountJoined] == 0 ||
			counts[prune.CountVersions] == 0 || counts[prune.CountTables] == 0 || counts[prune.CountArchives] == 0 {
			t.Errorf("prune had not everything to do: %v", counts)
		}
		if len(head.Parts) > 40 || head.Parts[0].Oldest() != 1 {
			t.Errorf("%d parts, the oldest of job %d", len(head.Parts), head.Parts[0].Oldest())
		}
		if fetched := n.counts(head, jobs.KindRound)["reason_"+schema.OK]; fetched < 3*head.Known {
			t.Errorf("%d pages were fetched of %d URLs: the web has hardly changed", fetched, head.Known)
		}
		if _, err := n.crawl.Snapshot(t.Context(), head.N/2); !errors.Is(err, lsm.ErrExpired) {
			t.Errorf("snapshot %d, a month old: %v", head.N/2, err)
		}
		kept := head.N - 20
		old, err := n.crawl.Snapshot(t.Context(), kept)
		if err != nil {
			t.Fatal(err)
		}
		n.check(old)
		if err := n.crawl.restorable(t.Context(), head, head.N-60); !errors.Is(err, state.ErrRefused) ||
			!strings.Contains(err.Error(), "retention (168h0m0s, and the newest 10)") {
			t.Errorf("a restore of snapshot %d, which is not kept: %v", head.N-60, err)
		}
		n.submit(state.Submission{RequestID: "restore", Kind: jobs.KindRestore,
			Restore: &jobs.Restore{Snapshot: kept}})
		n.check(n.head())
		for night := range 3 {
			n.night(fmt.Sprint("after-", night))
		}
		n.check(n.head())
	})
}

// night runs two rounds, sweeps, and sleeps until the next night.
func (n *nightly) night(id string) {
	n.t.Helper()
	n.rounds(id)
	if _, err := n.crawl.Sweep(n.t.Context(), sweep.Options{Now: time.Now()}); err != nil {
		n.t.Fatal(err)
	}
	time.Sleep(day)
}

// rounds runs two rounds, and the upkeep after them.
func (n *nightly) rounds(id string) {
	n.t.Helper()
	var rounds []state.Submission
	for i := range 2 {
		rounds = append(rounds, state.Submission{RequestID: fmt.Sprint("round-", id, "-", i),
			Kind: jobs.KindRound, Round: &jobs.Round{OnFailed: "commit"}})
	}
	n.submit(rounds...)
}

// bounded: the store held about as much in the second of two equal spans as in the
// first; of old commits the heads alone are left.
func (n *nightly) bounded(before, after []held) {
	n.t.Helper()
	for what, of := range map[string]func(held) int64{
		"objects":          func(h held) int64 { return h.objects },
		"bytes":            func(h held) int64 { return h.bytes },
		"bytes of commits": func(h held) int64 { return h.commits - h.heads*headBytes },
	} {
		var most [2]int64
		for i, span := range [][]held{before, after} {
			for _, h := range span {
				most[i] = max(most[i], of(h))
			}
		}
		if most[1]*10 > most[0]*11 {
			n.t.Errorf("%s: at most %d in one span, %d in the next", what, most[0], most[1])
		}
	}
	if first, last := before[0].heads, after[len(after)-1].heads; last < first+100 {
		n.t.Errorf("%d commits had expired, later %d", first, last)
	}
}

// counts adds the counts of all jobs of a kind, from the table rounds.
func (n *nightly) counts(m *lsm.Manifest, kind jobs.Kind) map[string]int64 {
	n.t.Helper()
	sum := map[string]int64{}
	for _, part := range m.Parts {
		for _, o := range part.Tables[schema.Rounds] {
			err := task.EachRow(n.t.Context(), n.crawl.Env(""), o, nil, func(row *schema.RoundRow) error {
				for name, count := range row.Counts {
					if row.Kind == string(kind) {
						sum[strings.Clone(name)] += count
					}
				}
				return nil
			})
			if err != nil {
				n.t.Fatal(err)
			}
		}
	}
	return sum
}
