package warc

import (
	"fmt"
	"strings"
	"time"
)

// FileName names the n-th archive of a task's attempt:
//
//	PREFIX-YYYYMMDDhhmmss-rROUND-tTASK-aATTEMPT-NNNNN.warc.gz
//
// Numbers are padded so that names sort (round to 8 digits, task to 5, attempt to 2); longer ones
// are written out. What has no place in a file name becomes an underscore in the prefix.
func FileName(prefix string, t time.Time, round, task uint64, attempt string, n int) string {
	if pad := 2 - len(attempt); pad > 0 {
		attempt = strings.Repeat("0", pad) + attempt
	}
	return fmt.Sprintf("%s-%s-r%08d-t%05d-a%s-%05d.warc.gz", fileWord(prefix),
		t.UTC().Format("20060102150405"), round, task, fileWord(attempt), n)
}

func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z',
			r == '_', r == '.', r == '-':
			return r
		}
		return '_'
	}, s)
}
