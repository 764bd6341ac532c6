package node

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/settings"
	"seine/mapper/webtest"
)

var update = flag.Bool("update", false, "make the store of TestStoreUnderRetention anew")

// retained is a small store with commits of format 2: expired ones, and joined parts.
const retained = "testdata/retained.tar.gz"

// TestStoreUnderRetention opens the small store that is kept with commits of format 2,
// reads all of it, and goes on with it. It is made, once, by
//
//	go test ./cmd/internal/node -run TestStoreUnderRetention -update
func TestStoreUnderRetention(t *testing.T) {
	if *update {
		synctest.Test(t, func(t *testing.T) {
			span := func(d time.Duration) settings.Duration { return settings.Duration(d) }
			n := newNightly(t, settings.Settings{Contact: "https://example.org/", Scope: "any", Delay: span(time.Second),
				AllowNetwork: []string{"127.0.0.0/8"}, IntervalFirst: span(day), IntervalSeed: span(day),
				Retention: span(day), KeepSnapshots: 3, KeepFetches: span(day), KeepLinks: span(day), KeepVersions: 1})
			n.seeds()
			for night := range 20 {
				n.night(string(rune('a' + night)))
			}
			n.pack(retained)
		})
	}
	root := filepath.Join(t.TempDir(), "crawl")
	unpack(t, retained, root)
	store, err := OpenStore(t.Context(), root, false)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c, err := OpenCrawl(t.Context(), store, false)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of every bubble
	n := &nightly{t: t, crawl: c, web: webtest.New(nightlyWeb(began))}
	head := n.head()
	n.check(head)
	if _, err := c.Snapshot(t.Context(), 2); !errors.Is(err, lsm.ErrExpired) {
		t.Errorf("snapshot 2: %v, want that it has expired", err)
	}
	if first := head.Parts[0]; first.First == 0 || first.First == first.Round {
		t.Errorf("the first part is not joined: of jobs %d to %d", first.First, first.Round)
	}
	set, err := c.StoredSettings(t.Context(), head.Settings)
	if err != nil {
		t.Fatal(err)
	}
	set.Delay = settings.Duration(time.Millisecond) // this test runs by the clock
	if _, _, err := c.PutSettings(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	n.rounds("on")
	if after := n.head(); after.N <= head.N {
		t.Errorf("snapshot %d came after %d", after.N, head.N)
	}
	n.check(n.head())
}

// pack puts the store into an archive.
func (n *nightly) pack(name string) {
	n.t.Helper()
	var b bytes.Buffer
	packed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		n.t.Fatal(err)
	}
	archive := tar.NewWriter(packed)
	err = n.crawl.Store.List(n.t.Context(), "", "", func(i objstore.Info) error {
		if i.Key == objstore.ProbeKey || i.Key == layout.Latest {
			return nil
		}
		body, err := n.crawl.Store.Get(n.t.Context(), i.Key)
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{Name: i.Key, Mode: 0o644, Size: i.Size}); err != nil {
			return err
		}
		_, err = archive.Write(body)
		return err
	})
	err = errors.Join(err, archive.Close(), packed.Close(), os.MkdirAll(filepath.Dir(name), 0o755))
	if err := errors.Join(err, os.WriteFile(name, b.Bytes(), 0o644)); err != nil {
		n.t.Fatal(err)
	}
}

// unpack gives the store of an archive in a new folder.
func unpack(t *testing.T, name, store string) {
	t.Helper()
	body, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(packed); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(store, filepath.FromSlash(h.Name))
		body, err := io.ReadAll(archive)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755))
		if err := errors.Join(err, os.WriteFile(path, body, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}
