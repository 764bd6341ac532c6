package fetch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/jobs"
	"seine/mapper/webtest"
)

// kill runs the task and cuts it off after d: what a killed process leaves is
// the store and the scratch folder.
func (w *world) kill(d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	_, err := w.run(ctx, foreverLease())
	w.task.Attempt.N++
	return err
}

func recoveryWorld(t *testing.T, seed uint64) *world {
	web := webtest.New(webtest.Spec{Seed: seed, Plain: true, Domains: 12, Pages: 8,
		Latency: 300 * time.Millisecond})
	w := newWorld(t, web, settings.Settings{SealInterval: settings.Duration(7 * time.Second)})
	var all []string
	for u := range web.Truth(web.Seeds(12), time.Now()) {
		all = append(all, u)
	}
	w.list(urls(all...)...)
	return w
}

// TestKilledAttempts kills attempts at random moments; every URL still ends
// once, and what was asked twice was in flight at a kill.
func TestKilledAttempts(t *testing.T) {
	for seed := range uint64(3) {
		for _, scratch := range []string{"kept", "lost"} {
			t.Run(fmt.Sprintf("seed %d, scratch %s", seed, scratch), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := recoveryWorld(t, seed)
					rng := rand.New(rand.NewPCG(seed, 1))
					kills := 0
					for kills < 6 {
						err := w.kill(time.Duration(1+rng.IntN(30000)) * time.Millisecond)
						if err == nil {
							break
						}
						kills++
						if scratch == "lost" {
							w.env.Scratch = t.TempDir()
						}
					}
					l := w.mustRun()
					w.complete(l)
					repeats := 0
					for _, j := range w.web.Log.Manners(w.web, func(string) time.Duration { return time.Second },
						time.Millisecond) {
						if faults := j.Faulty(); faults != "" {
							t.Error(faults)
						}
						repeats += j.Repeats
					}
					// In flight at a kill: at most one request a group.
					if groups := 12; scratch == "kept" && repeats > kills*groups {
						t.Errorf("%d repeats after %d kills", repeats, kills)
					}
				})
			})
		}
	}
}

// complete checks that every listed URL has one final row or waits again, and
// that no row counts twice.
func (w *world) complete(l *left) {
	w.t.Helper()
	final := l.final(w.t)
	waits := map[string]bool{}
	for _, f := range l.waiting {
		if _, ok := final[f.URL]; ok {
			w.t.Errorf("%s has a final row and waits", f.URL)
		}
		waits[f.URL] = true
	}
	listed, err := readList(context.Background(), w.env, w.task)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range listed {
		if _, ok := final[r.URL]; !ok && !waits[r.URL] {
			w.t.Errorf("%s is lost", r.URL)
		}
	}
	pages := map[string]int{}
	for _, p := range l.pages {
		if pages[p.URL]++; pages[p.URL] > 1 {
			w.t.Errorf("%s has two pages", p.URL)
		}
	}
}

// TestAFaultAtEveryPut lets each put fail: before, after it happened, or hang.
func TestAFaultAtEveryPut(t *testing.T) {
	for _, kind := range []string{"before", "after", "hang"} {
		t.Run(kind, func(t *testing.T) {
			for n := 1; ; n++ {
				done := false
				synctest.Test(t, func(t *testing.T) {
					web := webtest.New(webtest.Spec{Seed: 21, Plain: true, Domains: 2, Pages: 2})
					w := newWorld(t, web, settings.Settings{SealInterval: settings.Duration(2 * time.Second)})
					w.list(urls(web.Seeds(3)...)...)
					faulty := faultAtPut(w.store, n, kind)
					w.env.Store = faulty
					result, err := w.run(context.Background(), foreverLease())
					if err != nil { // the log could not be opened: another attempt does
						w.task.Attempt.N++
						result, err = w.run(context.Background(), foreverLease())
					}
					if err != nil {
						t.Fatalf("put %d: %v", n, err)
					}
					w.complete(w.read(result))
					for _, j := range web.Log.Manners(web, func(string) time.Duration { return time.Second }, 0) {
						if j.Repeats > 0 {
							t.Errorf("put %d: %d repeats", n, j.Repeats)
						}
					}
					done = !faulty.fired()
				})
				if done {
					return
				}
			}
		})
	}
}

func TestDrainSealsAndTheNextAttemptGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := recoveryWorld(t, 31)
		lease := foreverLease()
		time.AfterFunc(10*time.Second, lease.BeginDrain)
		if _, err := w.run(context.Background(), lease); !errors.Is(err, jobs.ErrDrained) {
			t.Fatalf("drained: %v", err)
		}
		if spent := len(w.web.Log.Requests()); spent == 0 {
			t.Error("nothing was asked before the drain")
		}
		w.env.Scratch = t.TempDir() // all is in the store
		w.task.Attempt.N++
		w.complete(w.mustRun())
		for _, j := range w.web.Log.Manners(w.web, func(string) time.Duration { return time.Second }, 0) {
			if j.Repeats > 0 {
				t.Errorf("%s: %d repeats after a drain", j.Domain, j.Repeats)
			}
		}
	})
}

func TestHardStopEndsTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := recoveryWorld(t, 32)
		w.task.Deadline = time.Now().Add(10 * time.Second).UnixMilli()
		began := time.Now()
		l := w.mustRun()
		w.complete(l)
		if len(l.waiting) == 0 || len(l.fetches) == 0 {
			t.Errorf("%d wait, %d fetched", len(l.waiting), len(l.fetches))
		}
		if took := time.Since(began); took > 21*time.Second {
			t.Errorf("took %v", took)
		}
		for _, f := range l.waiting {
			if f.Final || f.Reason != schema.Untouched {
				t.Errorf("waiting row %+v", f)
			}
		}
	})
}

func TestALostLeaseStopsRequestsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := recoveryWorld(t, 33)
		lease := foreverLease()
		var at time.Time
		time.AfterFunc(9500*time.Millisecond, func() { at = time.Now(); lease.Revoke() })
		if _, err := w.run(context.Background(), lease); !errors.Is(err, jobs.ErrLeaseLost) {
			t.Fatalf("got %v", err)
		}
		time.Sleep(time.Second) // servers see that they are left
		for _, r := range w.web.Log.Requests() {
			if r.At.After(at) {
				t.Errorf("%s%s was asked %v after the lease", r.Host, r.Path, r.At.Sub(at))
			}
		}
	})
}

func TestAClosingAttemptOnlySeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := recoveryWorld(t, 34)
		if err := w.kill(8 * time.Second); err == nil {
			t.Fatal("the task ended before it was killed")
		}
		asked := len(w.web.Log.Requests())
		w.task.Closing = true
		l := w.mustRun()
		w.complete(l)
		if n := len(w.web.Log.Requests()); n != asked {
			t.Errorf("a closing attempt made %d requests", n-asked)
		}
		if len(l.fetches) == 0 || len(l.waiting) == 0 {
			t.Errorf("%d fetched, %d wait", len(l.fetches), len(l.waiting))
		}
		time.Sleep(time.Second) // servers see that they are left
	})
}

func TestSuspectsAreSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := webtest.New(webtest.Spec{Seed: 35, Plain: true})
		w := newWorld(t, web, settings.Settings{})
		seeds := web.Seeds(2)
		w.list(urls(seeds...)...)
		w.task.Suspects = seeds[:1]
		final := w.mustRun().final(t)
		if final[seeds[0]].Reason != schema.Crashed || final[seeds[1]].Reason != schema.OK {
			t.Errorf("rows %+v", final)
		}
		for _, r := range web.Log.Requests() {
			if strings.HasSuffix(seeds[0], "//"+r.Host+"/") {
				t.Errorf("%s was asked for", r.Host)
			}
		}
	})
}

// putFault lets one put fail.
type putFault struct {
	*fault.Store
	puts *int
	n    int
}

// fired says whether there were enough puts for the fault.
func (p putFault) fired() bool { return *p.puts >= p.n }

func faultAtPut(s objstore.Store, n int, kind string) putFault {
	f := map[string]fault.Fault{
		"before": {Before: objstore.ErrUnavailable},
		"after":  {After: objstore.ErrUnavailable},
		"hang":   {Hang: true},
	}[kind]
	puts := 0
	return putFault{puts: &puts, n: n, Store: fault.New(s, func(op fault.Op) fault.Fault {
		if op.Kind == objstore.OpPut {
			if puts++; puts == n {
				return f
			}
		}
		return fault.Fault{}
	})}
}
