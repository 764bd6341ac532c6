package polite

import (
	"testing"
	"time"
)

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 10, 21, 7, 18, 0, 0, time.UTC)
	const ten = 10 * time.Minute
	for _, c := range []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"120", 2 * time.Minute, true}, {" 120 ", 2 * time.Minute, true},
		{"1.5", 1500 * time.Millisecond, true}, {".5", 500 * time.Millisecond, true},
		{`"5"`, 5 * time.Second, true},
		{"86400", MaxRetryAfter, true}, {"999999999", MaxRetryAfter, true},
		{"99999999999999999999999", MaxRetryAfter, true},
		{"Wed, 21 Oct 2026 07:28:00 GMT", ten, true},
		{"Wednesday, 21-Oct-26 07:28:00 GMT", ten, true},
		{"Wed Oct 21 07:28:00 2026", ten, true},
		{"Wed, 21 Oct 2026 09:28:00 +0200", ten, true},
		{"Wed, 21 Oct 2026 07:28:00 UTC", ten, true},
		{"21 Oct 2026 07:28:00 GMT", ten, true},
		{"Wed, 21-Oct-2026 07:28:00 GMT", ten, true},
		{"2026-10-21T07:28:00Z", ten, true},
		{"Fri, 21 Oct 2050 07:28:00 GMT", MaxRetryAfter, true},
		{"Fri, 31 Dec 9999 23:59:59 GMT", MaxRetryAfter, true},
		{"", 0, false}, {"0", 0, false}, {"-1", 0, false}, {"+5", 0, false}, {"soon", 0, false},
		{"1e3", 0, false}, {"10s", 0, false}, {"1.2.3", 0, false}, {".", 0, false}, {"nan", 0,
			false},
		{"Wed, 21 Oct 2026 07:18:00 GMT", 0, false}, {"Wed, 21 Oct 2020 07:28:00 GMT", 0, false},
		{"Wed, 41 Oct 2026 07:28:00 GMT", 0, false},
	} {
		t.Run(c.value, func(t *testing.T) {
			if d, ok := ParseRetryAfter(c.value, now); d != c.want || ok != c.ok {
				t.Errorf("got %v, %v; want %v, %v", d, ok, c.want, c.ok)
			}
		})
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	f.Add("1.5", int64(0))
	f.Add("Wed, 21 Oct 2026 07:28:00 GMT", int64(1792567680))
	f.Fuzz(func(t *testing.T, value string, unix int64) {
		d, ok := ParseRetryAfter(value, time.Unix(unix%1e11, 0))
		if ok != (d > 0) || d > MaxRetryAfter {
			t.Errorf("%q: %v, %v", value, d, ok)
		}
	})
}
