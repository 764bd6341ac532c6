package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"seine/cmd/internal/node"
	"seine/cmd/internal/ui"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/jobs"
	"seine/reducer/task"
)

// endedJobs emits the rows of the table rounds, newest first, until more says no.
func endedJobs(ctx context.Context, c *node.Crawl, head *lsm.Manifest,
	more func(row schema.RoundRow) bool) error {
	errEnough := errors.New("enough")
	for _, part := range slices.Backward(head.Parts) {
		for _, object := range part.Tables[schema.Rounds] {
			err := task.EachRow(ctx, c.Env(""), object, nil, func(row *schema.RoundRow) error {
				own := task.Own(*row)
				if !more(own) {
					return errEnough
				}
				return nil
			})
			if err == errEnough {
				return nil
			}
			if err != nil {
				return fmt.Errorf("table rounds: %w", err)
			}
		}
	}
	return nil
}

// lastRounds are the last n rounds; all takes other jobs, too.
func lastRounds(ctx context.Context, c *node.Crawl, head *lsm.Manifest, n int, all bool) (list []roundSummary,
	err error) {
	err = endedJobs(ctx, c, head, func(row schema.RoundRow) bool {
		if all || row.Kind == string(jobs.KindRound) {
			list = append(list, rowSummary(row))
		}
		return len(list) < n
	})
	return list, err
}

func rowSummary(row schema.RoundRow) roundSummary {
	s := roundSummary{Round: uint64(row.Round), Outcome: row.Outcome, Opened: row.Submitted,
		Ended: row.Ended, Tally: ui.Ended(row.Counts)}
	s.setCost(jobs.Kind(row.Kind), row.Counts)
	return s
}
