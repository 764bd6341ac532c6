package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"seine/cmd/internal/ui"
	"seine/formats/objstore"
)

const dfLong = `Shows what of the store the newest snapshot takes, by table, or by round with --rounds:
what a round added and retention has left. The last lines are the whole store, and
what of it the snapshot does not name: older snapshots, and what a sweep has yet to delete.`

// diskUse is what a table or a round takes.
type diskUse struct {
	Name    string `json:"name"`
	Round   uint64 `json:"round,omitempty"`
	Objects int64  `json:"objects"`
	Rows    int64  `json:"rows"`
	Bytes   int64  `json:"bytes"`
}

func newDF(a *app) *cobra.Command {
	var rounds bool
	c := &cobra.Command{
		Use: "df", Short: "Show what the store is filled with, by table or round", Long: dfLong,
		Example: "  seine df\n  seine df --rounds\n  seine df --json", Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.df(c.Context(), rounds) },
	}
	c.Flags().BoolVar(&rounds, "rounds", false, "by round")
	addSnapshot(a, c)
	return c
}

func (a *app) df(ctx context.Context, rounds bool) error {
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	uses := map[string]*diskUse{}
	named := diskUse{Name: "snapshot"}
	for f := range l.head.Files() {
		name, round := f.Table, uint64(0)
		if rounds {
			name, round = "tables of runs", f.Round
			if round > 0 {
				name = fmt.Sprintf("round %d", round)
			}
		}
		if uses[name] == nil {
			uses[name] = &diskUse{Name: name, Round: round}
		}
		uses[name].add(f.Rows, f.Bytes)
		named.add(f.Rows, f.Bytes)
	}
	whole := diskUse{Name: "store"}
	err = l.Store.List(ctx, "", "", func(i objstore.Info) error {
		whole.add(0, i.Size)
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the store: %w", err)
	}
	var lines []diskUse
	for _, u := range uses {
		lines = append(lines, *u)
	}
	slices.SortFunc(lines, func(x, y diskUse) int {
		if rounds {
			return cmp.Compare(x.Round, y.Round)
		}
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Name, y.Name))
	})
	other := diskUse{Name: "not named by it", Objects: whole.Objects - named.Objects,
		Bytes: whole.Bytes - named.Bytes}
	return a.tellUse(append(lines, named, whole, other))
}

func (u *diskUse) add(rows, bytes int64) {
	u.Objects, u.Rows, u.Bytes = u.Objects+1, u.Rows+rows, u.Bytes+bytes
}

func (a *app) tellUse(lines []diskUse) error {
	for _, u := range lines {
		if a.json {
			if err := a.printJSON(u); err != nil {
				return err
			}
			continue
		}
		_, err := fmt.Fprintf(a.out, "%-16s %8d objects %12d rows %12s\n", u.Name, u.Objects, u.Rows, ui.Bytes(u.Bytes))
		if err != nil {
			return err
		}
	}
	return nil
}
