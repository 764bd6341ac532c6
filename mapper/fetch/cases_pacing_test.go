package fetch

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"seine/formats/schema"
	"seine/formats/settings"
	"seine/mapper/polite"
)

// TestRetryAfter has section H of the field's cases: what the header of an
// answer makes of the group, not only of the URL.
func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		header string
		pause  time.Duration
		reason schema.Reason
	}{
		{"seconds", 429, "Retry-After: 120", 2 * time.Minute, schema.TooMany},
		{"a fraction", 429, "Retry-After: 1.5", 1500 * time.Millisecond, schema.TooMany},
		{"below zero", 429, "Retry-After: -1", time.Minute, schema.TooMany},
		{"zero", 429, "Retry-After: 0", time.Minute, schema.TooMany},
		{"words", 429, "Retry-After: soon", time.Minute, schema.TooMany},
		{"none with 429", 429, "X: y", time.Minute, schema.TooMany},
		{"none with 503", 503, "X: y", time.Minute, schema.Unavailable},
		{"503", 503, "Retry-After: 90", 90 * time.Second, schema.UnavailableFor},
		{"a date", 503, "Retry-After: Sat, 01 Jan 2000 00:10:00 GMT", 10*time.Minute - time.Second,
			schema.UnavailableFor},
		{"a date that is past", 503, "Retry-After: Wed, 21 Oct 1999 07:28:00 GMT", time.Minute,
			schema.Unavailable},
		{"a year", 429, "Retry-After: 999999999", 24 * time.Hour, schema.TooMany},
		{"403", 403, "Retry-After: 60", time.Minute, schema.Forbidden},
		{"500", 500, "Retry-After: 60", time.Minute, schema.ServerError},
		{"200", 200, "Retry-After: 60", time.Second, schema.OK},
		{"500 without", 500, "X: y", time.Second, schema.ServerError},
		{"404 without", 404, "X: y", time.Second, schema.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript()
			s.replies["h.test/1"] = status(c.status, "text/html", "x", c.header)
			list := []string{"http://h.test/1", "http://www.h.test/2"}
			trial(t, s, settings.Settings{}, list, func(t *testing.T, _ *world, l *left) {
				got := l.outcome(list[0])
				if got.Reason != c.reason {
					t.Errorf("ends as %s", got.Reason)
				}
				last := s.log[1]
				gap := s.log[2].at.Sub(last.end)
				if gap < c.pause || gap > c.pause+time.Second {
					t.Errorf("the group paused for %v, want %v", gap, c.pause)
				}
				if at := fromMS(got.RetryAt); c.pause > time.Second && !at.Equal(last.end.Add(c.pause)) {
					t.Errorf("the row says until %v, the pause is until %v", at, last.end.Add(c.pause))
				}
			})
		})
	}
}

// TestBackOffDoubles: 60 s, 120 s, 240 s; a success ends it.
func TestBackOffDoubles(t *testing.T) {
	s := newScript()
	for i := range 4 {
		s.replies[fmt.Sprintf("h.test/%d", i)] = status(429, "text/html", "")
	}
	s.replies["h.test/3"] = html("ok")
	s.replies["h.test/4"] = status(429, "text/html", "")
	var list []string
	for i := range 6 {
		list = append(list, fmt.Sprintf("http://h.test/%d", i))
	}
	trial(t, s, settings.Settings{}, list, func(t *testing.T, _ *world, l *left) {
		for i, want := range []time.Duration{time.Second, time.Minute, 2 * time.Minute,
			4 * time.Minute, time.Second, time.Minute} {
			if gap := s.log[i+1].at.Sub(s.log[i].end); gap < want || gap > want+time.Second {
				t.Errorf("gap %d is %v, want %v", i, gap, want)
			}
		}
	})
}

// TestRetryAfterBeyondTheHardStop: the rest waits again, at once, and says why.
func TestRetryAfterBeyondTheHardStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.replies["h.test/1"] = status(429, "text/html", "x", "Retry-After: 3600")
		w := newScriptWorld(t, s, settings.Settings{}, "http://h.test/1", "http://h.test/2")
		w.task.Deadline = time.Now().Add(10 * time.Minute).UnixMilli()
		began := time.Now()
		l := w.mustRun()
		w.audit(s, l)
		if got := l.outcome("http://h.test/2"); got.Reason != schema.GroupBusy || got.Final {
			t.Errorf("the rest %+v", got)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the task took %v", took)
		}
	})
}

// TestAPauseSurvivesTheProcess: it is sealed at once, and the next attempt, with
// nothing but the store, obeys.
func TestAPauseSurvivesTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.replies["h.test/1"] = status(429, "text/html", "x", "Retry-After: 600")
		w := newScriptWorld(t, s, settings.Settings{SealInterval: settings.Duration(time.Hour)},
			"http://h.test/1", "http://h.test/2")
		if err := w.kill(20 * time.Second); err == nil {
			t.Fatal("the task ended")
		}
		w.env.Scratch = t.TempDir()
		w.audit(s, w.mustRun())
		if n := s.count("h.test/1"); n != 1 {
			t.Errorf("asked for %d times", n)
		}
		if gap := s.log[2].at.Sub(s.log[1].end); gap < 600*time.Second {
			t.Errorf("the pause was %v", gap)
		}
	})
}

// TestFastErrorsAreNotAskedForFaster, and slow answers do not eat the delay.
func TestFastErrorsAreNotAskedForFaster(t *testing.T) {
	s := newScript()
	slow := html("x")
	slow.after = 5 * time.Second
	s.replies["h.test/5"] = slow
	var list []string
	for i := range 10 {
		list = append(list, fmt.Sprintf("http://h.test/%d", i))
	}
	trial(t, s, settings.Settings{}, list, func(t *testing.T, _ *world, l *left) {
		if n := len(s.requests()); n != 11 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestLimitsOfAnAddress: many names on one public address share its limits, and
// one domain on many addresses keeps its delay.
func TestLimitsOfAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		var list []string
		for i := range 60 {
			name := fmt.Sprintf("d%d.test", i)
			s.names[name] = addrs("93.184.216.34")
			list = append(list, "http://"+name+"/")
		}
		for i := range 6 {
			name := fmt.Sprintf("h%d.one.test", i)
			s.names[name] = []netip.Addr{netip.AddrFrom4([4]byte{93, 184, 217, byte(i + 1)})}
			list = append(list, "http://"+name+"/")
		}
		w := newScriptWorld(t, s, settings.Settings{Contact: "a@b.test"}, list...)
		w.env.Addresses = polite.NewAddresses(10, 20)
		l := w.mustRun()
		w.audit(s, l)
		var starts []time.Time
		for _, r := range s.log {
			if r.addr == "93.184.216.34:80" {
				starts = append(starts, r.at)
			}
		}
		for i := 20; i < len(starts); i++ {
			if gap := starts[i].Sub(starts[i-20]); gap < time.Second {
				t.Errorf("21 requests to one address in %v", gap)
			}
		}
		if len(starts) != 120 {
			t.Errorf("%d requests", len(starts))
		}
	})
}
