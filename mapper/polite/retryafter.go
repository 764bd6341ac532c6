package polite

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter bounds how long a server's word can silence a group.
const MaxRetryAfter = 24 * time.Hour

// dateForms are the forms of an HTTP date in use beside those of RFC 9110 (5.6.7), which
// http.ParseTime knows: numeric or odd zones, days of one digit, no day of the week.
var dateForms = []string{
	time.RFC1123Z, "Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04:05 -0700",
	"2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700", "Mon, 02-Jan-2006 15:04:05 MST",
	"Mon, 02-Jan-06 15:04:05 MST", time.RFC3339,
}

// ParseRetryAfter reads a Retry-After header: seconds (decimals too) or a date, in the obsolete
// forms as well. The result is above zero and at most MaxRetryAfter. ok is false when the header is
// missing, cannot be read, is zero or negative or lies in the past: such a value gives no pause,
// and the caller's own back-off does better than asking again at once.
func ParseRetryAfter(value string, now time.Time) (d time.Duration, ok bool) {
	value = strings.Trim(value, " \t\"")
	if value == "" {
		return 0, false
	}
	if strings.Trim(value, "0123456789.") == "" {
		seconds, err := strconv.ParseFloat(value, 64)
		switch {
		case seconds >= MaxRetryAfter.Seconds(): // +Inf too, beside its range error
			return MaxRetryAfter, true
		case err != nil:
			return 0, false
		}
		d = time.Duration(seconds * float64(time.Second))
		return d, d > 0
	}
	at, err := http.ParseTime(value)
	for i := 0; err != nil && i < len(dateForms); i++ {
		at, err = time.Parse(dateForms[i], value)
	}
	if err != nil || !at.After(now) {
		return 0, false
	}
	return min(at.Sub(now), MaxRetryAfter), true // Sub saturates
}
