// Package settings is what a person may set of a crawl: one plain struct, its
// defaults with their reasons, its checks. A crawl keeps every version of it
// as an object; a round names the version that it used. The package is pure.
package settings

import "time"

// Settings is the versioned object settings/V. The zero value of a field means
// its default (Fill); durations print as "1m30s" in YAML and JSON.
type Settings struct {
	Version uint64 `yaml:"-" json:"version"`

	// By, At (ms) and Origins say who put the version, when, and where each value
	// comes from.
	By      string            `yaml:"-" json:"by,omitempty"`
	At      int64             `yaml:"-" json:"at,omitempty"`
	Origins map[string]Origin `yaml:"-" json:"origins,omitempty"`

	// Blocks and Paused are put by verbs of their own.
	Blocks []Block `yaml:"-" json:"blocks,omitempty"`
	Paused *Pause  `yaml:"-" json:"paused,omitempty"`

	// Files are those that settings name, as they were when they were read, by what
	// names them.
	Files map[string]File `yaml:"-" json:"files,omitempty"`

	// Terms are those of seeds, by what the column seed of urls says: tag or URL.
	Terms map[string]Terms `yaml:"-" json:"terms,omitempty"`

	Contact string `yaml:"contact,omitempty" json:"contact,omitempty"`

	Scope string   `yaml:"scope,omitempty" json:"scope,omitempty"` // domain, host, prefix, any
	Rules []string `yaml:"rules,omitempty" json:"rules,omitempty"` // "+domain:a.test", first match wins
	// Sheets is a file of what is set otherwise for a domain, host or prefix: package sheet.
	Sheets string `yaml:"sheets,omitempty" json:"sheets,omitempty"`
	Embeds bool   `yaml:"embeds,omitempty" json:"embeds,omitempty"`

	Agent string   `yaml:"agent,omitempty" json:"agent,omitempty"` // product token
	Delay Duration `yaml:"delay,omitempty" json:"delay,omitempty"`
	// BothSchemes asks at http and https for what both have; else one of the two is enough.
	BothSchemes  bool     `yaml:"both_schemes,omitempty" json:"both_schemes,omitempty"`
	GroupByHost  bool     `yaml:"group_by_host,omitempty" json:"group_by_host,omitempty"`
	DNS          []string `yaml:"dns,omitempty" json:"dns,omitempty"`
	AllowNetwork []string `yaml:"allow_network,omitempty" json:"allow_network,omitempty"`
	SourceAddrs  []string `yaml:"source_addresses,omitempty" json:"source_addresses,omitempty"`
	Proxy        string   `yaml:"proxy,omitempty" json:"proxy,omitempty"` // http://host:port

	RobotsTTL Duration `yaml:"robots_ttl,omitempty" json:"robots_ttl,omitempty"`

	ConnectTimeout   Duration `yaml:"connect_timeout,omitempty" json:"connect_timeout,omitempty"`
	FirstByteTimeout Duration `yaml:"first_byte_timeout,omitempty" json:"first_byte_timeout,omitempty"`
	ExchangeTimeout  Duration `yaml:"exchange_timeout,omitempty" json:"exchange_timeout,omitempty"`
	MinRate          int64    `yaml:"min_rate,omitempty" json:"min_rate,omitempty"` // bytes/s
	MaxHeader        int64    `yaml:"max_header,omitempty" json:"max_header,omitempty"`
	MaxBody          int64    `yaml:"max_body,omitempty" json:"max_body,omitempty"` // decoded bytes
	Types            []string `yaml:"types,omitempty" json:"types,omitempty"`       // stored MIME types

	AddressConnections int     `yaml:"address_connections,omitempty" json:"address_connections,omitempty"`
	AddressRate        float64 `yaml:"address_rate,omitempty" json:"address_rate,omitempty"` // requests/s
	Connections        int     `yaml:"connections,omitempty" json:"connections,omitempty"`   // a worker
	Bandwidth          int64   `yaml:"bandwidth,omitempty" json:"bandwidth,omitempty"`       // bytes/s a worker
	DomainBandwidth    int64   `yaml:"domain_bandwidth,omitempty" json:"domain_bandwidth,omitempty"`

	MaxURLLength int `yaml:"max_url_length,omitempty" json:"max_url_length,omitempty"`
	MaxSegments  int `yaml:"max_segments,omitempty" json:"max_segments,omitempty"`
	MaxParams    int `yaml:"max_params,omitempty" json:"max_params,omitempty"`
	MaxRepeats   int `yaml:"max_repeats,omitempty" json:"max_repeats,omitempty"`
	MaxDepth     int `yaml:"max_depth,omitempty" json:"max_depth,omitempty"`
	MaxLinks     int `yaml:"max_links,omitempty" json:"max_links,omitempty"` // a page
	// PagesRound and PagesDay bound the URLs of a politeness group that are asked for
	// in a round and in a day (UTC); 0: no bound but its delay.
	PagesRound     int64 `yaml:"pages_round,omitempty" json:"pages_round,omitempty"`
	PagesDay       int64 `yaml:"pages_day,omitempty" json:"pages_day,omitempty"`
	MaxOutstanding int   `yaml:"max_outstanding,omitempty" json:"max_outstanding,omitempty"`

	IntervalFirst Duration `yaml:"interval_first,omitempty" json:"interval_first,omitempty"`
	IntervalSeed  Duration `yaml:"interval_seed,omitempty" json:"interval_seed,omitempty"`
	IntervalMin   Duration `yaml:"interval_min,omitempty" json:"interval_min,omitempty"`
	IntervalMax   Duration `yaml:"interval_max,omitempty" json:"interval_max,omitempty"`

	WeightImportance float64 `yaml:"weight_importance,omitempty" json:"weight_importance,omitempty"`
	WeightFreshness  float64 `yaml:"weight_freshness,omitempty" json:"weight_freshness,omitempty"`
	WeightSignal     float64 `yaml:"weight_signal,omitempty" json:"weight_signal,omitempty"`

	RoundDuration Duration `yaml:"round_duration,omitempty" json:"round_duration,omitempty"`
	TopN          int64    `yaml:"top_n,omitempty" json:"top_n,omitempty"`
	Retries       int      `yaml:"retries,omitempty" json:"retries,omitempty"`
	OnFailed      string   `yaml:"on_failed,omitempty" json:"on_failed,omitempty"` // commit, block

	SealBytes     int64    `yaml:"seal_bytes,omitempty" json:"seal_bytes,omitempty"`
	SealInterval  Duration `yaml:"seal_interval,omitempty" json:"seal_interval,omitempty"`
	ScratchBytes  int64    `yaml:"scratch_bytes,omitempty" json:"scratch_bytes,omitempty"`
	Retention     Duration `yaml:"retention,omitempty" json:"retention,omitempty"` // of snapshots
	KeepSnapshots int      `yaml:"keep_snapshots,omitempty" json:"keep_snapshots,omitempty"`
	KeepVersions  int      `yaml:"keep_versions,omitempty" json:"keep_versions,omitempty"` // of a page
	KeepFetches   Duration `yaml:"keep_fetches,omitempty" json:"keep_fetches,omitempty"`   // 0: for ever
	KeepLinks     Duration `yaml:"keep_links,omitempty" json:"keep_links,omitempty"`       // 0: for ever
	PruneEvery    Duration `yaml:"prune_every,omitempty" json:"prune_every,omitempty"`

	// Zeroed are the settings to which Set or Parse gave 0 in so many words. Where 0 is
	// how the default is stored, Validate says so, or it would be taken for a wish.
	Zeroed []string `yaml:"-" json:"-"`
}

// Duration is a time.Duration that is written as "1m30s".
type Duration time.Duration

// D is the duration as time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// MarshalText writes "1m30s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads, and days as "30d".
func (d *Duration) UnmarshalText(b []byte) error {
	parsed, err := parseDuration(string(b))
	*d = Duration(parsed)
	return err
}
