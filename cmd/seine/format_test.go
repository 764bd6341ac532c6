package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seine/formats/crawl"
	"seine/formats/layout"
	"seine/formats/schema"
)

// TestStoreOfEveryFormat opens the small store that is kept of each format, and
// runs a round on it. The store of a new format is made, once, by
//
//	go test ./cmd/seine -run TestStoreOfEveryFormat -update
func TestStoreOfEveryFormat(t *testing.T) {
	for format := 1; format <= crawl.Format; format++ {
		t.Run(fmt.Sprint(format), func(t *testing.T) {
			web := plainWeb(1)
			name := filepath.Join("testdata", "stores", fmt.Sprintf("format-%d.tar.gz", format))
			if _, err := os.Stat(name); *update && err != nil && format == crawl.Format {
				store := filepath.Join(t.TempDir(), "new")
				line{web: web}.run(t, crawlArgs(store, web.Seeds(2))...).must(t, exitOK)
				pack(t, store, name)
			}
			store := unpack(t, name)
			seine := func(args ...string) string {
				t.Helper()
				return line{web: web}.run(t, append(args, "--store", store)...).must(t, exitOK).out
			}
			seine("check", "--read-data")
			if out := seine("migrate"); !strings.Contains(out, "nothing to migrate") {
				t.Errorf("migrate says %q", out)
			}
			if out := seine("seeds", "list"); !strings.Contains(out, web.Seeds(1)[0]) {
				t.Errorf("seeds are %q", out)
			}
			was := known(t, store)
			seine("requeue", "--where", "crawl_count > 0")
			line{web: web}.run(t, crawlArgs(store, web.Seeds(2))...).must(t, exitOK)
			for url, row := range known(t, store) {
				if row.Reason == schema.OK && row.CrawlCount != was[url].CrawlCount+1 {
					t.Errorf("%s was visited %d times, before %d", url, row.CrawlCount, was[url].CrawlCount)
				}
			}
			seine("check", "--read-data")
		})
	}
}

// TestOtherFormatsAreRefused: with the reason, by readers and writers alike, and
// nothing is written.
func TestOtherFormatsAreRefused(t *testing.T) {
	for _, test := range []struct {
		name, object, was, is, says string
	}{
		{"a newer store", layout.Crawl, `"format": 1`, `"format": 2`, "made by a newer seine"},
		{"a store of format 0", layout.Crawl, `"format": 1`, `"format": 0`, "damaged crawl object: format 0"},
		{"no JSON", layout.Crawl, `{`, `[`, "damaged crawl object"},
		{"a newer commit", layout.Commit(1), `"format": 1`, `"format": 3`, "use a newer seine"},
		{"a commit of format 0", layout.Commit(1), `"format": 1`, `"format": 0`, "damaged commit: format 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := unpack(t, filepath.Join("testdata", "stores", "format-1.tar.gz"))
			path := filepath.Join(store, filepath.FromSlash(test.object))
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := bytes.Replace(body, []byte(test.was), []byte(test.is), 1)
			if bytes.Equal(body, changed) {
				t.Fatalf("%s does not hold %s", test.object, test.was)
			}
			if err := os.WriteFile(path, changed, 0o644); err != nil {
				t.Fatal(err)
			}
			before := files(t, store)
			for _, args := range [][]string{{"migrate"}, {"status"}, {"inject", "http://a.test/"}} {
				r := line{}.run(t, append(args, "--store", store)...)
				if r.code == exitOK || !strings.Contains(r.err, test.says) {
					t.Errorf("%s: code %d, %q; want %q", args[0], r.code, r.err, test.says)
				}
			}
			if after := files(t, store); after != before {
				t.Errorf("%d objects became %d", before, after)
			}
		})
	}
}

// files counts the objects of a store.
func files(t *testing.T, store string) (n int) {
	t.Helper()
	eachFile(t, store, func(string, []byte) {
		n++
	})
	return n
}

// eachFile reads the objects of a store in a folder.
func eachFile(t *testing.T, store string, use func(name string, body []byte)) {
	t.Helper()
	err := filepath.WalkDir(store, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".seine" {
			return filepath.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(store, path)
		use(filepath.ToSlash(name), body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// pack puts a store into an archive.
func pack(t *testing.T, store, name string) {
	t.Helper()
	var b bytes.Buffer
	packed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(packed)
	eachFile(t, store, func(name string, body []byte) {
		err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(body))})
		if err == nil {
			_, err = archive.Write(body)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	for _, err := range []error{archive.Close(), packed.Close(), os.MkdirAll(filepath.Dir(name), 0o755),
		os.WriteFile(name, b.Bytes(), 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// unpack gives the store of an archive in a new folder.
func unpack(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(t.TempDir(), "crawl")
	for archive := tar.NewReader(packed); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return store
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(store, filepath.FromSlash(h.Name))
		for _, err := range []error{os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, body, 0o644)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
