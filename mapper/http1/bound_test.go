package http1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

func TestBodyBound(t *testing.T) {
	const limit = 10_000
	text := strings.Repeat("0123456789", limit/10)
	chunked := ok + "Transfer-Encoding: chunked\r\n"
	bomb := gzipped(strings.Repeat("x", 1<<20))
	for _, tc := range []struct {
		name         string
		raw          string
		want         int64
		truncated    string
		rawTruncated string
		reused       bool
	}{
		{"length, just", ok + "Content-Length: 10000\r\n\r\n" + text, limit, "", "", true},
		{"length, over", ok + "Content-Length: 10001\r\n\r\n" + text + "x", limit, "length", "length",
			false},
		{"until end, just", ok + "\r\n" + text, limit, "", "", false},
		{"until end, over", ok + "\r\n" + text + "x", limit, "length", "length", false},
		{"chunks, just", chunked + "\r\n2710\r\n" + text + "\r\n0\r\n\r\n", limit, "", "", true},
		{"chunks, over", chunked + "\r\n2711\r\n" + text + "x\r\n0\r\n\r\n", limit, "length", "length",
			false},
		{"chunks of one byte", chunked + "\r\n" + strings.Repeat("1\r\nx\r\n", limit) + "0\r\n\r\n",
			limit, "", "", true},
		{"endless extensions", chunked + "\r\n1;" + strings.Repeat("x", 4000) + "\r\n" +
			strings.Repeat("h\r\n1;"+strings.Repeat("x", 4000)+"\r\n", 100), 21, "length", "length", false},
		{"bomb", ok + fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s",
			len(bomb), bomb), limit, "length", "", true},
		{"coded, just", ok + fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n",
			len(gzipped(text))) + gzipped(text), limit, "", "", true},
		{"endless empty members", ok + "Content-Encoding: gzip\r\n\r\n" +
			strings.Repeat(gzipped(""), limit), 0, "length", "length", false},
	} {
		for _, dir := range []string{"", t.TempDir()} {
			t.Run(fmt.Sprintf("%s, spilled %v", tc.name, dir != ""), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := always(tc.raw, strings.Contains(tc.raw, "Length") || tc.reused)
					c, end := r.client(Settings{MaxBody: limit, SpillDir: dir, SpillBytes: 1000})
					defer end()
					resp := do(t, c, get("/"))
					if resp.Body.Size() != tc.want || resp.Truncated != tc.truncated ||
						resp.RawTruncated != tc.rawTruncated {
						t.Errorf("%d bytes, truncated %q, raw %q", resp.Body.Size(), resp.Truncated,
							resp.RawTruncated)
					}
					if most := int64(2*limit + framingRoom); resp.RawBody.Size() > most {
						t.Errorf("raw body of %d bytes", resp.RawBody.Size())
					}
					if next := do(t, c, get("/")); next.Reused != tc.reused {
						t.Errorf("connection reused: %v", next.Reused)
					}
				})
			})
		}
	}
}

// TestSpill: a body is the same bytes in memory and in a file, and a file leaves nothing behind.
func TestSpill(t *testing.T) {
	dir := t.TempDir()
	files := &scratch{dir: dir}
	s := newSpool(files, 1000, 5000)
	var want strings.Builder
	for i := range 700 {
		fmt.Fprintf(s, "%d,", i)
		fmt.Fprintf(&want, "%d,", i)
	}
	if s.flushed == 0 || cap(s.mem) > 1000 {
		t.Fatalf("%d bytes in the file, %d in memory", s.flushed, cap(s.mem))
	}
	if got := body(t, s); got != want.String() {
		t.Error("bytes differ")
	}
	for _, off := range []int64{0, 1, 999, 1000, 1001, 1999, s.flushed - 3, s.flushed, s.Size() - 1} {
		p := make([]byte, 700)
		n, err := s.ReadAt(p, off)
		if rest := want.String()[off:]; string(p[:n]) != rest[:min(len(rest), 700)] {
			t.Errorf("at %d: wrong bytes", off)
		} else if (err == io.EOF) != (n < 700) {
			t.Errorf("at %d: %d bytes, %v", off, n, err)
		}
	}
	if _, err := s.ReadAt(make([]byte, 1), s.Size()); err != io.EOF {
		t.Errorf("past the end: %v", err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	again := newSpool(files, 1000, 0)
	_, _ = again.Write([]byte(strings.Repeat("y", 1500)))
	if got := body(t, again); got != strings.Repeat("y", 1500) || len(files.free) != 0 {
		t.Errorf("file used again gives %.20q…, %d wait", got, len(files.free))
	}
	if err := again.Close(); err != nil || len(files.free) != 1 {
		t.Errorf("close: %v, %d wait", err, len(files.free))
	}
	files.clear()
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestSpillFails: no room for a body is this machine's trouble, not the server's.
func TestSpillFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, raw := range []string{
			ok + "\r\n" + strings.Repeat("x", 5000),
			ok + "Transfer-Encoding: chunked\r\n\r\n1388\r\n" + strings.Repeat("x", 5000) + "\r\n0\r\n\r\n",
		} {
			r := always(raw, false)
			set := Settings{SpillBytes: 1000, SpillDir: filepath.Join(t.TempDir(), "none")}
			c, end := r.client(set)
			_, err := c.Do(t.Context(), get("/"))
			var web *Error
			if !errors.Is(err, os.ErrNotExist) || errors.As(err, &web) {
				t.Errorf("error is %v", err)
			}
			end()
		}
	})
}

// TestMemory: many slow bodies at once cost what the settings say, not what the bodies weigh.
func TestMemory(t *testing.T) {
	const conns, size = 100, 512 << 10
	var reached, served sync.WaitGroup
	release := make(chan struct{})
	block := strings.Repeat("x", size/8)
	c := New(Settings{SpillDir: t.TempDir()}, func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		served.Go(func() {
			defer server.Close()
			buf := make([]byte, 4096)
			_, _ = server.Read(buf)
			_, _ = fmt.Fprintf(server, "%sContent-Length: %d\r\n\r\n", ok, size)
			for range 7 {
				_, _ = io.WriteString(server, block)
			}
			reached.Done()
			<-release
			_, _ = io.WriteString(server, block)
		})
		return client, nil
	})
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	reached.Add(conns)
	for i := range conns {
		served.Go(func() {
			req := get("/")
			req.Pool = fmt.Sprint(i)
			resp, err := c.Do(context.Background(), req)
			if err != nil || resp.Body.Size() != size {
				t.Errorf("error %v, response %+v", err, resp)
				return
			}
			_ = resp.Close()
		})
	}
	reached.Wait()
	runtime.GC()
	runtime.ReadMemStats(&during)
	// 64 KiB of body, 12 KiB of buffers and a test's own 4 KiB a connection.
	if each := (int64(during.HeapAlloc) - int64(before.HeapAlloc)) / conns; each > 128<<10 {
		t.Errorf("%d KiB a connection", each>>10)
	}
	close(release)
	served.Wait()
	c.CloseIdle()
}
