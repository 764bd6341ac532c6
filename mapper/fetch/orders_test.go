package fetch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seine/formats/layout"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/jobs"
	"seine/jobs/worker"
	"seine/mapper/polite"
)

// operated is a task that runs over a script while an operator puts settings.
type operated struct {
	*world
	script *script
	lease  *worker.Lease
	began  time.Time

	mu       sync.Mutex
	versions map[uint64]settings.Settings
	away     bool // versions cannot be read
}

func operate(t *testing.T, s *script, set settings.Settings, list ...string) *operated {
	o := &operated{world: newScriptWorld(t, s, set, list...), script: s, lease: foreverLease(),
		began: time.Now(), versions: map[uint64]settings.Settings{}}
	o.versions[1] = o.set
	o.task.Spec.Settings = 1
	o.env.Bandwidth = &polite.Bandwidth{}
	o.env.Settings = func(_ context.Context, v uint64) (settings.Settings, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.away && v > 1 {
			return settings.Settings{}, errors.New("the store is away")
		}
		return o.versions[v], nil
	}
	return o
}

// put makes a version out of the first and brings it to the task.
func (o *operated) put(version uint64, change func(*settings.Settings)) {
	o.mu.Lock()
	s := o.set
	change(&s)
	o.versions[version] = s.Fill()
	o.mu.Unlock()
	live, _ := o.lease.Live()
	live.Settings = version
	o.lease.Change(live)
}

// during runs the task beside what the operator does, and reads what it left.
func (o *operated) during(act func()) *left {
	o.t.Helper()
	type ended struct {
		result jobs.Result
		err    error
	}
	over := make(chan ended, 1)
	go func() {
		r, err := o.run(context.Background(), o.lease)
		over <- ended{r, err}
	}()
	act()
	e := <-over
	if e.err != nil {
		o.t.Fatal(e.err)
	}
	l := o.read(e.result)
	o.audit(o.script, l)
	return l
}

// after are the requests that came later than d after the beginning, to hosts
// that end in suffix.
func (o *operated) after(d time.Duration, suffix string) (list []string) {
	o.script.mu.Lock()
	defer o.script.mu.Unlock()
	for _, r := range o.script.log {
		if r.at.Sub(o.began) > d && strings.HasSuffix(r.authority, suffix) {
			list = append(list, r.url())
		}
	}
	return list
}

func block(what string, until time.Time) func(*settings.Settings) {
	return func(s *settings.Settings) {
		b := settings.Block{What: what, Reason: "they asked", By: "o", At: 1}
		if !until.IsZero() {
			b.Until = until.UnixMilli()
		}
		s.Blocks = []settings.Block{b}
	}
}

func numbered(host string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("http://%s/%d", host, i))
	}
	return list
}

// A block in the middle of a round: no request after it, what is in flight is
// cut, what waits ends as blocked at once, links to it are refused; others go on.
func TestBlock(t *testing.T) {
	for _, c := range []struct {
		what    string
		blocked []string // hosts
		others  []string
	}{
		{"domain:b.test", []string{"b.test", "www.b.test"}, []string{"c.test"}},
		{"host:www.b.test", []string{"www.b.test"}, []string{"b.test", "c.test"}},
		{"prefix:www.b.test/", []string{"www.b.test"}, []string{"b.test", "c.test"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.answers = func(r seen) (reply, bool) {
					return html(`<a href="http://www.b.test/new">x</a>`), r.target != "/robots.txt"
				}
				var list []string
				for _, h := range append(append([]string{}, c.blocked...), c.others...) {
					list = append(list, numbered(h, 20)...)
				}
				o := operate(t, s, settings.Settings{}, list...)
				l := o.during(func() {
					time.Sleep(10 * time.Second)
					o.put(2, block(c.what, time.Time{}))
					synctest.Wait()
				})
				for _, h := range c.blocked {
					if got := o.after(10*time.Second, h); len(got) > 0 && got[0] != "" {
						for _, u := range got {
							if strings.HasPrefix(u, h) {
								t.Errorf("asked for %s after the block", u)
							}
						}
					}
				}
				counts := map[string]int{}
				for u, f := range l.final(t) {
					host := strings.Split(u, "/")[2]
					counts[host+" "+f.Reason]++
					if f.Reason == schema.Blocked && (f.Rule != c.what || f.Detail != "they asked" ||
						f.StartedAt > o.began.Add(11*time.Second).UnixMilli()) {
						t.Errorf("%s ends as %+v", u, f)
					}
				}
				for _, h := range c.blocked {
					if n := counts[h+" blocked"]; n < 5 || n+counts[h+" ok"] != 20 {
						t.Errorf("%s: %v", h, counts)
					}
				}
				for _, h := range c.others {
					if counts[h+" ok"] != 20 {
						t.Errorf("%s: %v", h, counts)
					}
				}
				verdicts := map[string]int{}
				for _, link := range l.links {
					verdicts[link.Verdict+" "+link.Rule]++
				}
				if verdicts["accepted "] == 0 || verdicts["blocked "+c.what] == 0 {
					t.Errorf("links: %v", verdicts)
				}
			})
		})
	}
}

