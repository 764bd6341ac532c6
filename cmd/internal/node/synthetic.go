package node

import (
	"context"
	"fmt"
	"time"

	"seine/mapper/resolve"
	"seine/mapper/webtest"
)

// Synthetic is a web grown from a seed, reached in memory: no packet leaves the
// process.
func Synthetic(w *webtest.Web) Web {
	return Web{Resolver: synthetic{w}, Dial: w.Dial}
}

type synthetic struct{ web *webtest.Web }

// Lookup implements fetch.Resolver.
func (s synthetic) Lookup(_ context.Context, host string) (resolve.Answer, error) {
	a := resolve.Answer{TTL: time.Hour}
	addr, ok := s.web.Lookup(host)
	if !ok {
		return a, fmt.Errorf("%s: %w", host, resolve.ErrNotFound)
	}
	a.Addrs = append(a.Addrs, addr)
	return a, nil
}

// Prefetch implements fetch.Resolver.
func (synthetic) Prefetch(context.Context, []string) {}
