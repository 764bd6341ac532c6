package node

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"seine/mapper/resolve"
)

// costWeb is a web of many hosts whose pages are cheap to make: each has the same number of
// links, of which most stay on the host, and as many words as it takes to come to a size.
type costWeb struct {
	hosts, pages int // pages a host
	links, bytes int // of a page
}

func (w costWeb) host(h int) string                { return fmt.Sprintf("www.h%d.test", h) }
func (w costWeb) url(h, p int) string              { return "http://" + w.host(h) + w.path(p) }
func (w costWeb) path(p int) string                { return "/p" + strconv.Itoa(p) }
func (w costWeb) web() Web                         { return Web{Resolver: w, Dial: w.dial} }
func (costWeb) Prefetch(context.Context, []string) {}

// Lookup gives every name the same address: what is asked for stands in the request.
func (costWeb) Lookup(context.Context, string) (resolve.Answer, error) {
	return resolve.Answer{TTL: time.Hour, Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}, nil
}

func (w costWeb) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		in := bufio.NewReader(far)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if _, err := far.Write(w.answer(r)); err != nil {
				return
			}
		}
	}()
	return near, nil
}

func (w costWeb) answer(r *http.Request) []byte {
	p, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/p"))
	if err != nil || p >= w.pages {
		return []byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
	}
	var h int
	_, _ = fmt.Sscanf(r.Host, "www.h%d.test", &h) // 0 if it is no host of ours
	body := w.page(h, p)
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n",
		len(body))
	return append([]byte(head), body...)
}

// page is made of links and of words that pack as badly as gzipped pages do.
func (w costWeb) page(h, p int) []byte {
	dice := rand.New(rand.NewPCG(uint64(h), uint64(p)))
	var b bytes.Buffer
	fmt.Fprintf(&b, "<title>page %d of host %d</title>", p, h)
	for i := range w.links {
		to := h
		if i%6 == 5 {
			to = dice.IntN(w.hosts)
		}
		fmt.Fprintf(&b, "<a href=%q>to %d</a> ", w.url(to, dice.IntN(w.pages)), i)
	}
	for b.Len() < w.bytes {
		fmt.Fprintf(&b, "<p>%x", dice.Uint64())
	}
	return b.Bytes()
}
