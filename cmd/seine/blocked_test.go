package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seine/formats/schema"
	"seine/mapper/webtest"
)

// blockedRound leaves a crawl whose round 3 is blocked: a file lies where its fetch task's spool
// should, so that every attempt fails. It returns the store, what is in the way, and the URLs that
// the round has chosen.
func blockedRound(t *testing.T, web *webtest.Web) (store, obstacle string, due map[string]schema.URL) {
	t.Helper()
	store = filepath.Join(t.TempDir(), "crawl")
	line{web: web}.run(t, crawlArgs(store, web.Seeds(3), "--rounds", "1")...).must(t, exitWaiting)
	due = known(t, store)
	for url, row := range due {
		if row.Queued == 0 || row.Why != schema.WhyNew {
			delete(due, url)
		}
	}
	if len(due) == 0 {
		t.Fatal("nothing is left for a second round")
	}
	obstacle = filepath.Join(store, ".seine", "scratch", "r00000003-t0000")
	if err := os.WriteFile(obstacle, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := line{web: web}.run(t, "round", "submit", "--store", store, "--on-failed", "block")
	r.must(t, exitFailed)
	for _, want := range []string{"blocked", "seine round rerun 3 --failed", "seine round commit 3"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("the error does not say %q:\n%s", want, r.err)
		}
	}
	return store, obstacle, due
}

// TestBlockedRound takes each way out of a blocked round, end to end.
func TestBlockedRound(t *testing.T) {
	for _, c := range []struct {
		name    string
		args    []string
		clear   bool // what was in the way goes first
		turn    bool // the URLs have their turn by it
		outcome string
	}{
		{"rerun --failed", []string{"rerun", "3", "--failed"}, true, true, "committed"},
		{"rerun --partition", []string{"rerun", "3", "--partition", "512"}, true, true, "committed"},
		{"commit", []string{"commit", "3"}, true, false, "committed"},
		{"cancel", []string{"cancel", "3"}, true, false, "committed"},
		{"cancel --discard", []string{"cancel", "3", "--discard"}, false, false, "discarded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			web := webtest.New(webtest.Spec{Seed: 3, Plain: true, Domains: 4, Pages: 4})
			store, obstacle, due := blockedRound(t, web)
			if c.clear {
				if err := os.Remove(obstacle); err != nil {
					t.Fatal(err)
				}
			}
			args := append(append([]string{"round"}, c.args...), "--store", store)
			line{web: web}.run(t, args...).must(t, exitOK)
			show := line{}.run(t, "round", "show", "3", "--store", store).must(t, exitOK)
			if !strings.Contains(show.out, c.outcome) {
				t.Errorf("round 3 is not %s:\n%s", c.outcome, show.out)
			}
			now := known(t, store)
			for url, before := range due {
				row := now[url]
				if row.Reason == schema.RobotsDenied {
					continue // generate refused it: no part of what failed
				}
				if turn := row.Round == 3; turn != c.turn || !turn && row.Queued != before.Queued {
					t.Errorf("%s had a turn: %v, want %v (ticket %d, was %d)", url, turn, c.turn, row.Queued,
						before.Queued)
				}
			}
			line{}.run(t, "check", "--store", store).must(t, exitOK)
			if err := os.RemoveAll(obstacle); err != nil {
				t.Fatal(err)
			}
			line{web: web}.run(t, crawlArgs(store, nil)...).must(t, exitOK)
			for url, row := range known(t, store) {
				if _, was := due[url]; was && row.Reason == "" {
					t.Errorf("%s never had a turn", url)
				}
			}
		})
	}
}
