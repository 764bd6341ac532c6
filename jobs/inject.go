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
}

// Seed is a line of the upload: a URL in normal form with its metadata.
type Seed struct {
	URL      string            `json:"url"`
	Domain   string            `json:"domain"`
	Host     string            `json:"host"`
	Raw      string            `json:"raw"`
	Priority float32           `json:"priority,omitempty"`
	Tag      string            `json:"tag,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}
