package settings

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Validate reports every value that is out of range or contradicts another, of
// settings that are filled.
func (s Settings) Validate() error { return joined(s.faults()) }

// ValidateAfter reports what Validate does, but for what is wrong with the version
// before as well: one that an older build let pass must not keep a block or a pause
// from being put. Both are filled.
func (s Settings) ValidateAfter(old Settings) error {
	known := map[string]bool{}
	for _, f := range old.faults() {
		known[f.Error()] = true
	}
	return joined(slices.DeleteFunc(s.faults(), func(f error) bool { return known[f.Error()] }))
}

func joined(faults []error) error {
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	return nil
}

func (s Settings) faults() (faults []error) {
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf(format, args...))
	}
	oneOf := func(name, value string, allowed ...string) {
		for _, a := range allowed {
			if a == value {
				return
			}
		}
		fault("%s: %q is none of %s", name, value, strings.Join(allowed, ", "))
	}
	oneOf("scope", s.Scope, "domain", "host", "prefix", "any")
	oneOf("on_failed", s.OnFailed, "commit", "block")
	for _, r := range s.ranges() {
		if r.value < r.low || r.value > r.high {
			fault("%s: %v is outside %v to %v", r.name, r.value, r.low, r.high)
		}
	}
	for _, d := range s.spans() {
		if d.value < d.low || d.value > d.high {
			fault("%s: %v is outside %v to %v", d.name, d.value, d.low, d.high)
		}
	}
	if err := CheckAgent(s.Agent); err != nil {
		fault("agent: %w", err)
	}
	if strings.ContainsAny(s.Contact, "\r\n()") {
		fault("contact: %q must be one line without parentheses: a URL or a mail address", s.Contact)
	}
	faults = append(faults, s.zeroFaults()...)
	faults = append(faults, s.contradictions()...)
	faults = append(faults, s.ruleFaults()...)
	faults = append(faults, s.networkFaults()...)
	return append(faults, s.termFaults()...)
}

// CheckAgent says whether a text can name us in robots.txt.
func CheckAgent(token string) error {
	if token == "" || strings.Trim(strings.ToLower(token), "abcdefghijklmnopqrstuvwxyz_-") != "" {
		return fmt.Errorf("%q is no product token: letters, _ and - only (RFC 9309)", token)
	}
	return nil
}

func (s Settings) networkFaults() (faults []error) {
	if _, err := s.Networks(); err != nil {
		faults = append(faults, err)
	}
	if _, err := s.Sources(); err != nil {
		faults = append(faults, err)
	}
	if _, err := s.ProxyAddress(); err != nil {
		faults = append(faults, err)
	}
	for _, server := range s.DNS {
		host, _, err := net.SplitHostPort(server)
		if err != nil {
			host = server
		}
		if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err != nil {
			faults = append(faults, fmt.Errorf("dns: %q is no address or address:port", server))
		}
	}
	return faults
}

// Networks parses AllowNetwork: prefixes, or single addresses.
func (s Settings) Networks() ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range s.AllowNetwork {
		p, err := netip.ParsePrefix(text)
		if a, aerr := netip.ParseAddr(text); err != nil && aerr == nil {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("allow_network: %q is no network such as 127.0.0.0/8", text)
		}
		list = append(list, p.Masked())
	}
	return list, nil
}

type bound[V any] struct {
	name             string
	value, low, high V
}

func (s Settings) ranges() []bound[float64] {
	const many = 1e15
	return []bound[float64]{
		{"min_rate", float64(s.MinRate), 0, many},
		{"max_header", float64(s.MaxHeader), 1 << 10, 64 << 20},
		{"max_body", float64(s.MaxBody), 1 << 10, 1 << 30},
		{"address_connections", float64(s.AddressConnections), 1, 10_000},
		{"address_rate", s.AddressRate, 0.001, 1e6},
		{"connections", float64(s.Connections), 1, 100_000},
		{"bandwidth", float64(s.Bandwidth), 0, many},
		{"domain_bandwidth", float64(s.DomainBandwidth), 0, many},
		{"max_url_length", float64(s.MaxURLLength), 16, 65_536},
		{"max_segments", float64(s.MaxSegments), 1, 1_000},
		{"max_params", float64(s.MaxParams), 0, 1_000},
		{"max_repeats", float64(s.MaxRepeats), 1, 1_000},
		{"max_depth", float64(s.MaxDepth), 0, 1_000_000},
		{"max_links", float64(s.MaxLinks), 1, 1_000_000},
		{"pages_round", float64(s.PagesRound), 0, many},
		{"pages_day", float64(s.PagesDay), 0, many},
		{"max_outstanding", float64(s.MaxOutstanding), 1, many},
		{"weight_importance", s.WeightImportance, 0, 1},
		{"weight_freshness", s.WeightFreshness, 0, 1},
		{"weight_signal", s.WeightSignal, 0, 1},
		{"top_n", float64(s.TopN), 1, many},
		{"retries", float64(s.Retries), 0, 3},
		{"seal_bytes", float64(s.SealBytes), 1 << 16, 4 << 30},
		{"scratch_bytes", float64(s.ScratchBytes), 1 << 20, many},
		{"keep_snapshots", float64(s.KeepSnapshots), 1, 1e6},
		{"keep_versions", float64(s.KeepVersions), 1, 1e6},
	}
}

func (s Settings) spans() []bound[time.Duration] {
	return []bound[time.Duration]{
		{"delay", s.Delay.D(), time.Millisecond, day},
		{"prune_every", s.PruneEvery.D(), time.Second, 3650 * day},
		{"robots_ttl", s.RobotsTTL.D(), time.Minute, 30 * day},
		{"connect_timeout", s.ConnectTimeout.D(), 10 * time.Millisecond, time.Hour},
		{"first_byte_timeout", s.FirstByteTimeout.D(), 10 * time.Millisecond, time.Hour},
		{"exchange_timeout", s.ExchangeTimeout.D(), 10 * time.Millisecond, 24 * time.Hour},
		{"interval_first", s.IntervalFirst.D(), time.Minute, 3650 * day},
		{"interval_seed", s.IntervalSeed.D(), time.Minute, 3650 * day},
		{"interval_min", s.IntervalMin.D(), time.Minute, 3650 * day},
		{"interval_max", s.IntervalMax.D(), time.Minute, 3650 * day},
		{"round_duration", s.RoundDuration.D(), time.Second, 30 * day},
		{"seal_interval", s.SealInterval.D(), 100 * time.Millisecond, day},
		{"retention", s.Retention.D(), day, 36500 * day},
		{"keep_fetches", s.KeepFetches.D(), 0, 36500 * day},
		{"keep_links", s.KeepLinks.D(), 0, 36500 * day},
	}
}
