package objstore_test

import (
	"path"
	"strings"
	"testing"

	"seine/formats/objstore"
)

// FuzzCheckKey: what is accepted is a clean relative path that stays where it is.
func FuzzCheckKey(f *testing.F) {
	for _, key := range []string{"a/b", "../a", "a//b", ".seine/lock", "a\x00", "ü/日本", "a/..", "/a"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if objstore.CheckKey(key) != nil {
			return
		}
		if path.Clean(key) != key || path.IsAbs(key) || key[0] == '.' || strings.Contains(key, "..") &&
			strings.Contains("/"+key+"/", "/../") {
			t.Errorf("%q is accepted", key)
		}
	})
}
