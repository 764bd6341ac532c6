package sheet

import (
	"time"

	"seine/formats/settings"
)

// Field is one thing that a sheet sets.
type Field uint8

// The fields, in the order in which they are printed.
const (
	Delay Field = iota
	CrawlDelayCap
	PagesRound
	PagesDay
	Outstanding
	Depth
	IntervalFirst
	IntervalMin
	IntervalMax
	Boost
	Types
	Follow
	Embeds
	MaxBody
	Agent
	Headers
	fields
)

// column are the names of the fields, as columns and keys: those of the settings
// that they stand for, where there is one.
var column = [fields]string{"delay", "crawl_delay_cap", "pages_round", "pages_day", "max_outstanding",
	"max_depth", "interval_first", "interval_min", "interval_max", "boost", "types", "follow", "embeds",
	"max_body", "agent", "headers"}

// String is the name of the field's column.
func (f Field) String() string { return column[f] }

// ofGroup says whether a field is about the requests of a politeness group as a
// whole: a part of one has no clock, count or robots.txt of its own.
func (f Field) ofGroup() bool { return f <= Outstanding || f == Agent }

// Values are what a sheet, or all that a URL falls under together, set. Fields that
// are not set are zero.
type Values struct {
	set uint32 // a bit a Field

	Delay time.Duration
	// CrawlDelayCap bounds what of a Crawl-delay is heeded.
	CrawlDelayCap time.Duration
	PagesRound    int64 // URLs a round
	PagesDay      int64 // URLs asked for a day, UTC
	Outstanding   int64 // URLs that wait for their first turn
	Depth         int   // hops from a seed
	IntervalFirst time.Duration
	IntervalMin   time.Duration
	IntervalMax   time.Duration
	Boost         float64 // is added to the priority, [-1,1]
	Types         []string
	Follow        bool // links of its pages
	Embeds        bool
	MaxBody       int64 // decoded bytes
	Agent         string
	Headers       [][2]string // name and value
}

// Has says whether a field is set.
func (v *Values) Has(f Field) bool { return v.set&(1<<f) != 0 }

// Empty says whether nothing is set.
func (v *Values) Empty() bool { return v.set == 0 }

// take sets what is not set yet and is in w.
func (v *Values) take(w *Values) {
	if v.set == 0 {
		*v = *w
		return
	}
	for f := range fields {
		if !v.Has(f) && w.Has(f) {
			v.copy(f, w)
		}
	}
}

func (v *Values) copy(f Field, w *Values) {
	v.set |= 1 << f
	switch f {
	case Delay:
		v.Delay = w.Delay
	case CrawlDelayCap:
		v.CrawlDelayCap = w.CrawlDelayCap
	case PagesRound:
		v.PagesRound = w.PagesRound
	case PagesDay:
		v.PagesDay = w.PagesDay
	case Outstanding:
		v.Outstanding = w.Outstanding
	case Depth:
		v.Depth = w.Depth
	case IntervalFirst:
		v.IntervalFirst = w.IntervalFirst
	case IntervalMin:
		v.IntervalMin = w.IntervalMin
	case IntervalMax:
		v.IntervalMax = w.IntervalMax
	case Boost:
		v.Boost = w.Boost
	case Types:
		v.Types = w.Types
	case Follow:
		v.Follow = w.Follow
	case Embeds:
		v.Embeds = w.Embeds
	case MaxBody:
		v.MaxBody = w.MaxBody
	case Agent:
		v.Agent = w.Agent
	case Headers:
		v.Headers = w.Headers
	}
}

// Intervals gives settings, which are filled, with the intervals that the sheets set.
func (v *Values) Intervals(s settings.Settings) settings.Settings {
	span := func(f Field, to *settings.Duration, d time.Duration) {
		if v.Has(f) {
			*to = settings.Duration(d)
		}
	}
	span(IntervalFirst, &s.IntervalFirst, v.IntervalFirst)
	span(IntervalFirst, &s.IntervalSeed, v.IntervalFirst) // seeds and home pages are no exception to it
	span(IntervalMin, &s.IntervalMin, v.IntervalMin)
	span(IntervalMax, &s.IntervalMax, v.IntervalMax)
	// A bound that a sheet sets moves the other one, if the two would cross.
	if s.IntervalMin > s.IntervalMax && v.Has(IntervalMin) {
		s.IntervalMax = s.IntervalMin
	}
	s.IntervalMin = min(s.IntervalMin, s.IntervalMax)
	return s
}

// Manners is the delay between two requests to a politeness group, of which v are the
// sheets: theirs or base, the settings', and more where robots.txt asks for it.
func (v *Values) Manners(base, crawlDelay time.Duration) time.Duration {
	return max(v.Pace(base), v.Heeded(crawlDelay))
}

// Pace is the delay of the sheets, or else base.
func (v *Values) Pace(base time.Duration) time.Duration {
	if v.Has(Delay) {
		return v.Delay
	}
	return base
}

// Heeded is what of a Crawl-delay is heeded.
func (v *Values) Heeded(crawlDelay time.Duration) time.Duration {
	if v.Has(CrawlDelayCap) {
		return min(crawlDelay, v.CrawlDelayCap)
	}
	return crawlDelay
}

// Pages is how many URLs of a politeness group a round and a day may ask for, by the
// sheets or else by s; 0: no bound.
func (v *Values) Pages(s settings.Settings) (round, day int64) {
	round, day = s.PagesRound, s.PagesDay
	if v.Has(PagesRound) {
		round = v.PagesRound
	}
	if v.Has(PagesDay) {
		day = v.PagesDay
	}
	return round, day
}

// Room is how many URLs of a politeness group may be outstanding, by the sheets or
// else by s.
func (v *Values) Room(s settings.Settings) int64 {
	if v.Has(Outstanding) {
		return v.Outstanding
	}
	return int64(s.MaxOutstanding)
}

// Named is the token by which robots.txt of a politeness group names us: the sheets'
// or else base.
func (v *Values) Named(base string) string {
	if v.Has(Agent) {
		return v.Agent
	}
	return base
}
