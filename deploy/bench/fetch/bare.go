package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/net/html"

	"seine/mapper/http1"
)

// bare is what a page costs at the least, whatever is made of it.
type bare struct {
	web   *web
	least bool // no attributes, and the gzip is of the body as it came
}

func (b bare) run(ctx context.Context) error {
	client := http1.New(http1.Settings{Agent: agent, TLS: b.web.tls}, b.web.dial)
	defer client.CloseIdle()
	hosts := make(chan int)
	var workers sync.WaitGroup
	errs := make([]error, connections)
	for i := range connections {
		workers.Go(func() {
			w := bareWorker{bare: b, client: client}
			for h := range hosts {
				if errs[i] == nil {
					errs[i] = w.host(ctx, h)
				}
			}
		})
	}
	for h := range b.web.hosts {
		hosts <- h
	}
	close(hosts)
	workers.Wait()
	return errors.Join(errs...)
}

// bareWorker is one connection's loop.
type bareWorker struct {
	bare
	client *http1.Client
	gz     *gzip.Writer
}

func (w *bareWorker) host(ctx context.Context, h int) error {
	for p := range pagesAHost {
		if err := w.page(ctx, hostName(h), fmt.Sprintf("/p/%d", p)); err != nil {
			return err
		}
	}
	return nil
}

func (w *bareWorker) page(ctx context.Context, host, target string) (err error) {
	r, err := w.client.Do(ctx, &http1.Request{Scheme: w.web.scheme(), Host: host, Addr: w.web.addr,
		Target: target})
	if err != nil {
		return fmt.Errorf("ask for %s%s: %w", host, target, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if r.Status != 200 {
		return fmt.Errorf("ask for %s%s: status %d", host, target, r.Status)
	}
	body, err := r.Body.Bytes()
	if err != nil {
		return fmt.Errorf("read %s%s: %w", host, target, err)
	}
	tokenize(body, !w.least)
	if w.least {
		if body, err = r.RawBody.Bytes(); err != nil {
			return fmt.Errorf("read %s%s: %w", host, target, err)
		}
	}
	return w.pack(body)
}

func (w *bareWorker) pack(body []byte) (err error) {
	if w.gz == nil {
		if w.gz, err = gzip.NewWriterLevel(io.Discard, gzip.BestSpeed); err != nil {
			return fmt.Errorf("pack: %w", err)
		}
	}
	w.gz.Reset(io.Discard)
	if _, err := w.gz.Write(body); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	return w.gz.Close()
}

func tokenize(body []byte, attributes bool) {
	z := html.NewTokenizer(bytes.NewReader(body))
	for t := z.Next(); t != html.ErrorToken; t = z.Next() {
		if attributes && (t == html.StartTagToken || t == html.SelfClosingTagToken) {
			for _, more := z.TagName(); more; {
				_, _, more = z.TagAttr()
			}
		}
	}
}
