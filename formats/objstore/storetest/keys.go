package storetest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/objstore"
)

func testRanges(t *testing.T, s objstore.Store) {
	put(t, s, "r", "0123456789")
	put(t, s, "empty", "")
	for _, test := range []struct {
		key  string
		off  int64
		n    int
		want string
		err  error
	}{
		{"r", 0, 10, "0123456789", nil},
		{"r", 0, 1, "0", nil},
		{"r", 3, 4, "3456", nil},
		{"r", 9, 1, "9", nil},
		{"r", 9, 2, "9", io.EOF},
		{"r", 0, 11, "0123456789", io.EOF},
		{"r", 10, 1, "", io.EOF},
		{"r", 1 << 40, 5, "", io.EOF},
		{"r", 4, 0, "", nil},
		{"empty", 0, 1, "", io.EOF},
	} {
		p := make([]byte, test.n)
		n, err := s.ReadAt(t.Context(), test.key, p, test.off)
		if string(p[:n]) != test.want || !errors.Is(err, test.err) || (err != nil) != (test.err != nil) {
			t.Errorf("read %s %d+%d: got %q, %v; want %q, %v",
				test.key, test.off, test.n, p[:n], err, test.want, test.err)
		}
	}
	_, err := s.ReadAt(t.Context(), "r", make([]byte, 1), -1)
	if err == nil || errors.Is(err, io.EOF) {
		t.Errorf("read at -1: got error %v", err)
	}
}

func testOddKeys(t *testing.T, s objstore.Store) {
	keys := []string{
		"with space", "plus+plus", "percent%2Fpercent", "q?x=1&y=2#f", "ümläut/日本", "a=b,c;d",
		"dots..in/..x/x..", "tilde~", "quote'\"`", "star*[x]", "colon:", "-dash", "UPPER", "upper",
		"x/.hidden", "<xml>&amp;", "long/" + strings.Repeat("l", 200), strings.Repeat("d/", 100) + "deep",
	}
	for i, key := range keys {
		put(t, s, key, fmt.Sprint(i))
	}
	for i, key := range keys {
		expect(t, s, key, fmt.Sprint(i))
	}
	slices.Sort(keys)
	if diff := cmp.Diff(keys, list(t, s, "", "")); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	for i, key := range keys {
		if diff := cmp.Diff(keys[i+1:], list(t, s, "", key), emptyIsNil); diff != "" {
			t.Errorf("list after %s (-want +got):\n%s", key, diff)
		}
	}
	if err := s.Delete(t.Context(), keys...); err != nil {
		t.Fatal(err)
	}
	if left := list(t, s, "", ""); len(left) > 0 {
		t.Errorf("not deleted: %q", left)
	}
}

func testRefusedKeys(t *testing.T, s objstore.Store) {
	for _, key := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a/..", ".seine/lock",
		"a\x00b", "a\nb", "a\\b", "a\xffb", strings.Repeat("x", 241), strings.Repeat("x/", 500) + "x",
	} {
		err := s.Put(t.Context(), key, objstore.Bytes(nil), objstore.PutOptions{})
		_, getErr := s.Get(t.Context(), key)
		for what, err := range map[string]error{"put": err, "get": getErr,
			"delete": s.Delete(t.Context(), key)} {
			if err == nil || errors.Is(err, objstore.ErrNotExist) {
				t.Errorf("%s %q: got error %v, want a refusal", what, key, err)
			}
		}
	}
	if keys := list(t, s, "", ""); len(keys) > 0 {
		t.Errorf("refused keys are there: %q", keys)
	}
}

// testFolders: a store may hold a key and another in its folder, or refuse the second; it may
// not lose one, or answer as if it were a lost race.
func testFolders(t *testing.T, s objstore.Store) {
	for i, pair := range [][2]string{{"a", "a/b"}, {"c/d/e", "c/d"}, {"f", "f/g/h"}, {"i/j/k", "i"}} {
		put(t, s, pair[0], "first")
		o := objstore.PutOptions{IfAbsent: i%2 == 0}
		err := s.Put(t.Context(), pair[1], objstore.Bytes([]byte("second")), o)
		expect(t, s, pair[0], "first")
		if err == nil {
			expect(t, s, pair[1], "second")
			continue
		}
		for _, class := range []error{objstore.ErrExists, objstore.ErrNotExist,
			objstore.ErrUnavailable, objstore.ErrFull} {
			if errors.Is(err, class) {
				t.Errorf("put %s beside %s: got %v, which callers take for something else",
					pair[1], pair[0], err)
			}
		}
	}
}