// What is in flight when the block comes is cut off, in whatever phase; the row
// says so, and the slot counts as used.
func TestBlockCutsOff(t *testing.T) {
	for name, answer := range map[string]reply{
		"before the first byte": {after: time.Minute, pieces: []string{"HTTP/1.1 200 OK\r\n\r\n"}},
		"in the body": {pieces: []string{"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" +
			"Content-Length: 9999999\r\n\r\n", strings.Repeat("x", 4096)}, every: time.Second,
			repeat: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.replies["b.test/1"] = answer
				o := operate(t, s, settings.Settings{}, "http://b.test/1", "http://b.test/2")
				l := o.during(func() {
					time.Sleep(10 * time.Second)
					o.put(2, block("host:b.test", time.Time{}))
				})
				if took := time.Since(o.began); took > 11*time.Second {
					t.Errorf("the task went on for %v", took)
				}
				got := l.outcome("http://b.test/1")
				if got.Reason != schema.Blocked || !got.Final || got.IP == "" || len(l.pages) > 0 {
					t.Errorf("what was cut off ends as %+v", got)
				}
				if end := s.log[len(s.log)-1].end.Sub(o.began); end > 11*time.Second {
					t.Errorf("the server saw the connection open for %v", end)
				}
				if rest := l.outcome("http://b.test/2"); rest.Reason != schema.Blocked || !rest.Final {
					t.Errorf("what waited ends as %+v", rest)
				}
			})
		})
	}
}

// A block of the version that the round names holds from the start, also for
// robots.txt; one with an end lets go by itself, and its rows say until when.
func TestBlockFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		until := time.Now().Add(15 * time.Second)
		set := settings.Settings{}
		block("domain:b.test", until)(&set)
		list := append(numbered("b.test", 3), numbered("c.test", 30)...)
		s.replies["c.test/20"] = html(`<a href="http://b.test/later">x</a>`)
		s.replies["c.test/1"] = html(`<a href="http://b.test/early">x</a>`)
		o := operate(t, s, set, list...)
		l := o.during(func() {})
		if got := o.after(-1, "b.test"); len(got) > 0 {
			t.Errorf("asked for %q", got)
		}
		for _, u := range list[:3] {
			if f := l.outcome(u); f.Reason != schema.Blocked || f.RetryAt != until.UnixMilli() {
				t.Errorf("%s ends as %+v", u, f)
			}
		}
		for _, link := range l.links {
			want := map[string]string{"http://b.test/early": schema.LinkBlocked,
				"http://b.test/later": schema.Accepted}[link.DstURL]
			if link.Verdict != want {
				t.Errorf("the link to %s is %s, want %s", link.DstURL, link.Verdict, want)
			}
		}
	})
}

