package jobs

import "seine/formats/layout"

// Inject brings seeds into urls and frontier.
const (
	KindInject  Kind  = "inject"
	StageInject Stage = "inject"
)

// Inject names the uploaded seeds: JSON lines of Seed.
type Inject struct {
	Upload layout.Key `json:"upload"`
	Now    bool       `json:"now,omitempty"` // makes known URLs due
	// Removes: all the lines are of seeds that are none any more.
	Removes bool `json:"removes,omitempty"`
}

// Seed is a line of the upload: a URL in normal form with its metadata.
type Seed struct {
	URL      string            `json:"url"`
	Domain   string            `json:"domain"`
	Host     string            `json:"host"`
	Raw      string            `json:"raw"`
	Priority float32           `json:"priority,omitempty"`
	Tag      string            `json:"tag,omitempty"`
	Interval int64             `json:"interval,omitempty"` // ms
	Depth    int               `json:"depth,omitempty"`    // -1: none
	Scope    string            `json:"scope,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// Removed: it is no seed any more. What is known of the URL stays.
	Removed bool `json:"removed,omitempty"`
}