// list collects keys.
func list(t *testing.T, s objstore.Store, prefix, after string) []string {
	t.Helper()
	var keys []string
	err := s.List(t.Context(), prefix, after, func(info objstore.Info) error {
		keys = append(keys, info.Key)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

var emptyIsNil = cmp.Transformer("emptyIsNil", func(s []string) []string {
	if len(s) == 0 {
		return nil
	}
	return s
})

func testList(t *testing.T, s objstore.Store) {
	all := []string{"a-b", "a/b", "a/b-c", "a/bc/d", "a/c", "a0", "b/0000", "b/0001", "b/0001x",
		"b/0002/x", "b/0010", "c"}
	for _, key := range []string{"b/0010", "a0", "c", "a/bc/d", "a/b", "b/0000", "a-b", "a/c",
		"b/0001x", "b/0002/x", "b/0001", "a/b-c"} {
		put(t, s, key, key)
	}
	afters := append([]string{"", "a", "a/", "a/b/", "a/bc", "a/bc/", "a/bc/e", "b/0002", "b/1", "z"},
		all...)
	for _, prefix := range []string{"", "a", "a/", "a/b", "a/bc/", "b/", "b/000", "b/0001", "c", "c/",
		"d", "../", "/", "a//", "b/0001x/y"} {
		for _, after := range afters {
			var want []string
			for _, key := range all {
				if strings.HasPrefix(key, prefix) && key > after {
					want = append(want, key)
				}
			}
			if diff := cmp.Diff(want, list(t, s, prefix, after), emptyIsNil); diff != "" {
				t.Errorf("list %q after %q (-want +got):\n%s", prefix, after, diff)
			}
		}
	}
	err := s.List(t.Context(), "a/bc", "", func(info objstore.Info) error {
		if info.Size != int64(len("a/bc/d")) || info.ModTime.IsZero() {
			t.Errorf("listed as %+v", info)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func testListCallback(t *testing.T, s objstore.Store) {
	for _, key := range []string{"a", "b", "c"} {
		put(t, s, key, key)
	}
	stop := errors.New("stop")
	for _, test := range []struct{ give, want error }{{stop, stop}, {fs.SkipAll, nil}} {
		var seen []string
		err := s.List(t.Context(), "", "", func(info objstore.Info) error {
			seen = append(seen, info.Key)
			if info.Key == "b" {
				return test.give
			}
			return nil
		})
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("list: got error %v, want %v", err, test.want)
		}
		if diff := cmp.Diff([]string{"a", "b"}, seen); diff != "" {
			t.Errorf("seen (-want +got):\n%s", diff)
		}
	}
	err := s.List(t.Context(), "", "", func(info objstore.Info) error { // the store is free meanwhile
		if _, err := s.Get(t.Context(), info.Key); err != nil {
			return err
		}
		return s.Delete(t.Context(), info.Key)
	})
	if err != nil {
		t.Fatal(err)
	}
	if left := list(t, s, "", ""); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// testListMany crosses a page of S3's listings, and of its deletes.
func testListMany(t *testing.T, s objstore.Store) {
	const n = 1100
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("many/%02d/%05d", i/100, i))
	}
	each(t, 16, want, func(key string) error {
		return s.Put(t.Context(), key, objstore.Bytes(nil), objstore.PutOptions{})
	})
	if diff := cmp.Diff(want, list(t, s, "many/", "")); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[n-3:], list(t, s, "many/", want[n-4])); diff != "" {
		t.Errorf("list after (-want +got):\n%s", diff)
	}
	if err := s.Delete(t.Context(), want...); err != nil {
		t.Fatal(err)
	}
	if left := list(t, s, "", ""); len(left) > 0 {
		t.Errorf("%d keys are left", len(left))
	}
}

func testDelete(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	for _, key := range []string{"d/e/f", "d/e/g", "d/h", "i"} {
		put(t, s, key, key)
	}
	if err := s.Delete(ctx); err != nil {
		t.Error("delete nothing:", err)
	}
	for _, keys := range [][]string{{"d/e/f", "missing", "d/missing/x"}, {"d/e/f"},
		{"d"}, {"d/e"}, {"i/j"}} {
		if err := s.Delete(ctx, keys...); err != nil {
			t.Errorf("delete %q: %v", keys, err)
		}
		if diff := cmp.Diff([]string{"d/e/g", "d/h", "i"}, list(t, s, "", "")); diff != "" {
			t.Errorf("after delete %q (-want +got):\n%s", keys, diff)
		}
	}
	if err := s.Delete(ctx, "d/e/g", "d/h"); err != nil {
		t.Fatal(err)
	}
	put(t, s, "d", "a folder once") // nothing of the folder is left in the way
	expect(t, s, "d", "a folder once")
}
