package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// Fill returns s with every unset field at its default (DESIGN §12).
func (s Settings) Fill() Settings {
	text := func(v *string, d string) {
		if *v == "" {
			*v = d
		}
	}
	span := func(v *Duration, d time.Duration) {
		if *v == 0 {
			*v = Duration(d)
		}
	}
	text(&s.Scope, "domain")
	text(&s.Agent, "seine")
	text(&s.OnFailed, "commit")
	span(&s.Delay, time.Second)
	span(&s.RobotsTTL, day)
	span(&s.ConnectTimeout, 10*time.Second)
	span(&s.FirstByteTimeout, 30*time.Second)
	span(&s.ExchangeTimeout, 120*time.Second)
	span(&s.IntervalFirst, 30*day)
	span(&s.IntervalSeed, day)
	span(&s.IntervalMin, time.Hour)
	span(&s.IntervalMax, 60*day)
	span(&s.RoundDuration, 10*time.Minute)
	span(&s.SealInterval, 5*time.Minute)
	span(&s.Retention, 30*day)
	span(&s.PruneEvery, day)
	fillNumbers(&s)
	if len(s.Types) == 0 {
		s.Types = []string{"text/html", "application/xhtml+xml", "text/plain", "application/pdf",
			"text/xml", "application/xml", "application/rss+xml", "application/atom+xml"}
	}
	return s
}

func fillNumbers(s *Settings) {
	fill(&s.MinRate, 1<<10)
	fill(&s.MaxHeader, 128<<10)
	fill(&s.MaxBody, 5<<20)
	fill(&s.AddressConnections, 10)
	fill(&s.AddressRate, 20)
	fill(&s.Connections, 256)
	fill(&s.MaxURLLength, 2048)
	fill(&s.MaxSegments, 20)
	fill(&s.MaxParams, 10)
	fill(&s.MaxRepeats, 3)
	fill(&s.MaxDepth, 20)
	fill(&s.MaxLinks, 10_000)
	fill(&s.MaxOutstanding, 1_000_000)
	fill(&s.TopN, 50_000)
	fill(&s.Retries, 3)
	fill(&s.ScratchBytes, 20<<30)
	fill(&s.SealBytes, min(512<<20, s.ScratchBytes))
	fill(&s.KeepSnapshots, 10)
	fill(&s.KeepVersions, 2)
	if s.WeightImportance == 0 && s.WeightFreshness == 0 && s.WeightSignal == 0 {
		s.WeightImportance, s.WeightFreshness, s.WeightSignal = 0.5, 0.3, 0.2
	}
}

func fill[N int | int64 | float64](v *N, d N) {
	if *v == 0 {
		*v = d
	}
}

// parseDuration reads "90s", "1h30m", and days: "30d", "1.5d".
func parseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || n != n || n < 0 || n > 36500 {
			return 0, fmt.Errorf("%q is no duration; write 30d, 12h, 90s", s)
		}
		return time.Duration(n * float64(day)), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration; write 30d, 12h, 90s", s)
	}
	return d, nil
}
