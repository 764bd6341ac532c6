package webtest

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheSameSeedGrowsTheSameWeb(t *testing.T) {
	a, b, c := New(Spec{Seed: 1}), New(Spec{Seed: 1}), New(Spec{Seed: 2})
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	if diff := cmp.Diff(a.Truth(a.Seeds(3), now), b.Truth(b.Seeds(3), now)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(a.Truth(a.Seeds(3), now), c.Truth(c.Seeds(3), now)) {
		t.Error("another seed grows the same web")
	}
}

func TestTruthHoldsEveryKindOfEnd(t *testing.T) {
	w := New(Spec{Seed: 3, Domains: 300})
	counts := map[string]int{}
	for _, e := range w.Truth(w.Seeds(5), w.spec.Epoch) {
		counts[e.Reason]++
	}
	for _, reason := range []string{"ok", "redirect", "redirect_loop", "http_403", "http_404", "http_5xx",
		"robots_denied", "robots_unreachable", "dns_not_found", "connect_refused", "type_not_stored"} {
		if counts[reason] == 0 {
			t.Errorf("no URL ends as %s: %v", reason, counts)
		}
	}
	if counts["ok"] < 2000 {
		t.Errorf("only %d pages are reached", counts["ok"])
	}
}

func TestAPlainWebIsReachedWhole(t *testing.T) {
	w := New(Spec{Seed: 4, Plain: true, Domains: 10})
	pages := 0
	for _, h := range w.Hosts() {
		pages += h.Pages
	}
	ok := 0
	for url, e := range w.Truth(w.Seeds(len(w.Hosts())), w.spec.Epoch) {
		if e.Page {
			ok++
		} else if !strings.Contains(url, "/private/") && !strings.HasSuffix(url, ".secret") {
			t.Errorf("%s ends as %s", url, e.Reason)
		}
	}
	if ok != pages {
		t.Errorf("%d of %d pages reached", ok, pages)
	}
}

// TestDialServes asks over net.Pipe in virtual time and reads the log back.
func TestDialServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Spec{Seed: 5, Plain: true, Latency: 100 * time.Millisecond})
		h := w.Hosts()[0]
		conn, err := w.Dial(context.Background(), "tcp", h.Addr.String()+":80")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		in := bufio.NewReader(conn)
		for i, path := range []string{"/robots.txt", "/", "/private/1.html", "/"} {
			if i == 3 {
				time.Sleep(time.Second)
			}
			req, _ := http.NewRequest("GET", "http://"+h.Name+path, nil)
			go req.Write(conn)
			resp, err := http.ReadResponse(in, req)
			if err != nil {
				t.Fatal(path, err)
			}
			var body bytes.Buffer
			body.ReadFrom(resp.Body)
			if resp.StatusCode != 200 || body.Len() == 0 {
				t.Errorf("%s: %s, %d bytes", path, resp.Status, body.Len())
			}
		}
		got := w.Log.Manners(w, func(string) time.Duration { return time.Second }, 0)
		want := []Judgement{{Domain: h.Domain, Requests: 4, Short: 2, Forbidden: 1, Repeats: 1}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if got[0].Faulty() == "" {
			t.Error("faults are not told")
		}
	})
}

func TestDeadHosts(t *testing.T) {
	w := New(Spec{Seed: 6, Domains: 300})
	seen := map[Health]bool{}
	for _, h := range w.Hosts() {
		seen[h.Health] = true
		_, resolves := w.Lookup(h.Name)
		if resolves == (h.Health == NoName) {
			t.Errorf("%s is %s and resolves: %v", h.Name, h.Health, resolves)
		}
		conn, err := w.Dial(context.Background(), "tcp", h.Addr.String()+":80")
		if (err != nil) != (h.Health == Refused) {
			t.Errorf("%s is %s; dialling gives %v", h.Name, h.Health, err)
		}
		if conn != nil {
			conn.Close()
		}
	}
	if len(seen) != 7 {
		t.Errorf("healths %v", seen)
	}
}
