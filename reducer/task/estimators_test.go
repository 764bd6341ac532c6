package task

import (
	"math"
	"testing"
	"time"

	"seine/formats/schema"
	"seine/formats/settings"
)

func TestPriorityOrder(t *testing.T) {
	s := settings.Settings{}.Fill()
	// Each is worth less than the one before it.
	order := []struct {
		name  string
		facts Facts
	}{
		{"seed with a signal", Facts{Seed: true, UserSignal: 1, Freshness: 1}},
		{"seed", Facts{Seed: true, Freshness: 1}},
		{"home page", Facts{Depth: 3, HomePage: true, Freshness: 1}},
		{"one hop, linked from many domains", Facts{Depth: 1, Inlinks: 1000, Freshness: 1}},
		{"one hop", Facts{Depth: 1, Freshness: 1}},
		{"three hops", Facts{Depth: 3, Freshness: 1}},
		{"three hops, suspicious", Facts{Depth: 3, Suspicion: 0.5, Freshness: 1}},
		{"ten hops, suspicious", Facts{Depth: 10, Suspicion: 0.5, Freshness: 1}},
		{"ten hops, never changes", Facts{Depth: 10, Freshness: 0}},
	}
	last := float32(2)
	for _, o := range order {
		p := Priority(s, o.facts)
		if p >= last {
			t.Errorf("%s: priority %v, want less than %v", o.name, p, last)
		}
		if p < 0 || p > 1 {
			t.Errorf("%s: priority %v is outside [0,1]", o.name, p)
		}
		last = p
	}
	if p := Priority(s, order[0].facts); p <= 0.9 {
		t.Errorf("a seed has %v, want HIGH", p)
	}
}

func TestPriorityStaysInRange(t *testing.T) {
	wild := []float32{-1, 0, 2, float32(math.NaN()), float32(math.Inf(1))}
	for _, v := range wild {
		for _, s := range []settings.Settings{{}, settings.Settings{}.Fill(), {WeightSignal: 9}} {
			f := Facts{Depth: -3, Inlinks: -1, Suspicion: v, UserSignal: v, Freshness: v}
			if p := Priority(s, f); !(p >= 0 && p <= 1) {
				t.Errorf("facts %+v: priority %v", f, p)
			}
		}
	}
}

func TestRank(t *testing.T) {
	const day = 86_400_000
	now := int64(1_800_000_000_000)
	if Rank(0.5, now) >= Rank(0.6, now) || Rank(0.5, now) >= Rank(0.5, now-1) {
		t.Error("a higher priority or an earlier due time must rank higher")
	}
	if Rank(0.25, now-50*day) != Rank(0.75, now) {
		t.Error("50 days of waiting are worth a half")
	}
	tests := []struct {
		name     string
		priority float32
		waited   int64 // ms
		want     string
	}{
		{"high", 0.95, 0, schema.High},
		{"not more than 0.9", 0.875, 0, schema.Medium},
		{"half", 0.5, 0, schema.Medium},
		{"low", 0.25, 0, schema.Low},
		{"low that waited 30 days", 0.25, 30 * day, schema.Medium},
		{"low that waited 70 days", 0.25, 70 * day, schema.High},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Band(Rank(tt.priority, now-tt.waited), now); got != tt.want {
				t.Errorf("band %s, want %s", got, tt.want)
			}
		})
	}
}

func TestNextInterval(t *testing.T) {
	s := settings.Settings{}.Fill()
	const hour = int64(time.Hour / time.Millisecond)
	tests := []struct {
		name  string
		visit Visit
		want  int64
	}{
		{"first visit", Visit{Change: schema.ChangeNew}, 30 * 24 * hour},
		{"first visit of a seed", Visit{Change: schema.ChangeNew, Priority: true}, 24 * hour},
		{"changed", Visit{Interval: 10 * hour, Change: schema.ChangeChanged}, 5 * hour},
		{"same", Visit{Interval: 10 * hour, Change: schema.ChangeSame}, 15 * hour},
		{"not modified", Visit{Interval: 10 * hour, Change: schema.ChangeNotModified}, 15 * hour},
		{"at least the least", Visit{Interval: hour, Change: schema.ChangeChanged}, hour},
		{"at most the most", Visit{Interval: 59 * 24 * hour, Change: schema.ChangeSame}, 60 * 24 * hour},
		{"none yet, though not new", Visit{Change: schema.ChangeSame}, 30 * 24 * hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := NextInterval(s, tt.visit); got != tt.want {
				t.Errorf("interval %v, want %v", time.Duration(got)*time.Millisecond,
					time.Duration(tt.want)*time.Millisecond)
			}
		})
	}
}

func TestHomePage(t *testing.T) {
	for url, want := range map[string]bool{"http://a.test/": true, "https://a.test:8443/": true,
		"http://a.test/x": false, "http://a.test/?q": false, "http://a.test/x/": false} {
		if HomePage(url) != want {
			t.Errorf("HomePage(%s) = %v", url, !want)
		}
	}
}
