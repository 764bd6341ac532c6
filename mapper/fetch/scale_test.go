package fetch

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"seine/formats/schema"
	"seine/formats/settings"
)

// whole runs the trials of size at their whole size. They take CPU time: about 35 s for 30 hosts an
// hour, 45 s for 2,000 hosts a minute, 270 s for the 5 GB of slow hosts.
var whole = flag.Bool("whole", false, "run trials of size at their whole size")

// TestMemoryOfSlowHosts: many hosts that send their bodies slowly, and end all
// at once, take memory by the settings' bounds and not by what is on its way.
// At its whole size it is the trial of 1,000 hosts that send 5 MiB under 1 GiB.
func TestMemoryOfSlowHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory, which the race detector multiplies; it runs without it")
	}
	hosts, size, bound := 100, 1<<20, uint64(80<<20)
	if *whole {
		hosts, size, bound = 1000, 5<<20-100, 1<<30
	}
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // the heap is to show what is live
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	peak, stop := watchHeap()
	synctest.Test(t, func(t *testing.T) {
		s, piece := newScript(), "<p>slow words<!--"+strings.Repeat("-", 1<<16-20)+"-->"
		pieces := []string{"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" +
			fmt.Sprintf("Content-Length: %d\r\n\r\n", size)}
		for left := size; left > 0; left -= len(piece) {
			pieces = append(pieces, piece[:min(left, len(piece))])
		}
		s.answers = func(r seen) (reply, bool) {
			return reply{pieces: pieces, every: time.Second, keep: true}, r.target != "/robots.txt"
		}
		var list []string
		for i := range hosts {
			list = append(list, fmt.Sprintf("http://h%d.test/", i))
		}
		w := newScriptWorld(t, s, settings.Settings{SealBytes: 16 << 20}, list...)
		w.env.Exchanges = make(chan struct{}, hosts)
		l := w.mustRun()
		w.complete(l)
		if n := len(l.pages); n != hosts || l.pages[0].Bytes != int64(size) {
			t.Errorf("%d pages, the first of %d bytes", n, l.pages[0].Bytes)
		}
	})
	stop()
	if grew := *peak - min(before.HeapAlloc, *peak); grew > bound {
		t.Errorf("the heap grew by %d MiB, %d MiB are allowed", grew>>20, bound>>20)
	} else {
		t.Logf("the heap grew by %d MiB", grew>>20)
	}
}

// watchHeap samples the heap until it is stopped. It runs outside the bubble: in
// there no time passes while anything works.
func watchHeap() (peak *uint64, stop func()) {
	peak = new(uint64)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			*peak = max(*peak, m.HeapAlloc)
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	return peak, func() { close(done); <-ended }
}

// TestVirtualTime is the trial of hours in seconds: few hosts for long, and many
// hosts for a while, at a request a second.
func TestVirtualTime(t *testing.T) {
	for _, c := range []struct {
		name         string
		hosts, more  int // more and longer: at the trial's whole size
		long, longer time.Duration
	}{
		{"30 hosts for an hour", 30, 30, time.Minute, time.Hour},
		{"2,000 hosts for a minute", 500, 2000, 4 * time.Second, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			if *whole {
				c.hosts, c.long = c.more, c.longer
			}
			seconds := int(c.long / time.Second)
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				body := html("<title>x</title><p>some words<a href=/x>y</a>")
				s.answers = func(r seen) (reply, bool) { return body, r.target != "/robots.txt" }
				var list []string
				for h := range c.hosts {
					for p := range seconds + 10 {
						list = append(list, fmt.Sprintf("http://h%d.test/%d", h, p))
					}
				}
				w := newScriptWorld(t, s, settings.Settings{}, list...)
				w.task.Deadline = time.Now().Add(c.long).UnixMilli()
				l := w.mustRun()
				w.auditManners(s, time.Second)
				w.complete(l)
				// robots.txt at 0 s, then a page a second until the hard stop.
				if got, want := len(l.pages), c.hosts*(seconds-1); got != want {
					t.Errorf("%d pages, want %d", got, want)
				}
				for _, f := range l.waiting {
					if f.Reason != schema.Untouched {
						t.Fatalf("%s waits as %s", f.URL, f.Reason)
					}
				}
			})
		})
	}
}
