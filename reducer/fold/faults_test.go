package fold_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"seine/formats/layout"
	"seine/formats/objstore"
	"seine/formats/objstore/fault"
	"seine/formats/objstore/mem"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/jobs"
	"seine/reducer/fold"
	"seine/reducer/task"
	"seine/reducer/twin"
)

// ready is a crawl whose second round has come to its reduce stage.
func ready(t testing.TB) (*crawl, *round) {
	t.Helper()
	c := newCrawl(t, settings.Settings{Scope: "any", Retries: 1}, 1)
	c.inject(seedURLs...)
	c.reduce(c.fetchRound(randomWeb(1)))
	c.now += hourMS
	return c, c.fetchRound(randomWeb(1))
}

// copied is the crawl's environment on a copy of its store, through a plan of
// faults.
func copied(t testing.TB, c *crawl, plan fault.Plan) (task.Env, *fault.Store) {
	t.Helper()
	store := mem.New()
	c.must(c.store.List(c.ctx, "", "", func(i objstore.Info) error {
		body, err := c.store.Get(c.ctx, i.Key)
		if err != nil {
			return err
		}
		return store.Put(c.ctx, i.Key, objstore.Bytes(body), objstore.PutOptions{})
	}))
	faulty := fault.New(store, plan)
	return twin.Env(faulty, c.env.Scratch, c.set, c.env.Suffixes), faulty
}

// left gives the digest of all that an attempt wrote, by name, and the end
// without the attempt.
func left(t testing.TB, e task.Env, spec jobs.Spec, n uint64) map[string]string {
	t.Helper()
	folder := layout.Task(spec.Job, string(jobs.StageReduce), 0)
	attempt := layout.Attempt{Epoch: 1, N: n}.String()
	all := map[string]string{}
	err := e.Store.List(t.Context(), folder, "", func(i objstore.Info) error {
		body, err := e.Store.Get(t.Context(), i.Key)
		name, mine := strings.CutPrefix(i.Key, folder+attempt+"/")
		switch {
		case err != nil:
			return err
		case mine:
			all[name] = fmt.Sprintf("%x", sha256.Sum256(body))
		case i.Key == folder+"end":
			all["end"] = string(bytes.ReplaceAll(body, []byte(attempt), []byte("ATTEMPT")))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Attempts leave the same bytes, on whatever worker.
func TestRerun(t *testing.T) {
	c, r := ready(t)
	var before map[string]string
	for n := uint64(1); n <= 3; n++ {
		e, _ := copied(t, c, nil)
		if n == 3 {
			e.MemoryBytes = 1 << 12 // everything spills, and inputs are sorted first
		}
		task := taskOf(r.spec, jobs.StageReduce, 0, r.inputs)
		task.Attempt.N = n
		if _, err := fold.Run(t.Context(), e, task); err != nil {
			t.Fatal(err)
		}
		now := left(t, e, r.spec, n)
		if before != nil {
			if diff := gocmp.Diff(before, now); diff != "" {
				t.Errorf("attempt %d left something else:\n%s", n, diff)
			}
		}
		before = now
	}
	if len(before) < 12 {
		t.Errorf("an attempt leaves only %d objects: the test shows little", len(before))
	}
}

// The store fails once, at each operation in turn: the attempt fails or is
// right, and the next one is right.
func TestFaults(t *testing.T) {
	c, r := ready(t)
	e, clean := copied(t, c, nil)
	first := taskOf(r.spec, jobs.StageReduce, 0, r.inputs)
	if _, err := fold.Run(t.Context(), e, first); err != nil {
		t.Fatal(err)
	}
	ops := len(clean.Ops())
	want := left(t, e, r.spec, 1)
	gone := errors.New("gone")
	for name, f := range map[objstore.Kind]fault.Fault{"": {Before: gone},
		objstore.OpPut:  {After: gone},
		objstore.OpRead: {Torn: true}} {
		t.Run(fmt.Sprintf("%+v", f), func(t *testing.T) {
			for n := range ops {
				if name != "" && clean.Ops()[n].Kind != name {
					continue
				}
				e, store := copied(t, c, fault.At(n, f))
				_, err := fold.Run(t.Context(), e, first)
				failed := err != nil
				if failed && !errors.Is(err, gone) && !errors.Is(err, objstore.ErrUnavailable) {
					t.Errorf("%v: error %v hides its cause", clean.Ops()[n], err)
				}
				store.SetPlan(nil)
				second := first
				second.Attempt.N = 2
				if _, err := fold.Run(t.Context(), e, second); err != nil {
					t.Errorf("after %v: %v", clean.Ops()[n], err)
					continue
				}
				got := left(t, e, r.spec, 2)
				if len(got) == 1 { // the end is of the first attempt
					got = left(t, e, r.spec, 1)
				}
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("after %v:\n%s", clean.Ops()[n], diff)
				}
			}
		})
	}
}

// Inputs that break a promise end the task, and the error names the URL.
func TestDamagedInputs(t *testing.T) {
	listed := func(m *met) *schema.Fetch { return &m.fetches[0] }
	tests := []struct {
		name   string
		damage func(m *met)
		want   string
	}{
		{"a listed URL is lost", func(m *met) { m.fetches = m.fetches[1:] },
			"http://a.test/1 was listed and has neither a final row nor waits again"},
		{"two final rows", func(m *met) {
			again := *listed(m)
			again.StartedAt++
			m.fetches = append(m.fetches, again)
		}, "http://a.test/1 has two final rows"},
		{"final and waiting", func(m *met) {
			again := *listed(m)
			again.Final, again.Reason = false, schema.Untouched
			m.left = append(m.left, again)
		}, "http://a.test/1 has a final row (http_404) and waits again (untouched)"},
		{"a URL that was not listed", func(m *met) { listed(m).URL = "http://a.test/0" },
			"http://a.test/0 has a final row (http_404) by the wrong stage"},
		{"a reason that nobody knows", func(m *met) { listed(m).Reason = "whim" },
			`http://a.test/1 ended as "whim": unknown reason`},
		{"waits again for a final reason", func(m *met) {
			again := *listed(m)
			again.Final = false
			m.fetches, m.left = m.fetches[1:], append(m.left, again)
		}, `http://a.test/1 waits again as "http_404": no such reason`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newCrawl(t, settings.Settings{}, 1)
			c.inject("http://a.test/1", "http://a.test/2")
			r := c.fetchRound(func(spec jobs.Spec, list []schema.List) (m met) {
				for i := range list {
					m.fetches = append(m.fetches, answered(spec, &list[i], schema.NotFound, 404, 1))
				}
				test.damage(&m)
				return m
			})
			_, err := fold.Run(t.Context(), c.env, taskOf(r.spec, jobs.StageReduce, 0, r.inputs))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
