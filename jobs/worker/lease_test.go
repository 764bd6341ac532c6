package worker

import (
	"errors"
	"testing"
	"time"

	"seine/jobs"
)

// skewed is a clock whose two hands are set by hand.
type skewed struct{ Reading }

func (s *skewed) read() Reading { return s.Reading }

func (s *skewed) pass(wall, mono time.Duration) {
	s.Wall += wall
	s.Mono += mono
}

func TestLease(t *testing.T) {
	const s = time.Second
	type step struct {
		wall, mono time.Duration // pass by
		// renewSent renews, as if the heartbeat had been sent this long ago.
		renewSent time.Duration
		renew     bool
		want      bool // the gate is open
	}
	for _, test := range []struct {
		name  string
		steps []step
	}{
		{"holds until three seconds before its end", []step{
			{wall: 11999 * time.Millisecond, mono: 11999 * time.Millisecond, want: true},
			{wall: time.Millisecond, mono: time.Millisecond, want: false}}},
		{"counts from sending, not from the acknowledgement", []step{
			{wall: 9 * s, mono: 9 * s, renew: true, renewSent: 5 * s, want: true},
			{wall: 6 * s, mono: 6 * s, want: true},
			{wall: 1 * s, mono: 1 * s, want: false}}},
		{"a machine that slept: only the wall clock moved", []step{
			{wall: 12 * s, want: false}}},
		{"a wall clock set back: only the monotonic moved", []step{
			{wall: -time.Hour, mono: 11 * s, want: true},
			{mono: 1 * s, want: false}}},
		{"a wall clock set back is the base of the next renewal", []step{
			{wall: -time.Hour, mono: 5 * s, renew: true, want: true},
			{wall: 11 * s, want: true},
			{wall: 1 * s, want: false}}},
		{"a lapsed lease is not revived", []step{
			{wall: 12 * s, mono: 12 * s, want: false},
			{renew: true, want: false}}},
		{"nor is one whose lapse nobody saw", []step{
			{wall: 13 * s, mono: 13 * s, renew: true, want: false}}},
		{"nor by setting the clock back", []step{
			{wall: 12 * s, want: false},
			{wall: -12 * s, want: false}}},
		{"an acknowledgement that took too long renews nothing", []step{
			{wall: 11 * s, mono: 11 * s, renew: true, renewSent: 11 * s, want: true},
			{wall: 1 * s, mono: 1 * s, want: false}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock := &skewed{Reading{Wall: 1e9 * s, Mono: 5 * s}}
			l := NewLease(clock.read, clock.Reading)
			for i, step := range test.steps {
				clock.pass(step.wall, step.mono)
				if step.renew {
					sent := clock.Reading
					sent.Wall -= step.renewSent
					sent.Mono -= step.renewSent
					if got := l.Renew(sent); got != step.want {
						t.Errorf("step %d: Renew = %v, want %v", i, got, step.want)
					}
				}
				if err := l.Gate(); (err == nil) != step.want {
					t.Errorf("step %d: Gate = %v, want open %v", i, err, step.want)
				} else if err != nil && !errors.Is(err, jobs.ErrLeaseLost) {
					t.Errorf("step %d: Gate = %v, want ErrLeaseLost", i, err)
				}
				select {
				case <-l.Lost():
					if step.want {
						t.Errorf("step %d: Lost is closed", i)
					}
				default:
					if !step.want {
						t.Errorf("step %d: Lost is open", i)
					}
				}
			}
		})
	}
}

func TestLeaseRevoked(t *testing.T) {
	clock := &skewed{}
	l := NewLease(clock.read, clock.Reading)
	l.Revoke()
	l.Revoke()
	if err := l.Gate(); !errors.Is(err, jobs.ErrLeaseLost) {
		t.Errorf("Gate = %v after Revoke", err)
	}
	if l.Renew(clock.Reading) {
		t.Error("a revoked lease was renewed")
	}
}

func TestProgress(t *testing.T) {
	var p Progress
	one := p.Parsing("http://b/")
	two := p.Parsing("http://a/")
	again := p.Parsing("http://b/")
	p.Add("pages", 2)
	p.Add("pages", 3)
	p.Set("bytes", 7)
	p.Note("a.test: 840 to go")
	one()
	one() // done twice counts once
	r := p.Report()
	if len(r.Parsing) != 2 || r.Parsing[0] != "http://a/" || r.Parsing[1] != "http://b/" {
		t.Errorf("Parsing = %q", r.Parsing)
	}
	if r.Counts["pages"] != 5 || r.Counts["bytes"] != 7 || r.Note != "a.test: 840 to go" {
		t.Errorf("report = %+v", r)
	}
	again()
	two()
	p.Add("pages", 1)
	if r.Counts["pages"] != 5 {
		t.Error("a report changed after it was made")
	}
	if r := p.Report(); len(r.Parsing) != 0 {
		t.Errorf("Parsing = %q after all is done", r.Parsing)
	}
}
