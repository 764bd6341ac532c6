package publish

import (
	"context"
	"fmt"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/reducer/task"
)

// published reads back the commit of a job that was published before, and the
// counts from its rounds row.
func published(ctx context.Context, e task.Env, n uint64) (*lsm.Commit, map[string]int64, error) {
	body, err := e.Store.Get(ctx, layout.Commit(n))
	if err != nil {
		return nil, nil, fmt.Errorf("commit %d: %w", n, err)
	}
	c, err := lsm.DecodeCommit(body)
	if err != nil {
		return nil, nil, fmt.Errorf("commit %d: %w", n, err)
	}
	counts := map[string]int64{}
	if c.Edit.Part == nil {
		return c, counts, nil
	}
	for _, object := range c.Edit.Part.Tables[schema.Rounds] {
		err := task.EachRow(ctx, e, object, nil, func(row *schema.RoundRow) error {
			for name, n := range row.Counts {
				counts[name] = n
			}
			return nil
		})
		if err != nil {
			return nil, nil, fmt.Errorf("commit %d: %w", n, err)
		}
	}
	return c, counts, nil
}
