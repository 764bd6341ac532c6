package objstore

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The bounds of keys: S3 takes 1,024 bytes including a bucket's prefix, file systems take 255
// bytes a name.
const (
	maxKey     = 800
	maxSegment = 240
)

// CheckKey says whether every kind of store can hold the key: segments joined by single
// slashes, none empty, "." or "..", the first not beginning with "." (stores keep their own
// things there), valid UTF-8 without control characters or backslashes.
func CheckKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("key is empty")
	case len(key) > maxKey:
		return fmt.Errorf("key %.40q… has %d bytes, more than %d", key, len(key), maxKey)
	case key[0] == '.':
		return fmt.Errorf("key %q begins with a dot", key)
	case !utf8.ValidString(key):
		return fmt.Errorf("key %q is not UTF-8", key)
	case strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }):
		return fmt.Errorf("key %q holds a control character or a backslash", key)
	}
	for segment := range strings.SplitSeq(key, "/") {
		switch {
		case segment == "" || segment == "." || segment == "..":
			return fmt.Errorf("key %q has the segment %q", key, segment)
		case len(segment) > maxSegment:
			return fmt.Errorf("key %.40q… has a segment of more than %d bytes", key, maxSegment)
		}
	}
	return nil
}
