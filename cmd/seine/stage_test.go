package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"seine/cmd/internal/node"
	"seine/formats/objstore"
	"seine/formats/objstore/mem"
	"seine/formats/objstore/s3"
)

// TestStageBringsWhatIsMentioned: copies of what a statement names and of nothing else,
// once.
func TestStageBringsWhatIsMentioned(t *testing.T) {
	store := mem.New()
	for i := range 4 {
		body := bytes.Repeat([]byte{byte(i)}, 100)
		if err := objstore.PutIfAbsent(t.Context(), store, fmt.Sprintf("rounds/%d/x", i), body); err != nil {
			t.Fatal(err)
		}
	}
	counted := objstore.NewCounter(store)
	s := newStage(counted, t.TempDir(), 1000)
	var paths []string
	for i := range 4 {
		paths = append(paths, s.path(fmt.Sprintf("rounds/%d/x", i)))
	}
	sql := fmt.Sprintf("SELECT * FROM read_parquet(['%s', '%s'])", paths[1], paths[3])
	keys := s.mentioned(sql)
	if want := []string{"rounds/1/x", "rounds/3/x"}; !slices.Equal(keys, want) {
		t.Fatalf("the statement names %q, want %q", keys, want)
	}
	for range 2 {
		if err := s.bring(t.Context(), keys); err != nil {
			t.Fatal(err)
		}
	}
	for i, path := range paths {
		b, err := os.ReadFile(path)
		if there := err == nil; there != (i%2 == 1) {
			t.Errorf("object %d has a copy: %v", i, there)
		} else if there && !bytes.Equal(b, bytes.Repeat([]byte{byte(i)}, 100)) {
			t.Errorf("the copy of object %d is another", i)
		}
	}
	var reads int64
	for _, u := range counted.Uses() {
		if u.Kind == objstore.OpRead {
			reads += u.Requests
		}
	}
	if reads != 2 {
		t.Errorf("%d reads for two objects", reads)
	}
}

// TestStageBound: what was not used for longest goes; what one statement needs at once
// is refused if it does not fit.
func TestStageBound(t *testing.T) {
	store, dir := mem.New(), t.TempDir()
	for i := range 5 {
		if err := objstore.PutIfAbsent(t.Context(), store, fmt.Sprint("k", i), make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	s := newStage(store, dir, 300)
	for i := range 4 {
		if err := s.bring(t.Context(), []string{fmt.Sprint("k", i)}); err != nil {
			t.Fatal(err)
		}
		age := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(s.place(fmt.Sprint("k", i)), age, age); err != nil {
			t.Fatal(err)
		}
	}
	there := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	if got := there(); !slices.Equal(got, []string{"k1", "k2", "k3"}) {
		t.Errorf("copies are of %q", got)
	}
	if err := s.bring(t.Context(), []string{"k1", "k4"}); err != nil {
		t.Fatal(err)
	}
	if got := there(); !slices.Equal(got, []string{"k1", "k3", "k4"}) {
		t.Errorf("k1 was used again, and copies are of %q", got)
	}
	err := s.bring(t.Context(), []string{"k0", "k1", "k2", "k3"})
	if err == nil || !strings.Contains(err.Error(), "--cache") {
		t.Errorf("four objects in the place of three: %v", err)
	}
	if err := s.bring(t.Context(), []string{"none"}); err == nil {
		t.Error("an object that is not there is no error")
	}
}

// TestSecretSQL: what httpfs needs for a server of one's own and for Amazon's, and that
// the script for a person holds no key.
func TestSecretSQL(t *testing.T) {
	own := s3.Address{Bucket: "b", Endpoint: "localhost:9000", Plain: true, Region: "r", PathStyle: true}
	want := "CREATE OR REPLACE SECRET seine (\n    TYPE s3,\n    KEY_ID 'id',\n    SECRET 'it''s',\n" +
		"    REGION 'r',\n    ENDPOINT 'localhost:9000',\n    URL_STYLE 'path',\n    USE_SSL false,\n" +
		"    SCOPE 's3://b');\n"
	if got := secretSQL(own, "id", "it's", ""); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := secretSQL(s3.Address{Bucket: "b", Endpoint: "s3.amazonaws.com"}, "", "", ""); !strings.Contains(got,
		"PROVIDER credential_chain") || strings.Contains(got, "KEY_ID") {
		t.Errorf("without keys it is %s", got)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "do-not-tell")
	l := &looking{Crawl: &node.Crawl{Store: &node.Store{URL: "s3://b/p?endpoint=http://h:1"}}}
	advice, err := l.secretAdvice()
	if err != nil || strings.Contains(advice, "do-not-tell") || !strings.Contains(advice, "LOAD httpfs") {
		t.Errorf("%v\n%s", err, advice)
	}
	path, err := l.paths()
	if err != nil || path("crawl") != "s3://b/p/crawl" {
		t.Errorf("an object is at %s, %v", path("crawl"), err)
	}
}
