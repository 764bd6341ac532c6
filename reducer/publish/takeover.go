package publish

import (
	"context"
	"errors"
	"fmt"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/reducer/task"
)

// KindTakeover is the kind of a commit that begins an epoch and changes nothing
// else.
const KindTakeover = "takeover"

// TakeOver begins an epoch that no other group of coordinators has, and returns
// the snapshot in which it begins. When another write has the number, even our
// own whose answer was lost, a higher epoch is begun: two groups must never
// share one.
func TakeOver(ctx context.Context, e task.Env, from *lsm.Manifest) (*lsm.Manifest, error) {
	for {
		head, err := lsm.Head(ctx, e.Source(), from)
		if err != nil {
			return nil, fmt.Errorf("take over: %w", err)
		}
		c, err := head.NewCommit(lsm.Commit{Epoch: max(head.Epoch, 1) + 1, Kind: KindTakeover,
			Edit: lsm.Edit{Takeover: true}})
		if err != nil {
			return nil, fmt.Errorf("take over: %w", err)
		}
		body, err := c.Encode()
		if err != nil {
			return nil, fmt.Errorf("take over: %w", err)
		}
		err = objstore.PutIfAbsent(ctx, e.Store, layout.Commit(c.N), body)
		if errors.Is(err, objstore.ErrExists) {
			from = head
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("take over as commit %d: %w", c.N, err)
		}
		_ = e.Store.Put(ctx, layout.Latest, objstore.Bytes(lsm.Hint(c.N)), objstore.PutOptions{})
		return head.Apply(c)
	}
}

// beforeTakeovers walks back from snapshot n over takeovers, which change
// nothing, but not below the floor.
func beforeTakeovers(ctx context.Context, e task.Env, n, floor uint64) (uint64, error) {
	for ; n > floor; n-- {
		body, err := e.Store.Get(ctx, layout.Commit(n))
		if err != nil {
			return 0, fmt.Errorf("commit %d: %w", n, err)
		}
		c, err := lsm.DecodeCommit(body)
		if err != nil {
			return 0, fmt.Errorf("commit %d: %w", n, err)
		}
		if c.Job != 0 {
			break
		}
	}
	return n, nil
}
