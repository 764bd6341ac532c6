package task

import (
	"seine/formats/schema"
	"seine/formats/settings"
)

// Visit is what the next recrawl interval is estimated from.
type Visit struct {
	Interval int64  // ms in force so far; 0: none yet
	Change   string // schema.ChangeNew and its like: what the visit found
	Priority bool   // a seed or a home page: starts at the short interval
}

// NextInterval estimates when a URL is worth another look, in ms: at first the
// setting for its kind, then × 0.5 where it had changed and × 1.5 where not,
// within [IntervalMin, IntervalMax] (DESIGN §12).
func NextInterval(s settings.Settings, v Visit) int64 {
	next := v.Interval
	switch {
	case next <= 0 || v.Change == schema.ChangeNew:
		next = s.IntervalFirst.D().Milliseconds()
		if v.Priority {
			next = s.IntervalSeed.D().Milliseconds()
		}
	case v.Change == schema.ChangeChanged:
		next /= 2
	default: // same, not modified
		next += next / 2
	}
	least, most := s.IntervalMin.D().Milliseconds(), s.IntervalMax.D().Milliseconds()
	return min(max(next, least), most)
}
