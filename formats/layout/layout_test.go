package layout

import (
	"slices"
	"testing"
)

func TestKeysParseBack(t *testing.T) {
	for _, n := range []uint64{0, 1, 16, 99999999, 1234567890123} {
		if got, err := ParseCommit(Commit(n)); err != nil || got != n {
			t.Errorf("ParseCommit(%q) = %d, %v", Commit(n), got, err)
		}
		if got, err := ParseSpec(Spec(n)); err != nil || got != n {
			t.Errorf("ParseSpec(%q) = %d, %v", Spec(n), got, err)
		}
		if got, err := ParseSettings(Settings(n)); err != nil || got != n {
			t.Errorf("ParseSettings(%q) = %d, %v", Settings(n), got, err)
		}
		if got, err := ParseJob(Log(n, 3, 4)); err != nil || got != n {
			t.Errorf("ParseJob(%q) = %d, %v", Log(n, 3, 4), got, err)
		}
	}
	for _, bad := range []string{"", "commits/", "commits/12", "commits/000000000x", "commits/+000000001",
		"rounds/00000001/spec/x", "settings/1"} {
		if n, err := ParseCommit(bad); err == nil {
			t.Errorf("ParseCommit(%q) = %d, want an error", bad, n)
		}
	}
}

func TestKeysSortAsNumbers(t *testing.T) {
	attempts := []Attempt{{1, 1}, {1, 2}, {1, 10}, {2, 1}, {11, 1}}
	var keys []string
	for i, a := range attempts {
		keys = append(keys, Output(7, "fetch", 3, a, "x"))
		if i > 0 && !attempts[i-1].Less(a) {
			t.Errorf("%v is not less than %v", attempts[i-1], a)
		}
	}
	if !slices.IsSorted(keys) {
		t.Errorf("keys are not sorted: %q", keys)
	}
}

func TestSplitCoversAllOnce(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 2, 3, 7, 16, 1000, 1024, 5000} {
		next := uint16(0)
		for _, r := range Split(n) {
			if r.Lo != next || r.Len() < 1 {
				t.Fatalf("Split(%d): range %v after %d", n, r, next)
			}
			next = r.Hi
		}
		if next != Partitions {
			t.Errorf("Split(%d) ends at %d", n, next)
		}
	}
}
