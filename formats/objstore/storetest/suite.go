// Package storetest is the conformance suite of objstore.Store. Every implementation and every
// decorator runs it, so that they can be exchanged: what it does not prove, no caller may build
// on.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/objstore"
)

// bigBytes is larger than the part size at which S3 clients change to multipart uploads.
const bigBytes = 20 << 20

// Run tests the store that open returns, an empty one for each subtest.
func Run(t *testing.T, open func(t *testing.T) objstore.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s objstore.Store)
	}{
		{"missing objects", testMissing},
		{"put and get", testPutGet},
		{"overwrite", testOverwrite},
		{"if absent", testIfAbsent},
		{"same content", testSame},
		{"bodies that fail", testBadBody},
		{"ranges", testRanges},
		{"a big object", testBig},
		{"odd keys", testOddKeys},
		{"refused keys", testRefusedKeys},
		{"a key in another's folder", testFolders},
		{"list", testList},
		{"list with faults of the caller", testListCallback},
		{"list many", testListMany},
		{"delete", testDelete},
		{"context", testContext},
		{"racing creators", testRacingCreators},
		{"racing big creators", testRacingBigCreators},
		{"reading while writing", testReadWhileWriting},
		{"deleting while writing", testDeleteWhileWriting},
		{"probe", testProbe},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// put stores an object or ends the test.
func put(t *testing.T, s objstore.Store, key, content string) {
	t.Helper()
	err := s.Put(t.Context(), key, objstore.Bytes([]byte(content)), objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// expect compares an object's content.
func expect(t *testing.T, s objstore.Store, key, content string) {
	t.Helper()
	got, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(content, string(got)); diff != "" {
		t.Errorf("content of %s (-want +got):\n%s", key, diff)
	}
}

// expectError wants an error of a class.
func expectError(t *testing.T, what string, err, class error) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Errorf("%s: got error %v, want %v", what, err, class)
	}
}

func testMissing(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	put(t, s, "there/a", "x")
	for _, key := range []string{"missing", "there", "there/b", "there/a/b", "missing/a/b"} {
		_, err := s.Get(ctx, key)
		expectError(t, "get "+key, err, objstore.ErrNotExist)
		expectError(t, "get "+key, err, fs.ErrNotExist)
		_, err = s.ReadAt(ctx, key, make([]byte, 1), 0)
		expectError(t, "read "+key, err, objstore.ErrNotExist)
		_, err = s.Stat(ctx, key)
		expectError(t, "stat "+key, err, objstore.ErrNotExist)
	}
}

func testPutGet(t *testing.T, s objstore.Store) {
	for _, content := range []string{"", "x", "line\r\nline\x00\xff"} {
		key := fmt.Sprintf("a/b/c%d", len(content))
		put(t, s, key, content)
		expect(t, s, key, content)
		info, err := s.Stat(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if info.Key != key || info.Size != int64(len(content)) || info.ModTime.IsZero() {
			t.Errorf("stat %s: %+v", key, info)
		}
	}
	data, err := s.Get(t.Context(), "a/b/c1")
	if err != nil {
		t.Fatal(err)
	}
	data[0] = 'y'
	expect(t, s, "a/b/c1", "x") // the caller owns what it got
}

func testOverwrite(t *testing.T, s objstore.Store) {
	for _, content := range []string{"first", "the second, longer", "", "3"} {
		put(t, s, "k", content)
		expect(t, s, "k", content)
	}
}

func testIfAbsent(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	if err := objstore.PutIfAbsent(ctx, s, "log/0", []byte("first")); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"second", "first", ""} {
		err := objstore.PutIfAbsent(ctx, s, "log/0", []byte(content))
		expectError(t, "second put", err, objstore.ErrExists)
		expectError(t, "second put", err, fs.ErrExist)
		expect(t, s, "log/0", "first")
	}
	if err := s.Delete(ctx, "log/0"); err != nil {
		t.Fatal(err)
	}
	if err := objstore.PutIfAbsent(ctx, s, "log/0", nil); err != nil {
		t.Fatal("put after delete:", err)
	}
	expectError(t, "put on an empty object", objstore.PutIfAbsent(ctx, s, "log/0", []byte("x")),
		objstore.ErrExists)
	expect(t, s, "log/0", "")
}

func testSame(t *testing.T, s objstore.Store) {
	same := objstore.PutOptions{IfAbsent: true, Same: true}
	content := bytes.Repeat([]byte("0123456789"), 150_000)
	other := bytes.Clone(content)
	other[len(other)-1] = 'x'
	for _, test := range []struct {
		name string
		body []byte
		want error
	}{
		{"absent", content, nil},
		{"same", content, nil},
		{"other in the last byte", other, objstore.ErrExists},
		{"shorter", content[:len(content)-1], objstore.ErrExists},
		{"empty", nil, objstore.ErrExists},
	} {
		err := s.Put(t.Context(), "same", objstore.Bytes(test.body), same)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
		expect(t, s, "same", string(content))
	}
}

// brokenBody fails in its middle.
type brokenBody struct{}

var errBroken = errors.New("broken body")

func (brokenBody) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > 1<<20 {
		return 0, errBroken
	}
	return len(p), nil
}

