package spool_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/mapper/spool"
)

// written returns the bytes of a generation's file with these records.
func written(t *testing.T, payloads ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	s, err := spool.Open(dir, "s", bound)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range payloads {
		if err := s.Append([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "s", "00000001.spool"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// recovered replays a file as a killed process may have left it, with a whole one behind it.
func recovered(t *testing.T, data []byte) ([]string, spool.Recovery) {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "r1-t2"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "r1-t2", "00000001.spool"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	appendAll(t, s, "next")
	got, r := replay(t, s)
	if len(got) == 0 || got[len(got)-1] != "next" {
		t.Fatalf("the damage of one file hides the next: %q", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return got[:len(got)-1], r
}

// TestKillAtEveryByte: a file cut anywhere gives the records that are whole before the cut.
func TestKillAtEveryByte(t *testing.T) {
	records := []string{"first", "", "the third record", "4"}
	whole := written(t, records...)
	ends := []int{0} // offsets at which records end
	for i := range records {
		ends = append(ends, len(written(t, records[:i+1]...)))
	}
	header := ends[1] - len(records[0]) - 8
	for cut := range len(whole) + 1 {
		n := 0
		for n < len(records) && ends[n+1] <= cut {
			n++
		}
		got, r := recovered(t, whole[:cut])
		if diff := cmp.Diff(records[:n], got); n > 0 && diff != "" || n == 0 && len(got) > 0 {
			t.Errorf("cut at %d (-want +got):\n%s", cut, diff)
		}
		clean := cut == 0 || cut == header || slices.Contains(ends, cut)
		if r.Damaged != 0 || (r.Torn == 0) != clean || (r.Lost == 0) != clean {
			t.Errorf("cut at %d: %+v, clean %t", cut, r, clean)
		}
	}
}

// TestEveryByteFlipped: wrong bytes never become records.
func TestEveryByteFlipped(t *testing.T) {
	records := []string{"first", "second record", "third"}
	whole := written(t, records...)
	for i := range whole {
		data := slices.Clone(whole)
		data[i] ^= 0x41
		got, r := recovered(t, data)
		if len(got) >= len(records) || !slices.Equal(got, records[:len(got)]) {
			t.Errorf("byte %d: %q", i, got)
		}
		if r.Torn+r.Damaged != 1 || r.Lost == 0 || r.Records != len(got)+1 {
			t.Errorf("byte %d: %+v", i, r)
		}
	}
}

func TestDamageIsCounted(t *testing.T) {
	records := []string{"first", "second record", "third"}
	data := written(t, records...)
	data[len(data)-8-len("third")-1] ^= 1 // the last byte of the second record
	got, r := recovered(t, data)
	want := spool.Recovery{Records: 2, Bytes: 9, Damaged: 1, Lost: int64(8 + 13 + 8 + 5)}
	if diff := cmp.Diff(want, r); diff != "" || len(got) != 1 {
		t.Errorf("%q, recovery (-want +got):\n%s", got, diff)
	}
}
