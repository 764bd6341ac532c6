package jobs

// Prune takes out of the append tables what retention does not keep, and
// rewrites archives that are mostly dead.
const (
	KindPrune  Kind  = "prune"
	StagePrune Stage = "prune"
)

// Prune is what is kept. Times are ms since 1970; a zero value keeps all.
type Prune struct {
	// Fetches: lists, fetches and dead_letters of jobs before this time go.
	Fetches int64 `json:"fetches,omitempty"`
	// Links of jobs before this time go.
	Links int64 `json:"links,omitempty"`
	// Versions of a page, told apart by content, stay: the newest so many.
	Versions int `json:"versions,omitempty"`
}
