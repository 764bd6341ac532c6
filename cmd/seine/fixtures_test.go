package main

import (
	"context"

	"seine/cmd/internal/node"
	"seine/coordinator/api"
	"seine/formats/lsm"
	"seine/reducer/task"
)

// holdOpen keeps an embedded node running until release is closed.
func holdOpen(held, release chan struct{}) func(context.Context, api.Conn) error {
	return func(ctx context.Context, _ api.Conn) error {
		close(held)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	}
}

func eachRow[R any](ctx context.Context, c *node.Crawl, o lsm.Object, fn func(*R) error) error {
	return task.EachRow(ctx, c.Env(""), o, nil, fn)
}
