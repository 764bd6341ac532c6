// Package client speaks with a coordinator over HTTP: the same api.Conn that a
// coordinator is within its own process. A client keeps nothing but connections
// and may be used by many goroutines. It does not try again by itself: whoever
// calls knows what may be repeated.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/jobs"
	"seine/jobs/worker"
)

// answerLimit bounds an answer: a claim brings for every task the ends of all
// tasks before it.
const answerLimit = 256 << 20

// Client is a coordinator somewhere else.
type Client struct {
	base string
	http *http.Client
}

var _ api.Conn = (*Client)(nil)

// New makes a client for a coordinator at an address such as
// http://127.0.0.1:7700. h may be nil; its timeout, if it has one, must be well
// above 10 s, for which the coordinator holds requests open.
func New(address string, h *http.Client) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no address of a coordinator: say http://HOST:PORT", address)
	}
	if h == nil {
		h = http.DefaultClient
	}
	return &Client{base: u.Scheme + "://" + u.Host, http: h}, nil
}

// Submit implements api.Conn.
func (c *Client) Submit(ctx context.Context, s state.Submission) (api.Submitted, error) {
	return post[api.Submitted](ctx, c, api.PathSubmit, s)
}

// Status implements api.Conn.
func (c *Client) Status(ctx context.Context) (api.Status, error) {
	return call[api.Status](ctx, c, http.MethodGet, api.PathStatus, nil)
}

// Jobs implements api.Conn.
func (c *Client) Jobs(ctx context.Context) ([]api.Job, error) {
	return call[[]api.Job](ctx, c, http.MethodGet, api.PathJobs, nil)
}

// Watch implements api.Conn.
func (c *Client) Watch(ctx context.Context, ref state.JobRef, after uint64) (api.Job, error) {
	return post[api.Job](ctx, c, api.PathWatch, api.Watch{JobRef: ref, After: after})
}

// Cancel implements api.Conn.
func (c *Client) Cancel(ctx context.Context, p state.Cancel) error {
	return send(ctx, c, api.PathCancel, p)
}

// Rerun implements api.Conn.
func (c *Client) Rerun(ctx context.Context, r state.Rerun) error {
	return send(ctx, c, api.PathRerun, r)
}

// Commit implements api.Conn.
func (c *Client) Commit(ctx context.Context, p state.CommitPartial) error {
	return send(ctx, c, api.PathCommit, p)
}

// Heed implements api.Conn.
func (c *Client) Heed(ctx context.Context, s api.Settings) error {
	return send(ctx, c, api.PathSettings, s)
}

// Claim implements worker.Conn.
func (c *Client) Claim(ctx context.Context, ask worker.Claim) ([]jobs.Task, error) {
	return post[[]jobs.Task](ctx, c, api.PathClaim, ask)
}

// Heartbeat implements worker.Conn.
func (c *Client) Heartbeat(ctx context.Context, h worker.Heartbeat) (worker.Orders, error) {
	return post[worker.Orders](ctx, c, api.PathHeartbeat, h)
}

// Complete implements worker.Conn.
func (c *Client) Complete(ctx context.Context, p worker.Completion) error {
	return send(ctx, c, api.PathComplete, p)
}

// Fail implements worker.Conn.
func (c *Client) Fail(ctx context.Context, f worker.Failure) error {
	return send(ctx, c, api.PathFail, f)
}

// Leave implements worker.Conn.
func (c *Client) Leave(ctx context.Context, p worker.Leave) error {
	return send(ctx, c, api.PathLeave, p)
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
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return got, fmt.Errorf("ask %s%s: %w", c.base, path, err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return got, c.unreachable(ctx, err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(io.LimitReader(answer.Body, answerLimit))
	if err != nil {
		return got, c.unreachable(ctx, err)
	}
	if answer.StatusCode != http.StatusOK {
		var e api.Error
		if json.Unmarshal(b, &e) != nil || e.Code == "" {
			return got, fmt.Errorf("%s%s answers %s: %w", c.base, path, answer.Status,
				api.ErrUnavailable)
		}
		return got, e.Err()
	}
	if err := json.Unmarshal(b, &got); err != nil {
		return got, fmt.Errorf("read the answer of %s%s: %v: %w", c.base, path, err,
			api.ErrUnavailable)
	}
	return got, nil
}

func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("ask the coordinator at %s: %v: %w", c.base, err, api.ErrUnavailable)
}
