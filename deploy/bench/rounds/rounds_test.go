package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore/dir"
	"seine/formats/schema"
	"seine/reducer/task"
)

// TestRoundCosts runs thin rounds beside 100,000 URLs and holds their counts,
// which are exact, to the targets of must 5; and the same round run again to the
// same counts.
func TestRoundCosts(t *testing.T) {
	l := load{Rounds: 3, Pages: 150, Links: 20}
	r, store := measured(t, shape{Seed: 5, URLs: 100_000}, l)
	for i := range r.Rounds {
		if n := r.Rounds[i]; n.Listed != l.Pages || n.Candidates < 1000 || n.KeyPages == 0 {
			t.Errorf("round %d: %d pages, %d candidates, %d key pages", i+1, n.Listed, n.Candidates,
				n.KeyPages)
		}
	}
	for _, v := range r.verdicts() {
		t.Logf("%s: %.3f", v.what, v.is)
		if !v.holds && v.what != "peak memory in GiB" {
			t.Errorf("%s: %.3f, want at most %.0f", v.what, v.is, v.most)
		}
	}
	again := runOn(t, store, load{Rounds: 1, Pages: l.Pages, Links: l.Links})
	first, second := r.Rounds[0].total(), again.Rounds[0].total()
	first.Wall, first.Peak, second.Wall, second.Peak = 0, 0, 0, 0
	if diff := gocmp.Diff(first, second); diff != "" {
		t.Errorf("the same round cost something else (-first +again):\n%s", diff)
	}
}

func measured(t *testing.T, s shape, l load) (*result, string) {
	store := filepath.Join(t.TempDir(), "store")
	if err := build(context.Background(), store, s, 1, io.Discard); err != nil {
		t.Fatal(err)
	}
	return runOn(t, store, l), store
}

func runOn(t *testing.T, store string, l load) *result {
	if _, err := run(context.Background(), store, store+".running", l, io.Discard); err != nil {
		t.Fatal(err)
	}
	r, err := loadResult(store)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(store + ".running"); !os.IsNotExist(err) {
		t.Errorf("the copy was left: %v", err)
	}
	return r
}

// TestBuiltCrawlIsSound: what is waited for in urls is in the frontier, once, by
// its ticket; counts are those of the rows; running leaves the store as it was.
func TestBuiltCrawlIsSound(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "store")
	if err := build(ctx, path, shape{Seed: 9, URLs: 10_000}, 2, io.Discard); err != nil {
		t.Fatal(err)
	}
	runOn(t, path, load{Rounds: 1, Pages: 50, Links: 5})
	store, err := dir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	env, err := environment(ctx, store, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m, err := lsm.Head(ctx, env.Source(), nil)
	if err != nil || m.N != jobsBefore {
		t.Fatalf("head %+v, %v; want snapshot %d", m, err, jobsBefore)
	}
	live := tickets(t, env, m)
	sums := map[string]schema.Domain{}
	known, pending := int64(0), int64(0)
	err = lsm.URLs().Scan(ctx, env.Open, m.Tables[schema.URLs], layout.All, nil,
		func(row *schema.URL, _ []lsm.Ref) error {
			known++
			sum := sums[row.Domain]
			sum.Known++
			if row.CrawlStatus == schema.Pending {
				sum.Pending++
				pending++
			}
			sums[row.Domain] = sum
			if n := live[ticket{row.URL, row.Queued}]; n != 1 || row.Delta {
				t.Errorf("%s with ticket %d has %d rows in the frontier", row.URL, row.Queued, n)
			}
			return nil
		})
	if err != nil || known != m.Known || known != m.Waiting || known != 10_000 {
		t.Errorf("%d rows, the manifest knows %d, %d wait; %v", known, m.Known, m.Waiting, err)
	}
	if pending < 7_300 || pending > 7_700 {
		t.Errorf("%d of 10000 are pending, want three quarters", pending)
	}
	err = lsm.Domains().Scan(ctx, env.Open, m.Tables[schema.Domains], layout.All, nil,
		func(row *schema.Domain, _ []lsm.Ref) error {
			if sum := sums[row.Domain]; sum.Known != row.Known || sum.Pending != row.Pending {
				t.Errorf("%s counts %d known, %d pending; has %d, %d", row.Domain, row.Known, row.Pending,
					sum.Known, sum.Pending)
			}
			delete(sums, row.Domain)
			return nil
		})
	if err != nil || len(sums) > 0 {
		t.Errorf("%d domains have no row; %v", len(sums), err)
	}
}

type ticket struct {
	url string
	job int64
}

func tickets(t *testing.T, e task.Env, m *lsm.Manifest) map[ticket]int {
	live := map[ticket]int{}
	for _, run := range m.Frontier {
		for _, o := range run.Objects {
			if err := task.EachRow(context.Background(), e, o.Object, nil,
				func(row *schema.FrontierRow) error {
					live[ticket{row.URL, row.Ticket}]++
					return nil
				}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return live
}

// TestRunRefusesOtherStores: a store without a shape is not measured.
func TestRunRefusesOtherStores(t *testing.T) {
	_, err := run(context.Background(), t.TempDir(), filepath.Join(t.TempDir(), "w"),
		load{Rounds: 1, Pages: 1, Links: 1}, io.Discard)
	if err == nil {
		t.Error("an empty folder was measured")
	}
}
