package fetch

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/jobs/worker"
	"seine/mapper/http1"
	"seine/mapper/spool"
)

// TestRobotsThatExpireInARound are asked for again, and what they say then holds.
func TestRobotsThatExpireInARound(t *testing.T) {
	s := newScript()
	s.answers = func(r seen) (reply, bool) {
		if r.target == "/robots.txt" && s.count("h.test/robots.txt") > 2 {
			return text("User-agent: *\nDisallow: /"), true
		}
		return html("x"), true
	}
	var list []string
	for i := range 20 {
		list = append(list, fmt.Sprintf("http://h.test/%d", i))
	}
	set := settings.Settings{RobotsTTL: settings.Duration(5 * time.Second)}
	trial(t, s, set, list, func(t *testing.T, _ *world, l *left) {
		reasons := map[string]int{}
		for _, f := range l.final(t) {
			reasons[f.Reason]++
		}
		if len(l.robots) != 3 || reasons[schema.OK] < 8 || reasons[schema.RobotsDenied] < 8 {
			t.Errorf("%d robots, reasons %v", len(l.robots), reasons)
		}
	})
}

// TestUnreachableRobotsAreAskedAgain within a long round, with back-off.
func TestUnreachableRobotsAreAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.replies["h.test/robots.txt"] = status(500, "text/html", "")
		slow := html("x")
		slow.after = 25 * time.Second
		s.replies["www.h.test/0"] = slow
		list := []string{"http://h.test/first"}
		for i := range 30 {
			list = append(list, fmt.Sprintf("http://www.h.test/%d", i))
			s.replies[fmt.Sprintf("www.h.test/%d", i)] = slow
		}
		w := newScriptWorld(t, s, settings.Settings{}, append(list, "http://h.test/last")...)
		l := w.mustRun()
		w.audit(s, l)
		if n := s.count("h.test/robots.txt"); n != 2 {
			t.Errorf("asked for %d times", n)
		}
		if l.robots[len(l.robots)-1].Failures != 2 && l.robots[0].Failures != 2 {
			t.Errorf("rows %+v", l.robots)
		}
	})
}

// TestOurOwnWantBlamesNoServer: with no sockets left, URLs are asked for later.
func TestOurOwnWantBlamesNoServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.names["h.test"] = addrs("127.5.5.5")
		s.refused["127.5.5.5:80"] = errFiles
		time.AfterFunc(4500*time.Millisecond, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.refused, "127.5.5.5:80")
		})
		w := newScriptWorld(t, s, settings.Settings{}, "http://h.test/1", "http://h.test/2")
		l := w.mustRun()
		w.audit(s, l)
		for u, f := range l.final(t) {
			if f.Reason != schema.NotFound {
				t.Errorf("%s ends as %s (%s)", u, f.Reason, f.Detail)
			}
		}
		if n := len(s.dialled); n < 4 || n > 8 {
			t.Errorf("dialled %d times", n)
		}
	})
}

// TestAFullScratchDiskEndsTheAttempt, and blames no URL.
func TestAFullScratchDiskEndsTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.replies["h.test/big"] = html(strings.Repeat("x", 1<<20))
		w := newScriptWorld(t, s, settings.Settings{}, "http://h.test/big", "http://h.test/next")
		dir := w.env.Scratch
		s.answers = func(seen) (reply, bool) {
			if err := os.RemoveAll(dir); err != nil { // no file can be made there any more
				t.Error(err)
			}
			return status(404, "text/html", ""), true
		}
		if _, err := w.run(t.Context(), foreverLease()); err == nil {
			t.Fatal("the task ended")
		}
		w.env.Scratch = t.TempDir()
		w.task.Attempt.N++
		s.answers = nil
		l := w.mustRun()
		w.complete(l)
		if got := l.outcome("http://h.test/big"); got.Reason != schema.OK {
			t.Errorf("ends as %s (%s)", got.Reason, got.Detail)
		}
	})
}

// TestDamagedListRows end once, by the manners of what would be asked for.
func TestDamagedListRows(t *testing.T) {
	s := newScript()
	synctestWorld(t, s, func(t *testing.T, w *world) {
		w.damage = func(rows []schema.List) {
			rows[0].URL = "HTTP://A.test:80/x#frag"
			rows[1].Domain, rows[1].Host = "b.test", "b.test" // of http://a.test/2
			rows[2].URL = "::no URL::"
			rows[3].URL = ""
		}
		w.list(urls("http://a.test/1", "http://a.test/2", "http://c.test/", "http://d.test/",
			"http://b.test/")...)
		l := w.mustRun()
		w.audit(s, l)
		if n := len(l.final(t)); n != 5 {
			t.Errorf("%d final rows: %+v", n, l.fetches)
		}
	})
}

