package http1

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// pageSize is the mean page of the measurements that the design rests on.
const pageSize = 82_600

func benchServer(b *testing.B) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	page := []byte(strings.Repeat("<p>text</p>\n", pageSize/12+1))[:pageSize]
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "82600")
		_, _ = w.Write(page)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	b.Cleanup(func() { _ = srv.Close(); <-done })
	return l.Addr().String()
}

// BenchmarkKeepAlive compares an exchange with net/http's, client and server in one process.
func BenchmarkKeepAlive(b *testing.B) {
	addr := benchServer(b)
	b.Run("http1", func(b *testing.B) { benchOurs(b, Settings{}, addr) })
	b.Run("http1 spilling", func(b *testing.B) { benchOurs(b, Settings{SpillDir: b.TempDir()}, addr) })
	b.Run("nethttp", func(b *testing.B) {
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		b.SetBytes(pageSize)
		for b.Loop() {
			resp, err := client.Get("http://" + addr + "/")
			if err != nil {
				b.Fatal(err)
			}
			var page bytes.Buffer
			page.Grow(pageSize)
			if n, err := io.Copy(&page, resp.Body); err != nil || n != pageSize {
				b.Fatal(n, err)
			}
			_ = resp.Body.Close()
		}
	})
}

func benchOurs(b *testing.B, set Settings, addr string) {
	c := New(set, nil)
	defer c.CloseIdle()
	req := &Request{Scheme: "http", Host: addr, Addr: addr, Target: "/"}
	b.SetBytes(pageSize)
	for b.Loop() {
		resp, err := c.Do(b.Context(), req)
		if err != nil || resp.Body.Size() != pageSize {
			b.Fatal(err)
		}
		_ = resp.Close()
	}
}
