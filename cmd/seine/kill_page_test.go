package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// heavySite is a site whose page /heavy takes long to parse: long enough to be killed at it.
func heavySite(t *testing.T) (root string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	heavy := bytes.Repeat([]byte("<p>x<a href=/y>y</a>&amp;"), 1_500_000)
	mux := http.NewServeMux()
	mux.HandleFunc("/robots.txt", http.NotFound)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<a href=/heavy>heavy</a><a href=/light>light</a>`)
		case "/heavy":
			asked.Add(1)
			_, _ = w.Write(heavy)
		default:
			fmt.Fprint(w, "<p>light")
		}
	})
	return "http://" + serveLocal(t, mux), asked
}

// killAt kills a process as soon as its scratch folder says that it parses url. What the process
// before left there counts only once this one has asked for the page, too.
func killAt(ctx context.Context, c *exec.Cmd, store, url string, asked *atomic.Int32) {
	before := asked.Load()
	for ctx.Err() == nil {
		time.Sleep(time.Millisecond)
		if asked.Load() == before {
			continue
		}
		if parses(filepath.Join(store, ".seine", "scratch"), url) {
			_ = c.Process.Kill()
			return
		}
	}
}

// parses says whether a process notes in its scratch folder that it parses url.
func parses(scratch, url string) bool {
	slots, _ := filepath.Glob(filepath.Join(scratch, "*", "working"))
	return slices.ContainsFunc(slots, func(path string) bool {
		b, err := os.ReadFile(path)
		return err == nil && bytes.Contains(b, []byte(url))
	})
}

// TestPageThatKillsItsProcess: a crawl in one process takes its coordinator along when a page kills
// it. The third process must know, and set the page aside with a reason.
func TestPageThatKillsItsProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	t.Parallel()
	folder := t.TempDir()
	program, store := build(t, "seine/cmd/seine"), filepath.Join(folder, "crawl")
	root, asked := heavySite(t)
	heavy := root + "/heavy"
	deaths := 0
	for run := 0; ; run++ {
		if run > 3 {
			t.Fatalf("the page is asked for again and again (%d times)", asked.Load())
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		c := exec.CommandContext(ctx, program, "crawl", "--store", store, "--delay", "10ms",
			"--max-body", "100MiB", "--allow-network", "127.0.0.0/8", root+"/")
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			killAt(ctx, c, store, heavy, asked)
		}()
		err := c.Wait()
		stop()
		<-watched
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), "killed") {
			t.Fatalf("seine crawl: %v\n%s", err, out.String())
		}
		deaths++
	}
	if deaths != 2 || asked.Load() != 2 {
		t.Errorf("%d processes died, %d requests for the page; want 2 and 2", deaths, asked.Load())
	}
	for url, want := range map[string]string{heavy: "parser_crashed", root + "/light": "ok"} {
		out, err := exec.Command(program, "explain", "--store", store, url).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("explain %s does not say %s (%v):\n%s", url, want, err, out)
		}
	}
}