// A pause: nothing starts, what is there is sealed, the hard stop moves with it.
func TestPausedTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.answers = func(seen) (reply, bool) { return html("x"), true }
		o := operate(t, s, settings.Settings{SealInterval: settings.Duration(time.Hour)},
			numbered("b.test", 100)...)
		o.task.Deadline = o.began.Add(30 * time.Second).UnixMilli()
		l := o.during(func() {
			time.Sleep(10 * time.Second)
			o.lease.Change(worker.Live{Held: true, Deadline: o.task.Deadline})
			time.Sleep(time.Second)
			if n := o.chunks(); n != 1 {
				t.Errorf("%d chunks are sealed by the pause", n)
			}
			time.Sleep(time.Hour)
			o.lease.Change(worker.Live{Deadline: time.Now().Add(20 * time.Second).UnixMilli()})
		})
		ok, waits := 0, 0
		for _, f := range l.final(t) {
			if f.Reason == schema.OK {
				ok++
			}
		}
		for _, f := range l.waiting {
			if f.Reason == schema.Untouched {
				waits++
			}
		}
		if ok < 26 || ok > 31 || ok+waits != 100 {
			t.Errorf("%d answered, %d wait; want 30 s' worth", ok, waits)
		}
		if early := len(s.requests()) - len(o.after(time.Hour, "")); early > 11 {
			t.Errorf("%d requests before the pause was over", early)
		}
	})
}

// chunks is how many chunks the task's log names.
func (o *operated) chunks() (n int) {
	o.t.Helper()
	for i := range 10 {
		b, err := o.store.Get(context.Background(), layout.Log(o.task.Spec.Job, o.task.Index, i))
		if err != nil {
			return n
		}
		if strings.Contains(string(b), `"chunk"`) {
			n++
		}
	}
	return n
}

// A longer delay holds from the next request on; a shorter one does not.
func TestDelayChangedInTheRound(t *testing.T) {
	for _, c := range []struct{ to, want time.Duration }{
		{5 * time.Second, 5 * time.Second}, {300 * time.Millisecond, time.Second},
	} {
		t.Run(c.to.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.answers = func(seen) (reply, bool) { return html("x"), true }
				o := operate(t, s, settings.Settings{}, numbered("b.test", 20)...)
				o.during(func() {
					time.Sleep(10*time.Second + 500*time.Millisecond)
					o.put(2, func(s *settings.Settings) { s.Delay = settings.Duration(c.to) })
				})
				for i, r := range s.log[1:] {
					gap, want := r.at.Sub(s.log[i].end), time.Second
					if r.at.Sub(o.began) > 10500*time.Millisecond {
						want = c.want
					}
					if gap < want || gap > want+time.Second {
						t.Errorf("gap %d at %v is %v, want %v", i, r.at.Sub(o.began), gap, want)
					}
				}
			})
		})
	}
}

// Settings that cannot be read hold the task: they may hold a block.
func TestUnreadableSettingsHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.answers = func(seen) (reply, bool) { return html("x"), true }
		o := operate(t, s, settings.Settings{}, numbered("b.test", 20)...)
		l := o.during(func() {
			time.Sleep(5 * time.Second)
			o.mu.Lock()
			o.away = true
			o.mu.Unlock()
			o.put(2, block("host:b.test", time.Time{}))
			time.Sleep(time.Minute)
			o.mu.Lock()
			o.away = false
			o.mu.Unlock()
		})
		if got := o.after(6*time.Second, ""); len(got) > 0 {
			t.Errorf("asked for %q", got)
		}
		if got := l.outcome("http://b.test/19"); got.Reason != schema.Blocked {
			t.Errorf("ends as %+v", got)
		}
	})
}

// A cap on bandwidth, put while a body comes, slows it down and cuts nothing.
func TestBandwidth(t *testing.T) {
	for name, change := range map[string]func(*settings.Settings){
		"of the worker": func(s *settings.Settings) { s.Bandwidth = 10_000 },
		"of the domain": func(s *settings.Settings) { s.DomainBandwidth = 10_000 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const size = 3_000_000
				s := newScript()
				s.replies["b.test/1"] = html(strings.Repeat("x", size))
				o := operate(t, s, settings.Settings{}, "http://b.test/1")
				o.put(2, change)
				l := o.during(func() {})
				took := time.Since(o.began)
				if took < 290*time.Second || took > 310*time.Second {
					t.Errorf("%d bytes at 10 kB/s took %v", size, took)
				}
				if got := l.outcome("http://b.test/1"); got.Reason != schema.OK ||
					l.pages[0].Bytes != size || l.pages[0].Truncated != "" {
					t.Errorf("ends as %+v, a page of %d bytes", got, l.pages[0].Bytes)
				}
			})
		})
	}
}
