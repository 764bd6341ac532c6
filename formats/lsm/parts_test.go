package lsm_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seine/formats/lsm"
	"seine/formats/schema"
)

// partsOf draws parts as a manifest has them, oldest first: a number is a settled
// part of so many MiB, f one that has its fetches yet.
func partsOf(drawn string) (parts []lsm.Part) {
	for i, word := range strings.Fields(drawn) {
		p := lsm.Part{Round: uint64(i + 1), Tables: map[string][]lsm.Object{schema.Rounds: {{Bytes: 1}}}}
		if word == "f" {
			p.Tables[schema.Fetches] = []lsm.Object{{Bytes: 1 << 20}}
		} else {
			bytes := int64(0)
			for _, digit := range word {
				bytes = bytes*10 + int64(digit-'0')
			}
			p.WARC = []lsm.WARCFile{{Bytes: bytes << 20}}
		}
		parts = append(parts, p)
	}
	return parts
}

func TestPickParts(t *testing.T) {
	for _, c := range []struct {
		drawn string
		want  [][2]int
	}{
		{"", nil},
		{"1 1 1", nil},
		{"0 0 0 0", [][2]int{{0, 4}}},
		{"0 0 f 0 0 f 0 0 f", nil},
		{"40 1 1 1", nil},
		{"40 1 1 1 1", [][2]int{{1, 5}}},
		{"4 4 4 1 1 1 1 f", [][2]int{{0, 7}}},
		{"0 0 0 0 f 0 0 0 0", [][2]int{{0, 4}, {5, 9}}},
		{"0 0 0 0 300 0 0 0 0", [][2]int{{0, 4}, {5, 9}}},
		{"60 60 60 60 60 60 60 60", [][2]int{{0, 4}, {4, 8}}},
		{"200 200 200 200", nil},
	} {
		m := &lsm.Manifest{Parts: partsOf(c.drawn)}
		if diff := cmp.Diff(c.want, lsm.PickParts(m)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.drawn, diff)
		}
	}
}

// TestPartsStayFew: however many jobs add parts, few are left once they are joined.
func TestPartsStayFew(t *testing.T) {
	m := &lsm.Manifest{}
	for job := uint64(1); job <= 5000; job++ {
		p := partsOf("0")[0]
		p.Round = job
		m.Parts = append(m.Parts, p)
		if job%20 != 0 {
			continue
		}
		for _, span := range lsm.PickParts(m) {
			joined := m.Parts[span[1]-1]
			joined.First = m.Parts[span[0]].Oldest()
			next, err := m.Apply(&lsm.Commit{N: m.N + 1, Edit: lsm.Edit{ReplaceParts: []lsm.Part{joined}}})
			if err != nil {
				t.Fatal(err)
			}
			m = next
		}
		if len(m.Parts) > 20 {
			t.Fatalf("%d parts after %d jobs", len(m.Parts), job)
		}
	}
	if m.Parts[0].Oldest() != 1 || m.Parts[len(m.Parts)-1].Round != 5000 {
		t.Errorf("the parts are of jobs %d to %d", m.Parts[0].Oldest(), m.Parts[len(m.Parts)-1].Round)
	}
}

// TestJoinedParts: a joined part takes the place of those that it was made of, and
// its commit is of the format that knows it.
func TestJoinedParts(t *testing.T) {
	m := &lsm.Manifest{N: 14, Parts: partsOf("0 1 2 3 f")}
	join := func(first, round uint64) lsm.Commit {
		return lsm.Commit{Job: 6, Edit: lsm.Edit{ReplaceParts: []lsm.Part{{First: first, Round: round}}}}
	}
	c, err := m.NewCommit(join(2, 4))
	if err != nil {
		t.Fatal(err)
	}
	next, err := m.Apply(c)
	if err != nil {
		t.Fatal(err)
	}
	want := []lsm.Part{m.Parts[0], {First: 2, Round: 4}, m.Parts[4]}
	if diff := cmp.Diff(want, next.Parts); diff != "" || c.Format != 2 {
		t.Errorf("format %d, parts (-want +got):\n%s", c.Format, diff)
	}
	later, err := next.NewCommit(lsm.Commit{Job: 7}) // 16: the whole manifest
	if err != nil || later.Whole == nil || later.Format != 2 {
		t.Errorf("format %d, %v", later.Format, err)
	}
	if after, err := next.Apply(later); err != nil {
		t.Error(err)
	} else if plain, err := after.NewCommit(lsm.Commit{Job: 8}); err != nil || plain.Format != 1 {
		t.Errorf("a commit of nothing new is of format %d, %v", plain.Format, err)
	}
	for _, span := range [][2]uint64{{2, 3}, {3, 4}, {1, 3}, {4, 2}, {1, 9}} {
		if _, err := next.NewCommit(join(span[0], span[1])); err == nil {
			t.Errorf("jobs %d to %d are joined: of them, 2 to 4 are one part", span[0], span[1])
		}
	}
}