func testBadBody(t *testing.T, s objstore.Store) {
	put(t, s, "old", "old")
	for _, test := range []struct {
		name string
		body objstore.Body
	}{
		{"breaks", objstore.ReaderAt(brokenBody{}, 3<<20)},
		{"too short", objstore.ReaderAt(bytes.NewReader([]byte("abc")), 10)},
	} {
		for _, o := range []objstore.PutOptions{{}, {IfAbsent: true}} {
			if err := s.Put(t.Context(), "new", test.body, o); err == nil {
				t.Errorf("%s: put succeeded", test.name)
			}
			_, err := s.Stat(t.Context(), "new")
			expectError(t, test.name, err, objstore.ErrNotExist)
		}
		if err := s.Put(t.Context(), "old", test.body, objstore.PutOptions{}); err == nil {
			t.Errorf("%s: overwrite succeeded", test.name)
		}
		expect(t, s, "old", "old")
	}
}

func testBig(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	content := make([]byte, bigBytes)
	random := rand.NewChaCha8([32]byte{1})
	if _, err := random.Read(content); err != nil {
		t.Fatal(err)
	}
	big := objstore.Bytes(content)
	if err := s.Put(ctx, "big", big, objstore.PutOptions{IfAbsent: true}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(ctx, "big")
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("get: %d bytes, error %v, not what was put", len(got), err)
	}
	part := make([]byte, 3<<20)
	if _, err := s.ReadAt(ctx, "big", part, 7<<20+1); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(part, content[7<<20+1:10<<20+1]) {
		t.Error("range differs")
	}
	content[0]++
	// Here a multipart upload would overwrite.
	expectError(t, "second put", s.Put(ctx, "big", big, objstore.PutOptions{IfAbsent: true}),
		objstore.ErrExists)
	if _, err := s.ReadAt(ctx, "big", part[:1], 0); err != nil || part[0] != content[0]-1 {
		t.Errorf("the loser of a put-if-absent changed the object (error %v)", err)
	}
}

func testContext(t *testing.T, s objstore.Store) {
	put(t, s, "k", "v")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Get(ctx, "k")
	expectError(t, "get", err, context.Canceled)
	_, err = s.ReadAt(ctx, "k", make([]byte, 1), 0)
	expectError(t, "read", err, context.Canceled)
	_, err = s.Stat(ctx, "k")
	expectError(t, "stat", err, context.Canceled)
	body := objstore.Bytes([]byte("other"))
	expectError(t, "put", s.Put(ctx, "k", body, objstore.PutOptions{}), context.Canceled)
	list := s.List(ctx, "", "", func(objstore.Info) error { return nil })
	expectError(t, "list", list, context.Canceled)
	expectError(t, "delete", s.Delete(ctx, "k"), context.Canceled)
	expect(t, s, "k", "v")
}

func testProbe(t *testing.T, s objstore.Store) {
	for range 2 {
		if err := objstore.Probe(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}
