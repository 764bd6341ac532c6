package settings

import (
	"errors"
	"fmt"
	"math"
	"time"

	"seine/formats/scope"
)

// Block keeps requests away from a domain, a host or what starts with a prefix.
// It is put by `seine block`, never by a file or flag: it says who did it.
type Block struct {
	// What is "domain:example.com", "host:www.example.com" or
	// "prefix:example.com/private/", as rules write it.
	What   string `json:"what"`
	Reason string `json:"reason"`
	By     string `json:"by"`
	At     int64  `json:"at"`              // ms
	Until  int64  `json:"until,omitempty"` // ms; it expires by itself; 0: never
}

// Holds says whether the block is in force at now, ms.
func (b Block) Holds(now int64) bool { return b.Until == 0 || now < b.Until }

// Pause holds rounds: put by `seine pause`, ended by `seine resume`.
type Pause struct {
	Round  uint64 `json:"round,omitempty"` // 0: every round
	Reason string `json:"reason,omitempty"`
	By     string `json:"by"`
	At     int64  `json:"at"` // ms
}

// contradictions are values that each are fine and together make no sense.
func (s Settings) contradictions() (faults []error) {
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(s.IntervalMin > s.IntervalMax, "interval_min %v is above interval_max %v",
		s.IntervalMin.D(), s.IntervalMax.D())
	fault(s.ConnectTimeout > s.ExchangeTimeout, "connect_timeout %v is above exchange_timeout %v",
		s.ConnectTimeout.D(), s.ExchangeTimeout.D())
	fault(s.FirstByteTimeout > s.ExchangeTimeout,
		"first_byte_timeout %v is above exchange_timeout %v", s.FirstByteTimeout.D(),
		s.ExchangeTimeout.D())
	fault(s.SealBytes > s.ScratchBytes, "seal_bytes %d is above scratch_bytes %d", s.SealBytes,
		s.ScratchBytes)
	fault(s.DomainBandwidth > 0 && s.Bandwidth > 0 && s.DomainBandwidth > s.Bandwidth,
		"domain_bandwidth %d is above bandwidth %d, the whole worker's", s.DomainBandwidth,
		s.Bandwidth)
	fault(s.KeepFetches > 0 && s.PruneEvery > s.KeepFetches, "prune_every %v is above keep_fetches %v: "+
		"fetches would stay for up to both together", s.PruneEvery.D(), s.KeepFetches.D())
	fault(s.KeepLinks > 0 && s.PruneEvery > s.KeepLinks, "prune_every %v is above keep_links %v: links "+
		"would stay for up to both together", s.PruneEvery.D(), s.KeepLinks.D())
	fault(s.PagesDay > 0 && s.PagesRound > s.PagesDay, "pages_round %d is above pages_day %d",
		s.PagesRound, s.PagesDay)
	for name, cap := range map[string]int64{"bandwidth": s.Bandwidth,
		"domain_bandwidth": s.DomainBandwidth} {
		fault(cap > 0 && cap < s.MinRate, "%s %d is below min_rate %d: every answer would be too slow",
			name, cap, s.MinRate)
	}
	return faults
}

// ruleFaults checks rules, and what no verb lets in: damaged blocks or pauses.
func (s Settings) ruleFaults() (faults []error) {
	if _, err := NewBlocklist(s.Blocks, math.MinInt64); err != nil {
		faults = append(faults, err)
	}
	if err := scope.CheckRules(s.Rules); err != nil {
		faults = append(faults, err)
	}
	if p := s.Paused; p != nil && p.At <= 0 {
		faults = append(faults, errors.New("paused: no time since when"))
	}
	return faults
}

// Live is the part of a version that holds for tasks that run already, under
// the version that they began with: the blocks, a delay that is longer, and the
// caps on bandwidth.
type Live struct {
	Blocks          []Block
	Delay           time.Duration // no request sooner; never shorter than the task's own
	Bandwidth       int64         // bytes/s of a worker; 0: no cap
	DomainBandwidth int64         // bytes/s of a politeness group; 0: no cap
}

// Live is what a newer version changes for running tasks; s is filled.
func (s Settings) Live() Live {
	return Live{Blocks: s.Blocks, Delay: s.Delay.D(), Bandwidth: s.Bandwidth,
		DomainBandwidth: s.DomainBandwidth}
}
