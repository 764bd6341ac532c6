package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"seine/coordinator/api"
)

// answerLimit bounds an answer: a claim brings for every task the ends of all
// tasks before it.
const answerLimit = 256 << 20

// Options of a client. The zero value is one for an embedded node.
type Options struct {
	HTTP *http.Client // nil: a default one
	// Token is asked for each call, and what it gives is sent as a bearer token; nil or empty: none.
	Token func() string
	// Patience is how long a call goes on over the addresses before it fails; 0:
	// one pass.
	Patience time.Duration
}

// Client is a group of coordinators somewhere else.
type Client struct {
	bases    []string
	at       atomic.Int64 // which of them is asked first
	http     *http.Client
	token    func() string
	patience time.Duration
}

// New makes a client for coordinators at addresses such as
// http://127.0.0.1:7700, separated by commas.
func New(addresses string, o Options) (*Client, error) {
	c := &Client{http: o.HTTP, token: o.Token, patience: o.Patience}
	for address := range strings.SplitSeq(addresses, ",") {
		u, err := url.Parse(strings.TrimSpace(address))
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("%q is no address of a coordinator: say http://HOST:PORT", address)
		}
		c.bases = append(c.bases, u.Scheme+"://"+u.Host)
	}
	if c.http == nil {
		c.http = http.DefaultClient
	}
	if c.token == nil {
		c.token = func() string { return "" }
	}
	return c, nil
}

// limit is how long one node may take for a call: a little more than it holds
// long polls open (10 s), and for a heartbeat so short that a second node can be
// asked while the lease lasts.
func limit(path string) time.Duration {
	switch path {
	case api.PathClaim, api.PathWatch:
		return 14 * time.Second
	case api.PathHeartbeat:
		return 2 * time.Second
	}
	return 12 * time.Second // the log is waited for 10 s
}

// repeatable says whether a call that may have been obeyed can be made again:
// it is one of reading, carries an id, or says what shall be so.
func repeatable(path string) bool {
	switch path {
	case api.PathRerun, api.PathCommit, api.PathRemove, api.PathTransfer:
		return false
	}
	return true
}

func send(ctx context.Context, c *Client, path string, ask any) error {
	_, err := post[struct{}](ctx, c, path, ask)
	return err
}

func post[R any](ctx context.Context, c *Client, path string, ask any) (got R, err error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return got, fmt.Errorf("write a request to %s: %w", path, err)
	}
	return call[R](ctx, c, http.MethodPost, path, body)
}

func call[R any](ctx context.Context, c *Client, method, path string, body []byte) (
	got R, err error) {
	answer, base, err := c.ask(ctx, method, path, body)
	if err != nil {
		return got, err
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return got, fmt.Errorf("read the answer of %s%s: %v: %w", base, path, err, api.ErrUnavailable)
	}
	return got, nil
}

// ask asks one address after another.
func (c *Client) ask(ctx context.Context, method, path string, body []byte) (answer []byte, base string,
	err error) {
	end := time.Now().Add(c.patience)
	pause := 50 * time.Millisecond
	for try := 1; ; try++ {
		at := c.at.Load()
		base = c.bases[at]
		var sent bool
		answer, sent, err = c.once(ctx, method, base, path, body)
		if err == nil || ctx.Err() != nil {
			return answer, base, err
		}
		open := sent && errors.Is(err, api.ErrUnavailable) && !repeatable(path)
		if open || !errors.Is(err, api.ErrUnavailable) && !errors.Is(err, api.ErrNotLeader) {
			return nil, base, err
		}
		c.at.CompareAndSwap(at, (at+1)%int64(len(c.bases)))
		if try%len(c.bases) != 0 {
			continue
		}
		if time.Now().Add(pause).After(end) {
			return nil, base, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, base, ctx.Err()
		}
		pause = min(2*pause, time.Second)
	}
}

// once asks one address; sent is false when the request certainly never left.
func (c *Client) once(ctx context.Context, method, base, path string, body []byte) (answer []byte,
	sent bool, err error) {
	asking, cancel := context.WithTimeout(ctx, limit(path))
	defer cancel()
	r, err := http.NewRequestWithContext(asking, method, base+path, bytes.NewReader(body))
	if err != nil {
		return nil, false, fmt.Errorf("ask %s%s: %w", base, path, err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if token := c.token(); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	a, err := c.http.Do(r)
	if err != nil {
		return nil, !unsent(err), unreachable(ctx, base, err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(io.LimitReader(a.Body, answerLimit))
	if err != nil {
		return nil, true, unreachable(ctx, base, err)
	}
	if a.StatusCode == http.StatusOK {
		return b, true, nil
	}
	var e api.Error
	if json.Unmarshal(b, &e) != nil || e.Code == "" {
		return nil, true, fmt.Errorf("%s%s answers %s: %w", base, path, a.Status, api.ErrUnavailable)
	}
	return nil, true, e.Err()
}

// unsent says whether the error came before there was a connection.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func unreachable(ctx context.Context, base string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("ask the coordinator at %s: %v: %w", base, err, api.ErrUnavailable)
}
