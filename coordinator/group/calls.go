package group

import (
	"context"

	"seine/coordinator/api"
	"seine/coordinator/state"
	"seine/jobs"
	"seine/jobs/worker"
)

// What follows asks the leader, wherever it is. Group and Format each
// node answers for itself.

// Submit implements api.Conn.
func (n *Node) Submit(ctx context.Context, s state.Submission) (api.Submitted, error) {
	return route(ctx, n, func(ctx context.Context, c coordinator) (api.Submitted, error) {
		return c.Submit(ctx, s)
	})
}

// Status implements api.Conn.
func (n *Node) Status(ctx context.Context) (api.Status, error) {
	return route(ctx, n, func(ctx context.Context, c coordinator) (api.Status, error) {
		return c.Status(ctx)
	})
}

// Jobs implements api.Conn.
func (n *Node) Jobs(ctx context.Context) ([]api.Job, error) {
	return route(ctx, n, func(ctx context.Context, c coordinator) ([]api.Job, error) {
		return c.Jobs(ctx)
	})
}

// Watch implements api.Conn.
func (n *Node) Watch(ctx context.Context, ref state.JobRef, after uint64) (api.Job, error) {
	return route(ctx, n, func(ctx context.Context, c coordinator) (api.Job, error) {
		return c.Watch(ctx, ref, after)
	})
}

// Cancel implements api.Conn.
func (n *Node) Cancel(ctx context.Context, p state.Cancel) error {
	return order(ctx, n, func(ctx context.Context, c coordinator) error { return c.Cancel(ctx, p) })
}

// Rerun implements api.Conn.
func (n *Node) Rerun(ctx context.Context, p state.Rerun) error {
	return order(ctx, n, func(ctx context.Context, c coordinator) error { return c.Rerun(ctx, p) })
}

// Commit implements api.Conn.
func (n *Node) Commit(ctx context.Context, p state.CommitPartial) error {
	return order(ctx, n, func(ctx context.Context, c coordinator) error { return c.Commit(ctx, p) })
}

// Heed implements api.Conn.
func (n *Node) Heed(ctx context.Context, s api.Settings) error {
	return order(ctx, n, func(ctx context.Context, c coordinator) error { return c.Heed(ctx, s) })
}

// Repeat implements api.Conn.
func (n *Node) Repeat(ctx context.Context, l state.Loop) error {
	return order(ctx, n, func(ctx context.Context, c coordinator) error { return c.Repeat(ctx, l) })
}

// EndLoop implements api.Conn.
func (n *Node) EndLoop(ctx context.Context, l state.EndLoop) error {
	return order(ctx, n, func(ctx context.Context, c coordinator) error { return c.EndLoop(ctx, l) })
}

// Claim implements worker.Conn.
func (n *Node) Claim(ctx context.Context, p worker.Claim) ([]jobs.Task, error) {
	return route(ctx, n, func(ctx context.Context, c coordinator) ([]jobs.Task, error) {
		return c.Claim(ctx, p)
	})
}

// Heartbeat implements worker.Conn.
func (n *Node) Heartbeat(ctx context.Context, h worker.Heartbeat) (worker.Orders, error) {
	return route(ctx, n, func(ctx context.Context, c coordinator) (worker.Orders, error) {
		return c.Heartbeat(ctx, h)
	})
}

// Complete implements worker.Conn.
func (n *Node) Complete(ctx context.Context, p worker.Completion) error {
	return order(ctx, n, func(ctx context.Context, c coordinator) error { return c.Complete(ctx, p) })
}

// Fail implements worker.Conn.
func (n *Node) Fail(ctx context.Context, f worker.Failure) error {
	return order(ctx, n, func(ctx context.Context, c coordinator) error { return c.Fail(ctx, f) })
}

// Leave implements worker.Conn.
func (n *Node) Leave(ctx context.Context, p worker.Leave) error {
	return order(ctx, n, func(ctx context.Context, c coordinator) error { return c.Leave(ctx, p) })
}

// Add implements api.Group.
func (n *Node) Add(ctx context.Context, m api.Member) error {
	return order(ctx, n, func(ctx context.Context, c coordinator) error { return c.Add(ctx, m) })
}

// Remove implements api.Group.
func (n *Node) Remove(ctx context.Context, m api.MemberRef) error {
	return order(ctx, n, func(ctx context.Context, c coordinator) error { return c.Remove(ctx, m) })
}
