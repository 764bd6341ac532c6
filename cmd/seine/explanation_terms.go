package main

import (
	"context"
	"fmt"
	"time"

	"seine/formats/sheet"
)

// terms say how many hops it may be away and when it is looked at again, and which of
// its seed, a sheet and the settings decided that.
func (e *explanation) terms(context.Context) error {
	seed := e.row.Seed
	terms, asked := e.settings.Terms[seed]
	ofSeed := "what its seed asks for"
	if asked && seed != e.url.URL {
		ofSeed = fmt.Sprintf("what its seed, %s, asks for", seed)
	}
	limit, who := e.settings.MaxDepth, "max_depth of the settings"
	if asked && terms.Depth != 0 {
		limit, who = max(terms.Depth, 0), ofSeed
	}
	if e.sheets.Has(sheet.Depth) {
		switch ownLimit := asked && terms.Depth != 0; {
		case ownLimit && limit < e.sheets.Depth:
			who += fmt.Sprintf("; its sheet allows %d, the smaller counts", e.sheets.Depth)
		case ownLimit:
			who = fmt.Sprintf("its sheet; its seed allows %d, the smaller counts", limit)
			limit = e.sheets.Depth
		default:
			limit, who = e.sheets.Depth, "its sheet"
		}
	}
	e.say("depth", "%d hops from its seed of at most %d (%s)", e.row.Depth, limit, who)
	if !e.known {
		return nil
	}
	inSheet := e.sheets.Has(sheet.IntervalFirst) || e.sheets.Has(sheet.IntervalMin) ||
		e.sheets.Has(sheet.IntervalMax)
	set, by := e.sheets.Intervals(e.settings), "the settings"
	if inSheet {
		by = "its sheet"
	}
	if asked && terms.Interval > 0 {
		by = ofSeed
		if inSheet {
			by += ", which goes before its sheet"
		}
		e.say("interval", "looked at again each %v (%s)", terms.Interval.D(), by)
		return nil
	}
	now := "not yet"
	if e.row.Interval > 0 {
		now = (time.Duration(e.row.Interval) * time.Millisecond).String()
	}
	e.say("interval", "%s now; it adapts to how often the page changes, within %v and %v (%s)", now,
		set.IntervalMin.D(), set.IntervalMax.D(), by)
	return nil
}
