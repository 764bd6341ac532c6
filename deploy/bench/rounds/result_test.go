package main

import (
	"bytes"
	"strings"
	"testing"
)

func fakeResult(known, requests int64) *result {
	return &result{Known: known, KeyPage: 10_000, Rounds: []round{{Candidates: 1000, KeyPages: 900,
		Costs: map[string]cost{
			stageGenerate: {Use: Use{Requests: requests, Read: 4_000_000}, Rows: 24_000, Peak: 1 << 30},
			stageReduce:   {Use: Use{Requests: 100, Read: 4_000_000, Written: 1}, Rows: 1_000_000, Peak: 1},
		}}}}
}

func TestVerdicts(t *testing.T) {
	r := fakeResult(1_000_000, 100)
	for _, v := range r.verdicts() {
		if !v.holds {
			t.Errorf("%s: %.3f does not hold", v.what, v.is)
		}
	}
	r.Rounds[0].KeyPages, r.KeyPage = 1001, 7999
	r.URLBytes, r.CompactBytes = 60.1, 40.1
	for stage, c := range r.Rounds[0].Costs {
		c.Requests, c.Rows, c.Peak = 501, c.Rows+1, 2<<30+1
		r.Rounds[0].Costs[stage] = c
	}
	for _, v := range r.verdicts() {
		if v.holds {
			t.Errorf("%s: %.3f holds", v.what, v.is)
		}
	}
}

// TestCompareSizes: the smaller database comes first, and growth beyond four
// times is told.
func TestCompareSizes(t *testing.T) {
	var out bytes.Buffer
	if err := compareSizes([]*result{fakeResult(10_000_000, 800), fakeResult(1_000_000, 100)},
		&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Index(text, "\n1000000 known") > strings.Index(text, "\n10000000 known") {
		t.Error("the larger database comes first")
	}
	_, ratios, _ := strings.Cut(text, "10000000 known URLs to 1000000")
	for _, want := range []string{"requests  4.500        4  MISSED",
		"rows decoded  1.000        4   holds"} {
		if !strings.Contains(ratios, want) {
			t.Errorf("no %q in %s", want, ratios)
		}
	}
}
