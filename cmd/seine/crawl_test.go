package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"seine/cmd/internal/node"
	"seine/mapper/webtest"
)

// run is one command line in this process.
type run struct {
	code     int
	out, err string
}

// try runs a command line on a store, with a synthetic web if one is given.
func try(t *testing.T, web *webtest.Web, store string, args ...string) run {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{in: &bytes.Buffer{}, out: &out, err: &errs, interrupts: make(chan os.Signal, 2)}
	if web != nil {
		a.web = node.Synthetic(web)
	}
	if store != "" {
		args = append(args, "--store", store)
	}
	code := a.run(context.Background(), args)
	return run{code, out.String(), errs.String()}
}

func TestCrawlSmall(t *testing.T) {
	web := webtest.New(webtest.Spec{Seed: 1, Domains: 6, Pages: 5, MaxHost: 30, Plain: true})
	store := filepath.Join(t.TempDir(), "s")
	r := try(t, web, store, append([]string{"crawl", "--scope", "any", "--delay", "5ms", "--allow-network", "127.0.0.0/8"}, web.Seeds(3)...)...)
	t.Log(r.code, "\n"+r.out, "\n"+r.err)
}
