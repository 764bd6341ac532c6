// Package client speaks with coordinators over HTTP: the same api.Conn that a
// coordinator is within its own process, and api.Group. It is given the
// addresses of some or all of a group; any of them answers for the leader, and
// the one that answered last is asked first.
//
// What failed at one address is tried at the next where that cannot do harm:
// when nothing was sent, when the node refused because it does not lead, and,
// for calls that may be repeated (all but rerun, commit, and changes of the
// group), when it is open what happened. A node that does not answer in time
// counts as one that is away. After a pass over all addresses the client gives
// up, or goes on for as long as its patience lasts.
//
// A client keeps nothing but connections and may be used by many goroutines.
package client

import (
	"context"
	"net/http"

	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/jobs"
	"seine/jobs/worker"
)

var (
	_ api.Conn  = (*Client)(nil)
	_ api.Group = (*Client)(nil)
)

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

// Repeat implements api.Conn.
func (c *Client) Repeat(ctx context.Context, l state.Loop) error {
	return send(ctx, c, api.PathRepeat, l)
}

// EndLoop implements api.Conn.
func (c *Client) EndLoop(ctx context.Context, l state.EndLoop) error {
	return send(ctx, c, api.PathEndLoop, l)
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

// Crawl says which crawl the coordinators work on.
func (c *Client) Crawl(ctx context.Context) (api.Crawl, error) {
	return call[api.Crawl](ctx, c, http.MethodGet, api.PathCrawl, nil)
}

// Group implements api.Group.
func (c *Client) Group(ctx context.Context) (api.Members, error) {
	return call[api.Members](ctx, c, http.MethodGet, api.PathGroup, nil)
}

// Format implements api.Group.
func (c *Client) Format(ctx context.Context) (api.Format, error) {
	return call[api.Format](ctx, c, http.MethodGet, api.PathFormat, nil)
}

// Add implements api.Group.
func (c *Client) Add(ctx context.Context, m api.Member) error {
	return send(ctx, c, api.PathAdd, m)
}

// Remove implements api.Group.
func (c *Client) Remove(ctx context.Context, m api.MemberRef) error {
	return send(ctx, c, api.PathRemove, m)
}

// Transfer implements api.Group.
func (c *Client) Transfer(ctx context.Context, m api.MemberRef) error {
	return send(ctx, c, api.PathTransfer, m)
}
