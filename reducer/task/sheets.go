package task

import (
	"time"

	"seine/formats/settings"
	"seine/formats/sheet"
	"seine/formats/weburl"
)

// DayMS is a day, ms.
const DayMS = 86_400_000

// Day is the beginning of the day (UTC) of a moment; both in ms since 1970.
func Day(ms int64) int64 { return ms - ms%DayMS }

// Why a delay is in force: the column delay_why.
const (
	delayDefault = "default"     // the settings'
	delaySheet   = "sheet"       // a sheet's
	delayRobots  = "crawl_delay" // robots.txt asks for more
)

// Delay is the delay of a politeness group, by the settings, its sheets and the
// Crawl-delay that robots.txt asks for; both in ms; and what decides.
func Delay(s settings.Settings, v sheet.Values, crawlDelay int64) (delay int64, why string) {
	delay, why = v.Pace(s.Delay.D()).Milliseconds(), delayDefault
	if v.Has(sheet.Delay) {
		why = delaySheet
	}
	asked := v.Heeded(time.Duration(crawlDelay) * time.Millisecond).Milliseconds()
	if asked > delay {
		return asked, delayRobots
	}
	return delay, why
}

// SheetsOf joins the sheets that a URL in normal form falls under, given as text.
func SheetsOf(t *sheet.Table, url string) (v sheet.Values) {
	if t == nil {
		return v
	}
	if u, err := weburl.Normalize(url, weburl.Options{}); err == nil {
		v = t.For(u)
	}
	return v
}
