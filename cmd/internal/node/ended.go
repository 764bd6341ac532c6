package node

import (
	"context"
	"encoding/json"
	"fmt"

	"seine/coordinator/state"
	"seine/formats/objstore"
	"seine/formats/schema"
	"seine/jobs"
	"seine/reducer/task"
)

// Ended implements leader.Ledger: it reads the rounds rows of the newest parts.
func (l *Ledger) Ended(ctx context.Context) ([]state.Summary, error) {
	ctx = objstore.Charge(ctx, &l.spent)
	if err := l.known(ctx); err != nil {
		return nil, err
	}
	parts := l.head.Parts
	var ended []state.Summary
	for _, part := range parts[max(0, len(parts)-state.Summaries):] {
		for _, object := range part.Tables[schema.Rounds] {
			err := task.EachRow(ctx, l.crawl.Env(l.scratch), object, nil, func(row *schema.RoundRow) error {
				s, err := summaryOf(row)
				ended = append(ended, s)
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("read the rounds of snapshot %d: %w", l.head.N, err)
			}
		}
	}
	return ended[max(0, len(ended)-state.Summaries):], nil
}

// summaryOf is what a coordinator remembers of a job that its rounds row tells.
func summaryOf(row *schema.RoundRow) (state.Summary, error) {
	var spec jobs.Spec
	if err := json.Unmarshal([]byte(row.Spec), &spec); err != nil {
		return state.Summary{}, fmt.Errorf("the spec of job %d: %w", row.Round, err)
	}
	s := state.Summary{Job: uint64(row.Round), RequestID: spec.RequestID, Kind: spec.Kind,
		Outcome: state.Commit, Now: spec.Now, Opened: row.Submitted, Ended: row.Ended, Counts: row.Counts}
	if row.Outcome != "committed" {
		s.Outcome = state.Discard
	}
	return s, nil
}
