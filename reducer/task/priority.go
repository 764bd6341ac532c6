package task

import (
	"math"
	"strings"

	"seine/formats/schema"
	"seine/formats/settings"
)

// RankScale is what a priority of 1 is worth in a rank: 100 days in
// milliseconds, so that a URL gains 1 in 100 days of waiting (DESIGN §7).
const RankScale = 8_640_000_000

// Rank orders waiting URLs once for all: priority − a·due as an integer. due is
// in ms since 1970. All ranks age alike, so their order never changes, and only
// finitely many later rows can come before a given one.
func Rank(priority float32, due int64) int64 {
	return int64(math.Round(float64(priority)*RankScale)) - due
}

// Effective is the priority that a rank is worth at now (ms): the row's own and
// what it gained by waiting past its due time.
func Effective(rank, now int64) float64 { return float64(rank+now) / RankScale }

// Band is the band of a rank at now (ms).
func Band(rank, now int64) string {
	switch p := Effective(rank, now); {
	case p > 0.9:
		return schema.High
	case p >= 0.5:
		return schema.Medium
	}
	return schema.Low
}

// Facts is what priorities are estimated from. Values in [0,1] are brought into
// that range.
type Facts struct {
	Depth      int32   // hops from a seed
	Inlinks    int64   // distinct linking domains, as counted
	Seed       bool    // injected by a person
	HomePage   bool    // "/" of its host
	Suspicion  float32 // [0,1]: how much the URL looks like a trap
	UserSignal float32 // [0,1]: what a person said of it; 0: nothing
	Freshness  float32 // [0,1]: Freshness(…)
	Boost      float64 // [-1,1]: of its sheet
}

// Priority = (w1·importance + w2·freshness + w3·user signal) ÷ (w1+w2+w3) + boost,
// in [0,1] (REQUIREMENTS R17, R43).
func Priority(s settings.Settings, f Facts) float32 {
	w1, w2, w3 := s.WeightImportance, s.WeightFreshness, s.WeightSignal
	total := w1 + w2 + w3
	if total <= 0 {
		return 0
	}
	// The conversions forbid fused operations, so that every machine gets the
	// same bits.
	sum := float64(w1*Importance(f)) + float64(w2*unit(float64(f.Freshness)))
	sum = float64(sum) + float64(w3*unit(float64(f.UserSignal)))
	return float32(unit(float64(sum/total) + f.Boost))
}

// Importance estimates how much a URL matters from where it stands: 1 for
// seeds; else 0.6 ÷ (1 + depth/2) + 0.4 × log2(1 + inlinks)/16, a home page at
// least 0.9; and times 1 − suspicion. 16 = log2 of 65,536 linking domains,
// where it saturates. To be replaced by PageRank when rank jobs exist.
func Importance(f Facts) float64 {
	if f.Seed {
		return 1 - unit(float64(f.Suspicion))
	}
	depth := 0.6 / (1 + float64(max(f.Depth, 0))/2)
	links := 0.4 * unit(math.Log2(1+float64(max(f.Inlinks, 0)))/16)
	value := float64(depth) + float64(links)
	if f.HomePage {
		value = max(value, 0.9)
	}
	return unit(value) * (1 - unit(float64(f.Suspicion)))
}

// Freshness estimates how likely the next visit finds something new: 1 for what
// was never fetched, else the share of visits that found a change, smoothed as
// (changes + 0.5) ÷ (visits + 1).
func Freshness(fetched bool, visits, changes int32) float32 {
	if !fetched {
		return 1
	}
	return float32(unit((float64(changes) + 0.5) / (float64(visits) + 1)))
}

func unit(v float64) float64 {
	if !(v > 0) { // NaN too
		return 0
	}
	return min(v, 1)
}

// HomePage says whether a URL in normal form is the "/" of its host.
func HomePage(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	return strings.IndexByte(rest, '/') == len(rest)-1
}
