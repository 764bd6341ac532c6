package audit_test

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"seine/cmd/internal/audit"
	"seine/formats/catalog"
	"seine/formats/catalog/catalogtest"
	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/mem"
	"seine/formats/schema"
)

// crawl puts a fabricated crawl into an object store.
func crawl(t *testing.T, b *catalogtest.Builder) (audit.Crawl, objstore.Store) {
	t.Helper()
	store := mem.New()
	for key, body := range b.Store {
		if err := store.Put(t.Context(), key, objstore.Bytes(body), objstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return audit.Crawl{Store: store, Source: b.Store.Source(), Suffixes: b.Suffixes,
		Open: func(ctx context.Context, key layout.Key, size int64) (io.ReaderAt, error) {
			return objstore.Open(ctx, store, key, size), nil
		}}, store
}

func run(t *testing.T, c audit.Crawl, m *lsm.Manifest, o audit.Options) *audit.Report {
	t.Helper()
	r, err := audit.Run(t.Context(), c, m, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSound(t *testing.T) {
	b := catalogtest.Small()
	c, _ := crawl(t, b)
	for n := range b.Manifest.N + 1 {
		m, err := lsm.At(t.Context(), b.Store.Source(), n)
		if err != nil {
			t.Fatal(err)
		}
		if r := run(t, c, m, audit.Options{ReadData: true}); !r.OK() {
			t.Errorf("snapshot %d: %v", n, r.Findings)
		}
	}
	r := run(t, c, b.Manifest, audit.Options{ReadData: true})
	for _, check := range []string{"commits", "objects", "sidecars", "urls", "domains", "hosts", "robots", "waiting",
		"lists", "fetches", "pages", "records", "links"} {
		if r.Checked[check] == 0 {
			t.Errorf("nothing was checked of %s", check)
		}
	}
}

// TestDamage: each object in turn is lost, cut short, or has a byte changed, and
// the audit names it.
func TestDamage(t *testing.T) {
	b := catalogtest.Small()
	c, store := crawl(t, b)
	put := func(key string, body []byte) {
		if err := store.Put(t.Context(), key, objstore.Bytes(body), objstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for key, body := range b.Store {
		if key == layout.Latest || queue(key) && !slices.Contains(catalog.Files(b.Manifest, schema.Frontier), key) {
			continue // no snapshot of today names it
		}
		flipped := bytes.Clone(body)
		for _, at := range []int{50, 70, 90} { // page headers have no checksum: one of these is no header
			flipped[min(at, len(body)-1)] ^= 0x40
		}
		for damage, bad := range map[string][]byte{"lost": nil, "short": body[:len(body)-1], "flipped": flipped} {
			if damage == "flipped" && !strings.HasSuffix(key, ".parquet") && !strings.HasSuffix(key, ".bloom") {
				continue // JSON can be read another way; archives are below
			}
			t.Run(damage+" "+key, func(t *testing.T) {
				if bad == nil {
					if err := store.Delete(t.Context(), key); err != nil {
						t.Fatal(err)
					}
				} else {
					put(key, bad)
				}
				defer put(key, body)
				r := run(t, c, b.Manifest, audit.Options{ReadData: damage == "flipped"})
				named := slices.ContainsFunc(r.Findings, func(f audit.Finding) bool {
					return f.Object == key && f.Next != "" && f.What != ""
				})
				if !named {
					t.Errorf("not named; findings: %v", r.Findings)
				}
			})
		}
	}
}

func queue(key string) bool {
	return strings.HasSuffix(key, "waiting.parquet") || strings.HasSuffix(key, "ready.parquet")
}

func TestArchive(t *testing.T) {
	b := catalogtest.Small()
	c, store := crawl(t, b)
	key := catalogKey(b)
	body := bytes.Clone(b.Store[key])
	body[len(body)/2] ^= 1
	if err := store.Put(t.Context(), key, objstore.Bytes(body), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if r := run(t, c, b.Manifest, audit.Options{}); !r.OK() {
		t.Errorf("without reading data: %v", r.Findings)
	}
	r := run(t, c, b.Manifest, audit.Options{ReadData: true})
	if len(r.Findings) == 0 || r.Findings[0].Object != key {
		t.Errorf("findings %v, want one of %s", r.Findings, key)
	}
}

func catalogKey(b *catalogtest.Builder) string { return b.Manifest.Parts[1].WARC[0].Key }

// TestRepair: a damaged sidecar is rebuilt, byte for byte.
func TestRepair(t *testing.T) {
	b := catalogtest.Small()
	c, store := crawl(t, b)
	sidecar := b.Manifest.Tables[schema.URLs][0].Objects[0].Sidecar
	bad := bytes.Repeat([]byte("x"), len(b.Store[sidecar]))
	if err := store.Put(t.Context(), sidecar, objstore.Bytes(bad), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	r := run(t, c, b.Manifest, audit.Options{})
	if r.OK() || r.Findings[0].Object != sidecar || !strings.Contains(r.Findings[0].Next, "--repair") {
		t.Fatalf("findings: %v", r.Findings)
	}
	if r = run(t, c, b.Manifest, audit.Options{Repair: true}); !r.OK() || len(r.Findings) != 1 || !r.Findings[0].Fixed {
		t.Errorf("findings of the repair: %v", r.Findings)
	}
	got, err := store.Get(t.Context(), sidecar)
	if err != nil || !bytes.Equal(got, b.Store[sidecar]) {
		t.Errorf("the sidecar is not what it was (%v)", err)
	}
}

// TestBrokenMusts: crawls that are whole but wrong.
func TestBrokenMusts(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(j *catalogtest.Job, m *lsm.Manifest)
		says  string
	}{
		{"a final row twice", func(j *catalogtest.Job, _ *lsm.Manifest) {
			j.Fetches = append(j.Fetches, j.Fetches[0])
		}, "has 2 final rows"},
		{"no final row", func(j *catalogtest.Job, _ *lsm.Manifest) {
			r := j.Lists[0]
			j.Fetches, j.Pages, j.Links = nil, nil, nil
			row := row(r)
			row.Queued, row.QueuedRank = 0, 0
			row.Round = 1
			j.PutAs(row, 1)
		}, "neither a final row"},
		{"a request without a turn", func(j *catalogtest.Job, _ *lsm.Manifest) {
			j.Lists = nil
		}, "did not list it"},
		{"a page lost", func(j *catalogtest.Job, _ *lsm.Manifest) { j.Pages = nil }, "pages does not have it"},
		{"a page without a fetch", func(j *catalogtest.Job, _ *lsm.Manifest) {
			j.Fetches[0].Final = false
		}, "has no final 2xx row"},
		{"a target lost", func(j *catalogtest.Job, _ *lsm.Manifest) {
			j.Links[0].DstURL = "https://later.test/lost"
		}, "is not in urls"},
		{"an unknown reason", func(j *catalogtest.Job, _ *lsm.Manifest) {
			j.Fetches[0].Reason = "because"
		}, "nobody knows"},
		{"a wrong partition", func(j *catalogtest.Job, _ *lsm.Manifest) {
			j.Hosts = []schema.Host{{Partition: 5, Domain: "later.test", Host: "later.test"}}
		}, "is in partition"},
		{"a wrong domain", func(j *catalogtest.Job, _ *lsm.Manifest) {
			j.Hosts = []schema.Host{{Partition: 1, Domain: "later.test", Host: "a.b.test"}}
		}, "is a host of b.test"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := catalogtest.Small()
			j := b.Job("round")
			j.List(catalogtest.Later)
			j.Page(catalogtest.Later, "later", catalogtest.Home)
			tt.spoil(j, b.Manifest)
			j.Commit()
			c, _ := crawl(t, b)
			r := run(t, c, b.Manifest, audit.Options{})
			if !slices.ContainsFunc(r.Findings, func(f audit.Finding) bool { return strings.Contains(f.String(), tt.says) }) {
				t.Errorf("findings %v, want one that says %q", r.Findings, tt.says)
			}
		})
	}
}

func row(l schema.List) schema.URL {
	return schema.URL{Partition: l.Partition, Domain: l.Domain, Host: l.Host, URL: l.URL,
		CrawlStatus: schema.Pending, Depth: l.Depth}
}

// TestManifests: snapshots that say what is not so.
func TestManifests(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(m *lsm.Manifest)
		says  string
	}{
		{"known", func(m *lsm.Manifest) { m.Known++ }, "URLs are known"},
		{"waiting", func(m *lsm.Manifest) { m.Waiting-- }, "URLs wait"},
		{"cursor", func(m *lsm.Manifest) {
			o := &m.Frontier[len(m.Frontier)-1].Objects[0]
			o.Cursor = slices.Clone(o.Counts)
		}, "has no row in the frontier"},
		{"a run twice in the queue", func(m *lsm.Manifest) {
			m.Frontier = append(slices.Clone(m.Frontier), m.Frontier[len(m.Frontier)-1])
		}, "live rows"},
		{"a list forgotten", func(m *lsm.Manifest) {
			runs := slices.Clone(m.Tables[schema.URLs])
			runs[1].Objects = slices.Clone(runs[1].Objects)
			runs[1].Objects[0].Superseded = ""
			m.Tables[schema.URLs] = runs
		}, "that should not be"},
		{"runs out of age", func(m *lsm.Manifest) {
			runs := slices.Clone(m.Tables[schema.URLs])
			slices.Reverse(runs)
			m.Tables[schema.URLs] = runs
		}, "counts, but is named as superseded"},
		{"an archive forgotten", func(m *lsm.Manifest) {
			m.Parts = slices.Clone(m.Parts)
			m.Parts[1].WARC = nil
		}, "which the snapshot does not have"},
		{"not what the commits say", func(m *lsm.Manifest) { m.Settings = 9 }, "do not come to the snapshot"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := catalogtest.Small()
			c, _ := crawl(t, b)
			m, err := lsm.At(t.Context(), b.Store.Source(), b.Manifest.N)
			if err != nil {
				t.Fatal(err)
			}
			tt.spoil(m)
			r := run(t, c, m, audit.Options{})
			if !slices.ContainsFunc(r.Findings, func(f audit.Finding) bool { return strings.Contains(f.String(), tt.says) }) {
				t.Errorf("findings %v, want one that says %q", r.Findings, tt.says)
			}
		})
	}
}

// expire cuts a commit to its head, as a sweep does.
func expire(t *testing.T, s objstore.Store, n uint64) {
	t.Helper()
	body, err := s.Get(t.Context(), layout.Commit(n))
	if err != nil {
		t.Fatal(err)
	}
	c, err := lsm.DecodeCommit(body)
	if err != nil {
		t.Fatal(err)
	}
	if body, err = c.Expire().Encode(); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), layout.Commit(n), objstore.Bytes(body), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
}

// sweeping is a store in which a sweep is at work: whoever reads a commit finds that
// those up to a little before the newest whole manifest have expired behind his back.
type sweeping struct {
	objstore.Store
	t    *testing.T
	next uint64
}

func (s *sweeping) Get(ctx context.Context, key string) ([]byte, error) {
	body, err := s.Store.Get(ctx, key)
	for range 3 {
		if _, parse := layout.ParseCommit(key); parse == nil && s.next < 32 {
			expire(s.t, s.Store, s.next)
			s.next++
		}
	}
	return body, err
}

// TestExpired: wherever a sweep among the commits was cut off, or is just now, there is
// nothing wrong; but none expires before one below it.
func TestExpired(t *testing.T) {
	b := catalogtest.New()
	for range 40 {
		b.Job("inject").Commit()
	}
	upTo := func(n uint64) (audit.Crawl, objstore.Store) {
		c, store := crawl(t, b)
		for i := range n {
			expire(t, store, i+1)
		}
		return c, store
	}
	for _, n := range []uint64{0, 1, 14, 15, 16, 23, 31} {
		c, store := upTo(n)
		if r := run(t, c, b.Manifest, audit.Options{}); !r.OK() || r.Checked["commits"] != 40 {
			t.Errorf("%d expired, %d checked: %v", n, r.Checked["commits"], r.Findings)
		}
		c.Store = &sweeping{store, t, n + 1}
		if r := run(t, c, b.Manifest, audit.Options{}); !r.OK() {
			t.Errorf("a sweep from commit %d on: %v", n+1, r.Findings)
		}
	}
	c, store := upTo(1)
	expire(t, store, 9)
	if r := run(t, c, b.Manifest, audit.Options{}); len(r.Findings) != 1 ||
		!strings.Contains(r.Findings[0].String(), "has not expired, but the next one has") {
		t.Errorf("commit 8 left out: %v", r.Findings)
	}
}

// TestTwiceWithoutFetches: where retention has taken the fetches, and parts may have been
// joined, a page that is there twice for a round is still found.
func TestTwiceWithoutFetches(t *testing.T) {
	for twice, want := range []bool{false, true} {
		b := catalogtest.Small()
		j := b.Job("round")
		j.List(catalogtest.Home)
		j.Page(catalogtest.Home, "the home page, once more")
		if want {
			j.Pages = append(j.Pages, j.Pages[0])
		}
		j.Commit()
		c, _ := crawl(t, b)
		m := *b.Manifest
		m.Parts = slices.Clone(m.Parts)
		part := &m.Parts[len(m.Parts)-1]
		part.Pruned, part.Tables = true, map[string][]lsm.Object{schema.Pages: part.Tables[schema.Pages]}
		r := run(t, c, &m, audit.Options{})
		if got := slices.ContainsFunc(r.Findings, func(f audit.Finding) bool { return f.Check == "pages" }); got != want {
			t.Errorf("%d more: %v", twice, r.Findings)
		}
	}
}