// TestAPanicOfAParserIsThePagesEnd, wherever it happens.
func TestAPanicOfAParserIsThePagesEnd(t *testing.T) {
	noted, err := spool.Open(t.TempDir(), "r1-t0", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := noted.Close(); err != nil {
			t.Error(err)
		}
	}()
	f := &fetcher{progress: &worker.Progress{}, spool: noted}
	o := &outcome{Page: &schema.Page{}, links: []link{{}}}
	f.parse(&schema.List{}, weburl.Normal{}, &answer{response: &http1.Response{}},
		o) // no body: a nil pointer
	if o.Fetch.Reason != schema.Crashed || o.Page != nil || o.links != nil {
		t.Errorf("outcome %+v", o)
	}
	if parsing := f.progress.Report().Parsing; len(parsing) > 0 {
		t.Errorf("still parsing %v", parsing)
	}
}

// TestSuspectSitemapsAreLeftAlone: one whose parsing killed workers is not read
// again.
func TestSuspectSitemapsAreLeftAlone(t *testing.T) {
	s := newScript()
	s.replies["h.test/robots.txt"] = text("Sitemap: /bad.xml\nSitemap: /good.xml")
	synctestWorld(t, s, func(t *testing.T, w *world) {
		w.task.Suspects = []string{"http://h.test/bad.xml"}
		w.list(urls("http://h.test/")...)
		w.audit(s, w.mustRun())
		if s.count("h.test/bad.xml") != 0 || s.count("h.test/good.xml") != 1 {
			t.Errorf("requests %v", s.requests())
		}
	})
}

// TestSitemapsWithoutContact: a sitemap on a public address does not keep the
// task for ever.
func TestSitemapsWithoutContact(t *testing.T) {
	s := newScript()
	s.names["www.h.test"] = addrs("93.184.216.34")
	s.replies["h.test/robots.txt"] = text("Sitemap: http://www.h.test/1\nSitemap: http://www.h.test/2")
	trial(t, s, settings.Settings{}, []string{"http://h.test/"}, func(t *testing.T, _ *world,
		l *left) {
		if len(s.requests()) != 2 || l.outcome("http://h.test/").Reason != schema.NotFound {
			t.Errorf("requests %v", s.requests())
		}
	})
}

// TestOldSpoolsAreSwept: those of earlier rounds, and the task's own once it has
// ended; never another task's of this round.
func TestOldSpoolsAreSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		w := newScriptWorld(t, s, settings.Settings{}, "http://h.test/")
		leave := func(id string) {
			sp, err := spool.Open(w.env.Scratch, id, 1<<20)
			if err == nil {
				err = sp.Append([]byte("x"))
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := sp.Close(); err != nil {
				t.Fatal(err)
			}
		}
		leave("r00000006-t0000")
		leave("r00000007-t0001")
		w.mustRun()
		leave("r00000007-t0000")
		leave("r00000007-t0000-a0001-0001")
		w.task.Attempt.N++
		w.mustRun()
		ids, err := spool.List(w.env.Scratch)
		if err != nil || len(ids) != 1 || ids[0] != "r00000007-t0001" {
			t.Errorf("left are %v, %v", ids, err)
		}
	})
}

// TestDescriptorsComeBack: nothing that a task opens stays open.
func TestDescriptorsComeBack(t *testing.T) {
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc: ", err)
		}
		return len(entries)
	}
	before := open()
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			s := newScript()
			s.answers = func(seen) (reply, bool) {
				answer := html(strings.Repeat("<p>x", 50_000))
				answer.after = 300 * time.Millisecond
				return answer, true
			}
			var list []string
			for i := range 20 {
				list = append(list, fmt.Sprintf("http://h%d.test/", i))
			}
			w := newScriptWorld(t, s, settings.Settings{SealInterval: settings.Duration(time.Second)},
				list...)
			if err := w.kill(1500 * time.Millisecond); err == nil {
				t.Error("the task ended")
			}
			w.audit(s, w.mustRun())
		})
	}
	if after := open(); after > before+2 {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}
